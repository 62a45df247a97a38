// opinfo_db/ops/trace.cc: the sum of a matrix's diagonal; m and n may differ.
//
//   BuildOperation("trace", {})({x})   // [m, n] -> []
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

// Selects the diagonal; a product with zeros would let an infinity off the diagonal in.
Tensor Trace(const Tensor& x) {
  if (x.rank() != 2) {
    ThrowInvalidArgument(
        absl::StrCat("[trace] x has shape ", ShapeToString(x.shape()), "; expected [m, n]"));
  }
  Array mask = Array::Zeros(DType::kBool, x.shape());
  for (int64_t i = 0; i < std::min(x.dim(0), x.dim(1)); ++i) mask.SetDouble(i * x.dim(1) + i, 1);
  return Sum(Where(Tensor::FromArray(mask), x, Full({}, 0, x.dtype())));
}

std::vector<Array> TraceReference(std::span<const Array> in, const Attributes&) {
  double total = 0;
  for (int64_t i = 0; i < std::min(in[0].dim(0), in[0].dim(1)); ++i) total += At(in[0], {i, i});
  return {Array::Full(in[0].dtype(), {}, total)};
}

const Registration kTrace({
    .name = "trace",
    .formula = "y = sum of x_ii; dy = sum of dx_ii",
    .source = "https://pytorch.org/docs/stable/generated/torch.trace.html",
    .arguments = {{.name = "x", .shape = "m n"}},
    .build = Plain("trace", 1, [](const Tensors& in) -> Tensors { return {Trace(in[0])}; }),
    .reference = TraceReference,
    .error_cases = {{.description = "a vector", .inputs = {{DType::kF64, {3}}}},
                    {.description = "three axes", .inputs = {{DType::kF64, {3, 4, 5}}}}},
});

}  // namespace
}  // namespace peelcheck
