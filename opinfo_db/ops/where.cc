// opinfo_db/ops/where.cc: elementwise choice between two tensors.
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

// Whichever of `x`'s axes are missing or of size 1 are repeated.
double BroadcastAt(const Array& x, const Index& index) {
  Index own(index.end() - x.rank(), index.end());
  for (size_t i = 0; i < own.size(); ++i) {
    if (x.shape()[i] == 1) own[i] = 0;
  }
  return At(x, own);
}

std::vector<Array> WhereReference(std::span<const Array> inputs, const Attributes&) {
  Shape shape = BroadcastShapes(inputs[1].shape(), inputs[2].shape(), "where");
  shape = BroadcastShapes(inputs[0].shape(), shape, "where");
  const DType dtype = PromoteTypes(inputs[1].dtype(), inputs[2].dtype());
  return {FromIndices(dtype, shape, [&](const Index& index) {
    return BroadcastAt(inputs[BroadcastAt(inputs[0], index) != 0 ? 1 : 2], index);
  })};
}

const Registration kWhere({
    .name = "where",
    .formula = "z = x where the condition holds, else y; dz likewise of dx and dy",
    .source = "https://pytorch.org/docs/stable/generated/torch.where.html",
    .arguments = {{.name = "condition", .shape = "~", .kind = ValueKind::kBool},
                  {.name = "x", .shape = "~"},
                  {.name = "y", .shape = "~"}},
    .build = Plain("where", 3,
                   [](const Tensors& in) -> Tensors { return {Where(in[0], in[1], in[2])}; }),
    .reference = WhereReference,
    .error_cases = {{.description = "a condition that is not bool",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}, {DType::kF64, {3}}}},
                    {.description = "a condition that does not broadcast",
                     .inputs = {{DType::kBool, {4}}, {DType::kF64, {3}}, {DType::kF64, {3}}}}},
});

}  // namespace
}  // namespace peelcheck
