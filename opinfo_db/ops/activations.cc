// opinfo_db/ops/activations.cc: activation functions, one row each.
//
// Limits are kept where a factor is infinite and the other one 0: silu(-inf) = 0, and so are the
// derivatives (see Cut and OnlyUpTo). At a kink the formula says which side's derivative holds.
#include <cmath>

#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/elementwise.h"

namespace peelcheck {
namespace {

using T = const Tensor&;

constexpr double kSeluAlpha = 1.6732632423543772;
constexpr double kSeluScale = 1.0507009873554805;
// Beyond it e^-x is 0 in f64.
constexpr double kFar = 800;
// Beyond it e^(-x^2 / 2) is 0 in f64.
constexpr double kFarSquared = 40;

template <typename V>
V LogisticOf(V v) {
  if (v >= 0) return 1 / (1 + std::exp(-v));
  const V e = std::exp(v);
  return e / (1 + e);
}

template <typename V>
V SoftplusOf(V v) {
  return std::max(v, V(0)) + std::log1p(std::exp(-std::abs(v)));
}

// v times a factor that goes to 0 faster than v goes to -inf.
template <typename V>
V Damped(V v, V factor) {
  return factor == 0 ? V(0) : v * factor;
}

template <typename V>
V GeluOf(V v, bool tanh) {
  constexpr double kRootHalf = 0.7071067811865476, kRootTwoOverPi = 0.7978845608028654;
  if (!tanh) return Damped(v, std::erfc(-v * V(kRootHalf)) / 2);
  return Damped(v, (1 + std::tanh(V(kRootTwoOverPi) * (v + V(0.044715) * v * v * v))) / 2);
}

Tensor SiluSlope(T t, T x) {
  const Tensor s = Sigmoid(x), near = Cut(x, kFar);
  return t * (s + near * Sigmoid(near) * Sigmoid(-near));
}

Tensor MishSlope(T t, T x) {
  const Tensor near = Cut(x, kFar), w = Tanh(Softplus(near));
  return t * (w + near * (1.0 - w * w) * Sigmoid(near));
}

// Phi(x) + x phi(x), the normal distribution and its density; or the same with the approximation.
Tensor GeluSlope(T t, T x, bool tanh) {
  constexpr double kRootHalf = 0.7071067811865476, kDensity = 0.3989422804014327;
  constexpr double kRootTwoOverPi = 0.7978845608028654, kCubic = 0.044715;
  const Tensor near = Cut(x, kFarSquared), square = near * near;
  if (!tanh) {
    return t * (Erfc(near * -kRootHalf) * 0.5 + near * Exp(square * -0.5) * kDensity);
  }
  const Tensor w = Tanh(near * (square * kCubic + 1.0) * kRootTwoOverPi);
  const Tensor inner = (square * (3 * kCubic) + 1.0) * kRootTwoOverPi;
  return t * ((w + 1.0) * 0.5 + near * (1.0 - w * w) * inner * 0.5);
}

// t where low < x < high, or x is nan.
Tensor StrictlyInside(T t, T x, double low, double high) {
  const Tensor outside = Add(Le(x, Constant(x, low)), Ge(x, Constant(x, high)));
  return Where(outside, Zero(t), t);
}

void RequireOrder(const Parameters& p) {
  if (p.a <= p.b) return;
  ThrowInvalidArgument(
      absl::StrCat("[hardtanh] min_val=", p.a, " max_val=", p.b, "; expected min_val <= max_val"));
}

void RequireAlpha(const Parameters& p) {
  if (p.a != 0) return;
  ThrowInvalidArgument("[celu] alpha=0; expected another number");
}

void RequireNotNegative(const Parameters& p) {
  if (p.a >= 0) return;
  ThrowInvalidArgument(absl::StrCat("[softshrink] lambd=", p.a, "; expected 0 or more"));
}

const std::string kPage = "torch.nn.functional.";
const Domain kPlain = {.low = -2, .high = 2};
const Domain kWide = {.low = -4, .high = 4};
const Domain kKinkAtZero = {.low = -2, .high = 2, .kinks = {0}};
const Domain kKinksAtThree = {.low = -5, .high = 5, .kinks = {-3, 3}};
const Domain kKinksAtLambda = {.low = -2, .high = 2, .kinks = {-1, -0.5, 0.5, 1}};
const std::vector<ArraySpec> kThree = {{DType::kF64, {3}}};

// clang-format off
const RowOptions kNone = {.page = kPage};
const RowOptions kSlope = {.parameters = {{"negative_slope", {std::monostate(), 0.2, -0.5}, 0.01}}, .page = kPage};
const RowOptions kAlpha = {.parameters = {{"alpha", {std::monostate(), 0.5, 2.0}, 1.0}}, .page = kPage};
const RowOptions kAlphaNotZero = {.parameters = kAlpha.parameters, .check = RequireAlpha, .page = kPage, .error_cases = {{.description = "alpha 0", .inputs = kThree, .attributes = {{"alpha", 0.0}}}}};
const RowOptions kEnds = {.parameters = {{"min_val", {std::monostate(), -0.5}, -1.0}, {"max_val", {std::monostate(), 0.75}, 1.0}}, .check = RequireOrder, .page = kPage, .error_cases = {{.description = "ends in the wrong order", .inputs = kThree, .attributes = {{"min_val", 2.0}}}}};
const RowOptions kLambda = {.parameters = {{"lambd", {std::monostate(), 1.0}, 0.5}}, .page = kPage};
const RowOptions kLambdaNotNegative = {.parameters = kLambda.parameters, .check = RequireNotNegative, .page = kPage, .error_cases = {{.description = "a negative lambd", .inputs = kThree, .attributes = {{"lambd", -1.0}}}}};
const RowOptions kThreshold = {.parameters = {{"threshold", {-0.5, 0.5}}, {"value", {3.0, -1.0}}}, .page = kPage};
// clang-format on

const Registration kRows[] = {
    // clang-format off
    Row({"relu", Relu, "y = max(x, 0); dy = dx where x > 0, else 0", kKinkAtZero, [](double x) { return x > 0 ? x : 0.0; }, kNone}),
    Row({"softplus", Softplus, "y = ln(1 + e^x); dy = dx / (1 + e^-x)", {.low = -3, .high = 3}, [](double x) { return std::log1p(std::exp(x)); }, kNone}),
    Row({"log_sigmoid", {FLOATING(-SoftplusOf(-v)), OF_X(t * Sigmoid(-x))}, "y = -ln(1 + e^-x); dy = dx / (1 + e^x)", kWide, [](double x) { return std::log(1 / (1 + std::exp(-x))); }, {.source = "https://pytorch.org/docs/stable/generated/torch.nn.functional.logsigmoid.html"}}),
    Row({"leaky_relu", {FLOATING(v > 0 ? v : v * a), OF_X(Where(Above(x, 0), t, t * a))}, "y = x where x > 0, else negative_slope x; dy = dx where x > 0, else negative_slope dx", kKinkAtZero, [](double x, Parameters p) { return x < 0 ? x * p.a : x; }, kSlope}),
    Row({"elu", {FLOATING(v > 0 ? v : a * std::expm1(v)), OF_X(Where(Above(x, 0), t, t * Exp(OnlyUpTo(x, 0)) * a))}, "y = x where x > 0, else alpha (e^x - 1); dy = dx where x > 0, else alpha e^x dx", kKinkAtZero, [](double x, Parameters p) { return x < 0 ? p.a * (std::exp(x) - 1) : x; }, kAlpha}),
    Row({"celu", {FLOATING(v > 0 ? v : a * std::expm1(v / a)), OF_X(Where(Above(x, 0), t, t * Exp(OnlyUpTo(x, 0) * (1 / a))))}, "y = x where x > 0, else alpha (e^(x / alpha) - 1); dy = dx where x > 0, else e^(x / alpha) dx", kKinkAtZero, [](double x, Parameters p) { return x < 0 ? p.a * (std::exp(x / p.a) - 1) : x; }, kAlphaNotZero}),
    Row({"selu", {FLOATING(decltype(v)(kSeluScale) * (v > 0 ? v : decltype(v)(kSeluAlpha) * std::expm1(v))), OF_X(Where(Above(x, 0), t, t * Exp(OnlyUpTo(x, 0)) * kSeluAlpha) * kSeluScale)}, "y = 1.0507 (x where x > 0, else 1.6733 (e^x - 1)); dy = 1.0507 (dx where x > 0, else 1.6733 e^x dx)", kKinkAtZero, [](double x) { return x < 0 ? kSeluScale * kSeluAlpha * (std::exp(x) - 1) : kSeluScale * x; }, kNone}),
    Row({"silu", {FLOATING(Damped(v, LogisticOf(v))), OF_X(SiluSlope(t, x))}, "y = x s with s = 1 / (1 + e^-x); dy = (s + x s (1 - s)) dx", kWide, [](double x) { return x / (1 + std::exp(-x)); }, kNone}),
    Row({"mish", {FLOATING(Damped(v, std::tanh(SoftplusOf(v)))), OF_X(MishSlope(t, x))}, "y = x w with w = tanh(ln(1 + e^x)); dy = (w + x (1 - w^2) / (1 + e^-x)) dx", kWide, [](double x) { const double e = (1 + std::exp(x)) * (1 + std::exp(x)); return x * (e - 1) / (e + 1); }, kNone}),
    Row({"softsign", {FLOATING(std::isinf(v) ? std::copysign(decltype(v)(1), v) : v / (1 + std::abs(v))), OF_X(t * Square(Reciprocal(Abs(x) + 1.0)))}, "y = x / (1 + |x|); dy = dx / (1 + |x|)^2", kKinkAtZero, [](double x) { return x < 0 ? x / (1 - x) : x / (1 + x); }, kNone}),
    Row({"tanhshrink", {FLOATING(v - std::tanh(v)), OF_X(t * Square(Tanh(x)))}, "y = x - tanh x; dy = tanh(x)^2 dx", kPlain, [](double x) { return x - (1 - 2 / (std::exp(2 * x) + 1)); }, kNone}),
    Row({"hardtanh", {FLOATING(v < a ? a : v > b ? b : v), OF_X(StrictlyInside(t, x, a, b))}, "y = min(max(x, min_val), max_val); dy = dx where min_val < x < max_val (the ends not included), else 0", {.low = -2, .high = 2, .kinks = {-1, -0.5, 0.75, 1}}, [](double x, Parameters p) { return std::fmin(std::fmax(x, p.a), p.b); }, kEnds}),
    Row({"relu6", {NUMERIC(v < 0 ? decltype(v)(0) : v > 6 ? decltype(v)(6) : v), OF_X(StrictlyInside(t, x, 0, 6))}, "y = min(max(x, 0), 6); dy = dx where 0 < x < 6, else 0", {.low = -4, .high = 9, .kinks = {0, 6}}, [](double x) { return std::fmin(std::fmax(x, 0), 6); }, kNone}),
    Row({"hardsigmoid", {FLOATING(v <= -3 ? decltype(v)(0) : v >= 3 ? decltype(v)(1) : (v + 3) / 6), OF_X(StrictlyInside(t, x, -3, 3) * (1.0 / 6))}, "y = min(max(x + 3, 0), 6) / 6; dy = dx / 6 where -3 < x < 3, else 0", kKinksAtThree, [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }, kNone}),
    Row({"hardswish", {FLOATING(v <= -3 ? decltype(v)(0) : v >= 3 ? v : v * (v + 3) / 6), OF_X(Where(Le(x, Constant(x, -3)), Zero(t), Where(Ge(x, Constant(x, 3)), t, t * (Cut(x, 3) * (1.0 / 3) + 0.5))))}, "y = x min(max(x + 3, 0), 6) / 6; dy = 0 where x <= -3, dx where x >= 3, else (x / 3 + 1 / 2) dx", kKinksAtThree, [](double x) { return x * (std::fmin(std::fmax(x + 3, 0), 6) / 6); }, kNone}),
    Row({"softshrink", {FLOATING(v > a ? v - a : v < -a ? v + a : v != v ? v : decltype(v)(0)), OF_X(Where(Mul(Ge(x, Constant(x, -a)), Le(x, Constant(x, a))), Zero(t), t))}, "y = x - lambd where x > lambd, x + lambd where x < -lambd, else 0; dy = dx where |x| > lambd, else 0", kKinksAtLambda, [](double x, Parameters p) { return x - std::fmin(std::fmax(x, -p.a), p.a); }, kLambdaNotNegative}),
    Row({"hardshrink", {FLOATING(v >= -a && v <= a ? decltype(v)(0) : v), OF_X(Where(Mul(Ge(x, Constant(x, -a)), Le(x, Constant(x, a))), Zero(t), t))}, "y = x where |x| > lambd, else 0; dy = dx where |x| > lambd, else 0", kKinksAtLambda, [](double x, Parameters p) { return std::abs(x) > p.a ? x : 0.0; }, kLambda}),
    Row({"threshold", {FLOATING(v <= a ? b : v), OF_X(Where(Le(x, Constant(x, a)), Zero(t), t))}, "y = x where x > threshold, else value; dy = dx where x > threshold, else 0", {.low = -2, .high = 2, .kinks = {-0.5, 0.5}}, [](double x, Parameters p) { return x > p.a ? x : p.b; }, kThreshold}),
    // clang-format on
};

bool IsTanh(const Attributes& attributes) {
  const auto found = attributes.find("approximate");
  if (found == attributes.end() || std::holds_alternative<std::monostate>(found->second)) {
    return false;
  }
  const auto* text = std::get_if<std::string>(&found->second);
  if (text != nullptr && (*text == "none" || *text == "tanh")) return *text == "tanh";
  ThrowInvalidArgument(absl::StrCat("[gelu] attribute approximate is ",
                                    AttributeToString(found->second),
                                    "; expected \"none\" or \"tanh\""));
}

const Registration kGelu({
    .name = "gelu",
    .formula = "y = x Phi(x), Phi the normal distribution; dy = (Phi(x) + x phi(x)) dx. "
               "approximate=tanh: Phi(x) = (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2",
    .source = "https://arxiv.org/abs/1606.08415",
    .arguments = {{.name = "x", .domain = kWide}},
    .attributes = {{.name = "approximate",
                    .choices = {std::monostate(), std::string("none"), std::string("tanh")}}},
    .build = WithAttributes("gelu", 1, {"approximate"},
                            [](const Attributes& attributes) {
                              static const UnaryOp exact({"gelu", FLOATING(GeluOf(v, false)),
                                                          OF_X(GeluSlope(t, x, false))});
                              static const UnaryOp tanh(
                                  {"gelu", FLOATING(GeluOf(v, true)), OF_X(GeluSlope(t, x, true))});
                              const UnaryOp& op = IsTanh(attributes) ? tanh : exact;
                              return [&op](const Tensors& in) -> Tensors { return {op(in[0])}; };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          if (!IsTanh(attributes)) {
            return ElementwiseReference([](double x) {
              return x * (0.5 + 0.5 * std::erf(x / std::sqrt(2.0)));
            })(inputs, {});
          }
          // (1 + tanh u) / 2 = 1 / (1 + e^(-2u))
          return ElementwiseReference([](double x) {
            return x /
                   (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
          })(inputs, {});
        },
    .error_cases = {{.description = "an approximation that there is not",
                     .inputs = kThree,
                     .attributes = {{"approximate", std::string("sigmoid")}}}},
});

}  // namespace
}  // namespace peelcheck
