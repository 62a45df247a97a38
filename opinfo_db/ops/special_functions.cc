// opinfo_db/ops/special_functions.cc: error and gamma functions, sinc, logit: one row each.
//
// Kernels of the gamma family and of the inverse error function are Boost.Math's; the references
// are libm's, an asymptotic series, or a bisection.
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <cmath>
#include <limits>

#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/elementwise.h"

namespace peelcheck {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr double kErfSlope = 1.1283791670955126;         // 2 / sqrt(pi)
constexpr double kInverseErfSlope = 0.8862269254527580;  // sqrt(pi) / 2
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

namespace policies = boost::math::policies;
using NoThrow = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;

bool IsPole(double x) { return x <= 0 && x == std::floor(x); }

double LogGammaOf(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x) || IsPole(x)) return kInfinity;
  return boost::math::lgamma(x, NoThrow());
}

// psi^(order). At a pole: order 0 goes to -inf from above at 0 and is nan at the others, which it
// reaches from both sides with different signs; so does an even order; an odd one is inf.
double PolygammaOf(double x, int order) {
  if (std::isnan(x)) return x;
  if (x == -kInfinity) return order == 0 ? kNan : order % 2 == 1 ? kInfinity : -kInfinity;
  if (x == kInfinity) return order == 0 ? kInfinity : order % 2 == 1 ? 0.0 : -0.0;
  if (order == 0) {
    if (x == 0) return std::copysign(kInfinity, -x);
    return IsPole(x) ? kNan : boost::math::digamma(x, NoThrow());
  }
  if (IsPole(x)) return order % 2 == 1 ? kInfinity : -kInfinity;
  return boost::math::polygamma(order, x, NoThrow());
}

double InverseErfOf(double y) {
  if (!(std::abs(y) <= 1)) return kNan;
  if (std::abs(y) == 1) return std::copysign(kInfinity, y);
  return boost::math::erf_inv(y, NoThrow());
}

// The derivative of that order of sin(u) / u. By its own recurrence u s_n = sin(u + n pi/2) - n
// s_{n-1} where that is stable, by the series around 0 elsewhere, so that nothing is divided by 0.
double SincDerivativeOf(double u, int order) {
  if (std::isinf(u)) return 0;
  if (std::abs(u) >= std::max(2, order)) {
    double s = std::sin(u) / u;
    for (int n = 1; n <= order; ++n) s = (std::sin(u + n * kPi / 2) - n * s) / u;
    return s;
  }
  // sum over k of (-1)^k u^(2k - n) / ((2k + 1) (2k - n)!)
  const int first = (order + 1) / 2;
  double power = order % 2 == 0 ? 1 : u;  // u^(2k - n) / (2k - n)!
  double sum = 0;
  for (int k = first; k < first + 20 + order; ++k) {
    sum += (k % 2 == 0 ? 1 : -1) * power / (2 * k + 1);
    const double next = 2 * k - order;
    power *= u * u / ((next + 1) * (next + 2));
  }
  return sum;
}

// -- what derivatives are made of: each family is closed under differentiation
// ---------------------

Tensor Polygamma(const Tensor& input, double order) {
  return UnaryOp(
      {"polygamma", FLOATING(PolygammaOf(v, static_cast<int>(a))), OF_X(t * Polygamma(x, a + 1))},
      {.a = order})(input);
}

Tensor SincDerivative(const Tensor& input, double order) {
  return UnaryOp(
      {"sinc", FLOATING(std::pow(kPi, a) * SincDerivativeOf(kPi * v, static_cast<int>(a))),
       OF_X(t * SincDerivative(x, a + 1))},
      {.a = order})(input);
}

Tensor Sinc(const Tensor& x) { return SincDerivative(x, 0); }

// -- references
// --------------------------------------------------------------------------------------

// psi^(order)(x) for x > 0: up to x >= 30 by the recurrence, there by the asymptotic series.
// https://dlmf.nist.gov/5.15 and 5.11.2
double PolygammaBySeries(double at, int order) {
  const long double bernoulli[] = {1.0L / 6,  -1.0L / 30,     1.0L / 42, -1.0L / 30,
                                   5.0L / 66, -691.0L / 2730, 7.0L / 6,  -3617.0L / 510};
  const auto factorial = [](int n) { return std::tgamma(static_cast<long double>(n) + 1); };
  const long double sign = order % 2 == 0 ? -1 : 1;  // of psi^(order) for order >= 1
  long double x = at, shifted = 0;
  for (; x < 30; x += 1) shifted += factorial(order) / std::pow(x, order + 1.0L);
  long double sum = order == 0
                        ? -(std::log(x) - 1 / (2 * x))
                        : factorial(order - 1) / std::pow(x, static_cast<long double>(order)) +
                              factorial(order) / (2 * std::pow(x, order + 1.0L));
  for (int k = 1; k <= 8; ++k) {
    sum += bernoulli[k - 1] * factorial(2 * k + order - 1) / factorial(2 * k) /
           std::pow(x, 2.0L * k + order);
  }
  return static_cast<double>(sign * (sum + shifted));
}

