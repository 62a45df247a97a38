// where(condition, x, y): selects, and its gradient selects too: it does not multiply by a mask, so
// an infinity in the branch that was not taken stays out of the sum.
#include <absl/strings/str_cat.h>

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"

namespace peelcheck {
namespace {

class WhereFunction : public Function {
 public:
  std::string name() const override { return "where"; }

  Tensors Forward(TensorSpan in) const override {
    const Array& condition = in[0].array();
    if (condition.dtype() != DType::kBool) {
      ThrowInvalidArgument(
          absl::StrCat("[where] condition is ", DTypeName(condition.dtype()), "; expected bool"));
    }
    const DType dtype = PromoteTypes(in[1].dtype(), in[2].dtype());
    const Array x = in[1].array().Cast(dtype);
    const Array y = in[2].array().Cast(dtype);
    const Shape shape =
        BroadcastShapes(condition.shape(), BroadcastShapes(x.shape(), y.shape(), "where"), "where");
    Array z = Array::Empty(dtype, shape);
    if (z.size() == 0) return {Tensor::FromArray(z)};
    VisitDType(dtype, [&](auto tag) { Select<decltype(tag)>(condition, x, y, z); });
    return {Tensor::FromArray(z)};
  }
  // Only the condition is needed later: x, y and the result may be written in place.
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[0]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& condition = ctx.saved()[0];
    const Tensor zero = Full({}, 0.0, ct[0].dtype());
    Tensors gradients(3);
    for (size_t i = 1; i < 3; ++i) {
      if (!ctx.needs_input_grad(i)) continue;
      const Tensor gradient =
          i == 1 ? Where(condition, ct[0], zero) : Where(condition, zero, ct[0]);
      gradients[i] = To(SumTo(gradient, ctx.input_spec(i).shape), ctx.input_spec(i).dtype);
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const TensorSpec& result = ctx.output_spec(0);
    const DType dtype = result.dtype;
    const Tensor zero = Full({}, 0.0, dtype);
    const Tensor x = tangents[1].defined() ? To(tangents[1], dtype) : zero;
    const Tensor y = tangents[2].defined() ? To(tangents[2], dtype) : zero;
    return {BroadcastTo(Where(ctx.saved()[0], x, y), result.shape)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), AlignForBroadcast(in, in_dims)), {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  template <typename V>
  static void Select(const Array& condition, const Array& x, const Array& y, Array& z) {
    V* out = z.fresh_data<V>();
    const LoopAxes<3> axes(z.shape(), {&condition, &x, &y});
    ForEachRun(axes, [&](int64_t n, const auto& offset, const auto& step) {
      const uint8_t* c = condition.data<uint8_t>() + offset[0];
      const V* a = x.data<V>() + offset[1];
      const V* b = y.data<V>() + offset[2];
      for (int64_t i = 0; i < n; ++i)
        out[i] = c[i * step[0]] != 0 ? a[i * step[1]] : b[i * step[2]];
      out += n;
    });
  }
};

}  // namespace

Tensor Where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  static const Ref<const Function> function = MakeRef<WhereFunction>();
  return Call(function, {condition, x, y})[0];
}

}  // namespace peelcheck
