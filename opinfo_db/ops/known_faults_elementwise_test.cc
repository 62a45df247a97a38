// opinfo_db/ops/known_faults_elementwise_test.cc: faults that other projects' elementwise
// operations have had, by the number under which they are collected, and that the ones here do not
// have.
//
//   TEST(KnownFaults, B20ScalarOperandGetsTheSumOfItsGradients)   // was: 5436 instead of 2721
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

using Doubles = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor F64(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
Doubles Values(const Tensor& tensor) { return tensor.array().ToDoubles(); }

// Distinct numbers in (0.3, 0.95), inside every domain but acosh's.
Tensor Sample(const Shape& shape, int which = 0) {
  Array array = Array::Zeros(DType::kF64, shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    const double turn = 0.618033988749895 * static_cast<double>(i + 1) + 0.37 * which;
    array.SetDouble(i, 0.3 + 0.65 * (turn - std::floor(turn)));
  }
  return Tensor::FromArray(array);
}

TensorFn Op(const std::string& name) { return BuildOperation(name, {}); }

Tensors Gradients(const TensorFn& f, const Tensors& in, const Tensor& cotangent) {
  return Vjp(f, in).pullback({cotangent});
}
double Slope(const TensorFn& f, double x) {
  return Gradients(f, {Tensor::Scalar(x)}, Tensor::Scalar(1))[0].item();
}
TensorFn Derivative(const TensorFn& f) {
  return [f](const Tensors& in) -> Tensors { return {Gradients(f, in, OnesLike(f(in)[0]))[0]}; };
}

void ExpectNear(const Doubles& actual, const Doubles& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i])))
        << what << ", element " << i;
  }
}

// Smooth operations of two operands that broadcast.
const char* const kBinary[] = {"add",   "sub",     "mul",        "div",       "pow",   "maximum",
                               "fmax",  "fmin",    "minimum",    "atan2",     "hypot", "logaddexp",
                               "xlogy", "xlog1py", "logaddexp2", "remainder", "fmod",  "copysign"};

// A partial of one of three operands is wrong, alike in both modes: only differences of the value
// see it.
TEST(KnownFaults, B1EveryPartialOfThreeOperandsIsTheFiniteDifference) {
  constexpr double kStep = 1e-5;
  for (const char* op : {"lerp", "addcmul", "addcdiv"}) {
    const TensorFn f = Op(op);
    const Doubles at = {0.7, -1.2, 0.4};
    for (size_t i = 0; i < 3; ++i) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        Doubles moved = at;
        moved[i] += side == 0 ? kStep : -kStep;
        sides[side] =
            f({Tensor::Scalar(moved[0]), Tensor::Scalar(moved[1]), Tensor::Scalar(moved[2])})[0]
                .item();
      }
      const Tensors in = {Tensor::Scalar(at[0]), Tensor::Scalar(at[1]), Tensor::Scalar(at[2])};
      Tensors tangents(3);
      tangents[i] = Tensor::Scalar(1);
      const double difference = (sides[0] - sides[1]) / (2 * kStep);
      EXPECT_NEAR(Gradients(f, in, Tensor::Scalar(1))[i].item(), difference, 1e-8) << op << i;
      EXPECT_NEAR(Jvp(f, in, tangents).tangents[0].item(), difference, 1e-8) << op << i;
    }
  }
}

