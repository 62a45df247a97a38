// reshape, unsqueeze, squeeze: the same elements in another shape; a view where the strides allow it.
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

Shape ResolveShape(const Dims& shape, int64_t size, const Shape& from) {
  Shape resolved(shape.begin(), shape.end());
  int64_t known = 1;
  int64_t unknown = -1;
  bool wrong = false;
  for (size_t i = 0; i < resolved.size(); ++i) {
    if (resolved[i] == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(i);
    } else {
      wrong = wrong || resolved[i] < 0;
      known *= resolved[i];
    }
  }
  if (unknown >= 0 && !wrong) {
    wrong = known == 0 || size % known != 0;
    if (!wrong) resolved[static_cast<size_t>(unknown)] = size / known;
  } else {
    wrong = wrong || known != size;
  }
  if (wrong) {
    ThrowInvalidArgument(absl::StrCat("[reshape] shape ", ShapeToString(Shape(shape.begin(), shape.end())),
                                      " for an input of shape ", ShapeToString(from), "; expected ", size,
                                      " elements, at most one -1"));
  }
  return resolved;
}

class ReshapeFunction : public LinearFunction {
 public:
  explicit ReshapeFunction(Dims shape) : shape_(std::move(shape)) {}
  std::string name() const override { return "reshape"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    const Array dense = x.Contiguous();
    Shape shape = ResolveShape(shape_, x.size(), x.shape());
    Shape strides = ContiguousStrides(shape);
    return {Tensor::FromArray(dense.Strided(std::move(shape), std::move(strides), dense.offset()))};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    const Shape slot(x.shape().begin() + 1, x.shape().end());
    const Shape resolved = ResolveShape(shape_, ElementCount(slot), slot);
    Dims shape(resolved.begin(), resolved.end());
    shape.insert(shape.begin(), info.batch_size);
    return {{Reshape(x, shape)}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    return Reshape(ct, Dims(input.shape.begin(), input.shape.end()));
  }

 private:
  Dims shape_;
};

}  // namespace

Tensor Reshape(const Tensor& x, const Dims& shape) {
  return Call(Ref<const Function>(MakeRef<ReshapeFunction>(shape)), {x})[0];
}

Tensor Unsqueeze(const Tensor& x, int64_t dim) {
  const int64_t at = WrapDim(dim, x.rank() + 1, "unsqueeze");
  Dims shape(x.shape().begin(), x.shape().end());
  shape.insert(shape.begin() + at, 1);
  return Reshape(x, shape);
}

Tensor Squeeze(const Tensor& x, int64_t dim) {
  const int64_t at = WrapDim(dim, x.rank(), "squeeze");
  if (x.rank() == 0 || x.dim(at) != 1) return x;
  Dims shape(x.shape().begin(), x.shape().end());
  shape.erase(shape.begin() + at);
  return Reshape(x, shape);
}

// -1 keeps a size; the rest is broadcast_to.
Tensor Expand(const Tensor& x, const Dims& shape) {
  Shape resolved(shape.begin(), shape.end());
  const int64_t lead = static_cast<int64_t>(shape.size()) - x.rank();
  for (size_t i = 0; i < resolved.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) - lead;
    if (resolved[i] == -1 && axis >= 0) resolved[i] = x.dim(axis);
    if (resolved[i] < 0) {
      ThrowInvalidArgument(absl::StrCat("[expand] size ", resolved[i], " at position ", i,
                                        "; expected 0 or more, or -1 to keep the size of an existing axis"));
    }
  }
  return BroadcastTo(x, resolved);
}

}  // namespace peelcheck
