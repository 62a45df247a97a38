// opinfo_db/ops/scatter.cc: x with the elements that `index` points at replaced; where several
// point at one, the last one in row-major order of index wins.
//
//   BuildOperation("scatter", {{"dim", 0}})({x, index, source})   // y[index[i, j], j] = source[i,
//   j]
#include "engine/batching.h"
#include "engine/ops/linear_function.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

Tensor Scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);

// Linear in x and source together. The gradient of source is right for distinct indices, as in
// PyTorch.
class ScatterFunction : public Function {
 public:
  explicit ScatterFunction(int64_t dim) : dim_(dim) {}
  std::string name() const override { return "scatter"; }
  Tensors Forward(TensorSpan in) const override;
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[1]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& index = ctx.saved()[0];
    const TensorSpec& source = ctx.input_spec(2);
    const Tensor zeros = Full(source.shape, 0, source.dtype);
    Tensor of_source = Gather(ct[0], dim_, index);
    for (int64_t i = 0; i < index.rank(); ++i) {  // a source larger than the index
      of_source = Pad(of_source, i, 0, zeros.dim(i) - index.dim(i));
    }
    return {Scatter(ct[0], dim_, index, zeros), Tensor(), of_source};
  }
  Tensors Jvp(Context& ctx, TensorSpan t) const override {
    const auto or_zeros = [&](size_t i) {
      const TensorSpec& spec = ctx.input_spec(i);
      return t[i].defined() ? t[i] : Full(spec.shape, 0, spec.dtype);
    };
    return {Scatter(or_zeros(0), dim_, ctx.saved()[0], or_zeros(2))};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    Tensors front;
    const bool scalars = LogicalRank(in[0], in_dims[0]) == 0;  // they get an axis to scatter along
    for (size_t i = 0; i < 3; ++i) {
      front.push_back(EnsureBatchAtFront(in[i], in_dims[i], info.batch_size));
      if (scalars) front.back() = Unsqueeze(front.back(), 1);
    }
    const Tensor y = Scatter(front[0], dim_ + 1, front[1], front[2]);
    return {{scalars ? Squeeze(y, 1) : y}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  int64_t dim_;  // wrapped
};

Tensors ScatterFunction::Forward(TensorSpan in) const {
  const Array& index = in[1].array();
  const Array& source = in[2].array();
  bool fits = index.dtype() == DType::kI64 && in[0].dtype() == in[2].dtype() &&
              index.rank() == in[0].rank() && index.rank() == in[2].rank();
  for (int64_t i = 0; fits && i < index.rank(); ++i) {
    fits = index.dim(i) <= in[2].dim(i) && (i == dim_ || index.dim(i) <= in[0].dim(i));
  }
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat(
        "[scatter] index is ", DTypeName(index.dtype()), ShapeToString(index.shape()), " for x of ",
        DTypeName(in[0].dtype()), ShapeToString(in[0].shape()), " and source of ",
        DTypeName(in[2].dtype()), ShapeToString(in[2].shape()),
        "; expected i64 of the same rank, no axis larger than source's, and but for dim ", dim_,
        " none larger than x's"));
  }
  Array y = in[0].array().Copy();
  ForEachIndex(index.shape(), [&](const Index& at) {
    Index to = at;
    if (!to.empty()) {
      int64_t& place = to[static_cast<size_t>(dim_)];
      place = static_cast<int64_t>(At(index, at));
      if (place < 0 || place >= y.dim(dim_)) {
        ThrowInvalidArgument(absl::StrCat("[scatter] index ", place, " for an axis of ",
                                          y.dim(dim_), "; expected 0..", y.dim(dim_) - 1));
      }
    }
    int64_t position = 0;
    for (size_t i = 0; i < to.size(); ++i) position = position * y.shape()[i] + to[i];
    y.SetDouble(position, At(source, at));
  });
  return {Tensor::FromArray(y)};
}

Tensor Scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return Call(MakeRef<ScatterFunction>(dim), {x, index, source})[0];
}

const Registration kScatter({
    .name = "scatter",
    .formula = "y = x; y[index[i, j], j] = source[i, j] (dim 0); dy likewise of dx and dsource",
    .source = "https://pytorch.org/docs/stable/generated/torch.scatter.html",
    .arguments = {{.name = "x"},
                  {.name = "index", .kind = ValueKind::kPermutation, .dim_attribute = "dim"},
                  {.name = "source"}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
    .build = WithAttributes("scatter", 3, {"dim"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "scatter");
                              return [dim](const Tensors& in) -> Tensors {
                                return {Scatter(in[0], WrapDim(dim, in[0].rank(), "scatter"), in[1],
                                                in[2])};
                              };
                            }),
    // By place, where the operation goes by index: the source whose index is this place, if any.
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array &x = inputs[0], &index = inputs[1], &source = inputs[2];
          const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
          return std::vector<Array>{FromIndices(x.dtype(), x.shape(), [&](const Index& at) {
            if (at.empty()) return At(source, at);
            double value = At(x, at);
            Index from = at;
            for (from[dim] = 0; from[dim] < index.shape()[dim]; ++from[dim]) {
              if (static_cast<int64_t>(At(index, from)) == at[dim]) value = At(source, from);
            }
            return value;
          })};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

}  // namespace
}  // namespace peelcheck
