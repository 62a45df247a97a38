// Elementwise operations, constants and in-place operations: values, dtypes, special values,
// derivatives to second order.
//
//   CheckDerivatives(f, {x, y});   // vjp = finite difference, jvp agrees with vjp, second order
//   too, vmap = loop
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

using Doubles = std::vector<double>;

Tensor F64(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
Tensor F32(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kF32, shape, values));
}
Tensor Bools(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kBool, shape, values));
}
Tensor Ints(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::FromArray(Array::FromInts(shape, values));
}
Doubles Values(const Tensor& tensor) { return tensor.array().ToDoubles(); }

// What `body` throws, or "nothing".
template <typename Body>
std::string ThrownBy(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(ErrorClassName(error.error_class())) + " " + error.what();
  }
  return "nothing";
}

// The gradient of the sum of f(x).
template <typename F>
Doubles Gradients(F f, const Tensor& x) {
  const TensorFn wrapped = [&](const Tensors& in) -> Tensors { return {f(in[0])}; };
  const VjpResult vjp = Vjp(wrapped, {x});
  return Values(vjp.pullback({OnesLike(vjp.outputs[0])})[0]);
}

// Distinct numbers of both signs: a cotangent or tangent that no mix-up of elements leaves alone.
Tensor Probe(const Tensor& like) {
  Doubles values;
  for (int64_t i = 0; i < like.size(); ++i)
    values.push_back(std::sin(1.0 + 2.3 * static_cast<double>(i)) + 0.1);
  return F64(like.shape(), values);
}

void ExpectNear(const Tensor& actual, const Tensor& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  for (size_t i = 0; i < Values(expected).size(); ++i) {
    const double wanted = Values(expected)[i];
    EXPECT_NEAR(Values(actual)[i], wanted, tolerance * (1 + std::fabs(wanted)))
        << what << ", element " << i;
  }
}

// Gradients of a function with one 0-d output against central differences.
void CheckGradients(const TensorFn& f, const Tensors& inputs, const std::string& what) {
  constexpr double kStep = 1e-5;
  const Tensors gradients = Vjp(f, inputs).pullback({Tensor::Scalar(1)});
  for (size_t i = 0; i < inputs.size(); ++i) {
    Array slopes = Array::Zeros(DType::kF64, inputs[i].shape());
    for (int64_t e = 0; e < inputs[i].size(); ++e) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        Array moved = inputs[i].array().Copy();
        moved.SetDouble(e, moved.DoubleAt(e) + (side == 0 ? kStep : -kStep));
        Tensors shifted = inputs;
        shifted[i] = Tensor::FromArray(moved);
        sides[side] = f(shifted)[0].item();
      }
      slopes.SetDouble(e, (sides[0] - sides[1]) / (2 * kStep));
    }
    ExpectNear(gradients[i], Tensor::FromArray(slopes), 1e-6,
               what + " of input " + std::to_string(i));
  }
}

// vmap of f over three different slots, of all inputs and of each alone, against the loop.
void CheckVmap(const TensorFn& f, const Tensors& inputs, const std::string& what) {
  for (size_t only = 0; only <= inputs.size(); ++only) {
    for (bool at_end : {false, true}) {
      VmapOptions options{.in_dims = {}};
      Tensors mapped;
      std::vector<Tensors> slots(3, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (only < inputs.size() && only != i) {
          options.in_dims.push_back(std::nullopt);
          mapped.push_back(inputs[i]);
          continue;
        }
        Tensors values;
        for (size_t s = 0; s < 3; ++s)
          values.push_back(slots[s][i] = inputs[i] * (1 + 0.25 * static_cast<double>(s)));
        options.in_dims.push_back(at_end ? -1 : 0);
        mapped.push_back(Stack(values, at_end ? inputs[i].rank() : 0));
      }
      const Tensors outputs = Vmap(f, options)(mapped);
      for (size_t o = 0; o < outputs.size(); ++o) {
        for (size_t s = 0; s < 3; ++s) {
          const std::string where =
              what + ", output " + std::to_string(o) + ", slot " + std::to_string(s);
          ExpectNear(Select(outputs[o], 0, static_cast<int64_t>(s)), f(slots[s])[o], 1e-12, where);
        }
      }
    }
  }
}

