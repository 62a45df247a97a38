// opinfo_db/functions/constant_output.cc: ConstantOutput and ConstantOutputGenVmap: (x^2, a
// constant).
//
// Pins down an output that does not depend on the batched input: a rule says out_dim none for it,
// vmap expands it all the same, and its cotangent and tangent come to nothing.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

class ConstantOutputRules : public Function {
 public:
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    const double values[] = {0.5, -1.5, 2.5};
    return {Square(in[0]),
            Tensor::FromArray(Array::FromValues(DType::kF64, {3}, values).Cast(in[0].dtype()))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[0]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {2.0 * ct[0] * ctx.saved()[0]};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {2.0 * tangents[0] * ctx.saved()[0], Tensor()};
  }
};

class ConstantOutput : public ConstantOutputRules {
 public:
  std::string name() const override { return "ConstantOutput"; }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0], std::nullopt}};
  }
  bool has_vmap_rule() const override { return true; }
};

class ConstantOutputGenVmap : public ConstantOutputRules {
 public:
  std::string name() const override { return "ConstantOutputGenVmap"; }
  bool generate_vmap_rule() const override { return true; }
};

template <typename F>
Registration Constant(const std::string& name, const std::string& pins_down,
                      SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "y = x^2, c = (0.5, -1.5, 2.5); dy = 2x dx, dc = 0",
       .pins_down = pins_down,
       .arguments = {{.name = "x"}},
       .build = Plain(name, 1, [](const Tensors& in) { return Call(Shared<F>(), in); }),
       .reference = AllOutputs({ElementwiseReference([](double x) { return x * x; }),
                                [](std::span<const Array> inputs, const Attributes&) {
                                  return std::vector<Array>{
                                      FromIndices(inputs[0].dtype(), {3}, [](const Index& at) {
                                        return at[0] == 0 ? 0.5 : at[0] == 1 ? -1.5 : 2.5;
                                      })};
                                }}),
       .custom_function = true,
       .error_cases = {IntegerInput()}},
      where);
}

const Registration kConstantOutput = Constant<ConstantOutput>(
    "ConstantOutput", "an output that does not depend on the batched input: out_dim none");
const Registration kConstantOutputGenVmap = Constant<ConstantOutputGenVmap>(
    "ConstantOutputGenVmap", "an unbatched output of a generated rule");

}  // namespace
}  // namespace peelcheck
