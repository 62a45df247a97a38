// engine/ops/elementwise_function.h: what elementwise operations share: one class per number of
// operands, filled in by a row of data.
//
//   const UnaryOp op({"exp2", FLOATING(std::exp2(v)), OF_Y(t * y * kLn2)});   // elementwise_rows.h
//   Tensor y = op(x);
//
// A row is the whole rule. For an elementwise operation vjp and jvp both multiply by the partial
// derivative, so one map of a cotangent or tangent `t` per operand serves both; the batching rule
// lines up the batch axes and calls the operation again. Errors: invalid_argument with the
// operation's name and both shapes where operands do not broadcast.
#pragma once

#include <array>
#include <string>

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"

namespace peelcheck {

// Numbers that are attributes of an operation: a slope, the ends of an interval.
struct Parameters {
  double a = 0, b = 0;
};

// Takes a cotangent of the result to that of an operand, and a tangent of the operand to its share
// of the result's. `reads`: bit i for operand i, kReadsOutput for the result. Only what is read is
// saved, so the rest may be written in place; what is not read is undefined here. Values come in
// the dtype of the result, whatever the operands' own is.
struct Partial {
  using Map = Tensor (*)(const Tensor& t, const Tensor& first, const Tensor& second,
                         const Tensor& third, const Tensor& output, double a, double b);
  Map map = nullptr;  // nullptr: zero everywhere
  uint8_t reads = 0;
};
constexpr uint8_t kReadsOutput = 8;

struct UnaryRow {
  std::string name;
  Array (*kernel)(const Array& x, const Parameters& parameters) = nullptr;
  Partial partial = {};
};

struct BinaryRow {
  std::string name;
  // `shape` is the broadcast one; operands may have different dtypes.
  Array (*kernel)(const Array& x, const Array& y, const Shape& shape) = nullptr;
  Partial by_x = {};
  Partial by_y = {};
};

struct TernaryRow {
  std::string name;
  Array (*kernel)(const Array& x, const Array& y, const Array& w, const Shape& shape,
                  const Parameters& parameters) = nullptr;
  Partial by_x = {};
  Partial by_y = {};
  Partial by_w = {};
};

class UnaryOp {
 public:
  explicit UnaryOp(const UnaryRow& row, const Parameters& parameters = {});
  Tensor operator()(const Tensor& x) const;

 private:
  Ref<const Function> function_;
};

class BinaryOp {
 public:
  explicit BinaryOp(const BinaryRow& row);
  Tensor operator()(const Tensor& x, const Tensor& y) const;

 private:
  Ref<const Function> function_;
};

class TernaryOp {
 public:
  explicit TernaryOp(const TernaryRow& row, const Parameters& parameters = {});
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& w) const;

 private:
  Ref<const Function> function_;
};

// -- kernels: `f` is one element's value; parameters come in the type that is computed in
// ----------

// Floating dtypes in their own type, integers in f32.
template <auto f>
Array MapFloating(const Array& x, const Parameters& parameters) {
  if (!IsFloating(x.dtype())) return MapFloating<f>(x.Cast(DType::kF32), parameters);
  return VisitFloating(x.dtype(), [&](auto tag) {
    using V = decltype(tag);
    const V a = static_cast<V>(parameters.a), b = static_cast<V>(parameters.b);
    return MapUnary<V>(x, [=](V v) -> V { return f(v, a, b); });
  });
}

// Integers stay integers; bool counts as i64. Parameters of integers stay doubles.
template <auto f>
Array MapNumeric(const Array& x, const Parameters& parameters) {
  if (IsFloating(x.dtype())) return MapFloating<f>(x, parameters);
  return MapUnary<int64_t>(x.Cast(DType::kI64), [=](int64_t v) -> int64_t {
    return static_cast<int64_t>(f(v, parameters.a, parameters.b));
  });
}

// -> bool; integers are asked as f64.
template <auto f>
Array MapToBool(const Array& x, const Parameters&) {
  if (!IsFloating(x.dtype())) return MapToBool<f>(x.Cast(DType::kF64), {});
  return VisitFloating(x.dtype(), [&](auto tag) {
    using V = decltype(tag);
    return MapUnary<V, uint8_t>(x, [](V v) -> uint8_t { return f(v) ? 1 : 0; });
  });
}

// Both operands in the promoted dtype, at least `floor`; bool counts as i64.
template <auto f, DType floor = DType::kI64>
Array MapPromoted(const Array& x, const Array& y, const Shape& shape) {
  const DType dtype = PromoteTypes(PromoteTypes(x.dtype(), y.dtype()), floor);
  return VisitDType(dtype, [&](auto tag) {
    using V = decltype(tag);
    return MapBinary<V, V>(x.Cast(dtype), y.Cast(dtype), shape,
                           [](V v, V w) -> V { return static_cast<V>(f(v, w)); });
  });
}

// The same, but two bools give a bool: their sum is "or", their product "and".
template <auto f>
Array MapPromotedKeepBool(const Array& x, const Array& y, const Shape& shape) {
  if (x.dtype() != DType::kBool || y.dtype() != DType::kBool) return MapPromoted<f>(x, y, shape);
  return MapBinary<uint8_t, uint8_t>(
      x, y, shape, [](uint8_t v, uint8_t w) -> uint8_t { return f(v, w) != 0 ? 1 : 0; });
}

// -> bool, compared in the promoted dtype.
template <auto f>
Array MapPromotedToBool(const Array& x, const Array& y, const Shape& shape) {
  const DType dtype = PromoteTypes(x.dtype(), y.dtype());
  return VisitDType(dtype, [&](auto tag) {
    using V = decltype(tag);
    return MapBinary<V, uint8_t>(x.Cast(dtype), y.Cast(dtype), shape,
                                 [](V v, V w) -> uint8_t { return f(v, w) ? 1 : 0; });
  });
}

// Three operands in the promoted dtype, at least f32.
template <auto f>
Array MapThree(const Array& x, const Array& y, const Array& w, const Shape& shape,
               const Parameters& parameters) {
  const DType dtype =
      PromoteTypes(PromoteTypes(x.dtype(), y.dtype()), PromoteTypes(w.dtype(), DType::kF32));
  return VisitFloating(dtype, [&](auto tag) {
    using V = decltype(tag);
    const V a = static_cast<V>(parameters.a);
    return MapTernary<V>(x.Cast(dtype), y.Cast(dtype), w.Cast(dtype), shape,
                         [=](V u, V v, V s) -> V { return f(u, v, s, a); });
  });
}

}  // namespace peelcheck