// All of it for f with one f64 output: vjp and its own vjp are finite differences, jvp is their
// adjoint, vmap is a loop.
void CheckDerivatives(const TensorFn& f, const Tensors& inputs) {
  const TensorFn loss = [&](const Tensors& in) -> Tensors {
    const Tensor y = f(in)[0];
    return {Sum(y * Probe(y))};
  };
  CheckGradients(loss, inputs, "vjp");
  const TensorFn gradients = [&](const Tensors& in) -> Tensors {
    return Vjp(loss, in).pullback({Tensor::Scalar(1)});
  };
  const TensorFn second = [&](const Tensors& in) -> Tensors {
    Tensor total = Tensor::Scalar(0);
    for (const Tensor& gradient : gradients(in)) total = total + Sum(gradient * Probe(gradient));
    return {total};
  };
  CheckGradients(second, inputs, "vjp of vjp");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensors tangents(inputs.size());
    tangents[i] = Probe(inputs[i]);
    const double forward = Jvp(loss, inputs, tangents).tangents[0].item();
    const double reverse = Sum(gradients(inputs)[i] * tangents[i]).item();
    EXPECT_NEAR(forward, reverse, 1e-9 * (1 + std::fabs(reverse))) << "jvp by input " << i;
  }
  CheckVmap(f, inputs, "vmap");
  CheckVmap(gradients, inputs, "vmap of vjp");
}

constexpr double kInf = std::numeric_limits<double>::infinity();

struct UnaryCase {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*reference)(double);
  bool positive;
};

const UnaryCase kUnary[] = {
    {"neg", Neg, [](double v) { return -v; }, false},
    {"abs", Abs, [](double v) { return std::fabs(v); }, false},
    {"sign", Sign, [](double v) { return v > 0 ? 1.0 : -1.0; }, false},
    {"exp", Exp, [](double v) { return std::exp(v); }, false},
    {"expm1", Expm1, [](double v) { return std::expm1(v); }, false},
    {"log", Log, [](double v) { return std::log(v); }, true},
    {"log1p", Log1p, [](double v) { return std::log1p(v); }, true},
    {"sqrt", Sqrt, [](double v) { return std::sqrt(v); }, true},
    {"rsqrt", Rsqrt, [](double v) { return 1 / std::sqrt(v); }, true},
    {"square", Square, [](double v) { return v * v; }, false},
    {"reciprocal", Reciprocal, [](double v) { return 1 / v; }, false},
    {"sin", Sin, [](double v) { return std::sin(v); }, false},
    {"cos", Cos, [](double v) { return std::cos(v); }, false},
    {"tan", Tan, [](double v) { return std::tan(v); }, false},
    {"atan", Atan, [](double v) { return std::atan(v); }, false},
    {"sinh", Sinh, [](double v) { return std::sinh(v); }, false},
    {"cosh", Cosh, [](double v) { return std::cosh(v); }, false},
    {"tanh", Tanh, [](double v) { return std::tanh(v); }, false},
    {"sigmoid", Sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }, false},
    {"softplus", Softplus, [](double v) { return std::log(1 + std::exp(v)); }, false},
    {"relu", Relu, [](double v) { return std::fmax(v, 0); }, false},
    {"erf", Erf, [](double v) { return std::erf(v); }, false},
    {"floor", Floor, [](double v) { return std::floor(v); }, false},
};

TEST(Unary, ValuesAndDerivativesOfEveryRow) {
  for (const UnaryCase& row : kUnary) {
    SCOPED_TRACE(row.name);
    const Doubles points = row.positive ? Doubles{0.3, 0.9, 1.7, 2.2, 3.1, 0.6}
                                        : Doubles{-1.3, -0.4, 0.3, 0.8, 1.2, -0.7};
    const Tensor x = F64({3, 1, 2}, points);
    const Tensor y = row.op(x);
    EXPECT_EQ(y.shape(), x.shape());
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(Values(y)[i], row.reference(points[i]), 1e-14);
    }
    // A transposed view: strided loops.
    EXPECT_EQ(Values(row.op(Transpose(x, 0, 2))), Values(Transpose(y, 0, 2)));
    EXPECT_EQ(row.op(F32({2}, {0.5, 0.7})).dtype(), DType::kF32);
    EXPECT_EQ(row.op(F64({3, 0}, {})).shape(), (Shape{3, 0}));
    EXPECT_EQ(row.op(Tensor::Scalar(0.5)).shape(), Shape{});
    CheckDerivatives([&](const Tensors& in) -> Tensors { return {row.op(in[0])}; }, {x});
  }
}

