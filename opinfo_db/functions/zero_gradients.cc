// opinfo_db/functions/zero_gradients.cc: ZeroGradientsGenVmap: (x, y), with gradients that are zero
// and have one axis too many.
//
// Pins down what a generated rule does with gradients that are not batched although the input is,
// and that are over-broadcast: [1, ..] for an input of shape [..]. The engine expands the one and
// sums the other.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class ZeroGradientsGenVmap : public Function {
 public:
  std::string name() const override { return "ZeroGradientsGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    RequireFloating(in[1], name());
    return {Clone(in[0]), Clone(in[1])};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Set("x_shape", in[0].shape());
    ctx.Set("y_shape", in[1].shape());
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const auto too_large = [](Shape shape, DType dtype) {
      shape.insert(shape.begin(), 1);
      return Full(shape, 0, dtype);
    };
    return {too_large(ctx.Get<Shape>("x_shape"), ct[0].dtype()),
            too_large(ctx.Get<Shape>("y_shape"), ct[1].dtype())};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Full(ctx.Get<Shape>("x_shape"), 0, tangents[0].dtype()),
            Full(ctx.Get<Shape>("y_shape"), 0, tangents[1].dtype())};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kZeroGradientsGenVmap({
    .name = "ZeroGradientsGenVmap",
    .formula = "u = x, v = y; du = 0, dv = 0 by declaration",
    .source = "PyTorch autograd_function_db: ZeroGradientsGenVmapAutogradFunction",
    .pins_down = "unbatched and over-broadcast gradients for batched inputs",
    // Of different shapes, so that one gradient cannot stand for the other.
    .arguments = {{.name = "x"}, {.name = "y", .shape = "... m"}},
    .build = Plain("ZeroGradientsGenVmap", 2,
                   [](const Tensors& in) { return Call(Shared<ZeroGradientsGenVmap>(), in); }),
    .reference = [](std::span<const Array> inputs,
                    const Attributes&) { return std::vector<Array>(inputs.begin(), inputs.end()); },
    .surrogate = Plain("ZeroGradientsGenVmap#surrogate", 2,
                       [](const Tensors& in) -> Tensors {
                         return {in[0] * 0.0, in[1] * 0.0};
                       }),
    .zero_derivative = true,
    .custom_function = true,
    .error_cases = {{.description = "an integer input",
                     .inputs = {{DType::kF64, {3}}, {DType::kI64, {3, 4}}}}},
});

}  // namespace
}  // namespace peelcheck
