// opinfo_db/ops/unary.cc: elementwise operations of one operand, one row each.
//
//   Row({"sin", Sin, "y = sin x; dy = cos x dx", {.low = -3, .high = 3}, [](double x) { return
//   std::sin(x); }})
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

struct Unary {
  std::string name;
  Tensor (*call)(const Tensor&);
  std::string formula;
  Domain domain;
  double (*reference)(double);
  bool zero_derivative = false;
};

// A function, so that its caller's line, that of the row, is the entry's.
Registration Row(Unary row, SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = row.name,
          .formula = row.formula,
          .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
          .arguments = {{.name = "x", .shape = "...", .domain = row.domain}},
          .build = Plain(row.name, 1,
                         [call = row.call](const Tensors& in) -> Tensors { return {call(in[0])}; }),
          .reference = ElementwiseReference(std::function<double(double)>(row.reference)),
          .zero_derivative = row.zero_derivative,
      },
      where);
}

// Kinks: points without a derivative. Lower ends: clear of the edge of the domain by more than a
// difference step.
const Domain kPlain = {.low = -2, .high = 2};
const Domain kPositive = {.low = 0.2, .high = 3};
const Domain kKinkAtZero = {.low = -2, .high = 2, .kinks = {0}};
const Domain kIntegersAreKinks = {.low = -2, .high = 2, .kinks = {-2, -1, 0, 1, 2}};

// In place, but what is overwritten is the operation's own: a check's inputs must stay what they
// are.
Tensor ExpOverClone(const Tensor& x) { return ExpInPlace(Clone(x)); }

const Registration kRows[] = {
    // clang-format off
    Row({"neg", Neg, "y = -x; dy = -dx", kPlain, [](double x) { return -x; }}),
    Row({"abs", Abs, "y = |x|; dy = sign(x) dx", kKinkAtZero, [](double x) { return x < 0 ? -x : x; }}),
    Row({"sign", Sign, "y = sign(x); dy = 0", kKinkAtZero, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }, true}),
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
    Row({"softplus", Softplus, "y = ln(1 + e^x); dy = dx / (1 + e^-x)", {.low = -3, .high = 3}, [](double x) { return std::log1p(std::exp(x)); }}),
    Row({"relu", Relu, "y = max(x, 0); dy = dx where x > 0, else 0", kKinkAtZero, [](double x) { return x > 0 ? x : 0.0; }}),
    Row({"erf", Erf, "y = erf x; dy = 2 / sqrt(pi) e^(-x^2) dx", kPlain, [](double x) { return std::erf(x); }}),
    Row({"floor", Floor, "y = largest integer <= x; dy = 0", kIntegersAreKinks, [](double x) { return std::floor(x); }, true}),
    Row({"clone", Clone, "y = x in new storage; dy = dx", kPlain, [](double x) { return x; }}),
    // clang-format on
};

}  // namespace
}  // namespace peelcheck