TEST(Unary, DtypesOfIntegers) {
  for (const UnaryCase& row : kUnary) {
    const std::string name = row.name;
    const bool keeps = name == "neg" || name == "abs" || name == "sign" || name == "square" ||
                       name == "relu" || name == "floor";
    EXPECT_EQ(row.op(Ints({2}, {1, 2})).dtype(), keeps ? DType::kI64 : DType::kF32) << name;
  }
}

TEST(Unary, SubgradientsAtZeroAndStableTails) {
  EXPECT_EQ(Gradients(Abs, F64({1}, {0})), (Doubles{0}));
  EXPECT_EQ(Gradients(Relu, F64({1}, {0})), (Doubles{0}));
  EXPECT_EQ(Values(Softplus(F64({2}, {800, -800}))), (Doubles{800, 0}));
  EXPECT_EQ(Values(Sigmoid(F64({2}, {800, -800}))), (Doubles{1, 0}));
  EXPECT_TRUE(std::isnan(Values(Relu(F64({1}, {std::nan("")})))[0]));
}

TEST(Binary, BoolsStayBool) {
  const Tensor x = Bools({4}, {0, 0, 1, 1}), y = Bools({4}, {0, 1, 0, 1});
  for (const auto& [op, expected] :
       std::vector<std::pair<Tensor (*)(const Tensor&, const Tensor&), Doubles>>{
           {Add, {0, 1, 1, 1}},
           {Mul, {0, 0, 0, 1}},
           {Maximum, {0, 1, 1, 1}},
           {Minimum, {0, 0, 0, 1}}}) {
    EXPECT_EQ(op(x, y).dtype(), DType::kBool);
    EXPECT_EQ(Values(op(x, y)), expected);
    EXPECT_EQ(op(x, Ints({4}, {2, 2, 2, 2})).dtype(), DType::kI64);
  }
  EXPECT_EQ(Values(x + Ints({4}, {2, 2, 2, 2})), (Doubles{2, 2, 3, 3}));
  EXPECT_NE(ThrownBy([&] { x - y; }).find("invalid_argument [sub] both operands are bool"),
            std::string::npos);
}

TEST(Scalars, IntegersStayIntegersWithWholeNumbersOnly) {
  const Tensor x = Ints({2}, {3, -4});
  for (const Tensor& whole : {x * 2.0, x + 2.0, x - 2.0, 2.0 - x, PowScalar(x, 2)}) {
    EXPECT_EQ(whole.dtype(), DType::kI64);
  }
  for (const Tensor& other : {x * 0.5, x + 0.5, x - 0.5, x / 2.0, x / 1.0, PowScalar(x, -1)}) {
    EXPECT_EQ(other.dtype(), DType::kF32);
  }
  EXPECT_EQ(Values(x / 2.0), (Doubles{1.5, -2}));
  EXPECT_EQ((Bools({1}, {1}) + 1.0).dtype(), DType::kI64);
}

// 3^39 has more digits than a double.
TEST(Binary, PowersOfIntegersAreExact) {
  const Tensor power = Pow(Ints({5}, {3, -2, -1, 2, 0}), Ints({5}, {39, 3, -3, -1, 0}));
  const std::vector<int64_t> expected = {4052555153018976267, -8, -1, 0, 1};
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(power.array().IntAt(i), expected[static_cast<size_t>(i)]);
  EXPECT_EQ(PowScalar(Ints({1}, {3}), 39).array().IntAt(0), 4052555153018976267);
}

TEST(Binary, ShapesThatDoNotBroadcastNameTheOperation) {
  const Tensor x = F64({3}, {1, 2, 3}), y = F64({4}, {1, 2, 3, 4});
  const std::string error = ThrownBy([&] { Atan2(x, y); });
  EXPECT_NE(error.find("invalid_argument [atan2] "), std::string::npos) << error;
  EXPECT_NE(error.find("[3]"), std::string::npos) << error;
  EXPECT_NE(ThrownBy([&] { Lt(x, y); }).find("[lt] "), std::string::npos);
}

