// opinfo_db/ops/extrema.cc: where the largest and smallest values are: argmax, argmin, max, min,
// topk, along a dim or over all elements.
//
//   BuildOperation("max", {{"dim", -1}})({x})   // values, indices; without dim: the value alone
#include <algorithm>
#include <numeric>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/folds.h"

namespace peelcheck {
namespace {

const Domain kNoTies = {.low = -50, .high = 50, .margin = 0.05, .distinct = true};

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

// The first `k` along dim of the order from the largest (smallest) value on. Rank 0 is one element.
Tensor LeadingIndices(const Tensor& x, int64_t dim, bool largest, int64_t k) {
  if (x.rank() == 0) return Full({}, 0, DType::kI64);
  return Narrow(Argsort(x, dim, largest), dim, 0, k);
}

struct Along {
  std::optional<int64_t> dim;
  bool keepdim;
};

Along ReadAlong(const Attributes& attributes, const std::string& name) {
  return {GetOptionalInt(attributes, "dim", name), GetBool(attributes, "keepdim", false, name)};
}

// Like x, the reduced axis of size 1.
Tensor ArgKept(const Tensor& x, int64_t dim, bool largest, const std::string& name) {
  return LeadingIndices(x, WrapDim(dim, x.rank(), name), largest, 1);
}

Tensor Dropped(const Tensor& x, int64_t dim, bool keepdim) {
  return keepdim || x.rank() == 0 ? x : Squeeze(x, dim);
}

Tensor ArgExtreme(const Tensor& x, const Along& along, bool largest, const std::string& name) {
  if (along.dim.has_value()) {
    return Dropped(ArgKept(x, *along.dim, largest, name), *along.dim, along.keepdim);
  }
  const Tensor flat = ArgKept(Reshape(x, {-1}), 0, largest, name);
  return Reshape(flat, along.keepdim ? Dims(static_cast<size_t>(x.rank()), 1) : Dims());
}

// By the flat or axis-wise position of the extreme value; the first one of equal ones.
Reference ArgReference(bool largest) {
  return FoldReference(
      [largest](const Values& values, const Attributes&) {
        const auto at = largest ? std::max_element(values.begin(), values.end())
                                : std::min_element(values.begin(), values.end());
        return static_cast<double>(at - values.begin());
      },
      DType::kI64);
}

Reference ValueReference(bool largest) {
  return FoldReference([largest](const Values& values, const Attributes&) {
    return largest ? *std::max_element(values.begin(), values.end())
                   : *std::min_element(values.begin(), values.end());
  });
}

std::vector<AttributeSpec> AlongSpecs() {
  return {{.name = "dim", .kind = AttributeKind::kOptionalDim}, KeepDim()};
}

Registration ArgRow(const std::string& name, bool largest,
                    SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "y = the index of the " + std::string(largest ? "largest" : "smallest") +
                  " x along dim, or in row-major order; no derivative",
       .source = Docs(name),
       .arguments = {{.name = "x", .domain = kNoTies}},
       .attributes = AlongSpecs(),
       .allows_empty = false,
       .build = WithAttributes(name, 1, {"dim", "keepdim"},
                               [=](const Attributes& attributes) {
                                 const Along along = ReadAlong(attributes, name);
                                 return [=](const Tensors& in) -> Tensors {
                                   return {ArgExtreme(in[0], along, largest, name)};
                                 };
                               }),
       .reference = ArgReference(largest),
       .differentiable = false,
       .error_cases = DimErrors()},
      where);
}

// Without dim the value alone, whose gradient equal values share; with dim values and indices, the
// gradient going to the index that is returned.
Tensors Extreme(const Tensor& x, const Along& along, bool largest, const std::string& name) {
  if (!along.dim.has_value()) {
    if (along.keepdim) {
      ThrowInvalidArgument(absl::StrCat("[", name, "] keepdim without dim; name a dim"));
    }
    return {largest ? Amax(x) : Amin(x)};
  }
  const Tensor index = ArgKept(x, *along.dim, largest, name);
  return {Dropped(Gather(x, *along.dim, index), *along.dim, along.keepdim),
          Dropped(index, *along.dim, along.keepdim)};
}

