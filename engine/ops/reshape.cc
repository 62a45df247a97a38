// reshape, unsqueeze, squeeze, expand: the same elements in another shape; a view where the strides
// allow it.
//
//   Reshape(x, {4, -1});  // [2, 6] -> [4, 3]
#include <limits>

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
      // A product that overflows is not the size of any array.
      if (__builtin_mul_overflow(known, resolved[i], &known))
        known = std::numeric_limits<int64_t>::max();
    }
  }
  if (unknown >= 0 && !wrong) {
    wrong = known == 0 || size % known != 0;
    if (!wrong) resolved[static_cast<size_t>(unknown)] = size / known;
  } else {
    wrong = wrong || known != size;
  }
  if (wrong) {
    ThrowInvalidArgument(absl::StrCat("[reshape] shape ",
                                      ShapeToString(Shape(shape.begin(), shape.end())),
                                      " for an input of shape ", ShapeToString(from), "; expected ",
                                      size, " elements, at most one -1"));
  }
  return resolved;
}

// The strides with which `shape` shows the elements of x in the same order, or nullopt: they have
// to be copied. Neighbouring axes of x that step through memory as one axis form a run; each new
// axis must divide within one run.
std::optional<Shape> ViewStrides(const Array& x, const Shape& shape) {
  if (x.size() == 0 || x.rank() == 0) return ContiguousStrides(shape);
  Shape strides(shape.size(), 1);
  size_t left = shape.size();  // new axes not placed yet, from the last
  int64_t run = 1;             // elements of the run of x
  int64_t placed = 1;          // elements of the new axes in this run
  int64_t base = x.strides().back();
  for (size_t axis = x.shape().size(); axis-- > 0;) {
    run *= x.shape()[axis];
    const bool continues =
        axis > 0 && (x.shape()[axis - 1] == 1 || x.strides()[axis - 1] == run * base);
    if (continues) continue;
    while (left > 0 && (placed < run || shape[left - 1] == 1)) {
      --left;
      strides[left] = placed * base;
      placed *= shape[left];
    }
    if (placed != run) return std::nullopt;
    if (axis > 0) base = x.strides()[axis - 1];
    run = placed = 1;
  }
  return strides;
}

class ReshapeFunction : public LinearFunction {
 public:
  explicit ReshapeFunction(Dims shape) : shape_(std::move(shape)) {}
  std::string name() const override { return "reshape"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    Shape shape = ResolveShape(shape_, x.size(), x.shape());
    if (std::optional<Shape> strides = ViewStrides(x, shape)) {
      return {Tensor::FromArray(x.Strided(std::move(shape), *std::move(strides), x.offset()))};
    }
    const Array dense = x.Contiguous();
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
  if (lead < 0) {
    ThrowInvalidArgument(absl::StrCat("[expand] shape ", ShapeToString(resolved),
                                      " for an input of shape ", ShapeToString(x.shape()),
                                      "; expected at least ", x.rank(), " sizes"));
  }
  for (size_t i = 0; i < resolved.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) - lead;
    if (resolved[i] == -1 && axis >= 0) resolved[i] = x.dim(axis);
    if (resolved[i] < 0) {
      ThrowInvalidArgument(
          absl::StrCat("[expand] size ", resolved[i], " at position ", i,
                       "; expected 0 or more, or -1 to keep the size of an existing axis"));
    }
  }
  return BroadcastTo(x, resolved);
}

}  // namespace peelcheck
