// opinfo_db/ops/index_writes.cc: a tensor with some elements replaced or added to: scatter,
// index_add, index_fill, masked_fill; and lookups: take_along_dim, embedding, one_hot,
// searchsorted.
//
//   BuildOperation("scatter", {{"dim", 0}})({x, index, source})
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

AttributeSpec Dim() { return {.name = "dim", .kind = AttributeKind::kDim}; }

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

// Indices that repeat are refused by nobody, as in PyTorch, whose gradient then is that of none of
// them; the samples' indices are distinct.
Tensor Scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const Dims shape(x.shape().begin(), x.shape().end());
  const Tensor zeros = Clone(Expand(Full({}, 0, x.dtype()), shape));
  return Untouched(x, dim, index, ScatterAdd(zeros, dim, index, source));
}

Index Addressed(const Array& index, const Index& at, size_t dim) {
  Index result = at;
  if (!result.empty()) result[dim] = static_cast<int64_t>(At(index, at));
  return result;
}

void Write(Array& array, const Index& at, double value) {
  int64_t position = 0;
  for (size_t i = 0; i < at.size(); ++i) position = position * array.shape()[i] + at[i];
  array.SetDouble(position, value);
}

Build AlongDim(const std::string& name, int64_t arity,
               Tensor (*call)(const Tensors& in, int64_t dim)) {
  return WithAttributes(name, arity, {"dim"}, [name, call](const Attributes& attributes) {
    const int64_t dim = RequireInt(attributes, "dim", name);
    return
        [=](const Tensors& in) -> Tensors { return {call(in, WrapDim(dim, in[0].rank(), name))}; };
  });
}

