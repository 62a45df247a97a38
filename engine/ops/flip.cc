// flip: the elements in reverse order along some axes; its own transpose.
//
//   Flip(x, {0, -1});  // [[1, 2], [3, 4]] -> [[4, 3], [2, 1]]
//
// Always a copy, as in PyTorch: a later write to the result must not reach x.
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

class FlipFunction : public LinearFunction {
 public:
  explicit FlipFunction(Shape dims) : dims_(std::move(dims)) {}
  std::string name() const override { return "flip"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    Shape strides = x.strides();
    int64_t offset = x.offset();
    for (int64_t dim : dims_) {
      int64_t& stride = strides[static_cast<size_t>(dim)];
      if (x.size() > 0) offset += (x.dim(dim) - 1) * stride;
      stride = -stride;
    }
    return {Tensor::FromArray(x.Strided(x.shape(), std::move(strides), offset).Copy())};
  }
  // Backward needs nothing of the input.
  void SetupContext(Context&, TensorSpan, TensorSpan) const override {}
  Tensors Backward(Context&, TensorSpan ct) const override {
    return Call(Ref<const Function>(this), ct);
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    Shape physical = dims_;
    for (int64_t& dim : physical) dim += dim >= *in_dims[0] ? 1 : 0;
    return {Call(Ref<const Function>(MakeRef<FlipFunction>(std::move(physical))), in),
            {in_dims[0]}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override { return ct; }

 private:
  Shape dims_;  // wrapped, each once
};

}  // namespace

Tensor Flip(const Tensor& x, const Dims& dims) {
  Shape wrapped;
  for (int64_t dim : dims) {
    const int64_t axis = WrapDim(dim, x.rank(), "flip");
    for (int64_t other : wrapped) {
      if (other == axis) {
        ThrowInvalidArgument(absl::StrCat("[flip] dim ", axis, " came twice; name each dim once"));
      }
    }
    wrapped.push_back(axis);
  }
  if (x.rank() == 0) wrapped.clear();  // dims 0 and -1 of a 0-d tensor are no axes
  return Call(Ref<const Function>(MakeRef<FlipFunction>(std::move(wrapped))), {x})[0];
}

}  // namespace peelcheck
