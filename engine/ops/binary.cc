// Elementwise operations of two operands: a row each: kernel, and the two partial derivatives as
// maps of a (co)tangent t.
#include <cmath>

#include "engine/ops/elementwise_function.h"

namespace peelcheck {
namespace {

using T = const Tensor&;

// Both operands in the promoted dtype, at least `floor`; bool counts as i64.
template <auto f, DType floor = DType::kI64>
Array MapPromoted(const Array& x, const Array& y) {
  DType dtype = PromoteTypes(PromoteTypes(x.dtype(), y.dtype()), floor);
  const Array a = x.Cast(dtype);
  const Array b = y.Cast(dtype);
  const Shape shape =
      a.shape() == b.shape() ? a.shape() : BroadcastShapes(a.shape(), b.shape(), "broadcast");
  return VisitDType(dtype, [&](auto tag) {
    using V = decltype(tag);
    return MapBinary<V, V>(a, b, shape, [](V v, V w) -> V { return static_cast<V>(f(v, w)); });
  });
}

Tensor Zero(T like) { return Full({}, 0.0, like.dtype()); }

// The share of a (co)tangent that x gets of max(x, y): all, none, or half at a tie.
Tensor WinnerShare(T t, T winner, T other) {
  const Tensor half = Where(Eq(winner, other), t * 0.5, Zero(t));
  return Where(Gt(winner, other), t, half);
}

// x^y by x is y x^(y-1), and 0 at x = y = 0. Elsewhere y = 0 is not masked: its own derivative by y
// is 1/x there.
Tensor PowByBase(T t, T x, T y, T) {
  const Tensor at_origin = To(Mul(Eq(x, Zero(x)), Eq(y, Zero(y))), DType::kBool);
  // The power of a harmless 1 there, or 0 * inf would put a nan in the derivative of this one.
  const Tensor safe = Where(at_origin, Full({}, 1.0, x.dtype()), x);
  return Where(at_origin, Zero(t), t * y * Pow(safe, y - 1.0));
}

// x^y by y is x^y log x; at x = 0 the limit from above, 0, where y >= 0.
Tensor PowByExponent(T t, T x, T y, T z) {
  const Tensor at_zero = To(Mul(Eq(x, Zero(x)), Ge(y, Zero(y))), DType::kBool);
  // log of a harmless 1 there, or 0 * inf would put a nan in the derivative of this one.
  const Tensor safe = Where(at_zero, Full({}, 1.0, x.dtype()), x);
  // In the dtype of z: the logarithm of an integer base would be taken in f32.
  return Where(at_zero, Zero(t), t * z * Log(To(safe, z.dtype())));
}

}  // namespace

#define PEELCHECK_BINARY(Function, name, kernel, by_x, by_y)       \
  Tensor Function(const Tensor& input, const Tensor& other) {      \
    static const BinaryOp op(BinaryRow{name, kernel, by_x, by_y}); \
    return op(input, other);                                       \
  }
#define PEELCHECK_KERNEL(expression) [](auto v, auto w) { return (expression); }
#define PEELCHECK_D(expression) \
  [](T t, T x, T y, T z) -> Tensor { return (void)t, (void)x, (void)y, (void)z, expression; }

// clang-format off
PEELCHECK_BINARY(Add,   "add",   MapPromoted<PEELCHECK_KERNEL(v + w)>,                          PEELCHECK_D(t),              PEELCHECK_D(t))
PEELCHECK_BINARY(Sub,   "sub",   MapPromoted<PEELCHECK_KERNEL(v - w)>,                          PEELCHECK_D(t),              PEELCHECK_D(-t))
PEELCHECK_BINARY(Mul,   "mul",   MapPromoted<PEELCHECK_KERNEL(v * w)>,                          PEELCHECK_D(t * y),          PEELCHECK_D(t * x))
PEELCHECK_BINARY(Div,   "div",   (MapPromoted<PEELCHECK_KERNEL(v / w), DType::kF32>),           PEELCHECK_D(t / y),          PEELCHECK_D(-(t * z / y)))
PEELCHECK_BINARY(Pow,   "pow",   MapPromoted<PEELCHECK_KERNEL(std::pow(v, w))>,                 PowByBase,                   PowByExponent)
PEELCHECK_BINARY(Atan2, "atan2", (MapPromoted<PEELCHECK_KERNEL(std::atan2(v, w)), DType::kF32>), PEELCHECK_D(t * y / (x * x + y * y)), PEELCHECK_D(-(t * x / (x * x + y * y))))
PEELCHECK_BINARY(Maximum, "maximum", MapPromoted<PEELCHECK_KERNEL((v != v || v > w ? v : w))>,    PEELCHECK_D(WinnerShare(t, x, y)), PEELCHECK_D(WinnerShare(t, y, x)))
PEELCHECK_BINARY(Minimum, "minimum", MapPromoted<PEELCHECK_KERNEL((v != v || v < w ? v : w))>,    PEELCHECK_D(WinnerShare(t, -x, -y)), PEELCHECK_D(WinnerShare(t, -y, -x)))
// clang-format on

#undef PEELCHECK_BINARY
#undef PEELCHECK_KERNEL
#undef PEELCHECK_D

}  // namespace peelcheck
