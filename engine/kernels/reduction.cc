#include "engine/kernels/reduction.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "engine/kernels/elementwise.h"

namespace peelcheck {
namespace {

Shape KeptShape(const Shape& shape, const std::vector<bool>& reduced) {
  Shape kept = shape;
  for (size_t axis = 0; axis < kept.size(); ++axis) {
    if (reduced[axis]) kept[axis] = 1;
  }
  return kept;
}

// One run folded into one value: eight chains, so that the operations overlap and, with step 1
// known, become vector ones.
template <typename Acc, typename T, typename Step, typename F>
Acc FoldChains(const T* x, int64_t n, Step step, Acc start, Acc identity, F f) {
  constexpr int64_t kChains = 8;
  Acc chains[kChains];
  std::fill_n(chains, kChains, identity);
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (int64_t c = 0; c < kChains; ++c)
      chains[c] = f(chains[c], static_cast<Acc>(x[(i + c) * step]));
  }
  // A short run is folded into the start alone; combining the chains would cost more than it does.
  for (int64_t rest = i; rest < n; ++rest) start = f(start, static_cast<Acc>(x[rest * step]));
  if (i == 0) return start;
  for (int64_t half = kChains / 2; half > 0; half /= 2) {
    for (int64_t c = 0; c < half; ++c) chains[c] = f(chains[c], chains[c + half]);
  }
  return f(start, chains[0]);
}

template <typename Acc, typename T, typename F>
Acc FoldRun(const T* x, int64_t n, int64_t step, Acc start, Acc identity, F f) {
  if (step == 1) return FoldChains(x, n, std::integral_constant<int64_t, 1>{}, start, identity, f);
  return FoldChains(x, n, step, start, identity, f);
}

// A run along an axis that is kept: each element goes to its own accumulator.
template <typename Acc, typename T, typename F>
void FoldAcross(const T* x, int64_t n, int64_t step, Acc* acc, int64_t acc_step, F f) {
  if (step == 1 && acc_step == 1) {
    for (int64_t i = 0; i < n; ++i) acc[i] = f(acc[i], static_cast<Acc>(x[i]));
  } else {
    for (int64_t i = 0; i < n; ++i)
      acc[i * acc_step] = f(acc[i * acc_step], static_cast<Acc>(x[i * step]));
  }
}

// Walks x in its own order; the accumulator has stride 0 along reduced axes.
template <typename T, typename Acc, typename Out, typename F>
Array Fold(const Array& x, const std::vector<bool>& reduced, Acc identity, F f) {
  const Shape kept = KeptShape(x.shape(), reduced);
  Array totals = Array::Empty(DTypeOf<Acc>(), kept);
  Acc* acc = totals.fresh_data<Acc>();
  std::fill_n(acc, totals.size(), identity);
  if (x.size() > 0) {
    const Array spread = totals.Expanded(x.shape());
    const T* data = x.data<T>();
    ForEachRun(LoopAxes<2>(x.shape(), {&x, &spread}),
               [&](int64_t n, const auto& offset, const auto& step) {
                 const T* in = data + offset[0];
                 Acc* out = acc + offset[1];
                 if (step[1] == 0) {
                   *out = FoldRun<Acc>(in, n, step[0], *out, identity, f);
                 } else {
                   FoldAcross(in, n, step[0], out, step[1], f);
                 }
               });
  }
  return totals.Cast(DTypeOf<Out>());
}

void RequireElements(const Array& x, const std::vector<bool>& reduced, const char* name) {
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis] && x.shape()[axis] == 0) {
      ThrowInvalidArgument(absl::StrCat(
          "[", name, "] axis ", axis, " of ", ShapeToString(x.shape()),
          " is empty and has no largest or smallest value; expected at least one element"));
    }
  }
}

template <typename F>
Array FoldNumeric(const Array& x, const std::vector<bool>& reduced, double identity, F f) {
  switch (x.dtype()) {
    case DType::kF64: return Fold<double, double, double>(x, reduced, identity, f);
    case DType::kF32: return Fold<float, double, float>(x, reduced, identity, f);
    case DType::kI64:
      return Fold<int64_t, int64_t, int64_t>(x, reduced, static_cast<int64_t>(identity), f);
    case DType::kBool: break;
  }
  return Fold<uint8_t, int64_t, int64_t>(x, reduced, static_cast<int64_t>(identity), f);
}

template <typename F>
Array FoldExtreme(const Array& x, const std::vector<bool>& reduced, bool lowest_first, F f) {
  return VisitDType(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using Limits = std::numeric_limits<T>;
    T identity = lowest_first ? Limits::lowest() : Limits::max();
    if constexpr (Limits::has_infinity)
      identity = lowest_first ? -Limits::infinity() : Limits::infinity();
    return Fold<T, T, T>(x, reduced, identity, f);
  });
}

}  // namespace

Array ReduceSum(const Array& x, const std::vector<bool>& reduced) {
  return FoldNumeric(x, reduced, 0, [](auto a, auto b) { return a + b; });
}
Array ReduceProd(const Array& x, const std::vector<bool>& reduced) {
  return FoldNumeric(x, reduced, 1, [](auto a, auto b) { return a * b; });
}
Array ReduceMax(const Array& x, const std::vector<bool>& reduced) {
  RequireElements(x, reduced, "amax");
  return FoldExtreme(x, reduced, true, [](auto a, auto b) { return a != a || a > b ? a : b; });
}
Array ReduceMin(const Array& x, const std::vector<bool>& reduced) {
  RequireElements(x, reduced, "amin");
  return FoldExtreme(x, reduced, false, [](auto a, auto b) { return a != a || a < b ? a : b; });
}

Array CumulativeSum(const Array& x, int64_t dim) {
  // f32 is accumulated in double, as in ReduceSum.
  if (x.dtype() == DType::kF32) return CumulativeSum(x.Cast(DType::kF64), dim).Cast(DType::kF32);
  Array y = x.Cast(IsFloating(x.dtype()) ? x.dtype() : DType::kI64).Copy();
  if (y.size() == 0 || y.rank() == 0) return y;
  const int64_t n = y.dim(dim);
  const int64_t step = y.strides()[static_cast<size_t>(dim)];
  VisitDType(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* data = y.fresh_data<T>();
    // y is contiguous: a block is n rows of `step` elements, each row the running sum so far.
    for (int64_t block = 0; block < y.size(); block += n * step) {
      for (int64_t i = block + step; i < block + n * step; ++i)
        data[i] = static_cast<T>(data[i] + data[i - step]);
    }
  });
  return y;
}

}  // namespace peelcheck
