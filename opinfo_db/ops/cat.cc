// opinfo_db/ops/cat.cc: any number of tensors joined along an axis; three are generated.
//
//   BuildOperation("cat", {{"dim", -1}})({x, y})
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";

// Follows the axis through one input after the other until the position is inside.
std::vector<Array> CatReference(std::span<const Array> inputs, const Attributes& attributes) {
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", 0, kTag), inputs[0]);
  Shape shape = inputs[0].shape();
  DType dtype = inputs[0].dtype();
  for (const Array& x : inputs.subspan(1)) {
    shape[dim] += x.shape()[dim];
    dtype = PromoteTypes(dtype, x.dtype());
  }
  return {FromIndices(dtype, shape, [&](Index index) {
    size_t which = 0;
    while (index[dim] >= inputs[which].shape()[dim]) index[dim] -= inputs[which++].shape()[dim];
    return At(inputs[which], index);
  })};
}

std::vector<Array> StackReference(std::span<const Array> inputs, const Attributes& attributes) {
  int64_t dim = GetInt(attributes, "dim", 0, kTag);
  Shape shape = inputs[0].shape();
  if (dim < 0) dim += inputs[0].rank() + 1;
  shape.insert(shape.begin() + dim, static_cast<int64_t>(inputs.size()));
  return {FromIndices(inputs[0].dtype(), shape, [&](Index index) {
    const auto which = static_cast<size_t>(index[static_cast<size_t>(dim)]);
    index.erase(index.begin() + dim);
    return At(inputs[which], index);
  })};
}

Build Joining(const std::string& name, Tensor (*call)(TensorSpan, int64_t)) {
  return WithAttributes(name, -1, {"dim"}, [name, call](const Attributes& attributes) {
    const int64_t dim = GetInt(attributes, "dim", 0, name);
    return [call, dim](const Tensors& in) -> Tensors { return {call(in, dim)}; };
  });
}

std::vector<ErrorCase> Errors() {
  return {{.description = "sizes differ in another axis",
           .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3, 5}}},
           .attributes = {{"dim", 0}}},
          {.description = "ranks differ",
           .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3}}},
           .attributes = {{"dim", 0}}},
          {.description = "dim past the end",
           .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3, 4}}},
           .attributes = {{"dim", 3}}}};
}

// Pieces of different sizes.
const Registration kCat({
    .name = "cat",
    .formula = "z = x, y, .. one after the other along dim; dz likewise",
    .source = "https://pytorch.org/docs/stable/generated/torch.cat.html",
    .arguments = {{.name = "x", .shape = "a m"},
                  {.name = "y", .shape = "b m"},
                  {.name = "z", .shape = "c m"}},
    .attributes = {{.name = "dim", .choices = {0, -2}}},
    .build = Joining("cat", Cat),
    .reference = CatReference,
    .error_cases = Errors(),
});

// PyTorch's alias; here pieces of one shape, of any rank, along any dim.
const Registration kConcat({
    .name = "concat",
    .formula = "z = x, y, .. one after the other along dim; dz likewise",
    .source = "https://pytorch.org/docs/stable/generated/torch.concat.html",
    .arguments = {{.name = "x"}, {.name = "y"}, {.name = "z"}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
    .min_rank = 1,
    .build = Joining("concat", Cat),
    .reference = CatReference,
    .error_cases = Errors(),
});

const Registration kStack({
    .name = "stack",
    .formula = "z = x, y, .. along a new axis dim; dz likewise",
    .source = "https://pytorch.org/docs/stable/generated/torch.stack.html",
    .arguments = {{.name = "x"}, {.name = "y"}, {.name = "z"}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kNewDim}},
    .build = Joining("stack", Stack),
    .reference = StackReference,
    .error_cases = Errors(),
});

}  // namespace
}  // namespace peelcheck
