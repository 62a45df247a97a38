// opinfo_db/functions/cube.cc: OpaqueCube and CubeGenVmap: (x^3, 3x^2).
//
// Pins down that an intermediate may be saved when it is an output: it then has a history, so the
// second derivative gets its share. Both cotangents count. Each backward calls another custom
// function.
#include "engine/ops.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class CubeRules : public Function {
 public:
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Save({in[0], out[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &x = ctx.saved()[0], &slope = ctx.saved()[1];
    return {Times(ct[0], slope) + 6.0 * Times(ct[1], x)};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &x = ctx.saved()[0], &slope = ctx.saved()[1];
    return {Times(tangents[0], slope), 6.0 * Times(tangents[0], x)};
  }

 protected:
  virtual Tensor Times(const Tensor& x, const Tensor& y) const = 0;
};

class OpaqueCubeFunction : public CubeRules {
 public:
  std::string name() const override { return "OpaqueCube"; }
  Tensors Forward(TensorSpan in) const override {
    return {OpaqueMap(name(), in[0], [](auto x) { return x * x * x; }),
            OpaqueMap(name(), in[0], [](auto x) { return 3 * x * x; })};
  }
  // Elementwise: the batch axis stays where it is, in both outputs.
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), in_dims};
  }
  bool has_vmap_rule() const override { return true; }

 protected:
  Tensor Times(const Tensor& x, const Tensor& y) const override { return OpaqueMul(x, y); }
};

class CubeGenVmapFunction : public CubeRules {
 public:
  std::string name() const override { return "CubeGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    const Tensor square = Square(in[0]);
    return {square * in[0], 3.0 * square};
  }
  bool generate_vmap_rule() const override { return true; }

 protected:
  Tensor Times(const Tensor& x, const Tensor& y) const override { return MulGenVmap(x, y); }
};

Registration Cube(const std::string& name, const std::string& source, const std::string& pins_down,
                  Tensors (*call)(const Tensor&),
                  SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "y = x^3, s = 3x^2; dy = 3x^2 dx, ds = 6x dx",
       .source = source,
       .pins_down = pins_down,
       .arguments = {{.name = "x"}},
       .build = Plain(name, 1, [call](const Tensors& in) { return call(in[0]); }),
       .reference = AllOutputs({ElementwiseReference([](double x) { return x * x * x; }),
                                ElementwiseReference([](double x) { return 3 * x * x; })}),
       .custom_function = true,
       .error_cases = {IntegerInput()}},
      where);
}

const Registration kOpaqueCube = Cube(
    "OpaqueCube", "PyTorch autograd_function_db: NumpyCubeAutogradFunction",
    "an intermediate returned as second output and saved; both outputs differentiable", OpaqueCube);
const Registration kCubeGenVmap =
    Cube("CubeGenVmap", "PyTorch autograd_function_db: CubeGenVmapAutogradFunction",
         "generated rule; a rule that calls another function; both cotangents count", CubeGenVmap);

}  // namespace

Tensors OpaqueCube(const Tensor& x) { return Call(Shared<OpaqueCubeFunction>(), {x}); }
Tensors CubeGenVmap(const Tensor& x) { return Call(Shared<CubeGenVmapFunction>(), {x}); }

}  // namespace peelcheck
