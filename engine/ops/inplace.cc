// In-place operations, a row each: x is written, marked dirty and returned.
//
//   AddInPlace(buffer, x);   // buffer += x; the handle `buffer` has the derivative from now on
#include <absl/strings/str_cat.h>

#include <cmath>

#include "engine/batching.h"
#include "engine/kernels/elementwise.h"
#include "engine/level.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

// Copies `values` over x's elements, whatever the strides of either are.
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
  // A copy where reading would meet what is already written.
  const Array from = values.storage() == target.storage() ? values.Copy() : values.Contiguous();
  Array writable = target;
  VisitDType(target.dtype(), [&](auto tag_value) {
    using V = decltype(tag_value);
    V* out = writable.mutable_data<V>();
    const V* in = from.data<V>();
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
  Tensor NewValue(TensorSpan inputs) const override = 0;

 protected:
  [[noreturn]] void RefuseUnbatched() const {
    ThrowFailedPrecondition(absl::StrCat(
        "[", name(),
        "] the tensor written in place is not batched but its operand is: it has no room "
        "for one value per slot; clone and expand it first, or use the out-of-place form"));
  }
};

// x = f(x); the derivative is a formula in the new value alone, for the old one is gone.
struct UnaryInPlaceRow {
  const char* name;
  Tensor (*op)(const Tensor& x);
  Tensor (*derivative)(const Tensor& y);
};

class UnaryInPlaceFunction : public InPlaceFunction {
 public:
  explicit UnaryInPlaceFunction(const UnaryInPlaceRow& row) : row_(row) {}
  std::string name() const override { return row_.name; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    Overwrite(x, NewValue({{Tensor::FromArray(x)}}).array(), name());
    return {in[0]};
  }
  Tensor NewValue(TensorSpan in) const override {
    if (!IsFloating(in[0].dtype())) {
      ThrowInvalidArgument(
          absl::StrCat("[", name(), "] x is ", DTypeName(in[0].dtype()), "; expected f32 or f64"));
    }
    return row_.op(in[0]);
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {ct[0] * row_.derivative(ctx.saved()[0])};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {tangents[0] * row_.derivative(ctx.saved()[0])};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }

 private:
  UnaryInPlaceRow row_;
};

// x = x op y, y broadcast to x's shape.
class BinaryInPlaceFunction : public InPlaceFunction {
 public:
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    const Tensor y = Tensor::FromArray(in[1].array());
    Overwrite(x, NewValue({{Tensor::FromArray(x), y}}).array(), name());
    return {in[0]};
  }
  Tensor NewValue(TensorSpan in) const override {
    const Tensor& x = in[0];
    Tensor result = OutOfPlace(x, in[1]);
    if (result.shape() != x.shape() || result.dtype() != x.dtype()) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] the result is ", DTypeName(result.dtype()),
                                        ShapeToString(result.shape()),
                                        " but the tensor written is ", DTypeName(x.dtype()),
                                        ShapeToString(x.shape()), "; use the out-of-place form"));
    }
    return result;
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