// What a derivative does not read may be written in place before the backward runs; what it reads
// may not.
TEST(Saved, OnlyWhatTheDerivativeReads) {
  const auto gradient_after = [](auto body) {
    return [body](const Tensors& in) -> Tensors { return {body(in[0] * 1.0)}; };
  };
  const auto slope = [&](auto body) {
    return Values(Vjp(gradient_after(body), {F64({1}, {0.5})}).pullback({F64({1}, {1})})[0])[0];
  };
  // exp reads its result alone, sin its operand alone, neg and add neither.
  EXPECT_DOUBLE_EQ(slope([](const Tensor& x) {
                     const Tensor y = Exp(x);
                     ExpInPlace(x);
                     return y;
                   }),
                   std::exp(0.5));
  EXPECT_DOUBLE_EQ(slope([](const Tensor& x) { return ExpInPlace(Sin(x)); }),
                   std::cos(0.5) * std::exp(std::sin(0.5)));
  EXPECT_DOUBLE_EQ(slope([](const Tensor& x) { return ExpInPlace(-x); }), -std::exp(-0.5));
  EXPECT_DOUBLE_EQ(slope([](const Tensor& x) {
                     const Tensor z = x + x;
                     ExpInPlace(x);
                     return ExpInPlace(z);
                   }),
                   2 * std::exp(1.0));
  // x needs no gradient of its own here, so y is not read.
  EXPECT_DOUBLE_EQ(slope([](const Tensor& x) {
                     const Tensor c = Tensor::FromArray(Array::FromValues(DType::kF64, {1}, {3}));
                     const Tensor y = Clone(x);
                     const Tensor z = c * y;
                     ExpInPlace(y);
                     return z;
                   }),
                   3);
  const auto sin_overwritten = [](const Tensor& x) {
    const Tensor y = Sin(x);
    ExpInPlace(x);
    return y;
  };
  const auto mul_overwritten = [](const Tensor& x) {
    const Tensor y = x * x;
    ExpInPlace(x);
    return y;
  };
  EXPECT_NE(ThrownBy([&] { slope(sin_overwritten); }).find("failed_precondition [sin]"),
            std::string::npos);
  EXPECT_NE(ThrownBy([&] { slope(mul_overwritten); }).find("failed_precondition [mul]"),
            std::string::npos);
}

TEST(Binary, Atan2OfHugeAndTinyHasItsDerivative) {
  for (const double scale : {1e-200, 1e200}) {
    const Tensors in = {Tensor::Scalar(3 * scale), Tensor::Scalar(4 * scale)};
    const TensorFn f = [](const Tensors& x) -> Tensors { return {Atan2(x[0], x[1])}; };
    const Tensors gradients = Vjp(f, in).pullback({Tensor::Scalar(1)});
    EXPECT_NEAR(gradients[0].item() * scale, 0.16, 1e-15);
    EXPECT_NEAR(gradients[1].item() * scale, -0.12, 1e-15);
  }
}

struct BinaryCase {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
};

const BinaryCase kBinary[] = {
    {"add", Add, [](double v, double w) { return v + w; }},
    {"sub", Sub, [](double v, double w) { return v - w; }},
    {"mul", Mul, [](double v, double w) { return v * w; }},
    {"div", Div, [](double v, double w) { return v / w; }},
    {"pow", Pow, [](double v, double w) { return std::pow(v, w); }},
    {"maximum", Maximum, [](double v, double w) { return std::fmax(v, w); }},
    {"minimum", Minimum, [](double v, double w) { return std::fmin(v, w); }},
    {"atan2", Atan2, [](double v, double w) { return std::atan2(v, w); }},
};

