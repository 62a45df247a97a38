// opinfo_db/functions/scale_grad.cc: ScaleGradGenVmap: x, with a derivative that is 3.14 times too
// large.
//
// Pins down that a declared derivative is obeyed, not checked against forward, and a context that
// keeps nothing. The surrogate 3.14 x is the function that has the declared derivative.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

constexpr double kScale = 3.14;

class ScaleGradGenVmap : public Function {
 public:
  std::string name() const override { return "ScaleGradGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    return {Clone(in[0])};
  }
  Tensors Backward(Context&, TensorSpan ct) const override { return {ct[0] * kScale}; }
  Tensors Jvp(Context&, TensorSpan tangents) const override { return {tangents[0] * kScale}; }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kScaleGradGenVmap({
    .name = "ScaleGradGenVmap",
    .formula = "y = x; dy = 3.14 dx by declaration",
    .source = "PyTorch autograd_function_db: ScaleGradGenVmapAutogradFunction",
    .pins_down = "intentionally not a derivative; saves nothing",
    .arguments = {{.name = "x"}},
    .build = Plain("ScaleGradGenVmap", 1,
                   [](const Tensors& in) { return Call(Shared<ScaleGradGenVmap>(), in); }),
    .reference = ElementwiseReference([](double x) { return x; }),
    .surrogate = Plain("ScaleGradGenVmap#surrogate", 1,
                       [](const Tensors& in) -> Tensors { return {in[0] * kScale}; }),
    .custom_function = true,
    .error_cases = {IntegerInput()},
});

}  // namespace
}  // namespace peelcheck