// x = a x + b y with a in {0, 1} and b in {1, -1}: nothing is saved, so y may be written later, or
// be x itself.
class LinearInPlaceFunction : public BinaryInPlaceFunction {
 public:
  LinearInPlaceFunction(const char* name, bool keeps_x, double sign)
      : name_(name), keeps_x_(keeps_x), sign_(sign) {}
  std::string name() const override { return name_; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.MarkDirty(in[0]);
    ctx.Set("x", SpecOf(in[0]));
    ctx.Set("y", SpecOf(in[1]));
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    Tensors gradients(2);
    if (keeps_x_ && ctx.needs_input_grad(0)) gradients[0] = ct[0];
    if (ctx.needs_input_grad(1)) {
      const TensorSpec& y = ctx.Get<TensorSpec>("y");
      gradients[1] = To(SumTo(Signed(ct[0]), y.shape), y.dtype);
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    if (!tangents[1].defined()) return {keeps_x_ ? tangents[0] : Tensor()};
    const TensorSpec& x = ctx.Get<TensorSpec>("x");
    const Tensor share = BroadcastTo(To(Signed(tangents[1]), x.dtype), x.shape);
    return {keeps_x_ && tangents[0].defined() ? tangents[0] + share : share};
  }

 protected:
  Tensor OutOfPlace(const Tensor& x, const Tensor& y) const override {
    if (!keeps_x_) return BroadcastTo(To(y, x.dtype()), x.shape());
    return sign_ > 0 ? x + y : x - y;
  }

 private:
  Tensor Signed(const Tensor& t) const { return sign_ > 0 ? t : -t; }

  const char* name_;
  bool keeps_x_;
  double sign_;
};

// x = x op y where the derivative needs values. The third input is a copy of x from before: y's
// gradient needs it, and the new x is no substitute where y is 0.
struct ScalingInPlaceRow {
  using Map = Tensor (*)(const Tensor& t, const Tensor& old_x, const Tensor& y);
  const char* name;
  Tensor (*op)(const Tensor& x, const Tensor& y);
  Map by_x, by_y;  // a cotangent of the result, or a tangent of x (y), to that of x (y), or back
};

class ScalingInPlaceFunction : public BinaryInPlaceFunction {
 public:
  explicit ScalingInPlaceFunction(const ScalingInPlaceRow& row) : row_(row) {}
  std::string name() const override { return row_.name; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({in[1], in[2]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& y = ctx.saved()[0];
    const Tensor& old_x = ctx.saved()[1];
    Tensors gradients(3);
    if (ctx.needs_input_grad(0)) gradients[0] = row_.by_x(ct[0], old_x, y);
    if (ctx.needs_input_grad(1)) {
      gradients[1] = To(SumTo(row_.by_y(ct[0], old_x, y), y.shape()), y.dtype());
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& y = ctx.saved()[0];
    const Tensor& old_x = ctx.saved()[1];
    Tensor total;
    if (tangents[0].defined()) total = row_.by_x(tangents[0], old_x, y);
    if (tangents[1].defined()) {
      const Tensor share = row_.by_y(tangents[1], old_x, y);
      total = total.defined() ? total + share : share;
    }
    return {total};
  }

 protected:
  Tensor OutOfPlace(const Tensor& x, const Tensor& y) const override { return row_.op(x, y); }

 private:
  ScalingInPlaceRow row_;
};

bool SharesMemory(const Tensor& x, const Tensor& y) { return &StorageOf(x) == &StorageOf(y); }

// The values from before are saved, with their history, for a second derivative goes through them:
// x's, and those of an operand that looks into x's memory.
Tensor CallScaling(const Ref<const Function>& function, const Tensor& x, const Tensor& y) {
  const Tensor old_x = Clone(x);
  return Call(function, {x, SharesMemory(x, y) ? Clone(y) : y, old_x})[0];
}

}  // namespace

#define PEELCHECK_UNARY_IN_PLACE(Name, name, op, derivative)                              \
  Tensor Name(const Tensor& input) {                                                      \
    static const Ref<const Function> function = MakeRef<UnaryInPlaceFunction>(            \
        UnaryInPlaceRow{name, op, [](const Tensor& y) -> Tensor { return derivative; }}); \
    return Call(function, {input})[0];                                                    \
  }
#define PEELCHECK_SCALING_IN_PLACE(Name, name, op, by_x, by_y)                    \
  Tensor Name(const Tensor& x, const Tensor& y) {                                 \
    static const Ref<const Function> function = MakeRef<ScalingInPlaceFunction>(  \
        ScalingInPlaceRow{name, op,                                               \
                          [](const Tensor& t, const Tensor& u, const Tensor& v) { \
                            return (void)u, (void)v, Tensor(by_x);                \
                          },                                                      \
                          [](const Tensor& t, const Tensor& u, const Tensor& v) { \
                            return (void)u, (void)v, Tensor(by_y);                \
                          }});                                                    \
    return CallScaling(function, x, y);                                           \
  }
#define PEELCHECK_LINEAR_IN_PLACE(Name, name, keeps_x, sign) \
  Tensor Name(const Tensor& x, const Tensor& y) {            \
    static const Ref<const Function> function =              \
        MakeRef<LinearInPlaceFunction>(name, keeps_x, sign); \
    return Call(function, {x, y})[0];                        \
  }

// clang-format off
PEELCHECK_UNARY_IN_PLACE(NegInPlace,        "neg_",        Neg,        Full({}, -1.0, y.dtype()))
PEELCHECK_UNARY_IN_PLACE(ExpInPlace,        "exp_",        Exp,        y)
PEELCHECK_UNARY_IN_PLACE(SqrtInPlace,       "sqrt_",       Sqrt,       Reciprocal(y) * 0.5)
PEELCHECK_UNARY_IN_PLACE(ReciprocalInPlace, "reciprocal_", Reciprocal, -(y * y))
PEELCHECK_UNARY_IN_PLACE(TanhInPlace,       "tanh_",       Tanh,       1.0 - y * y)
PEELCHECK_UNARY_IN_PLACE(SigmoidInPlace,    "sigmoid_",    Sigmoid,    y * (1.0 - y))
PEELCHECK_UNARY_IN_PLACE(ReluInPlace,       "relu_",       Relu,       To(Gt(y, Full({}, 0.0, y.dtype())), y.dtype()))
PEELCHECK_LINEAR_IN_PLACE(AddInPlace,       "add_",  true,  1.0)
PEELCHECK_LINEAR_IN_PLACE(SubInPlace,       "sub_",  true,  -1.0)
PEELCHECK_LINEAR_IN_PLACE(CopyInPlace,      "copy_", false, 1.0)
// u = x before, v = y.
PEELCHECK_SCALING_IN_PLACE(MulInPlace,      "mul_",  Mul, t * v, t * u)
PEELCHECK_SCALING_IN_PLACE(DivInPlace,      "div_",  Div, t / v, -(t * u) / (v * v))
// clang-format on

#undef PEELCHECK_UNARY_IN_PLACE
#undef PEELCHECK_SCALING_IN_PLACE
#undef PEELCHECK_LINEAR_IN_PLACE

}  // namespace peelcheck
