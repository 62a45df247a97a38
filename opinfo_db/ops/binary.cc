// opinfo_db/ops/binary.cc: elementwise operations of two operands that broadcast, one row each.
//
//   Row({"mul", Mul, "z = x y; dz = y dx + x dy", kPlain, kPlain, [](double x, double y) { return x
//   * y; }})
#include <cmath>

#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/elementwise.h"

namespace peelcheck {
namespace {

const Domain kPlain = {.low = -2, .high = 2};
// Both operands together hold no value twice: no ties.
const Domain kNoTies = {.low = -50, .high = 50, .margin = 0.05, .distinct = true};

std::vector<Argument> Operands(const std::string& x, const Domain& x_domain, const std::string& y,
                               const Domain& y_domain) {
  return {{.name = x, .shape = "~", .domain = x_domain},
          {.name = y, .shape = "~", .domain = y_domain}};
}

using T = const Tensor&;

constexpr double kLn2 = 0.6931471805599453;

template <typename V>
void RequireDivisor(V w, const char* name) {
  if (w == 0) {
    ThrowInvalidArgument(std::string("[") + name +
                         "] an integer is divided by zero; expected a divisor other than 0");
  }
}

// The rest of v / w rounded towards 0: it has the sign of v.
template <typename V>
V FmodOf(V v, V w) {
  if constexpr (std::is_floating_point_v<V>) {
    return std::fmod(v, w);
  } else {
    RequireDivisor(w, "fmod");
    // The quotient of the lowest integer by -1 does not fit.
    return static_cast<int64_t>(w) == -1 ? V(0) : static_cast<V>(v % w);
  }
}

// The rest of v / w rounded down: it has the sign of w.
template <typename V>
V RemainderOf(V v, V w) {
  if constexpr (!std::is_floating_point_v<V>) RequireDivisor(w, "remainder");
  const V rest = FmodOf(v, w);
  return rest != 0 && (rest < 0) != (w < 0) ? static_cast<V>(rest + w) : rest;
}

template <typename V>
V FloorDivideOf(V v, V w) {
  if constexpr (std::is_floating_point_v<V>) {
    if (w == 0) return v / w;
    // v - rest is a multiple of w, so the quotient is off an integer by rounding alone.
    const V rest = std::fmod(v, w);
    const V rounded_to_zero = std::nearbyint((v - rest) / w);
    return rest != 0 && (rest < 0) != (w < 0) ? rounded_to_zero - 1 : rounded_to_zero;
  } else {
    RequireDivisor(w, "floor_divide");
    if (static_cast<int64_t>(w) == -1) return static_cast<V>(0 - static_cast<uint64_t>(v));
    return static_cast<V>((v - RemainderOf(v, w)) / w);
  }
}

// log(base^v + base^w) with `log1p_of` = log(1 + base^d) for d <= 0; infinities of one sign stay.
template <typename V, typename F>
V LogAddOf(V v, V w, F log1p_of) {
  if (std::isinf(v) && v == w) return v;
  return (v > w ? v : w) + log1p_of(-std::abs(v - w));
}
template <typename V>
V LogAddExpOf(V v, V w) {
  if (std::isnan(v)) return v;
  return LogAddOf(v, w, [](V d) { return std::log1p(std::exp(d)); });
}
template <typename V>
V LogAddExp2Of(V v, V w) {
  if (std::isnan(v)) return v;
  return LogAddOf(v, w, [](V d) { return std::log1p(std::exp2(d)) * V(1 / kLn2); });
}

// v log(w) with 0 log(anything but nan) = 0.
template <typename V, typename L>
V XLogOf(V v, V w, L log) {
  return v == 0 && !std::isnan(w) ? V(0) : static_cast<V>(v * log);
}

// x - y, but 0 between equal infinities.
Tensor FiniteDifference(T x, T y) {
  const Tensor same = Mul(Eq(x, y), IsInf(x));
  return Where(same, Zero(x), x - y);
}

// x / hypot(x, y), 0 at the origin.
Tensor HypotShare(T t, T x, T z) {
  const Tensor at_origin = Eq(z, Zero(z));
  return Where(at_origin, Zero(t), t * (x / Where(at_origin, Constant(z, 1), z)));
}

// All of the (co)tangent where x wins a tie and against nan, none elsewhere.
Tensor FirstWins(T t, T x, T y, T x_is_at_least_y) {
  const Tensor wins = Mul(Add(x_is_at_least_y, IsNan(y)), Eq(x, x));
  return Where(wins, t, Zero(t));
}
Tensor SecondWins(T t, T x, T y, T x_is_at_least_y) {
  const Tensor wins = Mul(Add(x_is_at_least_y, IsNan(y)), Eq(x, x));
  return Where(wins, Zero(t), t);
}

// x log(y) by x is log(y), but 0 at x = 0 where y has no finite logarithm.
Tensor XLogByX(T t, T x, T y, Tensor (*log)(const Tensor&), double pole) {
  const Tensor masked = Mul(Eq(x, Zero(x)), Le(y, Constant(y, pole)));
  return Where(masked, Zero(t), t * log(Where(masked, Constant(y, 1), y)));
}
Tensor XLogByY(T t, T x, T y, double pole) {
  const Tensor masked = Mul(Eq(x, Zero(x)), Eq(y, Constant(y, pole)));
  const Tensor distance = y - pole;
  return Where(masked, Zero(t), t * (x / Where(masked, Constant(y, 1), distance)));
}

const BinaryOp& FloorDivideOp() {
  static const BinaryOp op({"floor_divide", PROMOTED(FloorDivideOf(v, w))});
  return op;
}
Tensor FloorDivide(const Tensor& x, const Tensor& y) { return FloorDivideOp()(x, y); }
// The quotient rounded towards 0.
Tensor TruncDivide(const Tensor& x, const Tensor& y) {
  const Tensor quotient = x / y;
  return Sign(quotient) * Floor(Abs(quotient));
}
// The derivative of |x| by x, with the sign of y.
Tensor CopySign(const Tensor& size, const Tensor& sign) {
  static const BinaryOp op({"copysign", PROMOTED_FLOATING(std::copysign(v, w)),
                            BY_XY(t * (Sign(x) * CopySign(Constant(x, 1), y))), Partial{}});
  return op(size, sign);
}

// x / y stays 0.3 away from the integers: x stays 0.6 away from the multiples of 2, and y is
// near 2.
const Domain kDividend = {.low = -6, .high = 6, .kinks = {-6, -4, -2, 0, 2, 4, 6}, .margin = 0.6};
const Domain kDivisor = {.low = 1.9, .high = 2.1};
const Domain kOffZero = {.low = -2, .high = 2, .kinks = {0}, .margin = 0.2};

const Registration kRows[] = {
    // clang-format off
    Row({"mul", Mul, "z = x y; dz = y dx + x dy", kPlain, kPlain, [](double x, double y) { return x * y; }}),
    Row({"div", Div, "z = x / y; dz = (dx - z dy) / y", kPlain, {.low = -3, .high = 3, .kinks = {0}, .margin = 0.3}, [](double x, double y) { return x / y; }}),
    Row({"pow", Pow, "z = x^y; dz = y x^(y-1) dx + z ln(x) dy", {.low = 0.2, .high = 2.5}, kPlain, [](double x, double y) { return std::pow(x, y); }}),
    Row({"maximum", Maximum, "z = max(x, y); dz = dx where x > y, else dy", kNoTies, kNoTies, [](double x, double y) { return x > y ? x : y; }}),
    Row({"minimum", Minimum, "z = min(x, y); dz = dx where x < y, else dy", kNoTies, kNoTies, [](double x, double y) { return x < y ? x : y; }}),
    Row({"atan2", Atan2, "z = angle of the point (x, y); dz = (x dy - y dx) / (x^2 + y^2)", {.low = -2, .high = 2, .kinks = {0}, .margin = 0.2}, {.low = 0.3, .high = 2}, [](double y, double x) { return std::atan2(y, x); }}),
    Row({"fmax", {PROMOTED_KEEP_BOOL(v != v || w > v ? w : v), BY_XY(FirstWins(t, x, y, Ge(x, y))), BY_XY(SecondWins(t, x, y, Ge(x, y)))}, "z = max(x, y), of a number and nan the number; dz = dx where x >= y or y is nan, else dy", kNoTies, kNoTies, [](double x, double y) { return std::fmax(x, y); }}),
    Row({"fmin", {PROMOTED_KEEP_BOOL(v != v || w < v ? w : v), BY_XY(FirstWins(t, x, y, Le(x, y))), BY_XY(SecondWins(t, x, y, Le(x, y)))}, "z = min(x, y), of a number and nan the number; dz = dx where x <= y or y is nan, else dy", kNoTies, kNoTies, [](double x, double y) { return std::fmin(x, y); }}),
    Row({"hypot", Hypot, "z = sqrt(x^2 + y^2); dz = (x dx + y dy) / z, 0 at the origin", kOffZero, {.low = 0.3, .high = 2}, [](double x, double y) { return std::sqrt(x * x + y * y); }}),
    Row({"remainder", {PROMOTED(RemainderOf(v, w)), BY_T(t), BY_XY(-(t * FloorDivide(x, y)))}, "z = x - floor(x / y) y; dz = dx - floor(x / y) dy", kDividend, kDivisor, [](double x, double y) { return x - std::floor(x / y) * y; }}),
    Row({"fmod", {PROMOTED(FmodOf(v, w)), BY_T(t), BY_XY(-(t * TruncDivide(x, y)))}, "z = x - trunc(x / y) y; dz = dx - trunc(x / y) dy", kDividend, kDivisor, [](double x, double y) { return x - std::trunc(x / y) * y; }}),
    Row({"floor_divide", FloorDivide, "z = floor(x / y); dz = 0", kDividend, kDivisor, [](double x, double y) { return std::floor(x / y); }, {.zero_derivative = true}}),
    Row({"copysign", CopySign, "z = |x| with the sign of y; dz = sign(x) sign(y) dx, 0 at x = 0", kOffZero, kOffZero, [](double x, double y) { return std::signbit(y) ? -std::abs(x) : std::abs(x); }}),
    Row({"logaddexp", {PROMOTED_FLOATING(LogAddExpOf(v, w)), BY_XY(t * Sigmoid(FiniteDifference(x, y))), BY_XY(t * Sigmoid(FiniteDifference(y, x)))}, "z = ln(e^x + e^y); dz = (e^x dx + e^y dy) / e^z, halves between equal infinities", kPlain, kPlain, [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); }}),
    Row({"logaddexp2", {PROMOTED_FLOATING(LogAddExp2Of(v, w)), BY_XY(t * Sigmoid(FiniteDifference(x, y) * kLn2)), BY_XY(t * Sigmoid(FiniteDifference(y, x) * kLn2))}, "z = log_2(2^x + 2^y); dz = (2^x dx + 2^y dy) / 2^z, halves between equal infinities", kPlain, kPlain, [](double x, double y) { return std::log2(std::exp2(x) + std::exp2(y)); }}),
    Row({"xlogy", {PROMOTED_FLOATING(XLogOf(v, w, std::log(w))), BY_XY(XLogByX(t, x, y, Log, 0)), BY_XY(XLogByY(t, x, y, 0))}, "z = x ln y, 0 at x = 0; dz = ln y dx + x / y dy, 0 at x = 0 where y <= 0", kPlain, {.low = 0.2, .high = 3}, [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }}),
    Row({"xlog1py", {PROMOTED_FLOATING(XLogOf(v, w, std::log1p(w))), BY_XY(XLogByX(t, x, y, Log1p, -1)), BY_XY(XLogByY(t, x, y, -1))}, "z = x ln(1 + y), 0 at x = 0; dz = ln(1 + y) dx + x / (1 + y) dy, 0 at x = 0 where y <= -1", kPlain, {.low = -0.75, .high = 3}, [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }, {.source = "https://pytorch.org/docs/stable/special.html#torch.special.xlog1py"}}),
    // clang-format on
};

// add and sub take PyTorch's `alpha`: z = x + alpha y.
Registration AddLike(const std::string& name, double sign,
                     SourceLocation where = SourceLocation::Current()) {
  const std::string op = sign > 0 ? "+" : "-";
  return Registration(
      {
          .name = name,
          .formula = "z = x " + op + " alpha y; dz = dx " + op + " alpha dy",
          .source = "https://pytorch.org/docs/stable/generated/torch." + name + ".html",
          .arguments = Operands("x", kPlain, "y", kPlain),
          .attributes = {{.name = "alpha", .choices = {std::monostate(), 1.0, 2.5, -0.5}}},
          .build = WithAttributes(name, 2, {"alpha"},
                                  [name, sign](const Attributes& attributes) {
                                    const double alpha = GetDouble(attributes, "alpha", 1, name);
                                    return [sign, alpha](const Tensors& in) -> Tensors {
                                      const Tensor y = alpha == 1 ? in[1] : in[1] * alpha;
                                      return {sign > 0 ? Add(in[0], y) : Sub(in[0], y)};
                                    };
                                  }),
          .reference =
              [name, sign](std::span<const Array> inputs, const Attributes& attributes) {
                const double factor = sign * GetDouble(attributes, "alpha", 1, name);
                return ElementwiseReference(
                    [factor](double x, double y) { return x + factor * y; })(inputs, attributes);
              },
          .error_cases = ShapesThatDoNotBroadcast(),
      },
      where);
}

const Registration kAdd = AddLike("add", 1);
const Registration kSub = AddLike("sub", -1);

}  // namespace

Tensor Hypot(const Tensor& first, const Tensor& second) {
  static const BinaryOp op({"hypot", PROMOTED_FLOATING(std::hypot(v, w)),
                            BY_XZ(HypotShare(t, x, z)), BY_YZ(HypotShare(t, y, z))});
  return op(first, second);
}

}  // namespace peelcheck
