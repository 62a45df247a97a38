#include "engine/kernels/index.h"

#include <absl/strings/str_cat.h>

#include "engine/kernels/elementwise.h"

namespace peelcheck {
namespace {

int64_t CheckedPosition(int64_t position, int64_t size, const char* tag) {
  if (position >= 0 && position < size) return position;
  ThrowInvalidArgument(absl::StrCat(
      "[", tag, "] index ", position, " is out of range for a dim of size ", size,
      size == 0 ? "; there is nothing to index" : absl::StrCat("; expected 0..", size - 1)));
}

// The part of x that the index covers, with stride 0 along the dim: where element [.., i, ..] of
// the index looks for its line.
Array Lines(const Array& x, const Shape& index_shape, int64_t dim) {
  Shape strides = x.strides();
  strides[static_cast<size_t>(dim)] = 0;
  return x.Strided(index_shape, std::move(strides), x.offset());
}

// 0-d operands are 1-d of size 1 here.
Array AtLeast1d(const Array& x) { return x.rank() > 0 ? x : x.Strided({1}, {1}, x.offset()); }

// Calls body(position in index order, offset of the addressed element of x).
template <typename Body>
void ForEachAddressed(const Array& x, const Array& index, int64_t dim, const char* tag, Body body) {
  if (index.size() == 0) return;
  const Array lines = Lines(x, index.shape(), dim);
  const int64_t size = x.dim(dim);
  const int64_t stride = x.strides()[static_cast<size_t>(dim)];
  const int64_t* positions = index.data<int64_t>();
  int64_t count = 0;
  ForEachRun(LoopAxes<2>(index.shape(), {&index, &lines}),
             [&](int64_t n, const auto& offset, const auto& step) {
               const int64_t* at = positions + offset[0];
               if (step[0] == 0) {  // whole lines, as in index_select: one index for the run
                 const int64_t start = offset[1] + CheckedPosition(*at, size, tag) * stride;
                 for (int64_t i = 0; i < n; ++i) body(count++, start + i * step[1]);
                 return;
               }
               for (int64_t i = 0; i < n; ++i) {
                 const int64_t position = CheckedPosition(at[i * step[0]], size, tag);
                 body(count++, offset[1] + i * step[1] + position * stride);
               }
             });
}

}  // namespace

Array GatherArrays(const Array& x, int64_t dim, const Array& index, const char* tag) {
  const Array source = AtLeast1d(x);
  Array result = Array::Empty(x.dtype(), index.shape());
  VisitDType(x.dtype(), [&](auto type) {
    using V = decltype(type);
    V* out = result.fresh_data<V>();
    const V* data = source.data<V>();
    ForEachAddressed(source, AtLeast1d(index), dim, tag,
                     [&](int64_t i, int64_t offset) { out[i] = data[offset]; });
  });
  return result;
}

Array ScatterAddArrays(const Array& x, int64_t dim, const Array& index, const Array& source,
                       const char* tag) {
  Array result = x.Copy();
  const Array places = AtLeast1d(index);
  const Array all = AtLeast1d(source);
  const Array used = all.Strided(places.shape(), all.strides(), all.offset()).Contiguous();
  VisitDType(result.dtype(), [&](auto type) {
    using V = decltype(type);
    V* out = result.fresh_data<V>();
    const V* values = used.data<V>();
    ForEachAddressed(AtLeast1d(result), places, dim, tag, [&](int64_t i, int64_t offset) {
      if constexpr (std::is_same_v<V, uint8_t>) {
        out[offset] =
            static_cast<V>(out[offset] | values[i]);  // a bool is 0 or 1: true + true = true
      } else {
        out[offset] = static_cast<V>(out[offset] + values[i]);
      }
    });
  });
  return result;
}

}  // namespace peelcheck
