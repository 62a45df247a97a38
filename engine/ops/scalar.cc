// Operations with a C++ scalar, which keep the dtype of the tensor: x * scale + shift, and
// x^exponent.
#include <cmath>

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"

namespace peelcheck {
namespace {

bool IsWhole(double value) { return std::isfinite(value) && value == std::floor(value); }

// Integers take part in f32, unless the scalars are whole numbers.
DType ScalarDType(DType dtype, double a, double b) {
  if (IsFloating(dtype)) return dtype;
  return IsWhole(a) && IsWhole(b) ? DType::kI64 : DType::kF32;
}

class AffineFunction : public Function {
 public:
  AffineFunction(double scale, double shift) : scale_(scale), shift_(shift) {}
  std::string name() const override { return scale_ == 1 ? "add" : shift_ == 0 ? "mul" : "affine"; }
  Tensors Forward(TensorSpan in) const override {
    const Array x = in[0].array().Cast(ScalarDType(in[0].dtype(), scale_, shift_));
    return {Tensor::FromArray(VisitDType(x.dtype(), [&](auto tag) {
      using V = decltype(tag);
      const V scale = static_cast<V>(scale_);
      const V shift = static_cast<V>(shift_);
      // Loops of their own: adding 0 turns -0 into 0 (also in x * 1.0), and multiplying by 1 is not
      // free.
      if (shift_ == 0) return MapUnary<V>(x, [=](V v) -> V { return static_cast<V>(v * scale); });
      if (scale_ == 1) return MapUnary<V>(x, [=](V v) -> V { return static_cast<V>(v + shift); });
      return MapUnary<V>(x, [=](V v) -> V { return static_cast<V>(v * scale + shift); });
    }))};
  }
  Tensors Backward(Context&, TensorSpan ct) const override { return {Scaled(ct[0])}; }
  Tensors Jvp(Context&, TensorSpan tangents) const override { return {Scaled(tangents[0])}; }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  Tensor Scaled(const Tensor& t) const { return scale_ == 1 ? t : t * scale_; }
  double scale_;
  double shift_;
};

class PowScalarFunction : public Function {
 public:
  explicit PowScalarFunction(double exponent) : exponent_(exponent) {}
  std::string name() const override { return "pow"; }
  Tensors Forward(TensorSpan in) const override {
    // A negative power of an integer is no integer.
    const Array x =
        in[0].array().Cast(ScalarDType(in[0].dtype(), exponent_ < 0 ? 0.5 : exponent_, 0));
    // The loop of two integers: exact, and std::pow is not.
    if (!IsFloating(x.dtype())) {
      return {Pow(Tensor::FromArray(x), Full({}, exponent_, DType::kI64))};
    }
    return {Tensor::FromArray(VisitFloating(x.dtype(), [&](auto tag) {
      using V = decltype(tag);
      return MapUnary<V>(
          x, [this](V v) -> V { return static_cast<V>(std::pow(v, static_cast<V>(exponent_))); });
    }))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[0]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override { return {Apply(ctx, ct[0])}; }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Apply(ctx, tangents[0])};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  Tensor Apply(const Context& ctx, const Tensor& t) const {
    // x^0 is constant, at x = 0 too, where the formula would give 0 * inf.
    if (exponent_ == 0) return Tensor();
    return t * PowScalar(ctx.saved()[0], exponent_ - 1) * exponent_;
  }
  double exponent_;
};

}  // namespace

Tensor Affine(const Tensor& x, double scale, double shift) {
  return Call(Ref<const Function>(MakeRef<AffineFunction>(scale, shift)), {x})[0];
}

Tensor PowScalar(const Tensor& x, double exponent) {
  return Call(Ref<const Function>(MakeRef<PowScalarFunction>(exponent)), {x})[0];
}

}  // namespace peelcheck
