// tril, triu: a matrix's lower or upper triangle, the rest zero.
//
//   Tril(x, -1);  // x[.., i, j] where j - i <= -1, else 0
#include <absl/strings/str_cat.h>

#include "engine/batching.h"

namespace peelcheck {
namespace {

Tensor Triangle(const Tensor& x, int64_t diagonal, bool lower, const char* tag) {
  if (x.rank() < 2) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] x has shape ", ShapeToString(x.shape()),
                                      "; expected [.., n, m]"));
  }
  const int64_t rows = x.dim(x.rank() - 2);
  const int64_t columns = x.dim(x.rank() - 1);
  Array mask = Array::Zeros(DType::kBool, {rows, columns});
  uint8_t* keep = mask.fresh_data<uint8_t>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      keep[i * columns + j] = lower ? j - i <= diagonal : j - i >= diagonal;
  }
  return Where(Tensor::FromArray(mask), x, Full({}, 0.0, x.dtype()));
}

}  // namespace

Tensor Tril(const Tensor& x, int64_t diagonal) { return Triangle(x, diagonal, true, "tril"); }
Tensor Triu(const Tensor& x, int64_t diagonal) { return Triangle(x, diagonal, false, "triu"); }

}  // namespace peelcheck
