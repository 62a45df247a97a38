// opinfo_db/ops/special_values_test.cc: values and derivatives of the elementwise operations where
// generators do not go: zeros of both signs, infinities, nan, huge, tiny and denormal numbers,
// kinks, ties. Conventions are PyTorch's, where it documents one; else the limit.
//
//   {"silu", {}, {-kInf}, 0, {0}}   // silu(-inf) = 0 with slope 0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kHuge = 1e300;
constexpr double kTiny = 1e-300;
constexpr double kDenormal = 5e-324;

Tensors Scalars(const std::vector<double>& values) {
  Tensors tensors;
  for (const double value : values) tensors.push_back(Tensor::Scalar(value));
  return tensors;
}

// By reverse and by forward mode; each operand alone.
std::vector<double> VjpSlopes(const TensorFn& f, const Tensors& in) {
  std::vector<double> slopes;
  for (const Tensor& gradient : Vjp(f, in).pullback({Tensor::Scalar(1)})) {
    slopes.push_back(gradient.item());
  }
  return slopes;
}
std::vector<double> JvpSlopes(const TensorFn& f, const Tensors& in) {
  std::vector<double> slopes;
  for (size_t i = 0; i < in.size(); ++i) {
    Tensors tangents(in.size());
    tangents[i] = Tensor::Scalar(1);
    slopes.push_back(Jvp(f, in, tangents).tangents[0].item());
  }
  return slopes;
}

// Equal to some ulps; nan is nan.
void ExpectSame(double actual, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << " is " << actual;
  } else if (std::isinf(expected) || expected == 0) {
    EXPECT_EQ(actual, expected) << what;
  } else {
    EXPECT_NEAR(actual / expected, 1, 1e-14) << what << " is " << actual;
  }
}

struct Point {
  std::string op;
  Attributes attributes;
  std::vector<double> in;
  double value;
  std::vector<double> slopes;  // one per operand; empty: not asked
};

std::string NameOf(const Point& point) {
  std::string name = ProgramToString({.op = point.op, .attributes = point.attributes}) + " at";
  for (const double x : point.in) name += " " + std::to_string(x);
  return name;
}

void Check(const Point& point) {
  const TensorFn f = BuildOperation(point.op, point.attributes);
  const Tensors in = Scalars(point.in);
  const std::string name = NameOf(point);
  ExpectSame(f(in)[0].item(), point.value, name);
  if (point.slopes.empty()) return;
  const std::vector<double> reverse = VjpSlopes(f, in), forward = JvpSlopes(f, in);
  for (size_t i = 0; i < in.size(); ++i) {
    const std::string which = name + ", slope " + std::to_string(i);
    ExpectSame(reverse[i], point.slopes[i], which + " by vjp");
    ExpectSame(forward[i], point.slopes[i], which + " by jvp");
  }
}

