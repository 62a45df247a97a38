// prod along a dim, or of everything. d prod / d x_i is the product of the others, which no
// division by x_i can give where it is 0. They are multiplied up over a binary tree: [a b c d] ->
// pairs [ab cd]; the others of a are b times the others of the pair ab.
#include "engine/kernels/reduction.h"
#include "engine/ops/reduction_function.h"

namespace peelcheck {
namespace {

// [.., n] -> [.., n]: the product of the other elements of the last axis. Multiplications only, n
// of them at log n levels, so it may be differentiated again.
Tensor ProductOfOthersInLast(const Tensor& x) {
  const int64_t n = x.dim(x.rank() - 1);
  if (n <= 1) return OnesLike(x);
  const int64_t pairs = (n + 1) / 2;
  Dims paired(x.shape().begin(), x.shape().end());
  paired.back() = pairs;
  paired.push_back(2);
  // The partner of an element that is left over is 1: Cat, as zeros of Pad would not do.
  Dims one(x.shape().begin(), x.shape().end());
  one.back() = 1;
  const Tensor even =
      n % 2 == 0 ? x : Cat(Tensors{x, Full(Shape(one.begin(), one.end()), 1.0, x.dtype())}, -1);
  const Tensor pair = Reshape(even, paired);
  const Tensor others_of_pair = ProductOfOthersInLast(Select(pair, -1, 0) * Select(pair, -1, 1));
  const Tensor others = Flip(pair, {-1}) * Unsqueeze(others_of_pair, -1);
  Dims flat = paired;
  flat.pop_back();
  flat.back() = 2 * pairs;
  return Narrow(Reshape(others, flat), -1, 0, n);
}

// [.., n, ..] -> same shape: the product of the other elements along `dim`.
Tensor ProductOfOthers(const Tensor& x, int64_t dim) {
  return MoveDim(ProductOfOthersInLast(MoveDim(x, dim, -1)), -1, dim);
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
    return {RestoreReduced(ct[0], x.shape(), reduced) *
            ProductOfOthers(x, WrapDim(dim_, x.rank(), "prod"))};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& x = ctx.saved()[0];
    if (x.rank() == 0) return {tangents[0]};
    return {Sum(tangents[0] * ProductOfOthers(x, WrapDim(dim_, x.rank(), "prod")), Dims{dim_},
                keepdim_)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    const int64_t rank = x.rank() - 1;
    const int64_t dim = WrapDim(dim_, rank, "prod");
    // One value per slot is its own axis: the dtype and the new storage are those of the plain
    // call.
    if (rank == 0) return {{Prod(Unsqueeze(x, 1), 1)}, {0}};
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
  if (dim.has_value())
    return Call(Ref<const Function>(MakeRef<ProdFunction>(*dim, keepdim)), {x})[0];
  const Tensor flat =
      Call(Ref<const Function>(MakeRef<ProdFunction>(0, false)), {Reshape(x, {-1})})[0];
  return keepdim ? Reshape(flat, Dims(static_cast<size_t>(x.rank()), 1)) : flat;
}

}  // namespace peelcheck
