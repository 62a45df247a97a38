// opinfo_db/ops/unary.cc: elementwise operations of one operand, one row each.
//
//   Row({"sin", Sin, "y = sin x; dy = cos x dx", {.low = -3, .high = 3}, [](double x) { return
//   std::sin(x); }})
//
// See opinfo_db/elementwise_entry.h. Special functions, roundings, activations and tests of values
// have files of their own.
#include <cmath>
#include <limits>

#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"
#include "opinfo_db/ops/elementwise.h"

namespace peelcheck {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kLn10 = 2.302585092994046;
constexpr double kRadiansPerDegree = 0.017453292519943295;

// Kinks: points without a derivative. Lower ends: clear of the edge of the domain by more than a
// difference step.
const Domain kPlain = {.low = -2, .high = 2};
const Domain kPositive = {.low = 0.2, .high = 3};
const Domain kKinkAtZero = {.low = -2, .high = 2, .kinks = {0}};
const Domain kInsideOne = {.low = -0.9, .high = 0.9};

// In place, but what is overwritten is the operation's own: a check's inputs must stay what they
// are.
Tensor ExpOverClone(const Tensor& x) { return ExpInPlace(Clone(x)); }

// Integers stay integers where the bounds are whole, and absent ones are infinite.
Array ClampKernel(const Array& x, const Parameters& p) {
  const auto fractional = [](double bound) {
    return std::isfinite(bound) && bound != std::floor(bound);
  };
  constexpr auto kClamp = [](auto v, auto low, auto high) {
    const auto raised = v < low ? static_cast<decltype(v)>(low) : v;
    return raised > high ? static_cast<decltype(v)>(high) : raised;
  };
  if (fractional(p.a) || fractional(p.b)) return MapFloating<kClamp>(x, p);
  return MapNumeric<kClamp>(x, p);
}

void RequireABound(const Parameters& p) {
  if (!std::isinf(p.a) || !std::isinf(p.b)) return;
  ThrowInvalidArgument("[clamp] neither min nor max is given; expected one of them at least");
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const RowOptions kClampOptions = {
    .parameters = {{"min", {std::monostate(), -1.0, -0.5}, -kInfinity},
                   {"max", {1.0, 0.75}, kInfinity}},
    .check = RequireABound,
    .error_cases = {{.description = "neither bound", .inputs = {{DType::kF64, {3}}}}},
};

const Registration kRows[] = {
    // clang-format off
    Row({"neg", Neg, "y = -x; dy = -dx", kPlain, [](double x) { return -x; }}),
    Row({"abs", Abs, "y = |x|; dy = sign(x) dx", kKinkAtZero, [](double x) { return x < 0 ? -x : x; }}),
    Row({"sign", Sign, "y = sign(x); dy = 0", kKinkAtZero, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }, {.zero_derivative = true}}),
    Row({"exp", Exp, "y = e^x; dy = y dx", kPlain, [](double x) { return std::exp(x); }}),
    Row({"exp_", ExpOverClone, "y = e^x, written over a clone of x; dy = y dx", kPlain, [](double x) { return std::exp(x); }}),
    Row({"expm1", Expm1, "y = e^x - 1; dy = (y + 1) dx", kPlain, [](double x) { return std::expm1(x); }}),
    Row({"log", Log, "y = ln x; dy = dx / x", kPositive, [](double x) { return std::log(x); }}),
    Row({"log1p", Log1p, "y = ln(1 + x); dy = dx / (1 + x)", {.low = -0.75, .high = 3}, [](double x) { return std::log1p(x); }}),
    Row({"sqrt", Sqrt, "y = x^(1/2); dy = dx / (2 y)", kPositive, [](double x) { return std::sqrt(x); }}),
    Row({"rsqrt", Rsqrt, "y = x^(-1/2); dy = -y^3 / 2 dx", kPositive, [](double x) { return 1 / std::sqrt(x); }}),
    Row({"square", Square, "y = x^2; dy = 2 x dx", kPlain, [](double x) { return x * x; }}),
    Row({"reciprocal", Reciprocal, "y = 1 / x; dy = -y^2 dx", {.low = -3, .high = 3, .kinks = {0}, .margin = 0.3}, [](double x) { return 1 / x; }}),
    Row({"sin", Sin, "y = sin x; dy = cos x dx", {.low = -3, .high = 3}, [](double x) { return std::sin(x); }}),
    Row({"cos", Cos, "y = cos x; dy = -sin x dx", {.low = -3, .high = 3}, [](double x) { return std::cos(x); }}),
    Row({"tan", Tan, "y = tan x; dy = (1 + y^2) dx", {.low = -1.2, .high = 1.2}, [](double x) { return std::tan(x); }}),
    Row({"atan", Atan, "y = arctan x; dy = dx / (1 + x^2)", {.low = -3, .high = 3}, [](double x) { return std::atan(x); }}),
    Row({"sinh", Sinh, "y = sinh x; dy = cosh x dx", kPlain, [](double x) { return std::sinh(x); }}),
    Row({"cosh", Cosh, "y = cosh x; dy = sinh x dx", kPlain, [](double x) { return std::cosh(x); }}),
    Row({"tanh", Tanh, "y = tanh x; dy = (1 - y^2) dx", kPlain, [](double x) { return std::tanh(x); }}),
    Row({"sigmoid", Sigmoid, "y = 1 / (1 + e^-x); dy = y (1 - y) dx", {.low = -3, .high = 3}, [](double x) { return 1 / (1 + std::exp(-x)); }}),
    Row({"clone", Clone, "y = x in new storage; dy = dx", kPlain, [](double x) { return x; }}),
    Row({"exp2", {FLOATING(std::exp2(v)), OF_Y(t * y * kLn2)}, "y = 2^x; dy = y ln 2 dx", kPlain, [](double x) { return std::exp(x * kLn2); }}),
    Row({"log2", {FLOATING(std::log2(v)), OF_X(t / x * (1 / kLn2))}, "y = log_2 x; dy = dx / (x ln 2)", kPositive, [](double x) { return std::log(x) / kLn2; }}),
    Row({"log10", {FLOATING(std::log10(v)), OF_X(t / x * (1 / kLn10))}, "y = log_10 x; dy = dx / (x ln 10)", kPositive, [](double x) { return std::log(x) / kLn10; }}),
    Row({"asin", {FLOATING(std::asin(v)), OF_X(t * Rsqrt((1.0 - x) * (1.0 + x)))}, "y = arcsin x; dy = dx / sqrt(1 - x^2)", kInsideOne, [](double x) { return std::atan2(x, std::sqrt((1 - x) * (1 + x))); }}),
    Row({"acos", {FLOATING(std::acos(v)), OF_X(-(t * Rsqrt((1.0 - x) * (1.0 + x))))}, "y = arccos x; dy = -dx / sqrt(1 - x^2)", kInsideOne, [](double x) { return std::atan2(std::sqrt((1 - x) * (1 + x)), x); }}),
    Row({"asinh", {FLOATING(std::asinh(v)), OF_X(t / Hypot(x, Constant(x, 1)))}, "y = arsinh x; dy = dx / sqrt(x^2 + 1)", {.low = -3, .high = 3}, [](double x) { return std::copysign(std::log1p(std::abs(x) + x * x / (1 + std::sqrt(x * x + 1))), x); }}),
    Row({"acosh", {FLOATING(std::acosh(v)), OF_X(t * (Rsqrt(x - 1.0) * Rsqrt(x + 1.0)))}, "y = arcosh x; dy = dx / sqrt(x^2 - 1)", {.low = 1.3, .high = 4}, [](double x) { return std::log(x + std::sqrt((x - 1) * (x + 1))); }}),
    Row({"atanh", {FLOATING(std::atanh(v)), OF_X(t / ((1.0 - x) * (1.0 + x)))}, "y = artanh x; dy = dx / (1 - x^2)", kInsideOne, [](double x) { return 0.5 * (std::log1p(x) - std::log1p(-x)); }}),
    Row({"deg2rad", {FLOATING(v * decltype(v)(kRadiansPerDegree)), OF_T(t * kRadiansPerDegree)}, "y = pi x / 180; dy = pi dx / 180", {.low = -90, .high = 90}, [](double x) { return x / 180 * std::acos(-1.0); }}),
    Row({"rad2deg", {FLOATING(v * decltype(v)(1 / kRadiansPerDegree)), OF_T(t * (1 / kRadiansPerDegree))}, "y = 180 x / pi; dy = 180 dx / pi", kPlain, [](double x) { return x * 180 / std::acos(-1.0); }}),
    Row({"clamp", {ClampKernel, OF_X(Where(Mul(Ge(x, Constant(x, a)), Le(x, Constant(x, b))), t, Zero(t)))}, "y = min(max(x, min), max); dy = dx where min <= x <= max (the ends included), else 0", {.low = -2, .high = 2, .kinks = {-1, -0.5, 0.75, 1}}, [](double x, Parameters p) { return std::fmin(std::fmax(x, p.a), p.b); }, kClampOptions}),
    // clang-format on
};

}  // namespace
}  // namespace peelcheck
