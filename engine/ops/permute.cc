// permute, transpose, movedim: the same elements with the axes in another order; always a view.
//
//   MoveDim(x, 0, -1);  // [b, n, m] -> [n, m, b]
#include <algorithm>

#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

class PermuteFunction : public LinearFunction {
 public:
  explicit PermuteFunction(Shape dims) : dims_(std::move(dims)) {}
  std::string name() const override { return "permute"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    Shape shape;
    Shape strides;
    for (int64_t dim : dims_) {
      shape.push_back(x.dim(dim));
      strides.push_back(x.strides()[static_cast<size_t>(dim)]);
    }
    return {Tensor::FromArray(x.Strided(std::move(shape), std::move(strides), x.offset()))};
  }
  // The inverse permutation needs nothing of the input.
  void SetupContext(Context&, TensorSpan, TensorSpan) const override {}
  Tensors Backward(Context&, TensorSpan ct) const override {
    Shape inverse(dims_.size());
    for (size_t i = 0; i < dims_.size(); ++i)
      inverse[static_cast<size_t>(dims_[i])] = static_cast<int64_t>(i);
    return Call(Ref<const Function>(MakeRef<PermuteFunction>(std::move(inverse))), {ct[0]});
  }
  // The batch axis stays where it is in memory; only the logical axes move.
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const int64_t batch = *in_dims[0];
    Shape physical{batch};
    for (int64_t dim : dims_) physical.push_back(dim < batch ? dim : dim + 1);
    return {Call(Ref<const Function>(MakeRef<PermuteFunction>(std::move(physical))), {in[0]}), {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override { return ct; }

 private:
  Shape dims_;  // wrapped
};

Tensor PermuteBy(const Tensor& x, Shape dims) {
  return Call(Ref<const Function>(MakeRef<PermuteFunction>(std::move(dims))), {x})[0];
}

Shape Identity(int64_t rank) {
  Shape dims(static_cast<size_t>(rank));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

}  // namespace

Tensor Permute(const Tensor& x, const Dims& dims) {
  Shape wrapped;
  std::vector<bool> seen(dims.size(), false);
  bool fits = static_cast<int64_t>(dims.size()) == x.rank();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const int64_t dim = WrapDim(dims[i], x.rank(), "permute");
    fits = !seen[static_cast<size_t>(dim)];
    seen[static_cast<size_t>(dim)] = true;
    wrapped.push_back(dim);
  }
  if (!fits) {
    ThrowInvalidArgument(
        absl::StrCat("[permute] dims ", ShapeToString(Shape(dims.begin(), dims.end())),
                     " for an input of rank ", x.rank(), "; expected each dim once"));
  }
  return PermuteBy(x, std::move(wrapped));
}

Tensor Transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  const int64_t a = WrapDim(dim0, x.rank(), "transpose");
  const int64_t b = WrapDim(dim1, x.rank(), "transpose");
  if (a == b) return x;
  Shape dims = Identity(x.rank());
  std::swap(dims[static_cast<size_t>(a)], dims[static_cast<size_t>(b)]);
  return PermuteBy(x, std::move(dims));
}

Tensor MoveDim(const Tensor& x, int64_t from, int64_t to) {
  const int64_t a = WrapDim(from, x.rank(), "movedim");
  const int64_t b = WrapDim(to, x.rank(), "movedim");
  if (a == b) return x;
  Shape dims = Identity(x.rank());
  dims.erase(dims.begin() + a);
  dims.insert(dims.begin() + b, a);
  return PermuteBy(x, std::move(dims));
}

}  // namespace peelcheck
