// opinfo_db/functions/frozen_weight.cc: FrozenWeight: x w + b, never differentiated with respect to
// w.
//
// Pins down needs_input_grad: false for w always, and for x or b now and then; backward then
// returns nothing for it. The database declares w as not differentiable, so that no check asks for
// its gradient.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class FrozenWeight : public Function {
 public:
  std::string name() const override { return "FrozenWeight"; }
  Tensors Forward(TensorSpan in) const override {
    if (in[0].shape() != in[1].shape() || in[0].shape() != in[2].shape()) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] x, w, b have shapes ",
                                        ShapeToString(in[0].shape()), ", ",
                                        ShapeToString(in[1].shape()), ", ",
                                        ShapeToString(in[2].shape()), "; expected one shape"));
    }
    return {in[0] * in[1] + in[2]};
  }
  // x is needed only for w's gradient, and w only for x's.
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.SaveForBackward(
        {ctx.needs_input_grad(1) ? in[0] : Tensor(), ctx.needs_input_grad(0) ? in[1] : Tensor()});
    ctx.SaveForForward({in[0], in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    Tensors gradients(3);
    if (ctx.needs_input_grad(0)) gradients[0] = ct[0] * ctx.saved()[1];
    if (ctx.needs_input_grad(1)) gradients[1] = ct[0] * ctx.saved()[0];
    if (ctx.needs_input_grad(2)) gradients[2] = ct[0];
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &x = ctx.saved()[0], &w = ctx.saved()[1];
    return {tangents[0] * w + x * tangents[1] + tangents[2]};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kFrozenWeight({
    .name = "FrozenWeight",
    .formula = "y = x w + b; dy = w dx + db",
    .pins_down = "needs_input_grad false for some inputs; undefined tensors among the saved ones",
    .arguments = {{.name = "x"}, {.name = "w", .differentiable = false}, {.name = "b"}},
    .build = Plain("FrozenWeight", 3,
                   [](const Tensors& in) { return Call(Shared<FrozenWeight>(), in); }),
    .reference =
        [](std::span<const Array> in, const Attributes&) {
          Array y = Array::Zeros(in[0].dtype(), in[0].shape());
          for (int64_t i = 0; i < y.size(); ++i) {
            y.SetDouble(i, in[0].DoubleAt(i) * in[1].DoubleAt(i) + in[2].DoubleAt(i));
          }
          return std::vector<Array>{y};
        },
    .custom_function = true,
    .error_cases = {{.description = "different shapes",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}, {DType::kF64, {4}}}}},
});

}  // namespace
}  // namespace peelcheck