TEST(SpecialValues, OfOneOperand) {
  const std::vector<Point> points = {
      // Squashed at the ends: the value is the limit, the slope 0, nothing is inf * 0.
      {"sigmoid", {}, {kInf}, 1, {0}},
      {"sigmoid", {}, {-kInf}, 0, {0}},
      {"sigmoid", {}, {-kHuge}, 0, {0}},
      {"tanh", {}, {kInf}, 1, {0}},
      {"tanh", {}, {-kHuge}, -1, {0}},
      {"erf", {}, {kInf}, 1, {0}},
      {"erf", {}, {kHuge}, 1, {0}},
      {"erfc", {}, {kInf}, 0, {0}},
      {"erfc", {}, {-kHuge}, 2, {0}},
      {"softplus", {}, {kHuge}, kHuge, {1}},
      {"softplus", {}, {kInf}, kInf, {1}},
      {"softplus", {}, {-kInf}, 0, {0}},
      {"softplus", {}, {0}, std::log(2.0), {0.5}},
      {"log_sigmoid", {}, {-kHuge}, -kHuge, {1}},
      {"log_sigmoid", {}, {-kInf}, -kInf, {1}},
      {"log_sigmoid", {}, {kInf}, 0, {0}},
      {"log_sigmoid", {}, {0}, -std::log(2.0), {0.5}},
      {"silu", {}, {kHuge}, kHuge, {1}},
      {"silu", {}, {kInf}, kInf, {1}},
      {"silu", {}, {-kHuge}, 0, {0}},
      {"silu", {}, {-kInf}, 0, {0}},
      {"silu", {}, {0}, 0, {0.5}},
      {"mish", {}, {kHuge}, kHuge, {1}},
      {"mish", {}, {kInf}, kInf, {1}},
      {"mish", {}, {-kInf}, 0, {0}},
      {"mish", {}, {0}, 0, {0.6}},
      {"gelu", {}, {kHuge}, kHuge, {1}},
      {"gelu", {}, {kInf}, kInf, {1}},
      {"gelu", {}, {-kHuge}, 0, {0}},
      {"gelu", {}, {-kInf}, 0, {0}},
      {"gelu", {{"approximate", std::string("tanh")}}, {kHuge}, kHuge, {1}},
      {"gelu", {{"approximate", std::string("tanh")}}, {-kInf}, 0, {0}},
      {"elu", {}, {kHuge}, kHuge, {1}},
      {"elu", {}, {kInf}, kInf, {1}},
      {"elu", {}, {-kInf}, -1, {0}},
      {"elu", {{"alpha", 2.0}}, {0}, 0, {2}},
      {"celu", {{"alpha", 2.0}}, {-kInf}, -2, {0}},
      {"celu", {{"alpha", 2.0}}, {kHuge}, kHuge, {1}},
      {"selu", {}, {-kInf}, -1.0507009873554805 * 1.6732632423543772, {0}},
      {"softsign", {}, {kInf}, 1, {0}},
      {"softsign", {}, {-kHuge}, -1, {0}},
      {"hardswish", {}, {-kInf}, 0, {0}},
      {"hardswish", {}, {kInf}, kInf, {1}},
      {"hardsigmoid", {}, {-kInf}, 0, {0}},
      // Kinks, each with its declared side.
      {"abs", {}, {-0.0}, 0, {0}},
      {"relu", {}, {0}, 0, {0}},
      {"leaky_relu", {}, {0}, 0, {0.01}},
      {"leaky_relu", {}, {-kHuge}, -0.01 * kHuge, {0.01}},
      {"clamp", {{"min", -1.0}, {"max", 1.0}}, {1}, 1, {1}},
      {"clamp", {{"min", -1.0}, {"max", 1.0}}, {-kInf}, -1, {0}},
      {"clamp", {{"min", 2.0}, {"max", 1.0}}, {0}, 1, {0}},
      {"clamp", {{"max", 1.0}}, {-kInf}, -kInf, {1}},
      {"clamp", {{"min", 0.0}}, {kNan}, kNan, {0}},
      {"hardtanh", {}, {1}, 1, {0}},
      {"hardtanh", {}, {kNan}, kNan, {1}},
      {"relu6", {}, {6}, 6, {0}},
      {"relu6", {}, {kInf}, 6, {0}},
      {"softshrink", {}, {0.5}, 0, {0}},
      {"softshrink", {}, {kNan}, kNan, {1}},
      {"hardshrink", {}, {-0.5}, 0, {0}},
      {"threshold", {{"threshold", 0.5}, {"value", 3.0}}, {0.5}, 3, {0}},
      // Roundings: to even in the middle, and a zero keeps its sign.
      {"round", {}, {0.5}, 0, {0}},
      {"round", {}, {1.5}, 2, {0}},
      {"round", {}, {-2.5}, -2, {0}},
      {"ceil", {}, {kHuge}, kHuge, {0}},
      {"floor", {}, {-kDenormal}, -1, {0}},
      {"trunc", {}, {-kInf}, -kInf, {0}},
      {"frac", {}, {-1.25}, -0.25, {1}},
      // Ends of domains.
      {"sqrt", {}, {0}, 0, {kInf}},
      {"log", {}, {0}, -kInf, {kInf}},
      {"log", {}, {kTiny}, std::log(kTiny), {1 / kTiny}},
      {"log2", {}, {-1}, kNan, {}},
      {"log10", {}, {kHuge}, 300, {1 / (kHuge * std::log(10.0))}},
      {"log1p", {}, {kTiny}, kTiny, {1}},
      {"expm1", {}, {kDenormal}, kDenormal, {1}},
      {"expm1", {}, {-kInf}, -1, {0}},
      {"exp2", {}, {-kInf}, 0, {0}},
      {"exp2", {}, {1023}, std::ldexp(1.0, 1023), {std::ldexp(std::log(2.0), 1023)}},
      {"asin", {}, {1}, std::acos(-1.0) / 2, {kInf}},
      {"asin", {}, {2}, kNan, {}},
      {"acos", {}, {kTiny}, std::acos(-1.0) / 2, {-1}},
      {"asinh", {}, {kHuge}, std::asinh(kHuge), {1 / kHuge}},
      {"asinh", {}, {-kTiny}, -kTiny, {1}},
      {"acosh", {}, {kHuge}, std::acosh(kHuge), {1 / kHuge}},
      {"acosh", {}, {1}, 0, {kInf}},
      {"atanh", {}, {-1}, -kInf, {kInf}},
      {"atanh", {}, {kTiny}, kTiny, {1}},
      {"erfinv", {}, {1}, kInf, {kInf}},
      {"erfinv", {}, {1.5}, kNan, {}},
      {"erfinv", {}, {0}, 0, {std::sqrt(std::acos(-1.0)) / 2}},
      {"lgamma", {}, {0}, kInf, {}},
      {"lgamma", {}, {-3}, kInf, {}},
      {"lgamma", {}, {-kInf}, kInf, {}},
      {"lgamma", {}, {1}, 0, {-0.5772156649015329}},
      {"lgamma", {}, {-0.5}, 1.2655121234846454, {0.03648997397857652}},
      {"digamma", {}, {0}, -kInf, {kInf}},
      {"digamma", {}, {-0.0}, kInf, {kInf}},
      {"digamma", {}, {-1}, kNan, {kInf}},
      {"digamma", {}, {kInf}, kInf, {0}},
      {"polygamma", {{"n", 1}}, {0}, kInf, {-kInf}},
      {"polygamma", {{"n", 1}}, {-0.5}, 8.934802200544679, {}},
      {"logit", {}, {1}, kInf, {kInf}},
      {"logit", {}, {1.5}, kNan, {}},
      {"logit", {{"eps", 0.25}}, {0}, std::log(1.0 / 3), {0}},
      // A removable singularity.
      {"sinc", {}, {0}, 1, {0}},
      {"sinc", {}, {-0.0}, 1, {0}},
      {"sinc", {}, {kTiny}, 1, {0}},
      {"sinc", {}, {kInf}, 0, {0}},
      {"isnan", {}, {kNan}, 1, {}},
      {"isnan", {}, {kInf}, 0, {}},
      {"isinf", {}, {-kInf}, 1, {}},
      {"isinf", {}, {kNan}, 0, {}},
      {"isinf", {}, {kHuge}, 0, {}},
      {"isfinite", {}, {kNan}, 0, {}},
      {"isfinite", {}, {-kInf}, 0, {}},
      {"isfinite", {}, {kDenormal}, 1, {}},
      {"signbit", {}, {-0.0}, 1, {}},
      {"signbit", {}, {-kInf}, 1, {}},
      {"logical_not", {}, {-0.0}, 1, {}},
      {"logical_not", {}, {kNan}, 0, {}},
  };
  for (const Point& point : points) {
    if (point.op != "sinc" || point.in[0] != kTiny) Check(point);
  }
  // -pi^2 / 3 x, which is no 0 there.
  Check({"sinc", {}, {kTiny}, 1, {-std::pow(std::acos(-1.0), 2) / 3 * kTiny}});
}

