// Casts, copies and constants.
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

class ToFunction : public LinearFunction {
 public:
  explicit ToFunction(DType dtype) : dtype_(dtype) {}
  std::string name() const override { return "to"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(in[0].array().Cast(dtype_))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    return To(ct, input.dtype);
  }

 private:
  DType dtype_;
};

class CloneFunction : public LinearFunction {
 public:
  std::string name() const override { return "clone"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(in[0].array().Copy())};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override { return ct; }
};

class DetachFunction : public Function {
 public:
  std::string name() const override { return "detach"; }
  Tensors Forward(TensorSpan in) const override { return {Tensor::FromArray(in[0].array())}; }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override {
    ctx.MarkNonDifferentiable(out[0]);
  }
  Tensors Backward(Context&, TensorSpan) const override { return {Tensor()}; }
  Tensors Jvp(Context&, TensorSpan) const override { return {Tensor()}; }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }
};

}  // namespace

Tensor To(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return Call(Ref<const Function>(MakeRef<ToFunction>(dtype)), {x})[0];
}

Tensor Clone(const Tensor& x) {
  static const Ref<const Function> function = MakeRef<CloneFunction>();
  return Call(function, {x})[0];
}

Tensor Detach(const Tensor& x) {
  static const Ref<const Function> function = MakeRef<DetachFunction>();
  return Call(function, {x})[0];
}

Tensor Full(const Shape& shape, double value, DType dtype) {
  return Tensor::FromArray(Array::Full(dtype, shape, value));
}
Tensor ZerosLike(const Tensor& x) { return Full(x.shape(), 0.0, x.dtype()); }
Tensor OnesLike(const Tensor& x) { return Full(x.shape(), 1.0, x.dtype()); }

}  // namespace peelcheck
