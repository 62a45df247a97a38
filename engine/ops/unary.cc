// Elementwise operations of one operand that the engine's own rules use, a row each: kernel, and
// the derivative as a map of a (co)tangent t with y = f(x).
#include <cmath>

#include "engine/ops/elementwise_rows.h"

namespace peelcheck {
namespace {

// 2 / sqrt(pi)
constexpr double kErfSlope = 1.1283791670955126;

template <typename V>
V SignOf(V v) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(v)) return v;
  }
  return static_cast<V>((v > V(0)) - (v < V(0)));
}

// Integers are their own floor.
template <typename V>
V FloorOf(V v) {
  if constexpr (std::is_floating_point_v<V>) return std::floor(v);
  return v;
}

Tensor Zero(const Tensor& like) { return Full({}, 0.0, like.dtype()); }

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

#define PEELCHECK_UNARY(Function, ...)      \
  Tensor Function(const Tensor& input) {    \
    static const UnaryOp op({__VA_ARGS__}); \
    return op(input);                       \
  }

// clang-format off
PEELCHECK_UNARY(Neg,        "neg",        NUMERIC(-v),                     OF_T(-t))
PEELCHECK_UNARY(Abs,        "abs",        NUMERIC(v < 0 ? -v : v + 0),     OF_X(t * Sign(x)))
PEELCHECK_UNARY(Sign,       "sign",       NUMERIC(SignOf(v)))
PEELCHECK_UNARY(Square,     "square",     NUMERIC(v * v),                  OF_X(t * x * 2.0))
PEELCHECK_UNARY(Exp,        "exp",        FLOATING(std::exp(v)),           OF_Y(t * y))
PEELCHECK_UNARY(Expm1,      "expm1",      FLOATING(std::expm1(v)),         OF_Y(t * (y + 1.0)))
PEELCHECK_UNARY(Log,        "log",        FLOATING(std::log(v)),           OF_X(t / x))
PEELCHECK_UNARY(Log1p,      "log1p",      FLOATING(std::log1p(v)),         OF_X(t / (x + 1.0)))
PEELCHECK_UNARY(Sqrt,       "sqrt",       FLOATING(std::sqrt(v)),          OF_Y(t / y * 0.5))
PEELCHECK_UNARY(Rsqrt,      "rsqrt",      FLOATING(1 / std::sqrt(v)),      OF_XY(t * (y / x) * -0.5))
PEELCHECK_UNARY(Reciprocal, "reciprocal", FLOATING(1 / v),                 OF_Y(-(t * (y * y))))
PEELCHECK_UNARY(Sin,        "sin",        FLOATING(std::sin(v)),           OF_X(t * Cos(x)))
PEELCHECK_UNARY(Cos,        "cos",        FLOATING(std::cos(v)),           OF_X(-(t * Sin(x))))
PEELCHECK_UNARY(Tan,        "tan",        FLOATING(std::tan(v)),           OF_Y(t * (y * y + 1.0)))
PEELCHECK_UNARY(Atan,       "atan",       FLOATING(std::atan(v)),          OF_X(t * Reciprocal(x * x + 1.0)))
PEELCHECK_UNARY(Sinh,       "sinh",       FLOATING(std::sinh(v)),          OF_X(t * Cosh(x)))
PEELCHECK_UNARY(Cosh,       "cosh",       FLOATING(std::cosh(v)),          OF_X(t * Sinh(x)))
PEELCHECK_UNARY(Tanh,       "tanh",       FLOATING(std::tanh(v)),          OF_Y(t * (1.0 - y * y)))
PEELCHECK_UNARY(Sigmoid,    "sigmoid",    FLOATING(StableSigmoid(v)),      OF_Y(t * (y * (1.0 - y))))
PEELCHECK_UNARY(Softplus,   "softplus",   FLOATING(StableSoftplus(v)),     OF_X(t * Sigmoid(x)))
PEELCHECK_UNARY(Relu,       "relu",       NUMERIC(v < 0 ? decltype(v)(0) : v), OF_Y(Where(Gt(y, Zero(y)), t, Zero(t))))
PEELCHECK_UNARY(Erf,        "erf",        FLOATING(std::erf(v)),           OF_X(t * Exp(-(x * x)) * kErfSlope))
PEELCHECK_UNARY(Floor,      "floor",      NUMERIC(FloorOf(v)))
// clang-format on

#undef PEELCHECK_UNARY

}  // namespace peelcheck
