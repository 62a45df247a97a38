// opinfo_db/ops/rearrange.cc: the elements of a tensor under another shape, in another order or
// repeated: flatten, roll, repeat. Compositions, so that their rules are those
// of their parts.
//
//   BuildOperation("roll", {{"shifts", 1}, {"dims", 0}})({x})
#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

using Sizes = std::vector<int64_t>;
constexpr char kTag[] = "reference";

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

// First and last axis that become one; negative ones count from the end.
std::pair<int64_t, int64_t> FlattenRange(const Attributes& attributes, int64_t rank,
                                         const std::string& tag) {
  const int64_t start = WrapDim(GetInt(attributes, "start_dim", 0, tag), rank, tag);
  const int64_t end = WrapDim(GetInt(attributes, "end_dim", -1, tag), rank, tag);
  if (start > end) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] start_dim ", start, " comes after end_dim ", end,
                                      "; expected start_dim <= end_dim"));
  }
  return {start, end};
}

template <typename ShapeLike>
Sizes Flattened(const ShapeLike& shape, const Attributes& attributes, const std::string& tag) {
  if (shape.empty()) return {1};
  const auto [start, end] = FlattenRange(attributes, static_cast<int64_t>(shape.size()), tag);
  Sizes result(shape.begin(), shape.begin() + start);
  int64_t size = 1;
  for (int64_t i = start; i <= end; ++i) size *= shape[static_cast<size_t>(i)];
  result.push_back(size);
  result.insert(result.end(), shape.begin() + end + 1, shape.end());
  return result;
}

const Registration kFlatten({
    .name = "flatten",
    .formula = "y = x with the axes start_dim..end_dim as one; dy likewise",
    .source = Docs("flatten"),
    .arguments = {{.name = "x", .shape = "... m n"}},
    .attributes = {{.name = "start_dim", .choices = {int64_t{0}, int64_t{-2}, int64_t{1}}},
                   {.name = "end_dim", .choices = {int64_t{-1}, {}}}},
    .build = WithAttributes("flatten", 1, {"start_dim", "end_dim"},
                            [](const Attributes& attributes) {
                              return [attributes](const Tensors& in) -> Tensors {
                                return {Reshape(in[0],
                                                Flattened(in[0].shape(), attributes, "flatten"))};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          // Axis by axis, multiplied in while inside of the range.
          const auto rank = std::ssize(inputs[0].shape());
          const auto wrap = [rank](int64_t dim) { return dim < 0 ? dim + rank : dim; };
          const int64_t start = wrap(GetInt(attributes, "start_dim", 0, kTag));
          const int64_t end = wrap(GetInt(attributes, "end_dim", -1, kTag));
          Shape shape;
          for (int64_t i = 0; i < rank; ++i) {
            const int64_t size = inputs[0].dim(i);
            if (i > start && i <= end) {
              shape.back() *= size;
            } else {
              shape.push_back(size);
            }
          }
          return std::vector<Array>{
              Array::FromValues(inputs[0].dtype(), shape, inputs[0].ToDoubles())};
        },
    .error_cases = {{.description = "start behind end",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"start_dim", int64_t{1}}, {"end_dim", int64_t{0}}}}},
});

// x moved by `shift` along an axis, what falls off at one end coming in at the other.
Tensor Roll(const Tensor& x, int64_t shift, int64_t dim) {
  const int64_t axis = WrapDim(dim, x.rank(), "roll");
  const int64_t n = x.dim(axis);
  if (n == 0) return x;
  const int64_t by = ((shift % n) + n) % n;
  return Cat({{Narrow(x, axis, n - by, by), Narrow(x, axis, 0, n - by)}}, axis);
}

