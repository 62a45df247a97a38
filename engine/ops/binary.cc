// Elementwise operations of two operands that the engine's own rules use, a row each: kernel, and
// the two partial derivatives as maps of a (co)tangent t with z = f(x, y).
#include <cmath>

#include "engine/ops/elementwise_rows.h"

namespace peelcheck {
namespace {

using T = const Tensor&;

// x^y of integers by repeated squaring, exact where it fits; a negative power is 0, but for a base
// of 1 or -1.
int64_t IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  // Unsigned, because overflow wraps there.
  uint64_t result = 1, power = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result *= power;
    power *= power;
  }
  return static_cast<int64_t>(result);
}

template <typename V>
V PowerOf(V base, V exponent) {
  if constexpr (std::is_floating_point_v<V>) return std::pow(base, exponent);
  return static_cast<V>(IntegerPower(static_cast<int64_t>(base), static_cast<int64_t>(exponent)));
}

Array SubKernel(const Array& x, const Array& y, const Shape& shape) {
  if (x.dtype() == DType::kBool && y.dtype() == DType::kBool) {
    ThrowInvalidArgument(
        "[sub] both operands are bool; expected a number on one side; use logical_xor, or cast");
  }
  return MapPromoted<[](auto v, auto w) { return v - w; }>(x, y, shape);
}

Tensor Zero(T like) { return Full({}, 0.0, like.dtype()); }

// The share of a (co)tangent that x gets of max(x, y): all, none, or half at a tie.
Tensor WinnerShare(T t, T winner, T other) {
  const Tensor half = Where(Eq(winner, other), t * 0.5, Zero(t));
  return Where(Gt(winner, other), t, half);
}

// x^y by x is y x^(y-1), and 0 at x = y = 0. Elsewhere y = 0 is not masked: its own derivative by y
// is 1/x there.
Tensor PowByBase(T t, T x, T y) {
  const Tensor at_origin = Mul(Eq(x, Zero(x)), Eq(y, Zero(y)));
  // The power of a harmless 1 there, or 0 * inf would put a nan in the derivative of this one.
  const Tensor safe = Where(at_origin, Full({}, 1.0, x.dtype()), x);
  return Where(at_origin, Zero(t), t * y * Pow(safe, y - 1.0));
}

// x^y by y is x^y log x; at x = 0 the limit from above, 0, where y >= 0.
Tensor PowByExponent(T t, T x, T y, T z) {
  const Tensor at_zero = Mul(Eq(x, Zero(x)), Ge(y, Zero(y)));
  // log of a harmless 1 there, or 0 * inf would put a nan in the derivative of this one.
  const Tensor safe = Where(at_zero, Full({}, 1.0, x.dtype()), x);
  return Where(at_zero, Zero(t), t * z * Log(safe));
}

// The angle of (x, y) by y is x / (x^2 + y^2); here `y` comes first, as in the call. Divided by
// the larger of the two before anything is squared, or 1e200 would overflow. The quotient does not
// depend on the divisor, so its derivatives do not either.
Tensor Atan2ByY(T t, T y, T x) {
  const Tensor scale = Detach(Maximum(Abs(x), Abs(y)));
  const Tensor x_scaled = x / scale, y_scaled = y / scale;
  return t * (x_scaled / (x_scaled * x_scaled + y_scaled * y_scaled)) / scale;
}

}  // namespace

#define PEELCHECK_BINARY(Function, ...)                       \
  Tensor Function(const Tensor& input, const Tensor& other) { \
    static const BinaryOp op({__VA_ARGS__});                  \
    return op(input, other);                                  \
  }

// clang-format off
PEELCHECK_BINARY(Add,     "add",     PROMOTED_KEEP_BOOL(v + w),            BY_T(t),                       BY_T(t))
PEELCHECK_BINARY(Sub,     "sub",     SubKernel,                            BY_T(t),                       BY_T(-t))
PEELCHECK_BINARY(Mul,     "mul",     PROMOTED_KEEP_BOOL(v * w),            BY_Y(t * y),                   BY_X(t * x))
PEELCHECK_BINARY(Div,     "div",     PROMOTED_FLOATING(v / w),             BY_Y(t / y),                   BY_YZ(-(t * z / y)))
PEELCHECK_BINARY(Pow,     "pow",     PROMOTED(PowerOf(v, w)),              BY_XY(PowByBase(t, x, y)),     BY_XYZ(PowByExponent(t, x, y, z)))
PEELCHECK_BINARY(Atan2,   "atan2",   PROMOTED_FLOATING(std::atan2(v, w)),  BY_XY(Atan2ByY(t, x, y)),      BY_XY(-Atan2ByY(t, y, x)))
PEELCHECK_BINARY(Maximum, "maximum", PROMOTED_KEEP_BOOL(v != v || v > w ? v : w), BY_XY(WinnerShare(t, x, y)),   BY_XY(WinnerShare(t, y, x)))
PEELCHECK_BINARY(Minimum, "minimum", PROMOTED_KEEP_BOOL(v != v || v < w ? v : w), BY_XY(WinnerShare(t, -x, -y)), BY_XY(WinnerShare(t, -y, -x)))
// clang-format on

#undef PEELCHECK_BINARY

}  // namespace peelcheck
