// opinfo_db/ops/index_writes.cc: a tensor with some elements replaced or added to: index_add,
// index_fill, masked_fill. (scatter: scatter.cc; scatter_add: engine/ops/gather.cc.)
//
//   BuildOperation("index_add", {{"dim", 0}, {"alpha", 2.0}})({x, index, source})
#include <algorithm>

#include "engine/batching.h"
#include "engine/rule_results.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

// x with 0 where `index` points, and 1 elsewhere multiplied in by Where: nothing of x is left
// there, not even an infinity. Positions by scatter_add of ones, which counts.
Tensor Untouched(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& replacement) {
  const Tensor zeros = Full({}, 0, DType::kI64);
  const Dims shape(x.shape().begin(), x.shape().end()),
      of_index(index.shape().begin(), index.shape().end());
  const Tensor hits = ScatterAdd(Clone(Expand(zeros, shape)), dim, index,
                                 Expand(Full({}, 1, DType::kI64), of_index));
  return Where(Gt(hits, zeros), replacement, x);
}

void Write(Array& array, const Index& at, double value) {
  int64_t position = 0;
  for (size_t i = 0; i < at.size(); ++i) position = position * array.shape()[i] + at[i];
  array.SetDouble(position, value);
}

// index [k] as wide as `like` along all other axes.
Tensor SpreadIndex(const Tensor& index, int64_t dim, const Shape& like) {
  Dims shape(like.size(), 1), wide(like.begin(), like.end());
  shape[static_cast<size_t>(dim)] = wide[static_cast<size_t>(dim)] = index.dim(0);
  return Expand(Reshape(index, shape), wide);
}

void RequireVector(const Tensor& index, const std::string& tag) {
  if (index.rank() == 1 && index.dtype() == DType::kI64) return;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] index is ", DTypeName(index.dtype()),
                                    ShapeToString(index.shape()), "; expected i64[k]"));
}

const Registration kIndexAdd({
    .name = "index_add",
    .formula = "y = x; y[index[i]] += alpha source[i] along dim; dy likewise of dx and dsource",
    .source = Docs("index_add"),
    .arguments = {{.name = "x", .shape = "m n"},
                  {.name = "index", .shape = "k", .kind = ValueKind::kIndex},
                  {.name = "source", .shape = "k n"}},
    .attributes = {{.name = "dim", .choices = {int64_t{0}, int64_t{-2}}},
                   {.name = "alpha", .choices = {1.0, -0.5}}},
    .build = WithAttributes("index_add", 3, {"dim", "alpha"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "index_add");
                              const double alpha = GetDouble(attributes, "alpha", 1, "index_add");
                              return [=](const Tensors& in) -> Tensors {
                                RequireVector(in[1], "index_add");
                                const int64_t axis = WrapDim(dim, in[0].rank(), "index_add");
                                const Tensor source = alpha == 1 ? in[2] : in[2] * alpha;
                                return {ScatterAdd(
                                    in[0], axis, SpreadIndex(in[1], axis, in[2].shape()), source)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const double alpha = GetDouble(attributes, "alpha", 1, kTag);
          Array y = inputs[0].Cast(DType::kF64).Copy();
          ForEachIndex(inputs[2].shape(), [&](const Index& at) {
            const Index to = {static_cast<int64_t>(At(inputs[1], {at[0]})), at[1]};
            Write(y, to, At(y, to) + alpha * At(inputs[2], at));
          });
          return std::vector<Array>{y.Cast(inputs[0].dtype())};
        },
    .error_cases =
        {{.description = "an index of two axes",
          .inputs = {{DType::kF64, {3, 4}}, {DType::kI64, {3, 4}}, {DType::kF64, {3, 4}}},
          .attributes = {{"dim", 0}}}},
});

const Registration kIndexFill({
    .name = "index_fill",
    .formula = "y = x, but value at index along dim; dy = dx, 0 there",
    .source = Docs("Tensor.index_fill"),
    .arguments = {{.name = "x", .shape = "7 n"},
                  {.name = "index", .shape = "3", .kind = ValueKind::kIndex}},
    .attributes = {{.name = "dim", .choices = {int64_t{0}, int64_t{-2}}},
                   {.name = "value", .choices = {0.0, -1.5}}},
    .build = WithAttributes("index_fill", 2, {"dim", "value"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "index_fill");
                              const double value = GetDouble(attributes, "value", 0, "index_fill");
                              return [=](const Tensors& in) -> Tensors {
                                RequireVector(in[1], "index_fill");
                                const int64_t axis = WrapDim(dim, in[0].rank(), "index_fill");
                                return {Untouched(in[0], axis,
                                                  SpreadIndex(in[1], axis, in[0].shape()),
                                                  Full({}, value, in[0].dtype()))};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          Array y = inputs[0].Copy();
          for (int64_t i = 0; i < inputs[1].size(); ++i) {
            for (int64_t j = 0; j < y.dim(1); ++j) {
              Write(y, {inputs[1].IntAt(i), j}, GetDouble(attributes, "value", 0, kTag));
            }
          }
          return std::vector<Array>{y};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

const Registration kMaskedFill({
    .name = "masked_fill",
    .formula = "y = value where the mask holds, else x; dy = 0 there, else dx",
    .source = Docs("Tensor.masked_fill"),
    .arguments = {{.name = "x", .shape = "~"},
                  {.name = "mask", .shape = "~", .kind = ValueKind::kBool}},
    .attributes = {{.name = "value", .choices = {0.0, -1.5}}},
    .build = WithAttributes("masked_fill", 2, {"value"},
                            [](const Attributes& attributes) {
                              const double value = GetDouble(attributes, "value", 0, "masked_fill");
                              return [value](const Tensors& in) -> Tensors {
                                if (in[1].dtype() != DType::kBool) {
                                  ThrowInvalidArgument(absl::StrCat("[masked_fill] the mask is ",
                                                                    DTypeName(in[1].dtype()),
                                                                    "; expected bool"));
                                }
                                return {Where(in[1], Full({}, value, in[0].dtype()), in[0])};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Shape shape = BroadcastShapes(inputs[0].shape(), inputs[1].shape(), kTag);
          const Array x = inputs[0].Expanded(shape), mask = inputs[1].Expanded(shape);
          return std::vector<Array>{FromIndices(x.dtype(), shape, [&](const Index& at) {
            return At(mask, at) != 0 ? GetDouble(attributes, "value", 0, kTag) : At(x, at);
          })};
        },
    .error_cases = {{.description = "a floating mask",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}}}},
});

}  // namespace
}  // namespace peelcheck
