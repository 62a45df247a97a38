// engine/ops/elementwise_function.h: what the elementwise families share: one class per arity,
// filled in by a row of data. Internal to engine/ops.
#pragma once

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"

namespace peelcheck {

// One elementwise operation of one operand.
struct UnaryRow {
  const char* name;
  Array (*kernel)(const Array& x);
  // dy/dx from x and y; nullptr: zero everywhere.
  Tensor (*derivative)(const Tensor& x, const Tensor& y);
};

// y = f(x): the row is the rule; vjp and jvp multiply by the same derivative.
class UnaryOp {
 public:
  explicit UnaryOp(const UnaryRow& row);
  Tensor operator()(const Tensor& x) const;

 private:
  Ref<const Function> function_;
};

// One elementwise operation of two operands. The maps take a cotangent of z, or a tangent of x (y),
// to that of x (z): for an elementwise operation both are multiplication by the partial derivative.
struct BinaryRow {
  using Map = Tensor (*)(const Tensor& t, const Tensor& x, const Tensor& y, const Tensor& z);
  const char* name;
  Array (*kernel)(const Array& x, const Array& y);
  Map by_x = nullptr;  // nullptr: no derivative
  Map by_y = nullptr;
};

class BinaryOp {
 public:
  explicit BinaryOp(const BinaryRow& row);
  Tensor operator()(const Tensor& x, const Tensor& y) const;

 private:
  Ref<const Function> function_;
};

// Kernels that compute floating dtypes in their own type, and integers in f32.
template <auto f>
Array MapFloating(const Array& x) {
  if (!IsFloating(x.dtype())) return MapFloating<f>(x.Cast(DType::kF32));
  return VisitFloating(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    return MapUnary<T>(x, [](T v) -> T { return f(v); });
  });
}

// Kernels that keep integer dtypes; bool counts as i64.
template <auto f>
Array MapNumeric(const Array& x) {
  if (x.dtype() == DType::kBool) return MapNumeric<f>(x.Cast(DType::kI64));
  return VisitDType(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    return MapUnary<T>(x, [](T v) -> T { return static_cast<T>(f(v)); });
  });
}

}  // namespace peelcheck
