// opinfo_db/functions/mul.cc: OpaqueMul and MulGenVmap: x * y, broadcast.
//
// Pins down saving of inputs, gradients that are computed only where they are needed, and batch
// axes at the end: there x and y may have different ranks and still broadcast from the right.
#include "engine/ops.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class MulRules : public Function {
 public:
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[0], in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensors& in = ctx.saved();
    Tensors gradients(2);
    for (size_t i = 0; i < 2; ++i) {
      if (!ctx.needs_input_grad(i)) continue;
      gradients[i] = To(SumTo(Times(ct[0], in[1 - i]), in[i].shape()), in[i].dtype());
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    // The tangent of an integer input is undefined.
    if (!tangents[0].defined()) return {Times(x, tangents[1])};
    if (!tangents[1].defined()) return {Times(tangents[0], y)};
    return {Times(tangents[0], y) + Times(x, tangents[1])};
  }

 private:
  Tensor Times(const Tensor& x, const Tensor& y) const {
    return Call(Ref<const Function>(this), {x, y})[0];
  }
};

class OpaqueMulFunction : public MulRules {
 public:
  std::string name() const override { return "OpaqueMul"; }
  Tensors Forward(TensorSpan in) const override {
    const Shape shape = BroadcastShapes(in[0].shape(), in[1].shape(), name());
    const DType dtype = PromoteTypes(in[0].dtype(), in[1].dtype());
    const Array x = in[0].array().Cast(dtype).Expanded(shape).Contiguous();
    const Array y = in[1].array().Cast(dtype).Expanded(shape).Contiguous();
    Array product = Array::Empty(dtype, shape);
    VisitDType(dtype, [&](auto zero) {
      using T = decltype(zero);
      const T *a = x.data<T>(), *b = y.data<T>();
      T* out = product.fresh_data<T>();
      for (int64_t i = 0; i < product.size(); ++i) out[i] = static_cast<T>(a[i] * b[i]);
    });
    return {Tensor::FromArray(product)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const auto batch_last = [&](size_t i) {
      return in_dims[i].has_value() ? MoveDim(in[i], *in_dims[i], -1) : Unsqueeze(in[i], -1);
    };
    const Tensor product = Call(Ref<const Function>(this), {batch_last(0), batch_last(1)})[0];
    return {{product}, {product.rank() - 1}};
  }
  bool has_vmap_rule() const override { return true; }
};

class MulGenVmapFunction : public MulRules {
 public:
  std::string name() const override { return "MulGenVmap"; }
  Tensors Forward(TensorSpan in) const override { return {in[0] * in[1]}; }
  bool generate_vmap_rule() const override { return true; }
};

Registration Product(const std::string& name, const std::string& source,
                     const std::string& pins_down, Tensor (*call)(const Tensor&, const Tensor&),
                     SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "z = x y, broadcast; dz = y dx + x dy",
       .source = source,
       .pins_down = pins_down,
       .arguments = {{.name = "x", .shape = "~"}, {.name = "y", .shape = "~"}},
       .build =
           Plain(name, 2, [call](const Tensors& in) -> Tensors { return {call(in[0], in[1])}; }),
       .reference = ElementwiseReference([](double x, double y) { return x * y; }),
       .custom_function = true,
       .error_cases = {{.description = "shapes that do not broadcast",
                        .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3}}}}}},
      where);
}

const Registration kOpaqueMul =
    Product("OpaqueMul", "PyTorch autograd_function_db: NumpyMulAutogradFunction",
            "saves inputs; needs_input_grad pruning; moves batch axes to the end", OpaqueMul);
const Registration kMulGenVmap =
    Product("MulGenVmap", "PyTorch autograd_function_db: MulGenVmapAutogradFunction",
            "generated rule with broadcasting, gradients reduced", MulGenVmap);

}  // namespace

Tensor OpaqueMul(const Tensor& x, const Tensor& y) {
  return Call(Shared<OpaqueMulFunction>(), {x, y})[0];
}
Tensor MulGenVmap(const Tensor& x, const Tensor& y) {
  return Call(Shared<MulGenVmapFunction>(), {x, y})[0];
}

}  // namespace peelcheck
