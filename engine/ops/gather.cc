// gather and scatter_add along a dim, each the transpose of the other; index_select is a gather with the index spread out.
#include "engine/kernels/elementwise.h"
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

void CheckIndex(const Array& index, const Shape& x, int64_t dim, const char* tag) {
  if (index.dtype() != DType::kI64) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] index is ", DTypeName(index.dtype()), "; expected i64"));
  }
  bool fits = index.shape().size() == x.size();
  for (size_t axis = 0; fits && axis < x.size(); ++axis) {
    fits = static_cast<int64_t>(axis) == dim || index.shape()[axis] <= x[axis];
  }
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] index has shape ", ShapeToString(index.shape()), " for an input of shape ",
                                      ShapeToString(x), "; expected the same rank, and no larger axis but dim ", dim));
  }
}

int64_t CheckedPosition(int64_t position, int64_t size, const char* tag) {
  if (position >= 0 && position < size) return position;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] index ", position, " is out of range for a dim of size ", size,
                                    "; expected 0..", size - 1));
}

// The part of x that the index covers, with stride 0 along the dim: where element [.., i, ..] of the index looks for its line.
Array Lines(const Array& x, const Shape& index_shape, int64_t dim) {
  Shape strides = x.strides();
  strides[static_cast<size_t>(dim)] = 0;
  return x.Strided(index_shape, std::move(strides), x.offset());
}

// Calls body(position in index order, offset of the addressed element of x).
template <typename Body>
void ForEachAddressed(const Array& x, const Array& index, int64_t dim, const char* tag, Body body) {
  if (index.size() == 0) return;
  const Array lines = Lines(x, index.shape(), dim);
  const int64_t size = x.dim(dim);
  const int64_t stride = x.strides()[static_cast<size_t>(dim)];
  const int64_t* positions = index.data<int64_t>();
  int64_t count = 0;
  ForEachRun(LoopAxes<2>(index.shape(), {&index, &lines}), [&](int64_t n, const auto& offset, const auto& step) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t position = CheckedPosition(positions[offset[0] + i * step[0]], size, tag);
      body(count++, offset[1] + i * step[1] + position * stride);
    }
  });
}

// 0-d operands are 1-d of size 1 here.
Array AtLeast1d(const Array& x) { return x.rank() > 0 ? x : x.Strided({1}, {1}, x.offset()); }

class GatherFunction : public LinearFunction {
 public:
  explicit GatherFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "gather"; }
  Tensors Forward(TensorSpan in) const override {
    CheckIndex(in[1].array(), in[0].shape(), dim_, "gather");
    const Array x = AtLeast1d(in[0].array());
    const Array index = AtLeast1d(in[1].array());
    Array result = Array::Empty(x.dtype(), in[1].shape());
    VisitDType(x.dtype(), [&](auto tag) {
      using V = decltype(tag);
      V* out = result.fresh_data<V>();
      const V* data = x.data<V>();
      ForEachAddressed(x, index, dim_, "gather", [&](int64_t i, int64_t offset) { out[i] = data[offset]; });
    });
    return {Tensor::FromArray(result)};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Set("input", SpecOf(in[0]));
    ctx.Save({in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const auto& spec = ctx.Get<TensorSpec>("input");
    return {ScatterAdd(Full(spec.shape, 0.0, spec.dtype), dim_, ctx.saved()[0], ct[0]), Tensor()};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override { return {Gather(tangents[0], dim_, ctx.saved()[0])}; }
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
    for (int64_t axis = 0; fits && axis < in[1].rank(); ++axis) fits = in[1].dim(axis) <= in[2].dim(axis);
    if (!fits) {
      ThrowInvalidArgument(absl::StrCat("[scatter_add] source is ", DTypeName(in[2].dtype()), ShapeToString(in[2].shape()),
                                        "; expected ", DTypeName(in[0].dtype()), ", at least the index's shape ",
                                        ShapeToString(in[1].shape())));
    }
    Array result = in[0].array().Copy();
    const Array lines = AtLeast1d(result);
    const Array index = AtLeast1d(in[1].array());
    const Array source = AtLeast1d(in[2].array());
    const Array used = source.Strided(index.shape(), source.strides(), source.offset()).Contiguous();
    VisitDType(result.dtype(), [&](auto tag) {
      using V = decltype(tag);
      V* out = result.fresh_data<V>();
      const V* values = used.data<V>();
      ForEachAddressed(lines, index, dim_, "scatter_add",
                       [&](int64_t i, int64_t offset) { out[offset] = static_cast<V>(out[offset] + values[i]); });
    });
    return {Tensor::FromArray(result)};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[1]});
    ctx.Set("x", SpecOf(in[0]));
    ctx.Set("source", SpecOf(in[2]));
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& index = ctx.saved()[0];
    Tensors gradients = {ct[0], Tensor(), Tensor()};
    if (ctx.needs_input_grad(2)) gradients[2] = PadTo(Gather(ct[0], dim_, index), ctx.Get<TensorSpec>("source").shape);
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
  return Call(Ref<const Function>(MakeRef<GatherFunction>(WrapDim(dim, x.rank(), "gather"))), {x, index})[0];
}

Tensor ScatterAdd(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return Call(Ref<const Function>(MakeRef<ScatterAddFunction>(WrapDim(dim, x.rank(), "scatter_add"))),
              {x, index, source})[0];
}

Tensor IndexSelect(const Tensor& x, int64_t dim, const Tensor& index) {
  const int64_t axis = WrapDim(dim, x.rank(), "index_select");
  if (index.rank() != 1 || x.rank() == 0) {
    ThrowInvalidArgument(absl::StrCat("[index_select] index has shape ", ShapeToString(index.shape()), " for an input of shape ",
                                      ShapeToString(x.shape()), "; expected [k], and an input with an axis"));
  }
  Dims shape(static_cast<size_t>(x.rank()), 1);
  shape[static_cast<size_t>(axis)] = index.dim(0);
  Shape spread = x.shape();
  spread[static_cast<size_t>(axis)] = index.dim(0);
  return Gather(x, axis, BroadcastTo(Reshape(index, shape), spread));
}

}  // namespace peelcheck