// An operation without a rule has a silent zero for its derivative: equal functions differ.
TEST(KnownFaults, B7EqualFunctionsHaveEqualDerivatives) {
  const auto tensor = [](Tensor (*f)(const Tensor&)) -> TensorFn {
    return [f](const Tensors& in) -> Tensors { return {f(in[0])}; };
  };
  const std::vector<std::pair<const char*, TensorFn>> pairs = {
      {"sinc",
       tensor([](const Tensor& x) { return Sin(x * std::acos(-1.0)) / (x * std::acos(-1.0)); })},
      {"exp2", tensor([](const Tensor& x) { return Exp(x * std::log(2.0)); })},
      {"log2", tensor([](const Tensor& x) { return Log(x) * (1 / std::log(2.0)); })},
      {"asin", tensor([](const Tensor& x) { return Atan(x * Rsqrt(1.0 - x * x)); })},
      {"asinh", tensor([](const Tensor& x) { return Log(x + Sqrt(x * x + 1.0)); })},
      {"atanh", tensor([](const Tensor& x) { return (Log1p(x) - Log1p(-x)) * 0.5; })},
      {"erfc", tensor([](const Tensor& x) { return 1.0 - Erf(x); })},
      {"silu", tensor([](const Tensor& x) { return x * Sigmoid(x); })},
      {"mish", tensor([](const Tensor& x) { return x * Tanh(Softplus(x)); })},
      {"log_sigmoid", tensor([](const Tensor& x) { return Log(Sigmoid(x)); })},
      {"logit", tensor([](const Tensor& x) { return Log(x) - Log1p(-x); })},
      {"frac", tensor([](const Tensor& x) { return x - Floor(x); })},
  };
  for (const auto& [op, equal] : pairs) {
    for (const double x : {0.35, 0.5, 0.8}) {
      TensorFn ours = Op(op), theirs = equal;
      for (int order = 1; order <= 3; ++order) {
        ours = Derivative(ours);
        theirs = Derivative(theirs);
        const Tensors in = {Tensor::Scalar(x)};
        ExpectNear(Values(ours(in)[0]), Values(theirs(in)[0]), 1e-10,
                   std::string(op) + " order " + std::to_string(order));
      }
    }
  }
}

// A floating argument that acts like an integer has derivative 0 because it is declared so, not by
// a missing rule.
TEST(KnownFaults, B9WhatIsFlatEverywhereIsDeclaredSo) {
  for (const Entry* entry : AllEntries()) {
    if (entry->custom_function || !entry->differentiable || entry->arguments.size() != 1) continue;
    if (entry->arguments[0].shape != "..." || !entry->attributes.empty()) continue;
    const TensorFn f = Op(entry->name);
    const Tensors in = {Sample({7})};
    if (f(in)[0].shape() != in[0].shape()) continue;
    double total = 0;
    for (const double slope : Values(Gradients(f, in, OnesLike(in[0]))[0])) {
      total += std::isnan(slope) ? 1 : std::abs(slope);
    }
    EXPECT_EQ(total == 0, entry->zero_derivative) << entry->name;
  }
}

// Only part of the derivative is multiplied by the cotangent: a seed of 1 does not see it.
TEST(KnownFaults, B15GradientsAreLinearInTheCotangent) {
  int64_t operations = 0;
  for (const Entry* entry : AllEntries()) {
    if (entry->custom_function || !entry->differentiable || !entry->attributes.empty()) continue;
    const size_t arity = entry->arguments.size();
    const bool elementwise = entry->arguments[0].shape == (arity == 1 ? "..." : "~");
    if (!elementwise || entry->arguments[0].kind != ValueKind::kFloating) continue;
    Tensors in;
    for (size_t i = 0; i < arity; ++i)
      in.push_back(Sample({5}, static_cast<int>(i)) + (entry->name == "acosh" ? 1.0 : 0.0));
    const TensorFn f = Op(entry->name);
    if (f(in)[0].shape() != in[0].shape()) continue;
    const Tensor cotangent = F64({5}, {2.5, -1, 0, 3, 0.5});
    const Tensors ones = Gradients(f, in, OnesLike(in[0]));
    const Tensors scaled = Gradients(f, in, cotangent);
    for (size_t i = 0; i < arity; ++i) {
      ExpectNear(Values(scaled[i]), Values(ones[i] * cotangent), 1e-12, entry->name);
    }
    ++operations;
  }
  EXPECT_GT(operations, 60);
}

// An operation's backward assigns where it should add, so a tensor that is used twice loses a
// share.
TEST(KnownFaults, B17ATensorThatIsUsedTwiceGetsBothShares) {
  for (const char* op : {"log_sigmoid", "elu", "silu", "exp2"}) {
    const TensorFn f = Op(op);
    for (const bool first : {true, false}) {
      const TensorFn sum = [&](const Tensors& in) -> Tensors {
        if (first) {
          const Tensor y = f(in)[0];
          return {y + in[0] * 3.0};
        }
        const Tensor linear = in[0] * 3.0;
        return {linear + f(in)[0]};
      };
      EXPECT_NEAR(Slope(sum, 0.7), Slope(f, 0.7) + 3, 1e-15) << op;
    }
  }
}