const Registration kRoll({
    .name = "roll",
    .formula =
        "y[i] = x[i - shift mod n] along each dim, of the flat tensor without dims; dy likewise",
    .source = Docs("roll"),
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "shifts", .choices = {int64_t{1}, int64_t{-1}, int64_t{9}}},
                   {.name = "dims", .kind = AttributeKind::kOptionalDim}},
    .min_rank = 1,
    .build = WithAttributes(
        "roll", 1, {"shifts", "dims"},
        [](const Attributes& attributes) {
          const Sizes shifts = RequireInts(attributes, "shifts", "roll");
          const auto dims = GetOptionalInts(attributes, "dims", "roll");
          if (dims.has_value() ? dims->size() != shifts.size() : shifts.size() != 1) {
            ThrowInvalidArgument(absl::StrCat("[roll] ", shifts.size(), " shifts for ",
                                              dims.has_value() ? dims->size() : 1,
                                              " dims; expected one for each"));
          }
          return [shifts, dims](const Tensors& in) -> Tensors {
            Tensor y = in[0];
            if (!dims.has_value()) {
              const Dims shape(y.shape().begin(), y.shape().end());
              return {Reshape(Roll(Reshape(y, {y.size()}), shifts[0], 0), shape)};
            }
            for (size_t i = 0; i < dims->size(); ++i) y = Roll(y, shifts[i], (*dims)[i]);
            return {y};
          };
        }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array& x = inputs[0];
          const int64_t shift = RequireInts(attributes, "shifts", kTag)[0];
          const auto dims = GetOptionalInts(attributes, "dims", kTag);
          const auto source = [shift](int64_t i, int64_t n) { return (((i - shift) % n) + n) % n; };
          int64_t position = 0;
          return std::vector<Array>{FromIndices(x.dtype(), x.shape(), [&](Index at) {
            if (!dims.has_value()) return x.DoubleAt(source(position++, x.size()));
            const size_t dim = WrapReferenceDim((*dims)[0], x);
            at[dim] = source(at[dim], x.shape()[dim]);
            return At(x, at);
          })};
        },
    .error_cases = {{.description = "two shifts for one dim",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"shifts", Sizes{1, 1}}, {"dims", int64_t{0}}}},
                    {.description = "dim past the end",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"shifts", int64_t{1}}, {"dims", int64_t{1}}}}},
});

// [m, n] by (r, s) -> [r m, s n]; more repeats than axes: new leading axes.
Tensor Repeat(const Tensor& x, const Sizes& repeats) {
  if (std::ssize(repeats) < x.rank()) {
    ThrowInvalidArgument(absl::StrCat("[repeat] ", repeats.size(), " repeats for a tensor of rank ",
                                      x.rank(), "; expected at least one per axis"));
  }
  Dims apart, expanded, result;
  const int64_t lead = std::ssize(repeats) - x.rank();
  for (int64_t i = 0; i < std::ssize(repeats); ++i) {
    const int64_t size = i < lead ? 1 : x.dim(i - lead), times = repeats[static_cast<size_t>(i)];
    if (times < 0) {
      ThrowInvalidArgument(absl::StrCat("[repeat] a repeat is ", times, "; expected 0 or more"));
    }
    apart.insert(apart.end(), {1, size});
    expanded.insert(expanded.end(), {times, size});
    result.push_back(times * size);
  }
  return Reshape(Expand(Reshape(x, apart), expanded), result);
}

const Registration kRepeat({
    .name = "repeat",
    .formula = "y[i, j] = x[i mod m, j mod n]; dy likewise, the gradient adds up",
    .source = "https://pytorch.org/docs/stable/generated/torch.Tensor.repeat.html",
    .arguments = {{.name = "x", .shape = "m n"}},
    .attributes = {{.name = "repeats",
                    .choices = {Sizes{1, 3}, Sizes{3, 1}, Sizes{4, 1, 1}, Sizes{3, 3}}}},
    .build = WithAttributes("repeat", 1, {"repeats"},
                            [](const Attributes& attributes) {
                              const Sizes repeats = RequireInts(attributes, "repeats", "repeat");
                              return [repeats](const Tensors& in) -> Tensors {
                                return {Repeat(in[0], repeats)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array& x = inputs[0];
          const Sizes repeats = RequireInts(attributes, "repeats", kTag);
          const size_t lead = repeats.size() - x.shape().size();
          Shape shape(repeats.begin(), repeats.end());
          for (size_t i = lead; i < shape.size(); ++i) shape[i] *= x.shape()[i - lead];
          return std::vector<Array>{FromIndices(x.dtype(), shape, [&](const Index& at) {
            Index from(at.begin() + static_cast<int64_t>(lead), at.end());
            for (size_t i = 0; i < from.size(); ++i) from[i] %= x.shape()[i];
            return At(x, from);
          })};
        },
    .error_cases = {{.description = "fewer repeats than axes",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"repeats", Sizes{3}}}}},
});

}  // namespace
}  // namespace peelcheck
