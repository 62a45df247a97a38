// matmul: matrices, vectors, broadcast batches. A vector is a matrix of one row (left) or one
// column (right), whose extra axis is dropped again; so there is one function, on matrices.
//
//   MatMul(x, y);  // [5, 1, m, k] x [3, k, n] -> [5, 3, m, n]; [k] x [k] -> []
#include "engine/kernels/matmul.h"

#include <absl/strings/str_cat.h>

#include "engine/batching.h"

namespace peelcheck {
namespace {

// [.., m, k] x [.., k, n]
class MatMulFunction : public Function {
 public:
  std::string name() const override { return "matmul"; }
  Tensors Forward(TensorSpan in) const override {
    const DType dtype = PromoteTypes(PromoteTypes(in[0].dtype(), in[1].dtype()), DType::kI64);
    return {Tensor::FromArray(MatMulArrays(in[0].array().Cast(dtype), in[1].array().Cast(dtype)))};
  }
  // Not the output: the caller may write to it in place, and no rule reads it.
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[0], in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& x = ctx.saved()[0];
    const Tensor& y = ctx.saved()[1];
    Tensors gradients(2);
    if (ctx.needs_input_grad(0))
      gradients[0] = To(SumTo(MatMul(ct[0], Transpose(y, -2, -1)), x.shape()), x.dtype());
    if (ctx.needs_input_grad(1))
      gradients[1] = To(SumTo(MatMul(Transpose(x, -2, -1), ct[0]), y.shape()), y.dtype());
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensors& saved = ctx.saved();
    Tensor total;
    if (tangents[0].defined()) total = MatMul(tangents[0], saved[1]);
    if (tangents[1].defined()) {
      const Tensor share = MatMul(saved[0], tangents[1]);
      total = total.defined() ? total + share : share;
    }
    return {To(total, PromoteTypes(saved[0].dtype(), saved[1].dtype()))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), AlignForBroadcast(in, in_dims)), {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }
};

}  // namespace

Tensor MatMul(const Tensor& x, const Tensor& y) {
  static const Ref<const Function> function = MakeRef<MatMulFunction>();
  const bool x_vector = x.rank() == 1;
  const bool y_vector = y.rank() == 1;
  const int64_t x_inner = x.rank() == 0 ? -1 : x.dim(x.rank() - 1);
  const int64_t y_inner = y.rank() == 0 ? -2 : y.dim(y_vector ? 0 : y.rank() - 2);
  if (x_inner != y_inner) {
    ThrowInvalidArgument(absl::StrCat(
        "[matmul] shapes ", ShapeToString(x.shape()), " and ", ShapeToString(y.shape()),
        " do not multiply; expected [.., m, k] and [.., k, n], or vectors [k]"));
  }
  const Tensor left = x_vector ? Unsqueeze(x, 0) : x;
  const Tensor right = y_vector ? Unsqueeze(y, 1) : y;
  Tensor product = Call(function, {left, right})[0];
  if (y_vector) product = Squeeze(product, -1);
  if (x_vector) product = Squeeze(product, y_vector ? -1 : -2);
  return product;
}

}  // namespace peelcheck
