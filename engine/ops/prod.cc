// prod along a dim, or of everything. d prod / d x_i is the product of the others, which no division by x_i can give where it is 0:
// row i of an n x n table holds x with x_i replaced by 1, and is multiplied up.
#include "engine/kernels/reduction.h"
#include "engine/ops/reduction_function.h"

namespace peelcheck {
namespace {

// [.., n, ..] -> same shape: the product of the other elements along `dim`.
Tensor ProductOfOthers(const Tensor& x, int64_t dim) {
  const Tensor last = MoveDim(x, dim, -1);
  const int64_t n = last.dim(last.rank() - 1);
  Dims table_shape(last.shape().begin(), last.shape().end());
  table_shape.insert(table_shape.end() - 1, n);
  const Tensor table = Expand(Unsqueeze(last, -2), table_shape);
  Array diagonal = Array::Zeros(DType::kBool, {n, n});
  for (int64_t i = 0; i < n; ++i) diagonal.SetDouble(i * n + i, 1);
  const Tensor others = Where(Tensor::FromArray(diagonal), Full({}, 1.0, x.dtype()), table);
  return MoveDim(Prod(others, -1), -1, dim);
}

class ProdFunction : public Function {
 public:
  ProdFunction(int64_t dim, bool keepdim) : dim_(dim), keepdim_(keepdim) {}
  std::string name() const override { return "prod"; }
  Tensors Forward(TensorSpan in) const override {
    const std::vector<bool> reduced = ReducedAxes(Dims{dim_}, in[0].rank(), "prod");
    const Array product = ReduceProd(in[0].array(), reduced);
    return {Tensor::FromArray(keepdim_ ? product : DropReduced(product, reduced))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[0]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& x = ctx.saved()[0];
    if (x.rank() == 0) return {ct[0]};
    const std::vector<bool> reduced = ReducedAxes(Dims{dim_}, x.rank(), "prod");
    return {RestoreReduced(ct[0], x.shape(), reduced) * ProductOfOthers(x, WrapDim(dim_, x.rank(), "prod"))};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& x = ctx.saved()[0];
    if (x.rank() == 0) return {tangents[0]};
    return {Sum(tangents[0] * ProductOfOthers(x, WrapDim(dim_, x.rank(), "prod")), Dims{dim_}, keepdim_)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    const int64_t rank = x.rank() - 1;
    const int64_t dim = WrapDim(dim_, rank, "prod");
    if (rank == 0) return {{x}, {0}};
    return {{Prod(x, dim + 1, keepdim_)}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  int64_t dim_;
  bool keepdim_;
};

}  // namespace

Tensor Prod(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  if (dim.has_value()) return Call(Ref<const Function>(MakeRef<ProdFunction>(*dim, keepdim)), {x})[0];
  const Tensor flat = Call(Ref<const Function>(MakeRef<ProdFunction>(0, false)), {Reshape(x, {-1})})[0];
  return keepdim ? Reshape(flat, Dims(static_cast<size_t>(x.rank()), 1)) : flat;
}

}  // namespace peelcheck