TEST(Binary, ValuesAndDerivativesOfEveryRowBroadcast) {
  const Doubles a = {0.4, 1.3, 2.1};
  const Doubles b = {0.7, 1.9, 1.1, 2.6};
  for (const BinaryCase& row : kBinary) {
    SCOPED_TRACE(row.name);
    const Tensor x = F64({3, 1}, a);
    const Tensor y = F64({4}, b);
    const Tensor z = row.op(x, y);
    ASSERT_EQ(z.shape(), (Shape{3, 4}));
    for (size_t i = 0; i < 12; ++i) {
      EXPECT_DOUBLE_EQ(Values(z)[i], row.reference(a[i / 4], b[i % 4]));
    }
    const TensorFn f = [&](const Tensors& in) -> Tensors { return {row.op(in[0], in[1])}; };
    CheckDerivatives(f, {x, y});
    CheckDerivatives(f, {F64({3}, a), Tensor::Scalar(1.5)});
    CheckDerivatives(f, {Tensor::Scalar(0.9), Tensor::Scalar(1.5)});
    CheckDerivatives(f, {F64({1, 3}, a), F64({5, 1, 1}, {0.3, 0.5, 1.1, 1.7, 2.9})});
    CheckDerivatives(f, {F64({4, 0}, {}), F64({4, 1}, b)});
    EXPECT_EQ(row.op(F32({1}, {1}), F64({1}, {1})).dtype(), DType::kF64);
    EXPECT_EQ(row.op(F32({1}, {1}), Ints({1}, {1})).dtype(), DType::kF32);
    const std::string error = ThrownBy([&] { row.op(F64({3}, a), F64({4}, b)); });
    EXPECT_NE(error.find("invalid_argument"), std::string::npos) << error;
    EXPECT_NE(error.find("[3] and [4]"), std::string::npos) << error;
  }
}

TEST(Binary, GradientHasTheDtypeOfItsOwnInput) {
  for (const BinaryCase& row : kBinary) {
    SCOPED_TRACE(row.name);
    const TensorFn f = [&](const Tensors& in) -> Tensors { return {row.op(in[0], in[1])}; };
    const Tensor x = F32({3}, {0.5, 1.5, 2.5});
    const Tensor y = F64({1}, {1.25});
    const Tensors gradients = Vjp(f, {x, y}).pullback({F64({3}, {1, 2, 3})});
    EXPECT_EQ(gradients[0].dtype(), DType::kF32);
    EXPECT_EQ(gradients[1].dtype(), DType::kF64);
    EXPECT_EQ(Jvp(f, {x, y}, {x, Tensor()}).tangents[0].dtype(), DType::kF64);
  }
}

TEST(Binary, DivOfIntegersIsF32) {
  const Tensor z = Div(Ints({2}, {1, 3}), Ints({2}, {2, 2}));
  EXPECT_EQ(z.dtype(), DType::kF32);
  EXPECT_EQ(Values(z), (Doubles{0.5, 1.5}));
}

TEST(Binary, TieHalvesTheGradient) {
  for (auto op : {Maximum, Minimum}) {
    const TensorFn f = [&](const Tensors& in) -> Tensors { return {op(in[0], in[1])}; };
    const Tensors gradients = Vjp(f, {F64({1}, {2}), F64({1}, {2})}).pullback({F64({1}, {3})});
    EXPECT_EQ(Values(gradients[0]), (Doubles{1.5}));
    EXPECT_EQ(Values(gradients[1]), (Doubles{1.5}));
    EXPECT_TRUE(std::isnan(Values(op(F64({1}, {std::nan("")}), F64({1}, {1})))[0]));
    EXPECT_TRUE(std::isnan(Values(op(F64({1}, {1}), F64({1}, {std::nan("")})))[0]));
  }
}

const TensorFn kPow = [](const Tensors& in) -> Tensors { return {Pow(in[0], in[1])}; };

TEST(Pow, GradientsAtBaseZero) {
  const Tensors gradients =
      Vjp(kPow, {F64({3}, {0, 0, 0}), F64({3}, {0, 1, 2})}).pullback({F64({3}, {1, 1, 1})});
  EXPECT_EQ(Values(gradients[0]), (Doubles{0, 1, 0}));
  EXPECT_EQ(Values(gradients[1]), (Doubles{0, 0, 0}));
}

// d2/dx dy x^y = x^(y-1) (1 + y log x), which is 1/x at y = 0: no mask may hide it.
TEST(Pow, MixedSecondDerivativeAtExponentZero) {
  const TensorFn by_x = [](const Tensors& in) -> Tensors {
    return {Sum(Vjp(kPow, {in[0], in[1]}).pullback({OnesLike(in[0])})[0])};
  };
  EXPECT_EQ(
      Values(Grad(by_x, {.argnums = std::vector<int64_t>{1}})({F64({1}, {4}), F64({1}, {0})})[0]),
      (Doubles{0.25}));
}

