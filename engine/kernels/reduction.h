// engine/kernels/reduction.h: folds of an array over a set of its axes. Internal to the engine.
//
//   Array s = ReduceSum(x, {true, false});   // over axis 0; the reduced axes stay with size 1
#pragma once

#include <vector>

#include "engine/array.h"

namespace peelcheck {

// `reduced[axis]`: whether the axis is folded. Results keep the rank, with size 1 there. Sums of
// f32 are accumulated in double; sums and products of i64 and bool are i64. A nan wins every max
// and min; these need a non-empty set (invalid_argument otherwise).
Array ReduceSum(const Array& x, const std::vector<bool>& reduced);
Array ReduceProd(const Array& x, const std::vector<bool>& reduced);
Array ReduceMax(const Array& x, const std::vector<bool>& reduced);
Array ReduceMin(const Array& x, const std::vector<bool>& reduced);

// Running sum along `dim`.
Array CumulativeSum(const Array& x, int64_t dim);

}  // namespace peelcheck