// Cached partials make every evaluation wrong but the first.
TEST(KnownFaults, B19APullbackGivesTheSameTwiceAndKnowsNothingOfOthers) {
  for (const char* op : kBinary) {
    const TensorFn f = Op(op);
    const Tensors in = {Sample({4}), Sample({4}, 1)}, other = {Sample({4}, 2), Sample({4}, 3)};
    const VjpResult vjp = Vjp(f, in);
    const Tensor a = F64({4}, {1, 2, 3, 4}), b = F64({4}, {-1, 0, 5, 2});
    const Tensors first = vjp.pullback({a});
    Gradients(f, other, b);
    vjp.pullback({b});
    const Tensors again = vjp.pullback({a});
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(first[i].array().BitEquals(again[i].array())) << op;
    }
  }
}

// B20: the gradient of a 0-d operand is not summed (5436 instead of 2721). B22: both operands
// broadcast, and backward fails. B24: one operation lacks the sum that its sibling has. B26: a
// scalar gets a vector for its gradient.
TEST(KnownFaults, B20B22B24B26EveryBinaryOperationSumsToEachOperandsShape) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{}, {3}}, {{3}, {}}, {{2, 1}, {1, 3}}, {{1}, {4, 3}}, {{4, 1, 3}, {5, 1}}, {{0, 1}, {3}}};
  for (const char* op : kBinary) {
    const TensorFn f = Op(op);
    for (const auto& [x_shape, y_shape] : shapes) {
      const Tensors in = {Sample(x_shape), Sample(y_shape, 1)};
      const Tensor z = f(in)[0];
      const Tensor cotangent = Sample(z.shape(), 2);
      const Tensors gradients = Gradients(f, in, cotangent);
      // The same with operands of the full shape, summed by hand.
      const Tensors full =
          Gradients(f, {BroadcastTo(in[0], z.shape()), BroadcastTo(in[1], z.shape())}, cotangent);
      for (size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(gradients[i].shape(), in[i].shape()) << op;
        ExpectNear(Values(gradients[i]), Values(SumTo(full[i], in[i].shape())), 1e-13, op);
      }
    }
  }
}

// The operand that all slots share gets the gradient of one slot, or an error.
TEST(KnownFaults, B28AnUnbatchedOperandGetsTheSumOverTheSlots) {
  for (const char* op : kBinary) {
    const TensorFn f = Op(op);
    const TensorFn mapped = Vmap(f, {.in_dims = {0, std::nullopt}});
    const Tensors in = {Sample({3, 4}), Sample({4}, 1)};
    const Tensor cotangent = Sample({3, 4}, 2);
    const Tensors gradients = Gradients(mapped, in, cotangent);
    Tensor total = ZerosLike(in[1]);
    for (int64_t slot = 0; slot < 3; ++slot) {
      total = total + Gradients(f, {Select(in[0], 0, slot), in[1]}, Select(cotangent, 0, slot))[1];
    }
    ExpectNear(Values(gradients[1]), Values(total), 1e-13, op);
  }
}

// B31: an intermediate of the forward is a constant for the second derivative. B33: a second
// derivative is right and the third is not. B37: higher derivatives are finite differences.
TEST(KnownFaults, B31B33B37DerivativesToThirdOrderAreThoseOfTheLowerOne) {
  constexpr double kStep = 1e-4;
  for (const char* op : {"erfinv", "lgamma", "digamma", "sinc", "silu", "mish", "gelu", "softplus",
                         "log_sigmoid", "asinh", "acos", "logit", "tanhshrink", "elu", "selu"}) {
    TensorFn f = Op(op);
    for (const double x : {0.35, 0.6}) {
      for (int order = 1; order <= 3; ++order) {
        const TensorFn slope = Derivative(f);
        const auto at = [&](double place) { return f({Tensor::Scalar(place)})[0].item(); };
        const double difference =
            (8 * (at(x + kStep) - at(x - kStep)) - (at(x + 2 * kStep) - at(x - 2 * kStep))) /
            (12 * kStep);
        const double exact = slope({Tensor::Scalar(x)})[0].item();
        EXPECT_NEAR(exact, difference, 1e-9 * (1 + std::abs(exact))) << op << " order " << order;
        f = slope;
      }
      f = Op(op);
    }
  }
  // x^3 at 2: 12, exactly; the mixed second derivative of x y: 1, exactly.
  const TensorFn cube = [](const Tensors& in) -> Tensors { return {PowScalar(in[0], 3)}; };
  EXPECT_EQ(Derivative(Derivative(cube))({Tensor::Scalar(2)})[0].item(), 12);
  const TensorFn by_x = Derivative(Op("mul"));
  const Tensors mixed = Gradients(by_x, {Tensor::Scalar(3), Tensor::Scalar(5)}, Tensor::Scalar(1));
  EXPECT_EQ(mixed[0].item(), 0);
  EXPECT_EQ(mixed[1].item(), 1);
}

