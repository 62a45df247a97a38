// opinfo_db/functions/cube_not_composable.cc: OpaqueCubeNotComposable: x^3 with a gradient, and
// nothing else.
//
// Pins down the refusals: backward leaves the engine with a closure that no transform can see, so
// it is once differentiable (a second derivative: failed_precondition); there is no jvp and no
// batching rule (unimplemented).
#include <functional>

#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

using Slope = std::function<double(double)>;

class OpaqueCubeNotComposableFunction : public Function {
 public:
  std::string name() const override { return "OpaqueCubeNotComposable"; }
  Tensors Forward(TensorSpan in) const override {
    return {OpaqueMap(name(), in[0], [](auto x) { return x * x * x; })};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[0]});
    ctx.Set("slope", Slope([](double x) { return 3 * x * x; }));
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const auto& slope = ctx.Get<Slope>("slope");
    const Array x = ctx.saved()[0].array();
    int64_t i = 0;
    return {OpaqueMap(name(), ct[0], [&](auto each) { return each * slope(x.DoubleAt(i++)); })};
  }
  bool once_differentiable() const override { return true; }
};

const Registration kOpaqueCubeNotComposable({
    .name = "OpaqueCubeNotComposable",
    .formula = "y = x^3; dy = 3x^2 dx, in reverse and once only",
    .source = "PyTorch autograd_function_db: NumpyCubeNotComposableAutogradFunction",
    .pins_down = "once differentiable, non-tensor state: refuses composition with clear errors",
    .arguments = {{.name = "x"}},
    .build = Plain("OpaqueCubeNotComposable", 1,
                   [](const Tensors& in) -> Tensors { return {OpaqueCubeNotComposable(in[0])}; }),
    .reference = ElementwiseReference([](double x) { return x * x * x; }),
    .composable = false,
    // vmap and jvp have no rule; a second derivative by vjp of vjp alone is a failed_precondition.
    .refusal = ErrorClass::kUnimplemented,
    .custom_function = true,
    .error_cases = {IntegerInput()},
});

}  // namespace

Tensor OpaqueCubeNotComposable(const Tensor& x) {
  return Call(Shared<OpaqueCubeNotComposableFunction>(), {x})[0];
}

}  // namespace peelcheck
