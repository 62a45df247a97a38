// narrow, slice, select, and pad, which is slice's transpose: one function picks elements along an
// axis at start, start + step, .., the other spreads them out again over zeros. Picks are views.
//
//   Slice(x, 0, 1, 7, 3);  // x[1], x[4]
//   Pad(x, 0, 1, 2);       // 0, x[0], .., 0, 0
#include <algorithm>

#include "engine/kernels/elementwise.h"
#include "engine/ops/linear_function.h"

namespace peelcheck {
namespace {

struct Picks {
  int64_t dim = 0;  // wrapped
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// A view of the picked elements.
Array View(const Array& x, const Picks& picks) {
  const auto axis = static_cast<size_t>(picks.dim);
  Shape shape = x.shape();
  Shape strides = x.strides();
  shape[axis] = picks.count;
  strides[axis] *= picks.step;
  const int64_t shift = picks.count == 0 ? 0 : picks.start * x.strides()[axis];
  return x.Strided(std::move(shape), std::move(strides), x.offset() + shift);
}

Tensor Spread(const Tensor& x, const Picks& picks, int64_t size);

class PickFunction : public LinearFunction {
 public:
  explicit PickFunction(const Picks& picks) : picks_(picks) {}
  std::string name() const override { return "slice"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(View(in[0].array(), picks_))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    Picks physical = picks_;
    if (physical.dim >= *in_dims[0]) ++physical.dim;
    return {Call(Ref<const Function>(MakeRef<PickFunction>(physical)), in), {in_dims[0]}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    return Spread(ct, picks_, input.shape[static_cast<size_t>(picks_.dim)]);
  }

 private:
  Picks picks_;
};

// Zeros of `size` along the dim, with the input's elements at the picked places.
class SpreadFunction : public LinearFunction {
 public:
  SpreadFunction(const Picks& picks, int64_t size) : picks_(picks), size_(size) {}
  std::string name() const override { return "pad"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    Shape shape = x.shape();
    shape[static_cast<size_t>(picks_.dim)] = size_;
    Array result = Array::Zeros(x.dtype(), shape);
    const Array target = View(result, picks_);
    if (x.size() == 0) return {Tensor::FromArray(result)};
    VisitDType(x.dtype(), [&](auto tag) {
      using V = decltype(tag);
      V* out = result.fresh_data<V>() + target.offset();
      const V* data = x.data<V>();
      ForEachRun(LoopAxes<2>(x.shape(), {&target, &x}),
                 [&](int64_t n, const auto& offset, const auto& step) {
                   for (int64_t i = 0; i < n; ++i)
                     out[offset[0] + i * step[0]] = data[offset[1] + i * step[1]];
                 });
    });
    return {Tensor::FromArray(result)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    Picks physical = picks_;
    if (physical.dim >= *in_dims[0]) ++physical.dim;
    return {{Spread(in[0], physical, size_)}, {in_dims[0]}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override {
    return Call(Ref<const Function>(MakeRef<PickFunction>(picks_)), {ct})[0];
  }

 private:
  Picks picks_;
  int64_t size_;
};

Tensor Spread(const Tensor& x, const Picks& picks, int64_t size) {
  return Call(Ref<const Function>(MakeRef<SpreadFunction>(picks, size)), {x})[0];
}

// One index along an axis, which is dropped.
class SelectFunction : public LinearFunction {
 public:
  SelectFunction(int64_t dim, int64_t index) : dim_(dim), index_(index) {}
  std::string name() const override { return "select"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(in[0].array().Selected(dim_, index_))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const int64_t batch = *in_dims[0];
    const bool before = dim_ < batch;  // the axis that is dropped stands before the batch axis
    const Ref<const Function> physical = MakeRef<SelectFunction>(before ? dim_ : dim_ + 1, index_);
    return {Call(physical, in), {before ? batch - 1 : batch}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    return Spread(Unsqueeze(ct, dim_), {dim_, index_, 1, 1},
                  input.shape[static_cast<size_t>(dim_)]);
  }

 private:
  int64_t dim_;    // wrapped
  int64_t index_;  // 0 or more
};

Tensor Pick(const Tensor& x, const Picks& picks) {
  return Call(Ref<const Function>(MakeRef<PickFunction>(picks)), {x})[0];
}

int64_t AxisOf(const Tensor& x, int64_t dim, const char* tag) {
  if (x.rank() == 0) {
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] dim=", dim, " for an input of rank 0, which has no axis"));
  }
  return WrapDim(dim, x.rank(), tag);
}

}  // namespace

Tensor Narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  const int64_t axis = AxisOf(x, dim, "narrow");
  const int64_t size = x.dim(axis);
  const int64_t from = start < 0 ? start + size : start;
  if (from < 0 || length < 0 || length > size - from) {
    ThrowInvalidArgument(absl::StrCat("[narrow] start=", start, " and length=", length,
                                      " for a dim of size ", size, "; expected a range inside it"));
  }
  return Pick(x, {axis, from, 1, length});
}

Tensor Slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  const int64_t axis = AxisOf(x, dim, "slice");
  const int64_t size = x.dim(axis);
  if (step < 1)
    ThrowInvalidArgument(
        absl::StrCat("[slice] step=", step, "; expected 1 or more: flip goes backwards"));
  const auto clamp = [size](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const int64_t from = clamp(start);
  const int64_t length = std::max<int64_t>(clamp(end) - from, 0);
  const int64_t count = length == 0 ? 0 : (length - 1) / step + 1;
  // Of one element or none the step says nothing, and it may be too large to multiply a stride
  // with.
  return Pick(x, {axis, from, count > 1 ? step : 1, count});
}

Tensor Select(const Tensor& x, int64_t dim, int64_t index) {
  const int64_t axis = AxisOf(x, dim, "select");
  const int64_t size = x.dim(axis);
  if (index < -size || index >= size) {
    ThrowInvalidArgument(absl::StrCat("[select] index ", index,
                                      " is out of range for a dim of size ", size, "; expected ",
                                      -size, "..", size - 1));
  }
  const int64_t at = index < 0 ? index + size : index;
  return Call(Ref<const Function>(MakeRef<SelectFunction>(axis, at)), {x})[0];
}

Tensor Pad(const Tensor& x, int64_t dim, int64_t before, int64_t after) {
  const int64_t axis = AxisOf(x, dim, "pad");
  if (before < 0 || after < 0) {
    ThrowInvalidArgument(absl::StrCat("[pad] before=", before, " and after=", after,
                                      "; expected 0 or more: narrow cuts"));
  }
  return Spread(x, {axis, before, 1, x.dim(axis)}, before + x.dim(axis) + after);
}

}  // namespace peelcheck
