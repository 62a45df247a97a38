// opinfo_db/functions/nested.cc: NestedCubeOfMul, SquareViaMul and SquareViaMulGenVmap: functions
// made of other custom functions.
//
// Pins down that forward may call other functions, written rules under a generated one: the outer
// function's own backward counts, not theirs; and that one tensor passed twice gets both shares of
// its gradient.
#include "engine/ops.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class NestedCubeOfMul : public Function {
 public:
  std::string name() const override { return "NestedCubeOfMul"; }
  Tensors Forward(TensorSpan in) const override {
    const Tensor product = OpaqueMul(in[0], in[1]);
    return {CubeGenVmap(product)[0], product};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Save({in[0], in[1], out[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    const Tensor of_product = ct[0] * OpaqueCube(ctx.saved()[2])[1] + ct[1];
    return {SumTo(OpaqueMul(of_product, y), x.shape()),
            SumTo(MulGenVmap(of_product, x), y.shape())};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    const Tensor of_product = OpaqueMul(tangents[0], y) + MulGenVmap(x, tangents[1]);
    return {of_product * OpaqueCube(ctx.saved()[2])[1], of_product};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kNestedCubeOfMul({
    .name = "NestedCubeOfMul",
    .formula = "p = x y, z = p^3, broadcast; dp = y dx + x dy, dz = 3p^2 dp",
    .pins_down = "nested custom functions: forward and rules call others, written and generated",
    .arguments = {{.name = "x", .shape = "~"}, {.name = "y", .shape = "~"}},
    .build = Plain("NestedCubeOfMul", 2,
                   [](const Tensors& in) { return Call(Shared<NestedCubeOfMul>(), in); }),
    .reference = AllOutputs({ElementwiseReference([](double x, double y) {
                               return x * x * x * y * y * y;
                             }),
                             ElementwiseReference([](double x, double y) { return x * y; })}),
    .custom_function = true,
    .error_cases = {{.description = "shapes that do not broadcast",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3}}}}},
});

Registration SquareVia(const std::string& name, const std::string& pins_down,
                       Tensor (*multiply)(const Tensor&, const Tensor&),
                       SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "y = x x; dy = 2x dx, of which each operand has half",
       .pins_down = pins_down,
       .arguments = {{.name = "x"}},
       .build = Plain(
           name, 1, [multiply](const Tensors& in) -> Tensors { return {multiply(in[0], in[0])}; }),
       .reference = ElementwiseReference([](double x) { return x * x; }),
       .custom_function = true},
      where);
}

const Registration kSquareViaMul = SquareVia(
    "SquareViaMul", "the same tensor passed twice to a function with a written rule", OpaqueMul);
const Registration kSquareViaMulGenVmap =
    SquareVia("SquareViaMulGenVmap",
              "the same tensor passed twice to a function with a generated rule", MulGenVmap);

}  // namespace
}  // namespace peelcheck
