// In-place operations: x is written, marked dirty and returned: exp_, add_, mul_.
#include <absl/strings/str_cat.h>

#include <cmath>

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"
#include "engine/level.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

// Copies `values` over x's elements, whatever x's strides are.
void Overwrite(const Array& target, const Array& values, const std::string& tag) {
  // Also: the strides of an empty array are 0 without anything being expanded.
  if (target.size() == 0) return;
  for (size_t axis = 0; axis < target.shape().size(); ++axis) {
    if (target.shape()[axis] > 1 && target.strides()[axis] == 0) {
      ThrowFailedPrecondition(
          absl::StrCat("[", tag, "] the tensor is expanded along axis ", axis,
                       ", so several elements share one place; clone it first"));
    }
  }
  Array writable = target;
  VisitDType(target.dtype(), [&](auto tag_value) {
    using V = decltype(tag_value);
    V* out = writable.mutable_data<V>();
    const V* in = values.data<V>();
    ForEachRun(LoopAxes<1>(target.shape(), {&target}),
               [&](int64_t n, const auto& offset, const auto& step) {
                 for (int64_t i = 0; i < n; ++i) out[offset[0] + i * step[0]] = in[i];
                 in += n;
               });
  });
}

class InPlaceFunction : public Function {
 public:
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.MarkDirty(in[0]);
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 protected:
  [[noreturn]] void RefuseUnbatched() const {
    ThrowFailedPrecondition(absl::StrCat(
        "[", name(),
        "] the tensor written in place is not batched but its operand is: it has no room "
        "for one value per slot; clone and expand it first, or use the out-of-place form"));
  }
};

class ExpInPlaceFunction : public InPlaceFunction {
 public:
  std::string name() const override { return "exp_"; }
  Tensors Forward(TensorSpan in) const override {
    if (!IsFloating(in[0].dtype())) {
      ThrowInvalidArgument(
          absl::StrCat("[exp_] x is ", DTypeName(in[0].dtype()), "; expected a floating dtype"));
    }
    Overwrite(in[0].array(), Exp(Tensor::FromArray(in[0].array())).array(), name());
    return {in[0]};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override { return {ct[0] * ctx.saved()[0]}; }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {tangents[0] * ctx.saved()[0]};
  }
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
                                        ShapeToString(result.shape()),
                                        " but the tensor written is ", DTypeName(x.dtype()),
                                        ShapeToString(x.shape()), "; use the out-of-place form"));
    }
    Overwrite(x, result, name());
    return {in[0]};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    if (!in_dims[0].has_value()) RefuseUnbatched();
    if (LogicalRank(in[1], in_dims[1]) > LogicalRank(in[0], in_dims[0])) {
      ThrowInvalidArgument(
          absl::StrCat("[", name(), "] the operand has rank ", LogicalRank(in[1], in_dims[1]),
                       " but the tensor written has rank ", LogicalRank(in[0], in_dims[0]),
                       "; use the out-of-place form"));
    }
    // x stays as it is, or its own tape entry would not follow: y's batch axis goes to where x has
    // it.
    Tensor y = BatchToFront(in[1], in_dims[1]);
    Dims shape(y.shape().begin(), y.shape().end());
    const int batch = in_dims[1].has_value() ? 1 : 0;
    shape.insert(shape.begin() + batch, static_cast<size_t>(in[0].rank() - y.rank()), 1);
    y = MoveDim(Reshape(y, shape), 0, *in_dims[0]);
    Tensors inputs(in.begin(), in.end());
    inputs[1] = y;
    return {Call(Ref<const Function>(this), inputs), {in_dims[0]}};
  }

 protected:
  virtual Tensor OutOfPlace(const Tensor& x, const Tensor& y) const = 0;
};

class AddInPlaceFunction : public BinaryInPlaceFunction {
 public:
  std::string name() const override { return "add_"; }
  // Of y only shape and dtype are needed later, so y may be written in place, or be x itself.
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.MarkDirty(in[0]);
    ctx.Set("x", SpecOf(in[0]));
    ctx.Set("y", SpecOf(in[1]));
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const TensorSpec& y = ctx.Get<TensorSpec>("y");
    return {ct[0], ctx.needs_input_grad(1) ? To(SumTo(ct[0], y.shape), y.dtype) : Tensor()};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    if (!tangents[1].defined()) return {tangents[0]};
    if (tangents[0].defined()) return {tangents[0] + tangents[1]};
    const TensorSpec& x = ctx.Get<TensorSpec>("x");
    return {BroadcastTo(To(tangents[1], x.dtype), x.shape)};
  }

 protected:
  Tensor OutOfPlace(const Tensor& x, const Tensor& y) const override { return x + y; }
};

// x *= y. The third input is a copy of x from before: y's gradient needs it, and x_new / y is no
// substitute where y is 0.
class MulInPlaceFunction : public BinaryInPlaceFunction {
 public:
  std::string name() const override { return "mul_"; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({in[1], in[2]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& y = ctx.saved()[0];
    const Tensor& old_x = ctx.saved()[1];
    Tensors gradients(3);
    if (ctx.needs_input_grad(0)) gradients[0] = ct[0] * y;
    if (ctx.needs_input_grad(1)) gradients[1] = To(SumTo(ct[0] * old_x, y.shape()), y.dtype());
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& old_x = ctx.saved()[1];
    if (!tangents[1].defined())
      return {tangents[0].defined() ? tangents[0] * ctx.saved()[0] : Tensor()};
    const Tensor share = old_x * tangents[1];
    return {tangents[0].defined() ? tangents[0] * ctx.saved()[0] + share : share};
  }

 protected:
  Tensor OutOfPlace(const Tensor& x, const Tensor& y) const override { return x * y; }
};

const Storage* StorageOf(const Tensor& tensor) {
  const TensorImpl* at = tensor.impl();
  while (at->kind != TensorKind::kPlain) at = at->inner.impl();
  return at->array.storage().get();
}

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
  const Tensor old_x = Clone(x);
  if (y.is(x)) return Call(function, {x, old_x, old_x})[0];
  // A view of x is overwritten together with x, and its old value is wanted later.
  return Call(function, {x, StorageOf(y) == StorageOf(x) ? Clone(y) : y, old_x})[0];
}

}  // namespace peelcheck
