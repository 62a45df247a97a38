// softmax, log_softmax and logsumexp, each shifted by the maximum so that exp cannot overflow.
#include <cmath>

#include "engine/kernels/reduction.h"
#include "engine/ops/reduction_function.h"

namespace peelcheck {
namespace {

void RequireFloating(const Tensor& x, const char* name) {
  if (IsFloating(x.dtype())) return;
  ThrowInvalidArgument(
      absl::StrCat("[", name, "] x is ", DTypeName(x.dtype()), "; expected a floating dtype"));
}

// The maximum over `reduced`, 0 where it is infinite: a shift that leaves no inf - inf.
Tensor SafeMaximum(const Array& x, const std::vector<bool>& reduced) {
  if (x.size() == 0)
    return Tensor::FromArray(Array::Zeros(x.dtype(), KeepdimShape(x.shape(), reduced)));
  Array maximum = ReduceMax(x, reduced);
  for (int64_t i = 0; i < maximum.size(); ++i) {
    if (std::isinf(maximum.DoubleAt(i))) maximum.SetDouble(i, 0);
  }
  return Tensor::FromArray(maximum);
}

Tensor LogSumExpKept(const Array& array, const std::vector<bool>& reduced) {
  const Tensor x = Tensor::FromArray(array);
  const Tensor shift = SafeMaximum(array, reduced);
  return Log(Tensor::FromArray(ReduceSum(Exp(x - shift).array(), reduced))) + shift;
}

// softmax y = exp(x) / sum(exp(x)), or its logarithm.
class SoftmaxFunction : public Function {
 public:
  SoftmaxFunction(int64_t dim, bool log) : dim_(dim), log_(log) {}
  std::string name() const override { return log_ ? "log_softmax" : "softmax"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], log_ ? "log_softmax" : "softmax");
    const std::vector<bool> reduced = ReducedAxes(Dims{dim_}, in[0].rank(), name());
    const Tensor x = Tensor::FromArray(in[0].array());
    if (log_) return {x - LogSumExpKept(x.array(), reduced)};
    const Tensor e = Exp(x - SafeMaximum(x.array(), reduced));
    return {e / Tensor::FromArray(ReduceSum(e.array(), reduced))};
  }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override { ctx.Save({out[0]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& y = ctx.saved()[0];
    if (log_) return {ct[0] - Exp(y) * Sum(ct[0], Dims{dim_}, true)};
    return {y * (ct[0] - Sum(ct[0] * y, Dims{dim_}, true))};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& y = ctx.saved()[0];
    const Tensor& t = tangents[0];
    if (log_) return {t - Sum(Exp(y) * t, Dims{dim_}, true)};
    return {y * (t - Sum(t * y, Dims{dim_}, true))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    Tensor x = BatchToFront(in[0], in_dims[0]);
    const int64_t rank = x.rank() - 1;
    const int64_t dim = WrapDim(dim_, rank, name());
    if (rank == 0) x = Unsqueeze(x, 1);  // one value per slot is its own axis
    const Tensor y = log_ ? LogSoftmax(x, dim + 1) : Softmax(x, dim + 1);
    return {{rank == 0 ? Squeeze(y, 1) : y}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  int64_t dim_;
  bool log_;
};

class LogSumExpFunction : public Function {
 public:
  LogSumExpFunction(Dims dims, bool keepdim) : dims_(std::move(dims)), keepdim_(keepdim) {}
  std::string name() const override { return "logsumexp"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], "logsumexp");
    const std::vector<bool> reduced = ReducedAxes(dims_, in[0].rank(), "logsumexp");
    const Array kept = LogSumExpKept(in[0].array(), reduced).array();
    return {Tensor::FromArray(keepdim_ ? kept : DropReduced(kept, reduced))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Save({in[0], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& x = ctx.saved()[0];
    const std::vector<bool> reduced = ReducedAxes(dims_, x.rank(), "logsumexp");
    return {RestoreReduced(ct[0], x.shape(), reduced) * Weights(ctx)};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Sum(tangents[0] * Weights(ctx), dims_, keepdim_)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    return {{LogSumExp(x, PhysicalDims(dims_, x.rank() - 1, "logsumexp"), keepdim_)}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  // exp(x - y): the softmax over the reduced axes.
  Tensor Weights(const Context& ctx) const {
    const Tensor& x = ctx.saved()[0];
    return Exp(
        x - RestoreReduced(ctx.saved()[1], x.shape(), ReducedAxes(dims_, x.rank(), "logsumexp")));
  }
  Dims dims_;
  bool keepdim_;
};

}  // namespace

Tensor Softmax(const Tensor& x, int64_t dim) {
  return Call(Ref<const Function>(MakeRef<SoftmaxFunction>(dim, false)), {x})[0];
}
Tensor LogSoftmax(const Tensor& x, int64_t dim) {
  return Call(Ref<const Function>(MakeRef<SoftmaxFunction>(dim, true)), {x})[0];
}
Tensor LogSumExp(const Tensor& x, const Dims& dims, bool keepdim) {
  return Call(Ref<const Function>(MakeRef<LogSumExpFunction>(dims, keepdim)), {x})[0];
}

}  // namespace peelcheck