double InverseErfByBisection(double y) {
  long double low = -6, high = 6;
  for (int i = 0; i < 80; ++i) {
    const long double middle = (low + high) / 2;
    (std::erf(middle) < y ? low : high) = middle;
  }
  return static_cast<double>((low + high) / 2);
}

double SincReference(double x) {
  const long double u = 3.14159265358979323846264338L * x;
  return x == 0 ? 1.0 : static_cast<double>(std::sin(u) / u);
}

// -- rows
// ----------------------------------------------------------------------------------------------

const Domain kPlain = {.low = -2, .high = 2};
const Domain kPositive = {.low = 0.4, .high = 4};
const RowOptions kEps = {.parameters = {{"eps", {std::monostate(), 0.25}, -1.0}}};

// Absent eps is -1: no ends.
Tensor LogitSlope(const Tensor& t, const Tensor& x, double eps) {
  const Tensor slope = t / (x * (1.0 - x));
  if (eps < 0) return slope;
  const Tensor inside = Mul(Ge(x, Constant(x, eps)), Le(x, Constant(x, 1 - eps)));
  return Where(inside, slope, Zero(t));
}

template <typename V>
V LogitOf(V v, V eps) {
  if (eps >= 0 && v < eps) v = eps;
  if (eps >= 0 && v > 1 - eps) v = 1 - eps;
  return std::log(v / (1 - v));
}

const Registration kRows[] = {
    // clang-format off
    Row({"erf", Erf, "y = erf x; dy = 2 / sqrt(pi) e^(-x^2) dx", kPlain, [](double x) { return boost::math::erf(x, NoThrow()); }}),
    Row({"erfc", Erfc, "y = 1 - erf x; dy = -2 / sqrt(pi) e^(-x^2) dx", kPlain, [](double x) { return boost::math::erfc(x, NoThrow()); }}),
    Row({"erfinv", {FLOATING(InverseErfOf(v)), OF_Y(t * Exp(y * y) * kInverseErfSlope)}, "y: erf y = x; dy = sqrt(pi) / 2 e^(y^2) dx", {.low = -0.9, .high = 0.9}, InverseErfByBisection}),
    Row({"lgamma", {FLOATING(LogGammaOf(v)), OF_X(t * Polygamma(x, 0))}, "y = ln |Gamma(x)|; dy = psi(x) dx", kPositive, [](double x) { return std::log(std::abs(std::tgamma(x))); }}),
    Row({"digamma", {FLOATING(PolygammaOf(v, 0)), OF_X(t * Polygamma(x, 1))}, "y = psi(x) = d ln Gamma(x) / dx; dy = psi'(x) dx", kPositive, [](double x) { return PolygammaBySeries(x, 0); }}),
    Row({"sinc", Sinc, "y = sin(pi x) / (pi x), 1 at 0; dy = (cos(pi x) - y) / x dx, 0 at 0", kPlain, SincReference}),
    Row({"logit", {FLOATING(LogitOf(v, a)), OF_X(LogitSlope(t, x, a))}, "y = ln(z / (1 - z)) with z = x, or x cut at eps and 1 - eps; dy = dx / (x (1 - x)) where it is not cut, else 0", {.low = 0.1, .high = 0.9, .kinks = {0.25, 0.75}, .margin = 0.07}, [](double x, Parameters p) { const double z = p.a < 0 ? x : std::fmin(std::fmax(x, p.a), 1 - p.a); return std::log(z) - std::log1p(-z); }, kEps}),
    // clang-format on
};

int64_t OrderOf(const Attributes& attributes) {
  const int64_t order = RequireInt(attributes, "n", "polygamma");
  if (order >= 0) return order;
  ThrowInvalidArgument(absl::StrCat("[polygamma] n=", order, "; expected 0 or more"));
}

const Registration kPolygamma({
    .name = "polygamma",
    .formula = "y = psi^(n)(x), the n-th derivative of digamma; dy = psi^(n + 1)(x) dx",
    .source = "https://pytorch.org/docs/stable/special.html#torch.special.polygamma",
    .arguments = {{.name = "x", .domain = kPositive}},
    .attributes = {{.name = "n", .choices = {1, 0, 2, 3}}},
    .build = WithAttributes("polygamma", 1, {"n"},
                            [](const Attributes& attributes) {
                              const auto order = static_cast<double>(OrderOf(attributes));
                              return [order](const Tensors& in) -> Tensors {
                                return {Polygamma(in[0], order)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const auto order = static_cast<int>(OrderOf(attributes));
          return ElementwiseReference([order](double x) { return PolygammaBySeries(x, order); })(
              inputs, {});
        },
    .error_cases = {{.description = "a negative order",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"n", -1}}},
                    {.description = "no order", .inputs = {{DType::kF64, {3}}}}},
});

}  // namespace

Tensor Erfc(const Tensor& input) {
  static const UnaryOp op({"erfc", FLOATING(std::erfc(v)), OF_X(t * Exp(-(x * x)) * -kErfSlope)});
  return op(input);
}

}  // namespace peelcheck