TEST(Pow, SecondDerivativeAtBaseAndExponentZeroIsNotNan) {
  const TensorFn by_x = [](const Tensors& in) -> Tensors {
    return {Sum(Vjp(kPow, {in[0], in[1]}).pullback({OnesLike(in[0])})[0])};
  };
  EXPECT_EQ(Values(Grad(by_x)({F64({1}, {0}), F64({1}, {0})})[0]), (Doubles{0}));
}

TEST(Pow, ExponentGradientOfAnIntegerBaseIsOfDoublePrecision) {
  const Tensors gradient = Vjp(kPow, {Ints({1}, {3}), F64({1}, {2})}).pullback({F64({1}, {1})});
  EXPECT_DOUBLE_EQ(Values(gradient[0])[0], 9 * std::log(3.0));
}

TEST(Compare, IsBoolAndHasNoDerivative) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor y = Tensor::Scalar(2);
  EXPECT_EQ(Values(Eq(x, y)), (Doubles{0, 1, 0}));
  EXPECT_EQ(Values(Ne(x, y)), (Doubles{1, 0, 1}));
  EXPECT_EQ(Values(Lt(x, y)), (Doubles{1, 0, 0}));
  EXPECT_EQ(Values(Le(x, y)), (Doubles{1, 1, 0}));
  EXPECT_EQ(Values(Gt(x, y)), (Doubles{0, 0, 1}));
  EXPECT_EQ(Values(Ge(x, y)), (Doubles{0, 1, 1}));
  EXPECT_EQ(Ge(x, y).dtype(), DType::kBool);
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return {in[0] * To(Gt(in[0], in[1]), DType::kF64)};
  };
  EXPECT_EQ(Values(Vjp(f, {x, y}).pullback({OnesLike(x)})[1]), (Doubles{0}));
}

TEST(Where, BroadcastsPromotesAndSelects) {
  const Tensor condition = Bools({3, 1}, {1, 0, 1});
  const TensorFn f = [condition](const Tensors& in) -> Tensors {
    return {Where(condition, in[0], in[1])};
  };
  EXPECT_EQ(Values(f({F64({3}, {1, 2, 3}), Tensor::Scalar(9)})[0]),
            (Doubles{1, 2, 3, 9, 9, 9, 1, 2, 3}));
  CheckDerivatives(f, {F64({4}, {1, 2, 3, 4}), F64({3, 1}, {5, 6, 7})});
  EXPECT_EQ(Where(condition, F32({}, {1}), F64({}, {1})).dtype(), DType::kF64);
  EXPECT_NE(ThrownBy([] {
              Where(F64({1}, {1}), Tensor::Scalar(1), Tensor::Scalar(2));
            }).find("invalid_argument [where]"),
            std::string::npos);
}

TEST(Where, InfiniteCotangentStaysOutOfTheOtherBranch) {
  const Tensor condition = Bools({2}, {1, 0});
  const TensorFn f = [condition](const Tensors& in) -> Tensors {
    return {Where(condition, in[0], in[1])};
  };
  const Tensors gradients =
      Vjp(f, {F64({2}, {1, 2}), F64({2}, {3, 4})}).pullback({F64({2}, {kInf, kInf})});
  EXPECT_EQ(Values(gradients[0]), (Doubles{kInf, 0}));
  EXPECT_EQ(Values(gradients[1]), (Doubles{0, kInf}));
}

// Backward needs the condition only, so writing over operands or result afterwards is legal.
TEST(Where, ResultMayBeOverwritten) {
  const Tensor condition = Bools({2}, {1, 0});
  const TensorFn f = [condition](const Tensors& in) -> Tensors {
    return {ExpInPlace(Where(condition, in[0] * 1.0, in[0] * 2.0))};
  };
  const Doubles gradient = Values(Vjp(f, {F64({2}, {1, 2})}).pullback({F64({2}, {1, 1})})[0]);
  EXPECT_DOUBLE_EQ(gradient[0], std::exp(1.0));
  EXPECT_DOUBLE_EQ(gradient[1], 2 * std::exp(4.0));
}