Registration ExtremeRow(const std::string& name, bool largest, bool with_dim,
                        SourceLocation where = SourceLocation::Current()) {
  std::vector<AttributeSpec> attributes;
  if (with_dim) attributes = {{.name = "dim", .kind = AttributeKind::kDim}, KeepDim()};
  Reference reference = ValueReference(largest);
  if (with_dim) {
    reference = [value = reference, arg = ArgReference(largest)](std::span<const Array> inputs,
                                                                 const Attributes& given) {
      return std::vector<Array>{value(inputs, given)[0], arg(inputs, given)[0]};
    };
  }
  return Registration(
      {.name = with_dim ? name + ".dim" : name,
       .formula = with_dim ? "values, indices of the extreme x along dim; dvalues = dx[indices]"
                           : "y = the extreme x; dy = dx there, shared evenly where several are",
       .source = Docs(name),
       .arguments = {{.name = "x", .domain = kNoTies}},
       .attributes = attributes,
       .allows_empty = false,
       .build = WithAttributes(name, 1, {"dim", "keepdim"},
                               [=](const Attributes& given) {
                                 const Along along = ReadAlong(given, name);
                                 if (with_dim) RequireInt(given, "dim", name);
                                 return [=](const Tensors& in) {
                                   return Extreme(in[0], along, largest, name);
                                 };
                               }),
       .reference = std::move(reference),
       .error_cases = DimErrors()},
      where);
}

const Registration kRows[] = {ArgRow("argmax", true),          ArgRow("argmin", false),
                              ExtremeRow("max", true, false),  ExtremeRow("max", true, true),
                              ExtremeRow("min", false, false), ExtremeRow("min", false, true)};

std::vector<Array> TopKReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", -1, "reference"), x);
  const bool largest = GetBool(attributes, "largest", true, "reference");
  Shape shape = x.shape();
  shape[dim] = RequireInt(attributes, "k", "reference");
  const auto place = [&](const Index& at) {
    const Values line = Line(x, at, dim);
    std::vector<int64_t> order(line.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const double u = line[static_cast<size_t>(a)], v = line[static_cast<size_t>(b)];
      return largest ? u > v : u < v;
    });
    return order[static_cast<size_t>(at[dim])];
  };
  const Array indices = FromIndices(
      DType::kI64, shape, [&](const Index& at) { return static_cast<double>(place(at)); });
  return {FromIndices(
              x.dtype(), shape,
              [&](const Index& at) { return Line(x, at, dim)[static_cast<size_t>(place(at))]; }),
          indices};
}

const Registration kTopK({
    .name = "topk",
    .formula =
        "values, indices of the k largest (smallest) x along dim, in order; dvalues = dx[..]",
    .source = Docs("topk"),
    .arguments = {{.name = "x", .shape = "... 3 5", .domain = kNoTies}},
    .attributes = {{.name = "k", .choices = {int64_t{1}, int64_t{3}}},
                   {.name = "dim", .choices = {int64_t{-1}, int64_t{-2}}},
                   {.name = "largest", .choices = {true, false}},
                   {.name = "sorted", .choices = {true, false}}},
    .allows_empty = false,
    // Sorted whether asked for or not: an order that nobody may rely on is also an order.
    .build = WithAttributes("topk", 1, {"k", "dim", "largest", "sorted"},
                            [](const Attributes& attributes) {
                              const int64_t k = RequireInt(attributes, "k", "topk");
                              const int64_t dim = GetInt(attributes, "dim", -1, "topk");
                              const bool largest = GetBool(attributes, "largest", true, "topk");
                              GetBool(attributes, "sorted", true, "topk");
                              return [=](const Tensors& in) -> Tensors {
                                const int64_t axis = WrapDim(dim, in[0].rank(), "topk");
                                const Tensor index = LeadingIndices(in[0], axis, largest, k);
                                return {Gather(in[0], axis, index), index};
                              };
                            }),
    .reference = TopKReference,
    .error_cases = {{.description = "k larger than the axis",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"k", int64_t{4}}}}},
});

}  // namespace
}  // namespace peelcheck
