// opinfo_db/functions/sin_cos_tan.cc: OpaqueSinCosTan3 and SinCosTan3GenVmap: three outputs, all
// differentiable and all saved.
//
// Pins down that each of several cotangents meets its own output, and that saved outputs carry the
// derivative's derivative.
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class SinCosTanRules : public Function {
 public:
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override {
    ctx.Save({out[0], out[1], out[2]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &sin = ctx.saved()[0], &cos = ctx.saved()[1], &tan = ctx.saved()[2];
    return {ct[0] * cos - ct[1] * sin + ct[2] * (1.0 + tan * tan)};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &sin = ctx.saved()[0], &cos = ctx.saved()[1], &tan = ctx.saved()[2];
    return {tangents[0] * cos, -(tangents[0] * sin), tangents[0] * (1.0 + tan * tan)};
  }
};

class OpaqueSinCosTan3 : public SinCosTanRules {
 public:
  std::string name() const override { return "OpaqueSinCosTan3"; }
  Tensors Forward(TensorSpan in) const override {
    return {OpaqueMap(name(), in[0], [](auto x) { return std::sin(x); }),
            OpaqueMap(name(), in[0], [](auto x) { return std::cos(x); }),
            OpaqueMap(name(), in[0], [](auto x) { return std::tan(x); })};
  }
  // One dim per output, and not the same one for all.
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensors out = Call(Ref<const Function>(this), in);
    const int64_t last = in[0].rank() - 1;
    return {{out[0], MoveDim(out[1], *in_dims[0], 0), MoveDim(out[2], *in_dims[0], last)},
            {in_dims[0], 0, last}};
  }
  bool has_vmap_rule() const override { return true; }
};

class SinCosTan3GenVmap : public SinCosTanRules {
 public:
  std::string name() const override { return "SinCosTan3GenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    return {Sin(in[0]), Cos(in[0]), Tan(in[0])};
  }
  bool generate_vmap_rule() const override { return true; }
};

template <typename F>
Registration Three(const std::string& name, const std::string& pins_down,
                   SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "s = sin x, c = cos x, t = tan x; ds = c dx, dc = -s dx, dt = (1 + t^2) dx",
       .pins_down = pins_down,
       .arguments = {{.name = "x", .domain = {.low = -1.2, .high = 1.2}}},
       .build = Plain(name, 1, [](const Tensors& in) { return Call(Shared<F>(), in); }),
       .reference = AllOutputs({ElementwiseReference([](double x) { return std::sin(x); }),
                                ElementwiseReference([](double x) { return std::cos(x); }),
                                ElementwiseReference([](double x) { return std::tan(x); })}),
       .custom_function = true,
       .error_cases = {IntegerInput()}},
      where);
}

const Registration kOpaqueSinCosTan3 = Three<OpaqueSinCosTan3>(
    "OpaqueSinCosTan3", "three differentiable outputs, each with an out_dim of its own");
const Registration kSinCosTan3GenVmap = Three<SinCosTan3GenVmap>(
    "SinCosTan3GenVmap", "three differentiable outputs through a generated rule");

}  // namespace
}  // namespace peelcheck
