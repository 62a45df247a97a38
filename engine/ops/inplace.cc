// In-place operations: x is written, marked dirty and returned: exp_, add_, mul_.
#include <absl/strings/str_cat.h>

#include <cmath>

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"

namespace peelcheck {
namespace {

// Copies `values` over x's elements, whatever x's strides are.
void Overwrite(const Array& target, const Array& values, const std::string& tag) {
  for (size_t axis = 0; axis < target.shape().size(); ++axis) {
    if (target.shape()[axis] > 1 && target.strides()[axis] == 0) {
      ThrowFailedPrecondition(absl::StrCat("[", tag, "] the tensor is expanded along axis ", axis,
                                           ", so several elements share one place; clone it first"));
    }
  }
  Array writable = target;
  VisitDType(target.dtype(), [&](auto tag_value) {
    using V = decltype(tag_value);
    V* out = writable.mutable_data<V>();
    const V* in = values.data<V>();
    if (target.size() == 0) return;
    ForEachRun(LoopAxes<1>(target.shape(), {&target}), [&](int64_t n, const auto& offset, const auto& step) {
      for (int64_t i = 0; i < n; ++i) out[offset[0] + i * step[0]] = in[i];
      in += n;
    });
  });
}

class InPlaceFunction : public Function {
 public:
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.MarkDirty(in[0]); }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 protected:
  [[noreturn]] void RefuseUnbatched() const {
    ThrowFailedPrecondition(absl::StrCat("[", name(),
                                         "] the tensor written in place is not batched but its operand is: it has no room "
                                         "for one value per slot; clone and expand it first, or use the out-of-place form"));
  }
};

class ExpInPlaceFunction : public InPlaceFunction {
 public:
  std::string name() const override { return "exp_"; }
  Tensors Forward(TensorSpan in) const override {
    if (!IsFloating(in[0].dtype())) {
      ThrowInvalidArgument(absl::StrCat("[exp_] x is ", DTypeName(in[0].dtype()), "; expected a floating dtype"));
    }
    Overwrite(in[0].array(), Exp(Tensor::FromArray(in[0].array())).array(), name());
    return {in[0]};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override { return {ct[0] * ctx.saved()[0]}; }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override { return {tangents[0] * ctx.saved()[0]}; }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }
};

// x op= y, y broadcast to x's shape.
class BinaryInPlaceFunction : public InPlaceFunction {
 public:
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    const Array result = OutOfPlace(Tensor::FromArray(x), Tensor::FromArray(in[1].array())).array();
    if (result.shape() != x.shape() || result.dtype() != x.dtype()) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] the result is ", DTypeName(result.dtype()),
                                        ShapeToString(result.shape()), " but the tensor written is ", DTypeName(x.dtype()),
                                        ShapeToString(x.shape()), "; use the out-of-place form"));
    }
    Overwrite(x, result, name());
    return {in[0]};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    if (!in_dims[0].has_value()) RefuseUnbatched();
    Tensor y = in[1];
    if (in_dims[1].has_value()) {
      // x stays as it is, or its own tape entry would not follow: y's batch axis goes to where x has it.
      Dims shape(static_cast<size_t>(in[0].rank()), 1);
      y = BatchToFront(y, in_dims[1]);
      const size_t lead = shape.size() - static_cast<size_t>(y.rank());
      shape[0] = y.dim(0);
      for (size_t i = 1; i < static_cast<size_t>(y.rank()); ++i) shape[lead + i] = y.dim(static_cast<int64_t>(i));
      y = MoveDim(Reshape(y, shape), 0, *in_dims[0]);
    } else if (y.rank() > 0) {
      Dims shape(y.shape().begin(), y.shape().end());
      shape.insert(shape.begin(), static_cast<size_t>(in[0].rank() - y.rank()), 1);
      y = MoveDim(Reshape(y, shape), 0, *in_dims[0]);
    }
    return {Call(Ref<const Function>(this), {in[0], y}), {in_dims[0]}};
  }

 protected:
  virtual Tensor OutOfPlace(const Tensor& x, const Tensor& y) const = 0;
};

class AddInPlaceFunction : public BinaryInPlaceFunction {
 public:
  std::string name() const override { return "add_"; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({in[1]});
    ctx.Set("shape", in[0].shape());
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& y = ctx.saved()[0];
    return {ct[0], ctx.needs_input_grad(1) ? To(SumTo(ct[0], y.shape()), y.dtype()) : Tensor()};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    if (!tangents[0].defined()) return {BroadcastTo(tangents[1], ctx.Get<Shape>("shape"))};
    return {tangents[1].defined() ? tangents[0] + tangents[1] : tangents[0]};
  }

 protected:
  Tensor OutOfPlace(const Tensor& x, const Tensor& y) const override { return x + y; }
};

class MulInPlaceFunction : public BinaryInPlaceFunction {
 public:
  std::string name() const override { return "mul_"; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({in[1], out[0]});
  }
  // The old x is gone; it is needed for y's gradient, and only x_new / y is left of it.
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& y = ctx.saved()[0];
    if (!ctx.needs_input_grad(1)) return {ct[0] * y, Tensor()};
    const Tensor old_x = ctx.saved()[1] / y;
    return {ct[0] * y, To(SumTo(ct[0] * old_x, y.shape()), y.dtype())};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& y = ctx.saved()[0];
    Tensor total;
    if (tangents[0].defined()) total = tangents[0] * y;
    if (tangents[1].defined()) {
      const Tensor share = tangents[1] * (ctx.saved()[1] / y);
      total = total.defined() ? total + share : share;
    }
    return {BroadcastTo(total, ctx.saved()[1].shape())};
  }

 protected:
  Tensor OutOfPlace(const Tensor& x, const Tensor& y) const override { return x * y; }
};

}  // namespace

Tensor ExpInPlace(const Tensor& x) {
  static const Ref<const Function> function = MakeRef<ExpInPlaceFunction>();
  return Call(function, {x})[0];
}
Tensor AddInPlace(const Tensor& x, const Tensor& y) {
  static const Ref<const Function> function = MakeRef<AddInPlaceFunction>();
  return Call(function, {x, y})[0];
}
Tensor MulInPlace(const Tensor& x, const Tensor& y) {
  static const Ref<const Function> function = MakeRef<MulInPlaceFunction>();
  return Call(function, {x, y})[0];
}

}  // namespace peelcheck
