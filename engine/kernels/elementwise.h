// engine/kernels/elementwise.h: strided loops over broadcast operands; plain C++ that the compiler
// vectorises.
//
//   Array y = MapUnary<double>(x, [](double v) { return std::exp(v); });
//   Array z = MapBinary<double, double>(x, y, shape, [](double a, double b) { return a * b; });
//
// Results are fresh and contiguous. Operands may have any strides; stride 0 is a broadcast axis.
// Internal to the engine.
#pragma once

#include <array>

#include "engine/array.h"

namespace peelcheck {

// Axes of one loop over N operands: size-1 axes dropped, neighbours merged where every operand
// steps through both alike.
template <size_t N>
struct LoopAxes {
  absl::InlinedVector<int64_t, 6> sizes;
  absl::InlinedVector<std::array<int64_t, N>, 6> strides;

  LoopAxes(const Shape& shape, const std::array<const Array*, N>& operands) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 1) continue;
      std::array<int64_t, N> steps;
      for (size_t k = 0; k < N; ++k) steps[k] = StrideAt(*operands[k], axis, shape.size());
      Append(shape[axis], steps);
    }
    if (sizes.empty()) Append(1, {});
  }

 private:
  static int64_t StrideAt(const Array& array, size_t axis, size_t rank) {
    const size_t lead = rank - array.shape().size();
    if (axis < lead || array.shape()[axis - lead] == 1) return 0;
    return array.strides()[axis - lead];
  }
  void Append(int64_t size, const std::array<int64_t, N>& steps) {
    bool merges = !sizes.empty();
    for (size_t k = 0; merges && k < N; ++k) merges = strides.back()[k] == steps[k] * size;
    if (merges) {
      sizes.back() *= size;
      strides.back() = steps;
    } else {
      sizes.push_back(size);
      strides.push_back(steps);
    }
  }
};

// Calls body(count, offsets, steps) for each run along the innermost axis, in row-major order.
template <size_t N, typename Body>
void ForEachRun(const LoopAxes<N>& axes, Body body) {
  const size_t inner = axes.sizes.size() - 1;
  std::array<int64_t, N> offsets{};
  int64_t runs = 1;
  for (size_t axis = 0; axis < inner; ++axis) runs *= axes.sizes[axis];
  absl::InlinedVector<int64_t, 6> index(inner, 0);
  for (int64_t run = 0; run < runs; ++run) {
    body(axes.sizes[inner], offsets, axes.strides[inner]);
    for (size_t axis = inner; axis-- > 0;) {
      for (size_t k = 0; k < N; ++k) offsets[k] += axes.strides[axis][k];
      if (++index[axis] < axes.sizes[axis]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= axes.strides[axis][k] * axes.sizes[axis];
      index[axis] = 0;
    }
  }
}

// y[i] = f(x[i]); In is the C++ type of x, the result is that of Out.
template <typename In, typename Out = In, typename F>
Array MapUnary(const Array& x, F f) {
  Array y = Array::Empty(DTypeOf<Out>(), x.shape());
  if (y.size() == 0) return y;
  Out* out = y.fresh_data<Out>();
  const In* in = x.data<In>();
  ForEachRun(LoopAxes<1>(x.shape(), {&x}), [&](int64_t n, const auto& offset, const auto& step) {
    const In* a = in + offset[0];
    if (step[0] == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i * step[0]]);
    }
    out += n;
  });
  return y;
}

// z[i] = f(x[i], y[i]) over the broadcast `shape`.
template <typename In, typename Out, typename F>
Array MapBinary(const Array& x, const Array& y, const Shape& shape, F f) {
  Array z = Array::Empty(DTypeOf<Out>(), shape);
  if (z.size() == 0) return z;
  Out* out = z.fresh_data<Out>();
  const In* x_data = x.data<In>();
  const In* y_data = y.data<In>();
  ForEachRun(LoopAxes<2>(shape, {&x, &y}), [&](int64_t n, const auto& offset, const auto& step) {
    const In* a = x_data + offset[0];
    const In* b = y_data + offset[1];
    if (step[0] == 1 && step[1] == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
    } else if (step[0] == 1 && step[1] == 0) {
      const In constant = *b;
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], constant);
    } else if (step[0] == 0 && step[1] == 1) {
      const In constant = *a;
      for (int64_t i = 0; i < n; ++i) out[i] = f(constant, b[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i * step[0]], b[i * step[1]]);
    }
    out += n;
  });
  return z;
}

// z[i] = f(x[i], y[i], w[i]) over the broadcast `shape`; all of one type.
template <typename V, typename F>
Array MapTernary(const Array& x, const Array& y, const Array& w, const Shape& shape, F f) {
  Array z = Array::Empty(DTypeOf<V>(), shape);
  if (z.size() == 0) return z;
  V* out = z.fresh_data<V>();
  const V* data[] = {x.data<V>(), y.data<V>(), w.data<V>()};
  ForEachRun(LoopAxes<3>(shape, {&x, &y, &w}),
             [&](int64_t n, const auto& offset, const auto& step) {
               const V* a = data[0] + offset[0];
               const V* b = data[1] + offset[1];
               const V* c = data[2] + offset[2];
               if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
                 for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i], c[i]);
               } else {
                 for (int64_t i = 0; i < n; ++i)
                   out[i] = f(a[i * step[0]], b[i * step[1]], c[i * step[2]]);
               }
               out += n;
             });
  return z;
}

}  // namespace peelcheck