TEST(SpecialValues, OfTwoOperands) {
  const std::vector<Point> points = {
      {"maximum", {}, {1, 1}, 1, {0.5, 0.5}},
      {"maximum", {}, {kNan, 1}, kNan, {}},
      {"fmax", {}, {1, 1}, 1, {1, 0}},
      {"fmax", {}, {kNan, 1}, 1, {0, 1}},
      {"fmax", {}, {1, kNan}, 1, {1, 0}},
      {"fmin", {}, {1, 1}, 1, {1, 0}},
      {"fmin", {}, {kNan, -kInf}, -kInf, {0, 1}},
      {"fmin", {}, {kNan, kNan}, kNan, {}},
      {"hypot", {}, {0, 0}, 0, {0, 0}},
      {"hypot", {}, {3 * kHuge, 4 * kHuge}, 5 * kHuge, {0.6, 0.8}},
      {"hypot", {}, {3 * kTiny, 4 * kTiny}, 5 * kTiny, {0.6, 0.8}},
      {"hypot", {}, {-kInf, kNan}, kInf, {}},
      {"atan2", {}, {3 * kHuge, 4 * kHuge}, std::atan2(3, 4), {0.16 / kHuge, -0.12 / kHuge}},
      {"remainder", {}, {-7, 3}, 2, {1, 3}},
      {"remainder", {}, {7, -3}, -2, {1, 3}},
      {"remainder", {}, {7, 0}, kNan, {}},
      {"fmod", {}, {-7, 3}, -1, {1, 2}},
      {"fmod", {}, {7, -3}, 1, {1, 2}},
      {"floor_divide", {}, {-7, 3}, -3, {0, 0}},
      {"floor_divide", {}, {7, -3}, -3, {0, 0}},
      {"floor_divide", {}, {1, 0.1}, 9, {0, 0}},  // 0.1 is more than a tenth
      {"floor_divide", {}, {-1, 0}, -kInf, {}},
      {"floor_divide", {}, {kHuge, 1}, kHuge, {0, 0}},
      {"floor_divide", {}, {1, kInf}, 0, {0, 0}},
      {"floor_divide", {}, {-1, kInf}, -1, {0, 0}},
      {"copysign", {}, {-2, -0.0}, -2, {1, 0}},
      {"copysign", {}, {-2, 0.0}, 2, {-1, 0}},
      {"copysign", {}, {0, -1}, 0, {0, 0}},
      {"copysign", {}, {kNan, -1}, kNan, {}},
      {"logaddexp", {}, {0, 0}, std::log(2.0), {0.5, 0.5}},
      {"logaddexp", {}, {kHuge, -kHuge}, kHuge, {1, 0}},
      {"logaddexp", {}, {-kInf, 1}, 1, {0, 1}},
      {"logaddexp", {}, {-kInf, -kInf}, -kInf, {0.5, 0.5}},
      {"logaddexp", {}, {kInf, kInf}, kInf, {0.5, 0.5}},
      {"logaddexp", {}, {kInf, -kInf}, kInf, {1, 0}},
      {"logaddexp", {}, {1, kNan}, kNan, {}},
      {"logaddexp2", {}, {-kInf, -kInf}, -kInf, {0.5, 0.5}},
      {"logaddexp2", {}, {1000, 1000}, 1001, {0.5, 0.5}},
      {"xlogy", {}, {0, 23}, 0, {std::log(23.0), 0}},
      {"xlogy", {}, {0, 0}, 0, {0, 0}},
      {"xlogy", {}, {0, -1}, 0, {0, 0}},
      {"xlogy", {}, {0, kInf}, 0, {}},
      {"xlogy", {}, {0, kNan}, kNan, {}},
      {"xlogy", {}, {2, 0}, -kInf, {-kInf, kInf}},
      {"xlog1py", {}, {0, -1}, 0, {0, 0}},
      {"xlog1py", {}, {0, 1.5}, 0, {std::log1p(1.5), 0}},
      {"xlog1py", {}, {2, kTiny}, 2 * kTiny, {kTiny, 2}},
      {"pow", {}, {0, 0}, 1, {0, 0}},
      {"pow", {}, {0, 2}, 0, {0, 0}},
      {"lerp_scalar", {{"weight", 1.0}}, {kHuge, 3}, 3, {0, 1}},
  };
  for (const Point& point : points) Check(point);
}

