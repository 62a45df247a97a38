// opinfo_db/ops/reference.h: naive loops over multi-indices, for references that share nothing with
// the engine's kernels.
//
//   Array transposed = FromIndices(x.dtype(), {x.dim(1), x.dim(0)}, [&](const Index& i) { return
//   At(x, {i[1], i[0]}); });
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/array.h"

namespace peelcheck {

using Index = std::vector<int64_t>;

inline size_t WrapReferenceDim(int64_t dim, const Array& x) {
  return static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(x.rank(), 1) : dim);
}

// The element at a multi-index.
inline double At(const Array& x, const Index& index) {
  int64_t position = 0;
  for (size_t i = 0; i < index.size(); ++i) position = position * x.shape()[i] + index[i];
  return x.DoubleAt(position);
}

// Calls `body` with every multi-index of `shape`, in row-major order; once with {} for rank 0.
inline void ForEachIndex(const Shape& shape, const std::function<void(const Index&)>& body) {
  Index index(shape.size(), 0);
  for (const int64_t size : shape) {
    if (size == 0) return;
  }
  while (true) {
    body(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline Array FromIndices(DType dtype, const Shape& shape,
                         const std::function<double(const Index&)>& value) {
  Array result = Array::Zeros(dtype, shape);
  int64_t position = 0;
  ForEachIndex(shape, [&](const Index& index) { result.SetDouble(position++, value(index)); });
  return result;
}

// The values along `dim` through `index`, whose own entry at `dim` does not matter. Rank 0: its one
// value.
inline std::vector<double> Line(const Array& x, Index index, size_t dim) {
  if (x.rank() == 0) return {x.DoubleAt(0)};
  std::vector<double> line;
  for (int64_t i = 0; i < x.shape()[dim]; ++i) {
    index[dim] = i;
    line.push_back(At(x, index));
  }
  return line;
}

}  // namespace peelcheck
