// opinfo_db/functions/sin_different_saves.cc: SinDifferentSaves: sin(x) scale, with lists of its
// own for backward and for forward mode.
//
// Pins down that the two lists are independent: of another length and in another order, so the
// batch dims that a generated rule remembers for one are wrong for the other.
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class SinDifferentSaves : public Function {
 public:
  std::string name() const override { return "SinDifferentSaves"; }
  Tensors Forward(TensorSpan in) const override { return {Sin(in[0]) * in[1]}; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.SaveForBackward({in[0], in[1]});
    ctx.SaveForForward({out[0], in[1], in[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &x = ctx.saved()[0], &scale = ctx.saved()[1];
    return {SumTo(ct[0] * scale * Cos(x), x.shape()), SumTo(ct[0] * Sin(x), scale.shape())};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &y = ctx.saved()[0], &scale = ctx.saved()[1], &x = ctx.saved()[2];
    return {tangents[0] * scale * Cos(x) + tangents[1] * (y / scale)};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kSinDifferentSaves({
    .name = "SinDifferentSaves",
    .formula = "y = sin(x) scale, broadcast; dy = scale cos(x) dx + sin(x) dscale",
    .pins_down = "different saves for backward and for forward, each with its own batch dims",
    .arguments = {{.name = "x", .shape = "~", .domain = {.low = -3, .high = 3}},
                  {.name = "scale", .shape = "~", .domain = {.low = 0.5, .high = 2}}},
    .build = Plain("SinDifferentSaves", 2,
                   [](const Tensors& in) { return Call(Shared<SinDifferentSaves>(), in); }),
    .reference = ElementwiseReference([](double x, double scale) { return std::sin(x) * scale; }),
    .custom_function = true,
    .error_cases = {{.description = "shapes that do not broadcast",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3}}}}},
});

}  // namespace
}  // namespace peelcheck
