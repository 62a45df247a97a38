// cat and stack: several tensors joined along an axis.
//
//   Cat(Tensors{x, y}, 1);    // [n, 3], [n, 4] -> [n, 7]
//   Stack(Tensors{x, y}, 0);  // [n], [n] -> [2, n]
#include <cstring>

#include "engine/batching.h"
#include "engine/rule_results.h"

#include <absl/strings/str_cat.h>

namespace peelcheck {
namespace {

class CatFunction : public Function {
 public:
  explicit CatFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "cat"; }
  Tensors Forward(TensorSpan in) const override {
    const auto axis = static_cast<size_t>(dim_);
    Shape shape = in[0].shape();
    DType dtype = in[0].dtype();
    for (size_t i = 1; i < in.size(); ++i) {
      Shape other = in[i].shape();
      if (other.size() == shape.size()) other[axis] = shape[axis];
      if (other != shape) {
        ThrowInvalidArgument(absl::StrCat(
            "[cat] input ", i, " has shape ", ShapeToString(in[i].shape()), ", input 0 has ",
            ShapeToString(in[0].shape()), "; expected the same but for dim ", dim_));
      }
      shape[axis] += in[i].dim(dim_);
      dtype = PromoteTypes(dtype, in[i].dtype());
    }
    Array result = Array::Empty(dtype, shape);
    // Each input is `outer` rows; the rows of all inputs alternate.
    int64_t outer = 1;
    for (size_t i = 0; i < axis; ++i) outer *= shape[i];
    const int64_t item = ItemSize(dtype);
    const int64_t result_row = outer == 0 ? 0 : result.size() / outer * item;
    int64_t at = 0;
    for (const Tensor& tensor : in) {
      const Array x = tensor.array().Cast(dtype).Contiguous();
      const int64_t row = outer == 0 ? 0 : x.size() / outer * item;
      for (int64_t r = 0; r < outer && row > 0; ++r) {
        std::memcpy(result.raw() + r * result_row + at, x.raw() + r * row,
                    static_cast<size_t>(row));
      }
      at += row;
    }
    return {Tensor::FromArray(result)};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    std::vector<TensorSpec> specs;
    for (const Tensor& x : in) specs.push_back(SpecOf(x));
    ctx.Set("inputs", std::move(specs));
    ctx.Set("output", out[0].dtype());
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const auto& specs = ctx.Get<std::vector<TensorSpec>>("inputs");
    Tensors gradients(specs.size());
    int64_t start = 0;
    for (size_t i = 0; i < specs.size(); ++i) {
      const int64_t length = specs[i].shape[static_cast<size_t>(dim_)];
      if (ctx.needs_input_grad(i))
        gradients[i] = To(Narrow(ct[0], dim_, start, length), specs[i].dtype);
      start += length;
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const auto& specs = ctx.Get<std::vector<TensorSpec>>("inputs");
    Tensors pieces;
    for (size_t i = 0; i < specs.size(); ++i) {
      pieces.push_back(tangents[i].defined() ? tangents[i]
                                             : Full(specs[i].shape, 0.0, ctx.Get<DType>("output")));
    }
    return {To(Cat(pieces, dim_), ctx.Get<DType>("output"))};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    Tensors pieces;
    for (size_t i = 0; i < in.size(); ++i)
      pieces.push_back(EnsureBatchAtFront(in[i], in_dims[i], info.batch_size));
    return {{Cat(pieces, dim_ + 1)}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  int64_t dim_;  // wrapped
};

}  // namespace

Tensor Cat(TensorSpan xs, int64_t dim) {
  if (xs.empty()) ThrowInvalidArgument("[cat] no inputs came; expected at least one");
  if (xs[0].rank() == 0)
    ThrowInvalidArgument("[cat] input 0 has rank 0; expected an axis to join along: use stack");
  return Call(Ref<const Function>(MakeRef<CatFunction>(WrapDim(dim, xs[0].rank(), "cat"))), xs)[0];
}

Tensor Stack(TensorSpan xs, int64_t dim) {
  if (xs.empty()) ThrowInvalidArgument("[stack] no inputs came; expected at least one");
  const int64_t axis = WrapDim(dim, xs[0].rank() + 1, "stack");
  Tensors pieces;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].shape() != xs[0].shape()) {
      ThrowInvalidArgument(absl::StrCat("[stack] input ", i, " has shape ",
                                        ShapeToString(xs[i].shape()), "; expected ",
                                        ShapeToString(xs[0].shape()), " as input 0"));
    }
    pieces.push_back(Unsqueeze(xs[i], axis));
  }
  return Cat(pieces, axis);
}

}  // namespace peelcheck
