// sum, mean, amax, amin over dims (absent = all), keepdim or not.
#include "engine/kernels/reduction.h"
#include "engine/ops/reduction_function.h"

namespace peelcheck {
namespace {

class SumFunction : public LinearFunction {
 public:
  SumFunction(std::optional<Dims> dims, bool keepdim) : dims_(std::move(dims)), keepdim_(keepdim) {}
  std::string name() const override { return "sum"; }
  Tensors Forward(TensorSpan in) const override {
    const std::vector<bool> reduced = ReducedAxes(dims_, in[0].rank(), "sum");
    const Array total = ReduceSum(in[0].array(), reduced);
    return {Tensor::FromArray(keepdim_ ? total : DropReduced(total, reduced))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    return {{Sum(x, PhysicalDims(dims_, x.rank() - 1, "sum"), keepdim_)}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    const std::vector<bool> reduced =
        ReducedAxes(dims_, static_cast<int64_t>(input.shape.size()), "sum");
    return BroadcastTo(RestoreReduced(ct, input.shape, reduced), input.shape);
  }

 private:
  std::optional<Dims> dims_;
  bool keepdim_;
};

// The largest or smallest value; ties share the gradient evenly.
class ExtremeFunction : public Function {
 public:
  ExtremeFunction(bool largest, std::optional<Dims> dims, bool keepdim)
      : largest_(largest), dims_(std::move(dims)), keepdim_(keepdim) {}
  std::string name() const override { return largest_ ? "amax" : "amin"; }
  Tensors Forward(TensorSpan in) const override {
    const std::vector<bool> reduced = ReducedAxes(dims_, in[0].rank(), name());
    const Array& x = in[0].array();
    const Array best = largest_ ? ReduceMax(x, reduced) : ReduceMin(x, reduced);
    return {Tensor::FromArray(keepdim_ ? best : DropReduced(best, reduced))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Save({in[0], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& x = ctx.saved()[0];
    const std::vector<bool> reduced = ReducedAxes(dims_, x.rank(), name());
    return {RestoreReduced(ct[0], x.shape(), reduced) * Shares(ctx)};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Sum(tangents[0] * Shares(ctx), dims_, keepdim_)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    const Dims dims = PhysicalDims(dims_, x.rank() - 1, name());
    // Nothing to reduce of a 0-d slot, but an empty list would mean all axes to no one here: it
    // means none.
    return {{largest_ ? Amax(x, dims, keepdim_) : Amin(x, dims, keepdim_)}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  // 1 / (number of ties) where x is the extreme value, 0 elsewhere.
  Tensor Shares(const Context& ctx) const {
    const Tensor& x = ctx.saved()[0];
    const std::vector<bool> reduced = ReducedAxes(dims_, x.rank(), name());
    const Tensor hit = To(Eq(x, RestoreReduced(ctx.saved()[1], x.shape(), reduced)), x.dtype());
    return hit / Sum(hit, dims_, true);
  }
  bool largest_;
  std::optional<Dims> dims_;
  bool keepdim_;
};

}  // namespace

Tensor Sum(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  return Call(Ref<const Function>(MakeRef<SumFunction>(dims, keepdim)), {x})[0];
}

Tensor Mean(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  if (!IsFloating(x.dtype())) {
    ThrowInvalidArgument(absl::StrCat("[mean] x is ", DTypeName(x.dtype()),
                                      "; expected a floating dtype: cast it first"));
  }
  const std::vector<bool> reduced = ReducedAxes(dims, x.rank(), "mean");
  int64_t count = 1;
  for (size_t axis = 0; axis < reduced.size(); ++axis) count *= reduced[axis] ? x.shape()[axis] : 1;
  const Tensor total = Sum(x, dims, keepdim);
  return total / Full({}, static_cast<double>(count),
                      x.dtype());  // 0 / 0 is nan, as the mean of nothing is
}

Tensor Amax(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  return Call(Ref<const Function>(MakeRef<ExtremeFunction>(true, dims, keepdim)), {x})[0];
}

Tensor Amin(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  return Call(Ref<const Function>(MakeRef<ExtremeFunction>(false, dims, keepdim)), {x})[0];
}

}  // namespace peelcheck