TEST(Scalar, AffineAndPow) {
  const Tensor x = F64({3}, {0.5, -1.5, 2});
  EXPECT_EQ(Values(2.0 - x * 3.0), (Doubles{0.5, 6.5, -4}));
  EXPECT_EQ((F32({1}, {1}) * 0.1).dtype(), DType::kF32);
  EXPECT_TRUE(std::signbit(Values(F64({1}, {-0.0}) * 1.0)[0]));
  CheckDerivatives([](const Tensors& in) -> Tensors { return {Affine(in[0], 3, -1)}; }, {x});
  for (double exponent : {3.0, 2.0, 1.0, 0.0, -1.0}) {
    SCOPED_TRACE(exponent);
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {PowScalar(in[0], exponent)}; },
                     {x});
  }
  const auto zeroth = [](const Tensor& v) { return PowScalar(v, 0); };
  EXPECT_EQ(Gradients(zeroth, F64({1}, {0})), (Doubles{0}));
  const auto second = [](const Tensor& v) { return PowScalar(v, 2); };
  EXPECT_EQ(Gradients(second, F64({1}, {0})), (Doubles{0}));
  EXPECT_EQ(Values(PowScalar(Ints({2}, {2, 4}), -1)), (Doubles{0.5, 0.25}));  // not rounded to 0
}

TEST(Casts, ConvertAndCarryDerivatives) {
  const TensorFn narrow = [](const Tensors& in) -> Tensors { return {To(in[0], DType::kF32)}; };
  const VjpResult vjp = Vjp(narrow, {F64({2}, {1.5, 2.5})});
  EXPECT_EQ(vjp.outputs[0].dtype(), DType::kF32);
  EXPECT_EQ(vjp.pullback({F32({2}, {3, 4})})[0].dtype(), DType::kF64);
  EXPECT_EQ(Jvp(narrow, {F64({1}, {1})}, {F64({1}, {2})}).tangents[0].dtype(), DType::kF32);
  EXPECT_EQ(Values(To(F64({3}, {0, 0.5, -2}), DType::kBool)), (Doubles{0, 1, 1}));
  EXPECT_EQ(Values(To(F64({2}, {1.9, -1.9}), DType::kI64)), (Doubles{1, -1}));
}

TEST(Casts, ConstantsCopiesAndDetach) {
  const Tensor x = F64({2}, {1, 2});
  EXPECT_EQ(Values(ZerosLike(x)), (Doubles{0, 0}));
  EXPECT_EQ(Values(OnesLike(x)), (Doubles{1, 1}));
  EXPECT_EQ(Values(Full({2, 1}, 3, DType::kI64)), (Doubles{3, 3}));
  const Tensor copy = Clone(x);
  ExpInPlace(copy);
  EXPECT_EQ(Values(x), (Doubles{1, 2}));
  CheckDerivatives([](const Tensors& in) -> Tensors { return {Clone(in[0])}; }, {x});
  const TensorFn f = [](const Tensors& in) -> Tensors { return {in[0] * Detach(in[0])}; };
  EXPECT_EQ(Values(Vjp(f, {x}).pullback({OnesLike(x)})[0]), (Doubles{1, 2}));
}

TEST(InPlace, ReturnsTheInputItself) {
  const Tensor x = F64({2}, {0, 1});
  EXPECT_TRUE(ExpInPlace(x).is(x));
  EXPECT_DOUBLE_EQ(Values(x)[1], std::exp(1.0));
  EXPECT_TRUE(AddInPlace(x, Tensor::Scalar(1)).is(x));
  EXPECT_EQ(Values(x)[0], 2);
  const Tensor column = Transpose(F64({2, 3}, {1, 2, 3, 4, 5, 6}), 0, 1);
  MulInPlace(column, F64({3, 1}, {1, 10, 100}));
  EXPECT_EQ(Values(column), (Doubles{1, 4, 20, 50, 300, 600}));
}

// A copy of in[0], with new storage, that has room for every slot when only in[1] is mapped.
Tensor Target(const Tensors& in) { return Clone(in[0] + in[1] * 0.0); }

TEST(InPlace, DerivativesOfEveryOne) {
  const Tensor x = F64({2, 3}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
  const Tensor y = F64({3}, {1.5, -2, 0.7});
  CheckDerivatives([](const Tensors& in) -> Tensors { return {ExpInPlace(in[0] * 2.0)}; }, {x});
  CheckDerivatives([](const Tensors& in) -> Tensors { return {AddInPlace(Target(in), in[1])}; },
                   {x, y});
  CheckDerivatives([](const Tensors& in) -> Tensors { return {MulInPlace(Target(in), in[1])}; },
                   {x, y});
}

TEST(InPlace, MulByZeroStillHasTheOtherGradient) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {MulInPlace(Target(in), in[1])}; };
  const Tensors in = {F64({2}, {3, 4}), F64({2}, {0, 5})};
  EXPECT_EQ(Values(Vjp(f, in).pullback({F64({2}, {1, 1})})[1]), (Doubles{3, 4}));
  EXPECT_EQ(Values(Jvp(f, in, {Tensor(), F64({2}, {1, 1})}).tangents[0]), (Doubles{3, 4}));
  CheckDerivatives(f, in);
}

