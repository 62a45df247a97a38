// opinfo_db/functions/returns_view.cc: ReturnsViewGenVmap: x transposed, a view of the input.
//
// Pins down an output that shares storage with an input without being one: it has a shape, strides
// and, under a generated rule, a batch axis of its own.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

class ReturnsViewGenVmap : public Function {
 public:
  std::string name() const override { return "ReturnsViewGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    if (in[0].rank() < 2) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] x has shape ", ShapeToString(in[0].shape()),
                                        "; expected [.., n, m]"));
    }
    return {Transpose(in[0], -2, -1)};
  }
  Tensors Backward(Context&, TensorSpan ct) const override { return {Transpose(ct[0], -2, -1)}; }
  Tensors Jvp(Context&, TensorSpan tangents) const override {
    return {Transpose(tangents[0], -2, -1)};
  }
  bool generate_vmap_rule() const override { return true; }
};

std::vector<Array> TransposeReference(std::span<const Array> inputs, const Attributes&) {
  Shape shape = inputs[0].shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return {FromIndices(inputs[0].dtype(), shape, [&](Index at) {
    std::swap(at[at.size() - 1], at[at.size() - 2]);
    return At(inputs[0], at);
  })};
}

const Registration kReturnsViewGenVmap({
    .name = "ReturnsViewGenVmap",
    .formula = "y_ji = x_ij, a view; dy likewise",
    .pins_down = "a view of an input returned, through a generated rule",
    .arguments = {{.name = "x", .shape = "... n m"}},
    .build = Plain("ReturnsViewGenVmap", 1,
                   [](const Tensors& in) { return Call(Shared<ReturnsViewGenVmap>(), in); }),
    .reference = TransposeReference,
    .custom_function = true,
    .error_cases = {{.description = "one axis", .inputs = {{DType::kF64, {3}}}}},
});

}  // namespace
}  // namespace peelcheck
