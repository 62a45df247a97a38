// opinfo_db/ops/indexing.cc: gather, scatter_add, index_select: i64 indices along a dim.
//
//   BuildOperation("gather", {{"dim", 1}})({x, index})
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";

Argument IndexInto(const std::string& shape) {
  return {.name = "index", .shape = shape, .kind = ValueKind::kIndex, .dim_attribute = "dim"};
}

AttributeSpec Dim() { return {.name = "dim", .kind = AttributeKind::kDim}; }

// The element of x that `index` addresses from the position `at`.
Index Addressed(const Array& index, const Index& at, size_t dim) {
  Index result = at;
  if (!result.empty()) result[dim] = static_cast<int64_t>(At(index, at));
  return result;
}

const Registration kGather({
    .name = "gather",
    .formula = "y[i, j] = x[index[i, j], j] (dim 0); dy likewise, the gradient scatters back",
    .source = "https://pytorch.org/docs/stable/generated/torch.gather.html",
    .arguments = {{.name = "x"}, IndexInto("...")},
    .attributes = {Dim()},
    .build = WithAttributes("gather", 2, {"dim"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "gather");
                              return [dim](const Tensors& in) -> Tensors {
                                return {Gather(in[0], dim, in[1])};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array &x = inputs[0], &index = inputs[1];
          const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", kTag), x);
          return std::vector<Array>{FromIndices(x.dtype(), index.shape(), [&](const Index& at) {
            return At(x, Addressed(index, at, dim));
          })};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}},
                    {.description = "an index of another rank",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kI64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

std::vector<Array> ScatterAddReference(std::span<const Array> inputs,
                                       const Attributes& attributes) {
  const Array &index = inputs[1], &source = inputs[2];
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", kTag), inputs[0]);
  Array sums = inputs[0].Cast(DType::kF64).Copy();  // in double, rounded once at the end
  ForEachIndex(index.shape(), [&](const Index& at) {
    const Index to = Addressed(index, at, dim);
    int64_t position = 0;
    for (size_t i = 0; i < to.size(); ++i) position = position * sums.shape()[i] + to[i];
    sums.SetDouble(position, sums.DoubleAt(position) + At(source, at));
  });
  return {sums.Cast(inputs[0].dtype())};
}

const Registration kScatterAdd({
    .name = "scatter_add",
    .formula = "y = x; y[index[i, j], j] += source[i, j] (dim 0); dy likewise of dx and dsource",
    .source = "https://pytorch.org/docs/stable/generated/torch.scatter_add.html",
    .arguments = {{.name = "x"}, IndexInto("..."), {.name = "source"}},
    .attributes = {Dim()},
    .build = WithAttributes("scatter_add", 3, {"dim"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "scatter_add");
                              return [dim](const Tensors& in) -> Tensors {
                                return {ScatterAdd(in[0], dim, in[1], in[2])};
                              };
                            }),
    .reference = ScatterAddReference,
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}},
                    {.description = "a source smaller than the index",
                     .inputs = {{DType::kF64, {4}}, {DType::kI64, {4}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

const Registration kIndexSelect({
    .name = "index_select",
    .formula =
        "y[i] = x[index[i]] along dim; dy likewise, the gradient adds up where an index repeats",
    .source = "https://pytorch.org/docs/stable/generated/torch.index_select.html",
    .arguments = {{.name = "x"}, IndexInto("k")},
    .attributes = {Dim()},
    .min_rank = 1,
    .allows_empty = false,
    .build = WithAttributes("index_select", 2, {"dim"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "index_select");
                              return [dim](const Tensors& in) -> Tensors {
                                return {IndexSelect(in[0], dim, in[1])};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array &x = inputs[0], &index = inputs[1];
          const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", kTag), x);
          Shape shape = x.shape();
          shape[dim] = index.size();
          return std::vector<Array>{FromIndices(x.dtype(), shape, [&](Index at) {
            at[dim] = static_cast<int64_t>(At(index, {at[dim]}));
            return At(x, at);
          })};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}},
                     .attributes = {{"dim", 0}}},
                    {.description = "an index of two axes",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kI64, {3, 4}}},
                     .attributes = {{"dim", 0}}}},
});

}  // namespace
}  // namespace peelcheck