const Registration kScatter({
    .name = "scatter",
    .formula = "y = x; y[index[i, j], j] = source[i, j] (dim 0); dy likewise of dx and dsource",
    .source = Docs("scatter"),
    .arguments = {{.name = "x"},
                  {.name = "index", .kind = ValueKind::kPermutation, .dim_attribute = "dim"},
                  {.name = "source"}},
    .attributes = {Dim()},
    // Two thirds of the permutation: some elements of x stay.
    .build = AlongDim("scatter", 3,
                      [](const Tensors& in, int64_t dim) {
                        if (in[0].rank() == 0) return Scatter(in[0], dim, in[1], in[2]);
                        const int64_t n = (in[1].dim(dim) * 2 + 2) / 3;
                        return Scatter(in[0], dim, Narrow(in[1], dim, 0, n),
                                       Narrow(in[2], dim, 0, n));
                      }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array &index = inputs[1], &source = inputs[2];
          const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", kTag), inputs[0]);
          Array y = inputs[0].Copy();
          ForEachIndex(index.shape(), [&](const Index& at) {
            if (!at.empty() && at[dim] >= (index.shape()[dim] * 2 + 2) / 3) return;
            Write(y, Addressed(index, at, dim), At(source, at));
          });
          return std::vector<Array>{y};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

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

const Registration kTakeAlongDim({
    .name = "take_along_dim",
    .formula = "y[i, j] = x[index[i, j], j] along dim, of the flat x without dim; dy likewise",
    .source = Docs("take_along_dim"),
    .arguments = {{.name = "x", .shape = "... n"},
                  {.name = "index", .shape = "... n", .kind = ValueKind::kIndex, .dim = -1}},
    .attributes = {{.name = "dim", .choices = {int64_t{-1}, {}}}},
    .allows_empty = false,
    .build = WithAttributes("take_along_dim", 2, {"dim"},
                            [](const Attributes& attributes) {
                              const auto dim = GetOptionalInt(attributes, "dim", "take_along_dim");
                              return [dim](const Tensors& in) -> Tensors {
                                if (dim.has_value()) return {Gather(in[0], *dim, in[1])};
                                const Dims flat = {-1};
                                return {Gather(Reshape(in[0], flat), 0, Reshape(in[1], flat))};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array &x = inputs[0], &index = inputs[1];
          if (!GetOptionalInt(attributes, "dim", kTag).has_value()) {
            return std::vector<Array>{FromIndices(x.dtype(), {index.size()}, [&](const Index& at) {
              return x.DoubleAt(index.IntAt(at[0]));
            })};
          }
          return std::vector<Array>{FromIndices(x.dtype(), index.shape(), [&](const Index& at) {
            return At(x, Addressed(index, at, x.shape().size() - 1));
          })};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

const Registration kEmbedding({
    .name = "embedding",
    .formula = "y[i] = weight[index[i]]; dy likewise, 0 where index[i] = padding_idx",
    .source = Docs("nn.functional.embedding"),
    .arguments = {{.name = "weight", .shape = "v d"},
                  {.name = "index", .shape = "... k", .kind = ValueKind::kIndex}},
    .attributes = {{.name = "padding_idx", .choices = {{}, int64_t{0}, int64_t{-1}}}},
    .allows_empty = false,
    .build = WithAttributes("embedding", 2, {"padding_idx"},
                            [](const Attributes& attributes) {
                              const auto padding =
                                  GetOptionalInt(attributes, "padding_idx", "embedding");
                              return [padding](const Tensors& in) -> Tensors {
                                Dims shape(in[1].shape().begin(), in[1].shape().end());
                                const Tensor flat = Reshape(in[1], {in[1].size()});
                                Tensor rows = IndexSelect(in[0], 0, flat);
                                if (padding.has_value()) {
                                  const Tensor padded =
                                      Eq(flat, Full({},
                                                    static_cast<double>(WrapDim(
                                                        *padding, in[0].dim(0), "embedding")),
                                                    DType::kI64));
                                  rows = Where(Unsqueeze(padded, 1), Detach(rows), rows);
                                }
                                shape.push_back(in[0].dim(1));
                                return {Reshape(rows, shape)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes&) {
          Shape shape = inputs[1].shape();
          shape.push_back(inputs[0].dim(1));
          return std::vector<Array>{FromIndices(inputs[0].dtype(), shape, [&](Index at) {
            const int64_t column = at.back();
            at.pop_back();
            return At(inputs[0], {static_cast<int64_t>(At(inputs[1], at)), column});
          })};
        },
    // The gradient of the padding row is zero by declaration.
    .surrogate = nullptr,
    .error_cases = {{.description = "padding_idx past the end",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kI64, {5}}},
                     .attributes = {{"padding_idx", int64_t{3}}}}},
});

const Registration kOneHot({
    .name = "one_hot",
    .formula = "y[.., c] = 1 where c = index[..], else 0 (i64); no derivative",
    .source = Docs("nn.functional.one_hot"),
    .arguments = {{.name = "index", .shape = "... n", .kind = ValueKind::kIndex, .dim = -1}},
    .attributes = {{.name = "num_classes", .choices = {int64_t{7}, int64_t{9}}}},
    .build = WithAttributes("one_hot", 1, {"num_classes"},
                            [](const Attributes& attributes) {
                              const int64_t n = RequireInt(attributes, "num_classes", "one_hot");
                              if (n < 1) {
                                ThrowInvalidArgument(absl::StrCat("[one_hot] num_classes=", n,
                                                                  "; expected 1 or more"));
                              }
                              std::vector<int64_t> classes(static_cast<size_t>(n));
                              for (size_t c = 0; c < classes.size(); ++c) {
                                classes[c] = static_cast<int64_t>(c);
                              }
                              const Tensor row = Tensor::FromArray(Array::FromInts({n}, classes));
                              return [row](const Tensors& in) -> Tensors {
                                return {To(Eq(Unsqueeze(in[0], -1), row), DType::kI64)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          Shape shape = inputs[0].shape();
          shape.push_back(RequireInt(attributes, "num_classes", kTag));
          return std::vector<Array>{FromIndices(DType::kI64, shape, [&](Index at) {
            const int64_t c = at.back();
            at.pop_back();
            return At(inputs[0], at) == static_cast<double>(c) ? 1.0 : 0.0;
          })};
        },
    .differentiable = false,
    .error_cases = {{.description = "no classes",
                     .inputs = {{DType::kI64, {3}}},
                     .attributes = {{"num_classes", int64_t{0}}}}},
});

// Where the values would go into a sorted sequence: how many of its elements are smaller (or,
// right, not larger). A count needs no order, so that of an unsorted one is defined too.
const Registration kSearchSorted({
    .name = "searchsorted",
    .formula =
        "y[.., i] = the number of sequence elements < values[.., i] (right: <=); no derivative",
    .source = Docs("searchsorted"),
    .arguments = {{.name = "sequence", .shape = "... n"}, {.name = "values", .shape = "... m"}},
    .attributes = {{.name = "right", .choices = {false, true}}},
    .build = WithAttributes("searchsorted", 2, {"right"},
                            [](const Attributes& attributes) {
                              const bool right =
                                  GetBool(attributes, "right", false, "searchsorted");
                              return [right](const Tensors& in) -> Tensors {
                                const Tensor sequence = Unsqueeze(in[0], -2);  // [.., 1, n]
                                const Tensor values = Unsqueeze(in[1], -1);    // [.., m, 1]
                                const Tensor below =
                                    right ? Le(sequence, values) : Lt(sequence, values);
                                return {Sum(To(below, DType::kI64), Dims{-1})};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const bool right = GetBool(attributes, "right", false, kTag);
          return std::vector<Array>{
              FromIndices(DType::kI64, inputs[1].shape(), [&](const Index& at) {
                std::vector<double> line = Line(inputs[0], at, at.size() - 1);
                std::sort(line.begin(), line.end());
                const double value = At(inputs[1], at);
                const auto place = right ? std::upper_bound(line.begin(), line.end(), value)
                                         : std::lower_bound(line.begin(), line.end(), value);
                return static_cast<double>(place - line.begin());
              })};
        },
    .differentiable = false,
    .error_cases = {{.description = "values of rank 0",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {}}}}},
});

}  // namespace
}  // namespace peelcheck
