// gather and scatter_add along a dim, each the transpose of the other.
//
//   Gather(x, 1, index);                // y[i, j] = x[i, index[i, j]]
//   ScatterAdd(x, 1, index, source);    // y = x; y[i, index[i, j]] += source[i, j]
#include "engine/kernels/index.h"
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

void CheckIndex(const Array& index, const Shape& x, int64_t dim, const char* tag) {
  if (index.dtype() != DType::kI64) {
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] index is ", DTypeName(index.dtype()), "; expected i64"));
  }
  bool fits = index.shape().size() == x.size();
  for (size_t axis = 0; fits && axis < x.size(); ++axis) {
    fits = static_cast<int64_t>(axis) == dim || index.shape()[axis] <= x[axis];
  }
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat(
        "[", tag, "] index has shape ", ShapeToString(index.shape()), " for an input of shape ",
        ShapeToString(x), "; expected the same rank, and no larger axis but dim ", dim));
  }
}

class GatherFunction : public LinearFunction {
 public:
  explicit GatherFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "gather"; }
  Tensors Forward(TensorSpan in) const override {
    CheckIndex(in[1].array(), in[0].shape(), dim_, "gather");
    return {Tensor::FromArray(GatherArrays(in[0].array(), dim_, in[1].array(), "gather"))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Set("input", SpecOf(in[0]));
    ctx.Save({in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const auto& spec = ctx.Get<TensorSpec>("input");
    return {ScatterAdd(Full(spec.shape, 0.0, spec.dtype), dim_, ctx.saved()[0], ct[0]), Tensor()};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Gather(tangents[0], dim_, ctx.saved()[0])};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    if (LogicalRank(in[0], in_dims[0]) == 0) return OfScalars(info, in_dims, in);
    const Tensor x = EnsureBatchAtFront(in[0], in_dims[0], info.batch_size);
    const Tensor index = EnsureBatchAtFront(in[1], in_dims[1], info.batch_size);
    return {{Gather(x, dim_ + 1, index)}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override { return ct; }

 private:
  // Slots of rank 0: an axis of size 1 to gather along.
  VmapResult OfScalars(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const {
    const Tensor x = Unsqueeze(EnsureBatchAtFront(in[0], in_dims[0], info.batch_size), 1);
    const Tensor index = Unsqueeze(EnsureBatchAtFront(in[1], in_dims[1], info.batch_size), 1);
    return {{Squeeze(Gather(x, 1, index), 1)}, {0}};
  }
  int64_t dim_;  // wrapped
};

// x with source[i] added at index[i] along the dim; repeated indices add up.
class ScatterAddFunction : public Function {
 public:
  explicit ScatterAddFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "scatter_add"; }
  Tensors Forward(TensorSpan in) const override {
    CheckIndex(in[1].array(), in[0].shape(), dim_, "scatter_add");
    bool fits = in[2].dtype() == in[0].dtype() && in[2].rank() == in[1].rank();
    for (int64_t axis = 0; fits && axis < in[1].rank(); ++axis)
      fits = in[1].dim(axis) <= in[2].dim(axis);
    if (!fits) {
      ThrowInvalidArgument(absl::StrCat("[scatter_add] source is ", DTypeName(in[2].dtype()),
                                        ShapeToString(in[2].shape()), "; expected ",
                                        DTypeName(in[0].dtype()), ", at least the index's shape ",
                                        ShapeToString(in[1].shape())));
    }
    return {Tensor::FromArray(
        ScatterAddArrays(in[0].array(), dim_, in[1].array(), in[2].array(), "scatter_add"))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[1]});
    ctx.Set("x", SpecOf(in[0]));
    ctx.Set("source", SpecOf(in[2]));
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& index = ctx.saved()[0];
    Tensors gradients = {ct[0], Tensor(), Tensor()};
    if (ctx.needs_input_grad(2))
      gradients[2] = PadTo(Gather(ct[0], dim_, index), ctx.Get<TensorSpec>("source").shape);
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    if (!tangents[2].defined()) return {tangents[0]};
    const auto& spec = ctx.Get<TensorSpec>("x");
    const Tensor x = tangents[0].defined() ? tangents[0] : Full(spec.shape, 0.0, spec.dtype);
    return {ScatterAdd(x, dim_, ctx.saved()[0], tangents[2])};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    const bool scalars = LogicalRank(in[0], in_dims[0]) == 0;
    Tensors front;
    for (size_t i = 0; i < 3; ++i) {
      const Tensor x = EnsureBatchAtFront(in[i], in_dims[i], info.batch_size);
      front.push_back(scalars ? Unsqueeze(x, 1) : x);
    }
    const Tensor result = ScatterAdd(front[0], scalars ? 1 : dim_ + 1, front[1], front[2]);
    return {{scalars ? Squeeze(result, 1) : result}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  // The source may be larger than the index: what was not used has gradient 0.
  static Tensor PadTo(const Tensor& x, const Shape& shape) {
    Tensor result = x;
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      const int64_t missing = shape[static_cast<size_t>(axis)] - x.dim(axis);
      if (missing > 0) result = Pad(result, axis, 0, missing);
    }
    return result;
  }
  int64_t dim_;  // wrapped
};

}  // namespace

Tensor Gather(const Tensor& x, int64_t dim, const Tensor& index) {
  return Call(Ref<const Function>(MakeRef<GatherFunction>(WrapDim(dim, x.rank(), "gather"))),
              {x, index})[0];
}

Tensor ScatterAdd(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return Call(
      Ref<const Function>(MakeRef<ScatterAddFunction>(WrapDim(dim, x.rank(), "scatter_add"))),
      {x, index, source})[0];
}

}  // namespace peelcheck