// The branch is remembered from another evaluation.
TEST(KnownFaults, B35BothBranchesHaveTheirSecondDerivative) {
  const TensorFn second = Derivative(Derivative(Op("elu")));
  EXPECT_NEAR(second({Tensor::Scalar(-0.5)})[0].item(), std::exp(-0.5), 1e-15);
  EXPECT_EQ(second({Tensor::Scalar(0.5)})[0].item(), 0);
  EXPECT_NEAR(second({Tensor::Scalar(-0.5)})[0].item(), std::exp(-0.5), 1e-15);
}

// All tangents are scaled by the first one, so that of the exponent is lost.
TEST(KnownFaults, B39EachOperandsTangentCountsAlone) {
  for (const char* op : kBinary) {
    const TensorFn f = Op(op);
    const Tensors in = {Sample({3}), Sample({3}, 1)};
    const Tensors t = {F64({3}, {1, -2, 0.5}), F64({3}, {3, 0.25, -1})};
    const Tensor first = Jvp(f, in, {t[0], Tensor()}).tangents[0];
    const Tensor second = Jvp(f, in, {Tensor(), t[1]}).tangents[0];
    const Tensors gradients = Gradients(f, in, OnesLike(in[0]));
    ExpectNear(Values(first), Values(gradients[0] * t[0]), 1e-13, op);
    ExpectNear(Values(second), Values(gradients[1] * t[1]), 1e-13, op);
    ExpectNear(Values(Jvp(f, in, t).tangents[0]), Values(first + second), 1e-13, op);
  }
}

// Under vmap a 0-d operand becomes a vector and takes part in promotion in another way.
TEST(KnownFaults, B118PromotionUnderVmapIsThatOfTheSlot) {
  const Tensor x = To(Sample({3}), DType::kF32);
  for (const char* op : kBinary) {
    for (const DType other : {DType::kF32, DType::kF64, DType::kI64}) {
      const Tensor y = To(Sample({3}, 1) + 1.0, other);
      const DType slot = Op(op)({Select(x, 0, 0), Select(y, 0, 0)})[0].dtype();
      EXPECT_EQ(Vmap(Op(op))({x, y})[0].dtype(), slot) << op;
      EXPECT_EQ(slot, PromoteTypes(DType::kF32, other)) << op;
    }
  }
  const TensorFn scaled = [](const Tensors& in) -> Tensors { return {in[0] * 0.1}; };
  EXPECT_EQ(Vmap(scaled)({x})[0].dtype(), DType::kF32);
}

// An integer operand gets a tangent, or is asked for one.
TEST(KnownFaults, B120IntegerOperandsHaveNoTangentAndNoGradient) {
  const Tensor n = Tensor::FromArray(Array::FromInts({2}, std::vector<int64_t>{2, 3}));
  for (const char* op : {"mul", "pow", "xlogy", "fmod", "hypot"}) {
    const TensorFn f = [&](const Tensors& in) -> Tensors { return Op(op)({in[0], n}); };
    const TensorFn same = [&](const Tensors& in) -> Tensors {
      return Op(op)({in[0], To(n, DType::kF64)});
    };
    const Tensors x = {Sample({2})};
    const Tensor ones = OnesLike(x[0]);
    EXPECT_EQ(Values(Gradients(f, x, ones)[0]), Values(Gradients(same, x, ones)[0])) << op;
    EXPECT_EQ(Values(Jvp(f, x, {ones}).tangents[0]), Values(Jvp(same, x, {ones}).tangents[0]))
        << op;
  }
}

// softplus is smooth at 0 although its stable form has max and |x| in it: was 0 instead of 1/2.
TEST(KnownFaults, B124SmoothFunctionsWithBranchesInsideAreSmoothWhereTheseMeet) {
  EXPECT_EQ(Slope(Op("softplus"), 0), 0.5);
  EXPECT_EQ(Slope(Op("log_sigmoid"), 0), 0.5);
  EXPECT_EQ(Slope(Derivative(Op("softplus")), 0), 0.25);
  EXPECT_EQ(Slope(Derivative(Op("log_sigmoid")), 0), -0.25);
  const TensorFn tied = [](const Tensors& in) -> Tensors {
    return Op("logaddexp")({in[0], Tensor::Scalar(1.5)});
  };
  EXPECT_EQ(Slope(tied, 1.5), 0.5);
  EXPECT_EQ(Slope(Derivative(tied), 1.5), 0.25);
}