// x *= x is x^2, although the operand is overwritten by the result; so is a view of it.
TEST(InPlace, OperandThatIsTheTargetItself) {
  const TensorFn square = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0] * 1.0;
    return {MulInPlace(x, x)};
  };
  CheckDerivatives(square, {F64({2}, {3, -4})});
  const TensorFn twice = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0] * 1.0;
    return {AddInPlace(x, x)};
  };
  CheckDerivatives(twice, {F64({2}, {3, -4})});
  const TensorFn by_view = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0] * 1.0;
    return {MulInPlace(x, Flip(Select(Unsqueeze(x, 0), 0, 0), {0}))};
  };
  CheckDerivatives(by_view, {F64({2}, {3, -4})});
  const TensorFn by_first = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0] * 1.0;
    return {MulInPlace(x, Select(x, 0, 0))};
  };
  CheckDerivatives(by_first, {F64({2}, {3, -4})});
}

TEST(InPlace, NarrowerOperandGivesATangentOfTheTargetsDtype) {
  const TensorFn add = [](const Tensors& in) -> Tensors {
    return {AddInPlace(Clone(in[0]), in[1])};
  };
  const TensorFn mul = [](const Tensors& in) -> Tensors {
    return {MulInPlace(Clone(in[0]), in[1])};
  };
  for (const TensorFn& f : {add, mul}) {
    const Tensor x = F64({2}, {1, 2});
    const Tensor y = F32({1}, {3});
    EXPECT_EQ(Jvp(f, {x, y}, {Tensor(), y}).tangents[0].dtype(), DType::kF64);
    EXPECT_EQ(Vjp(f, {x, y}).pullback({x})[1].dtype(), DType::kF32);
  }
}

TEST(InPlace, AddDoesNotNeedItsOperandLater) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor y = in[0] * 1.0;
    const Tensor x = AddInPlace(in[0] * 2.0, y);
    ExpInPlace(y);
    return {x};
  };
  EXPECT_EQ(Values(Vjp(f, {F64({1}, {1})}).pullback({F64({1}, {1})})[0]), (Doubles{3}));
}

TEST(InPlace, RefusesWhatHasNoRoom) {
  const Tensor batch = F64({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto unbatched_target = [&] {
    const Tensor x = F64({3}, {1, 2, 3});
    Vmap([&](const Tensors& in) -> Tensors { return {MulInPlace(x, in[0])}; })({batch});
  };
  EXPECT_NE(ThrownBy(unbatched_target).find("failed_precondition [mul_]"), std::string::npos)
      << ThrownBy(unbatched_target);
  for (auto op : {AddInPlace, MulInPlace}) {
    const std::string plain = ThrownBy([&] {
      op(F64({3}, {1, 2, 3}), F64({2, 3}, {1, 2, 3, 4, 5, 6}));
    });
    EXPECT_NE(plain.find("invalid_argument"), std::string::npos) << plain;
    for (BatchDim y_dim : {BatchDim(0), BatchDim()}) {
      const std::string mapped = ThrownBy([&] {
        const Tensor y =
            y_dim.has_value() ? Expand(F64({1, 2, 3}, {1, 2, 3, 4, 5, 6}), {2, 2, 3}) : batch;
        Vmap([&](const Tensors& in) -> Tensors { return {op(Clone(in[0]), in[1])}; },
             {.in_dims = {0, y_dim}})({batch, y});
      });
      EXPECT_NE(mapped.find("invalid_argument"), std::string::npos) << mapped;
    }
  }
  EXPECT_NE(
      ThrownBy([] { ExpInPlace(Expand(Tensor::Scalar(1), {3})); }).find("failed_precondition"),
      std::string::npos);
  EXPECT_NE(ThrownBy([] { ExpInPlace(Ints({1}, {1})); }).find("invalid_argument"),
            std::string::npos);
}

}  // namespace
}  // namespace peelcheck