TEST(SpecialValues, OfThreeOperands) {
  Check({"lerp", {}, {kHuge, 3, 1}, 3, {0, 1, 3 - kHuge}});
  Check({"addcmul", {{"value", 2.0}}, {kInf, 3, 4}, kInf, {1, 8, 6}});
  Check({"addcdiv", {}, {1, kHuge, kHuge}, 2, {1, 1 / kHuge, -1 / kHuge}});
  Check({"addcdiv", {}, {1, kTiny, kTiny}, 2, {1, 1 / kTiny, -1 / kTiny}});
}

// nan in, nan out, for everything of one operand that computes a number.
TEST(SpecialValues, NanStaysNan) {
  int64_t operations = 0;
  for (const Entry* entry : AllEntries()) {
    if (entry->arguments.size() != 1 || !entry->differentiable) continue;
    const std::string file = entry->file.substr(entry->file.rfind('/') + 1);
    if (file != "unary.cc" && file != "activations.cc" && file != "rounding.cc" &&
        file != "special_functions.cc") {
      continue;
    }
    Attributes attributes;
    for (const AttributeSpec& each : entry->attributes) {
      attributes[each.name] = each.choices.back();
    }
    const double y = BuildOperation(entry->name, attributes)(Scalars({kNan}))[0].item();
    EXPECT_TRUE(std::isnan(y)) << entry->name << " gives " << y;
    ++operations;
  }
  EXPECT_GT(operations, 50);
}

