// opinfo_db/ops/lookups.cc: values by index: take_along_dim, embedding; and indices of values:
// one_hot, searchsorted.
//
//   BuildOperation("embedding", {{"padding_idx", 0}})({weight, index})
#include <algorithm>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

// `at` with the last coordinate replaced by the index that stands there.
Index Addressed(const Array& index, const Index& at) {
  Index result = at;
  result.back() = static_cast<int64_t>(At(index, at));
  return result;
}

// The other axes of x and index broadcast together.
Tensor TakeAlong(const Tensor& x, const Tensor& index, int64_t dim) {
  if (x.rank() != index.rank()) {
    ThrowInvalidArgument(absl::StrCat("[take_along_dim] index has rank ", index.rank(),
                                      " for an input of rank ", x.rank(), "; expected the same"));
  }
  const int64_t axis = WrapDim(dim, x.rank(), "take_along_dim");
  Shape x_shape = x.shape(), index_shape = index.shape();
  if (x.rank() > 0) x_shape[static_cast<size_t>(axis)] = index_shape[static_cast<size_t>(axis)] = 1;
  const Shape common = BroadcastShapes(x_shape, index_shape, "take_along_dim");
  const auto widened = [&](const Tensor& tensor) {
    Shape shape = common;
    if (x.rank() > 0) shape[static_cast<size_t>(axis)] = tensor.dim(axis);
    return BroadcastTo(tensor, shape);
  };
  return Gather(widened(x), axis, widened(index));
}

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
                                if (dim.has_value()) return {TakeAlong(in[0], in[1], *dim)};
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
            return At(x, Addressed(index, at));
          })};
        },
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 0}}}},
});

// weight[index]; `at_padding` makes what stands at the padding's rows of them.
TensorFn Embedding(const Attributes& attributes, Tensor (*at_padding)(const Tensor& rows)) {
  const auto padding = GetOptionalInt(attributes, "padding_idx", "embedding");
  return [=](const Tensors& in) -> Tensors {
    Dims shape(in[1].shape().begin(), in[1].shape().end());
    const Tensor flat = Reshape(in[1], {in[1].size()});
    Tensor rows = IndexSelect(in[0], 0, flat);
    if (padding.has_value()) {
      const auto row = static_cast<double>(WrapDim(*padding, in[0].dim(0), "embedding"));
      const Tensor padded = Eq(flat, Full({}, row, DType::kI64));
      rows = Where(Unsqueeze(padded, 1), at_padding(rows), rows);
    }
    shape.push_back(in[0].dim(1));
    return {Reshape(rows, shape)};
  };
}

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
                              return Embedding(attributes, Detach);
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
    // A function whose true derivative is the declared one: zero at the padding.
    .surrogate = WithAttributes("embedding", 2, {"padding_idx"},
                                [](const Attributes& attributes) {
                                  return Embedding(attributes, ZerosLike);
                                }),
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

void RequireSameLeading(const Tensor& sequence, const Tensor& values) {
  const Shape &a = sequence.shape(), &b = values.shape();
  if (!a.empty() && a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin())) return;
  ThrowInvalidArgument(absl::StrCat("[searchsorted] a sequence of shape ", ShapeToString(a),
                                    " for values of shape ", ShapeToString(b),
                                    "; expected [.., n] and [.., m] with the same leading axes"));
}

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
                                RequireSameLeading(in[0], in[1]);
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