// B126: at a tie the modes differ. B132: each side of a tie gets all of it.
TEST(KnownFaults, B126B132TiesAreSharedAlikeInBothModes) {
  for (const char* op : {"maximum", "minimum", "fmax", "fmin"}) {
    const Tensors in = {Tensor::Scalar(2), Tensor::Scalar(2)};
    const Tensors gradients = Gradients(Op(op), in, Tensor::Scalar(3));
    EXPECT_EQ(gradients[0].item() + gradients[1].item(), 3) << op;
    for (size_t i = 0; i < 2; ++i) {
      Tensors tangents(2);
      tangents[i] = Tensor::Scalar(3);
      EXPECT_EQ(Jvp(Op(op), in, tangents).tangents[0].item(), gradients[i].item()) << op;
    }
  }
}

// x log(y) at x = 0 had derivative 0 by x, where log(y) = 3.135 is right.
TEST(KnownFaults, B128TheBranchForXEqualZeroKeepsItsDerivative) {
  const Tensors in = {Tensor::Scalar(0), Tensor::Scalar(23)};
  EXPECT_DOUBLE_EQ(Gradients(Op("xlogy"), in, Tensor::Scalar(1))[0].item(), std::log(23.0));
  EXPECT_DOUBLE_EQ(Gradients(Op("xlog1py"), in, Tensor::Scalar(1))[0].item(), std::log1p(23.0));
  // And by both: 1 / y.
  const Tensors mixed = Gradients(Derivative(Op("xlogy")), in, Tensor::Scalar(1));
  EXPECT_DOUBLE_EQ(mixed[1].item(), 1.0 / 23);
}

// The second derivative of sinc at 0 is nan; it is -pi^2 / 3, the third 0, the fourth pi^4 / 5.
TEST(KnownFaults, B130ARemovableSingularityHasAllDerivatives) {
  const double pi = std::acos(-1.0);
  TensorFn f = Op("sinc");
  const Doubles expected = {1, 0, -pi * pi / 3, 0, std::pow(pi, 4) / 5};
  for (size_t order = 0; order < expected.size(); ++order) {
    EXPECT_NEAR(f({Tensor::Scalar(0)})[0].item(), expected[order], 1e-13) << order;
    f = Derivative(f);
  }
}

// B133: an infinite derivative of the branch not taken is multiplied by 0. B137: the same from a
// masked entry that is huge.
TEST(KnownFaults, B133B137TheBranchNotTakenStaysOut) {
  const TensorFn safe = [](const Tensors& in) -> Tensors {
    const Tensor positive = Gt(in[0], Full({}, 0, DType::kF64));
    return {Where(positive, Sqrt(Where(positive, in[0], OnesLike(in[0]))), in[0] * 2.0)};
  };
  EXPECT_EQ(Slope(safe, 0), 2);
  for (const char* op : {"elu", "celu", "selu", "silu", "mish", "gelu", "softplus", "hardswish"}) {
    for (const double x : {-1e300, 1e300, -kInf, kInf, 800.0, -800.0}) {
      const double slope = Slope(Op(op), x);
      EXPECT_TRUE(std::isfinite(slope)) << op << " at " << x;
      if (!std::isinf(x)) {
        EXPECT_TRUE(std::isfinite(Slope(Derivative(Op(op)), x))) << op << " twice at " << x;
      }
    }
  }
}

// 0^y had derivative 0 log(0) = nan by y.
TEST(KnownFaults, B135ZeroToThePowerHasAFiniteDerivativeByTheExponent) {
  for (const double y : {0.0, 0.5, 2.0}) {
    const Tensors in = {Tensor::Scalar(0), Tensor::Scalar(y)};
    EXPECT_EQ(Gradients(Op("pow"), in, Tensor::Scalar(1))[1].item(), 0) << y;
  }
  const Tensors negative = {Tensor::Scalar(-2), Tensor::Scalar(3)};
  EXPECT_EQ(Gradients(Op("pow"), negative, Tensor::Scalar(1))[0].item(), 12);
}

}  // namespace
}  // namespace peelcheck
