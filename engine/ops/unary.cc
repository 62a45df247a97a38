// Elementwise operations of one operand: a row each: kernel, and derivative as a formula in x and y
// = f(x).
#include <cmath>

#include "engine/ops/elementwise_function.h"

namespace peelcheck {
namespace {

using T = const Tensor&;

// 2 / sqrt(pi)
constexpr double kErfSlope = 1.1283791670955126;

template <typename V>
V SignOf(V v) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(v)) return v;
  }
  return static_cast<V>((v > V(0)) - (v < V(0)));
}

template <typename V>
V StableSoftplus(V v) {
  return std::max(v, V(0)) + std::log1p(std::exp(-std::abs(v)));
}

template <typename V>
V StableSigmoid(V v) {
  if (v >= V(0)) return V(1) / (V(1) + std::exp(-v));
  const V e = std::exp(v);
  return e / (V(1) + e);
}

}  // namespace

#define PEELCHECK_UNARY(Function, name, kernel, derivative)      \
  Tensor Function(const Tensor& input) {                         \
    static const UnaryOp op(UnaryRow{name, kernel, derivative}); \
    return op(input);                                            \
  }
#define PEELCHECK_KERNEL(expression) [](auto v) { return expression; }
#define PEELCHECK_D(expression) [](T x, T y) -> Tensor { return (void)x, (void)y, expression; }

// clang-format off
PEELCHECK_UNARY(Neg,        "neg",        MapNumeric<PEELCHECK_KERNEL(-v)>,                    PEELCHECK_D(Full({}, -1.0, x.dtype())))
PEELCHECK_UNARY(Abs,        "abs",        MapNumeric<PEELCHECK_KERNEL(v < 0 ? -v : v + 0)>,    PEELCHECK_D(Sign(x)))
PEELCHECK_UNARY(Sign,       "sign",       MapNumeric<PEELCHECK_KERNEL(SignOf(v))>,             nullptr)
PEELCHECK_UNARY(Square,     "square",     MapNumeric<PEELCHECK_KERNEL(v * v)>,                 PEELCHECK_D(x * 2.0))
PEELCHECK_UNARY(Exp,        "exp",        MapFloating<PEELCHECK_KERNEL(std::exp(v))>,          PEELCHECK_D(y))
PEELCHECK_UNARY(Expm1,      "expm1",      MapFloating<PEELCHECK_KERNEL(std::expm1(v))>,        PEELCHECK_D(y + 1.0))
PEELCHECK_UNARY(Log,        "log",        MapFloating<PEELCHECK_KERNEL(std::log(v))>,          PEELCHECK_D(Reciprocal(x)))
PEELCHECK_UNARY(Log1p,      "log1p",      MapFloating<PEELCHECK_KERNEL(std::log1p(v))>,        PEELCHECK_D(Reciprocal(x + 1.0)))
PEELCHECK_UNARY(Sqrt,       "sqrt",       MapFloating<PEELCHECK_KERNEL(std::sqrt(v))>,         PEELCHECK_D(Reciprocal(y) * 0.5))
PEELCHECK_UNARY(Rsqrt,      "rsqrt",      MapFloating<PEELCHECK_KERNEL(1 / std::sqrt(v))>,     PEELCHECK_D(y / x * -0.5))
PEELCHECK_UNARY(Reciprocal, "reciprocal", MapFloating<PEELCHECK_KERNEL(1 / v)>,                PEELCHECK_D(-(y * y)))
PEELCHECK_UNARY(Sin,        "sin",        MapFloating<PEELCHECK_KERNEL(std::sin(v))>,          PEELCHECK_D(Cos(x)))
PEELCHECK_UNARY(Cos,        "cos",        MapFloating<PEELCHECK_KERNEL(std::cos(v))>,          PEELCHECK_D(-Sin(x)))
PEELCHECK_UNARY(Tan,        "tan",        MapFloating<PEELCHECK_KERNEL(std::tan(v))>,          PEELCHECK_D(y * y + 1.0))
PEELCHECK_UNARY(Atan,       "atan",       MapFloating<PEELCHECK_KERNEL(std::atan(v))>,         PEELCHECK_D(Reciprocal(x * x + 1.0)))
PEELCHECK_UNARY(Sinh,       "sinh",       MapFloating<PEELCHECK_KERNEL(std::sinh(v))>,         PEELCHECK_D(Cosh(x)))
PEELCHECK_UNARY(Cosh,       "cosh",       MapFloating<PEELCHECK_KERNEL(std::cosh(v))>,         PEELCHECK_D(Sinh(x)))
PEELCHECK_UNARY(Tanh,       "tanh",       MapFloating<PEELCHECK_KERNEL(std::tanh(v))>,         PEELCHECK_D(1.0 - y * y))
PEELCHECK_UNARY(Sigmoid,    "sigmoid",    MapFloating<PEELCHECK_KERNEL(StableSigmoid(v))>,     PEELCHECK_D(y * (1.0 - y)))
PEELCHECK_UNARY(Softplus,   "softplus",   MapFloating<PEELCHECK_KERNEL(StableSoftplus(v))>,    PEELCHECK_D(Sigmoid(x)))
PEELCHECK_UNARY(Relu,       "relu",       MapNumeric<PEELCHECK_KERNEL(v < 0 ? decltype(v)(0) : v)>, PEELCHECK_D(To(Gt(x, Full({}, 0.0, x.dtype())), x.dtype())))
PEELCHECK_UNARY(Erf,        "erf",        MapFloating<PEELCHECK_KERNEL(std::erf(v))>,          PEELCHECK_D(Exp(-(x * x)) * kErfSlope))
PEELCHECK_UNARY(Floor,      "floor",      MapFloating<PEELCHECK_KERNEL(std::floor(v))>,        nullptr)
// clang-format on

#undef PEELCHECK_UNARY
#undef PEELCHECK_KERNEL
#undef PEELCHECK_D

}  // namespace peelcheck