TEST(SpecialValues, IntegersDivide) {
  const auto run = [](const std::string& op, int64_t x, int64_t y) {
    return BuildOperation(op,
                          {})({Tensor::FromArray(Array::FromInts({}, std::vector<int64_t>{x})),
                               Tensor::FromArray(Array::FromInts({}, std::vector<int64_t>{y}))})[0]
        .array()
        .IntAt(0);
  };
  EXPECT_EQ(run("floor_divide", -7, 2), -4);
  EXPECT_EQ(run("remainder", -7, 2), 1);
  EXPECT_EQ(run("fmod", -7, 2), -1);
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(run("floor_divide", kLowest, -1), kLowest);  // wraps
  EXPECT_EQ(run("remainder", kLowest, -1), 0);
  for (const char* op : {"floor_divide", "remainder", "fmod"}) {
    try {
      run(op, 1, 0);
      ADD_FAILURE() << op << " by 0 was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(std::string("[") + op + "]"), std::string::npos);
    }
  }
}

TEST(SpecialValues, IntegersStayIntegers) {
  const Tensor x = Tensor::FromArray(Array::FromInts({2}, std::vector<int64_t>{-3, 4}));
  const auto dtype = [&](const std::string& op, const Attributes& attributes) {
    return BuildOperation(op, attributes)({x})[0].dtype();
  };
  for (const char* op : {"floor", "ceil", "round", "trunc", "relu6"}) {
    EXPECT_EQ(dtype(op, {}), DType::kI64) << op;
  }
  EXPECT_EQ(dtype("clamp", {{"max", 2}}), DType::kI64);
  EXPECT_EQ(dtype("clamp", {{"max", 2.5}}), DType::kF32);
  EXPECT_EQ(dtype("isnan", {}), DType::kBool);
  EXPECT_EQ(BuildOperation("clamp", {{"min", 0}})({x})[0].array().ToDoubles(),
            (std::vector<double>{0, 4}));
}

}  // namespace
}  // namespace peelcheck
