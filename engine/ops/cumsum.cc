// cumsum along a dim; its transpose is the running sum from the other end.
#include "engine/kernels/reduction.h"
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

class CumSumFunction : public LinearFunction {
 public:
  explicit CumSumFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "cumsum"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(CumulativeSum(in[0].array(), WrapDim(dim_, in[0].rank(), "cumsum")))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    const int64_t dim = WrapDim(dim_, x.rank() - 1, "cumsum");
    // One value per slot is its own axis: the dtype and the new storage are those of the plain
    // call.
    if (x.rank() == 1) return {{Squeeze(CumSum(Unsqueeze(x, 1), 1), 1)}, {0}};
    return {{CumSum(x, dim + 1)}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override {
    return ct.rank() == 0 ? ct : Flip(CumSum(Flip(ct, {dim_}), dim_), {dim_});
  }

 private:
  int64_t dim_;
};

}  // namespace

Tensor CumSum(const Tensor& x, int64_t dim) {
  return Call(Ref<const Function>(MakeRef<CumSumFunction>(dim)), {x})[0];
}

}  // namespace peelcheck
