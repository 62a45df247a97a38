// engine/kernels/index.h: gathering and scattering along one axis, for any strides and all dtypes.
// Internal to the engine.
//
//   Array y = GatherArrays(x, 1, index, "gather");  // y[i, j] = x[i, index[i, j]]
//
// The caller has checked ranks, dtypes and the other axes; the indices are checked here, while they
// are read.
#pragma once

#include "engine/array.h"

namespace peelcheck {

// The element of x at index[..] along `dim`, for each place of the index; its shape is the index's.
// An index outside of 0..n-1: invalid_argument with `tag`.
Array GatherArrays(const Array& x, int64_t dim, const Array& index, const char* tag);

// A copy of x with source[..] added at index[..] along `dim`; repeated indices add up, for bool by
// "or". The source is at least as large as the index. Errors as above.
Array ScatterAddArrays(const Array& x, int64_t dim, const Array& index, const Array& source,
                       const char* tag);

}  // namespace peelcheck
