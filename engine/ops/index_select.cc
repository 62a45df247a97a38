// index_select: whole slices of x along a dim, in the order of a 1-d index.
//
//   IndexSelect(x, 1, index);  // [n, m], index [k] -> [n, k]; y[:, j] = x[:, index[j]]
#include <absl/strings/str_cat.h>

#include "engine/batching.h"
#include "engine/kernels/index.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

// index [k], or [B, k] with a batch in front -> the index of a gather whose result has this shape.
Tensor SpreadIndex(const Tensor& index, int64_t dim, const Shape& shape) {
  Dims line(shape.size(), 1);
  if (index.rank() == 2) line[0] = index.dim(0);
  line[static_cast<size_t>(dim)] = index.dim(index.rank() - 1);
  return BroadcastTo(Reshape(index, line), shape);
}

class IndexSelectFunction : public Function {
 public:
  explicit IndexSelectFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "index_select"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    const Array& index = in[1].array();
    const auto axis = static_cast<size_t>(dim_);
    Shape shape = x.shape();
    Shape strides(shape.size(), 0);
    shape[axis] = index.dim(0);
    strides[axis] = index.strides()[0];
    const Array spread = index.Strided(std::move(shape), std::move(strides), index.offset());
    return {Tensor::FromArray(GatherArrays(x, dim_, spread, "index_select"))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Set("input", SpecOf(in[0]));
    ctx.Save({in[1]});
  }
  // x[.., index[j], ..] gets the sum of ct[.., j, ..] over all j that chose it.
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const auto& spec = ctx.Get<TensorSpec>("input");
    const Tensor index = SpreadIndex(ctx.saved()[0], dim_, ct[0].shape());
    return {ScatterAdd(Full(spec.shape, 0.0, spec.dtype), dim_, index, ct[0]), Tensor()};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {IndexSelect(tangents[0], dim_, ctx.saved()[0])};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    if (!in_dims[1].has_value()) {
      const int64_t physical = dim_ < *in_dims[0] ? dim_ : dim_ + 1;
      return {{IndexSelect(in[0], physical, in[1])}, {in_dims[0]}};
    }
    // Each slot has an index of its own: a gather.
    const Tensor x = EnsureBatchAtFront(in[0], in_dims[0], info.batch_size);
    const Tensor index = BatchToFront(in[1], in_dims[1]);
    Shape shape = x.shape();
    shape[static_cast<size_t>(dim_ + 1)] = index.dim(1);
    return {{Gather(x, dim_ + 1, SpreadIndex(index, dim_ + 1, shape))}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  int64_t dim_;  // wrapped
};

}  // namespace

Tensor IndexSelect(const Tensor& x, int64_t dim, const Tensor& index) {
  const int64_t axis = WrapDim(dim, x.rank(), "index_select");
  if (index.rank() != 1 || x.rank() == 0) {
    ThrowInvalidArgument(absl::StrCat(
        "[index_select] index has shape ", ShapeToString(index.shape()), " for an input of shape ",
        ShapeToString(x.shape()), "; expected [k], and an input with an axis"));
  }
  if (index.dtype() != DType::kI64) {
    ThrowInvalidArgument(
        absl::StrCat("[index_select] index is ", DTypeName(index.dtype()), "; expected i64"));
  }
  return Call(Ref<const Function>(MakeRef<IndexSelectFunction>(axis)), {x, index})[0];
}

}  // namespace peelcheck
