// opinfo_db/ops/slicing.cc: parts of a tensor, reversed, padded or masked: narrow, slice, select,
// flip, constant_pad_nd, tril, triu.
//
//   BuildOperation("slice", {{"dim", 0}, {"start", 1}, {"end", -1}, {"step", 2}})   // x[1:-1:2]
#include <algorithm>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";
constexpr int64_t kEnd = int64_t{1} << 40;  // past any axis

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

int64_t SizeAlong(const Array& x, size_t dim) { return x.rank() == 0 ? 1 : x.shape()[dim]; }

// The elements at `positions` along `dim`.
std::vector<Array> Picked(const Array& x, size_t dim, const std::vector<int64_t>& positions) {
  Shape shape = x.shape();
  shape[dim] = static_cast<int64_t>(positions.size());
  return {FromIndices(x.dtype(), shape, [&](const Index& index) {
    Index from = index;
    from[dim] = positions[static_cast<size_t>(index[dim])];
    return At(x, from);
  })};
}

std::vector<Array> NarrowReference(std::span<const Array> inputs, const Attributes& attributes) {
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", kTag), inputs[0]);
  int64_t start = RequireInt(attributes, "start", kTag);
  if (start < 0) start += SizeAlong(inputs[0], dim);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < RequireInt(attributes, "length", kTag); ++i)
    positions.push_back(start + i);
  return Picked(inputs[0], dim, positions);
}

const Registration kNarrow({
    .name = "narrow",
    .formula = "y = x[start : start + length] along dim; dy likewise",
    .source = Docs("narrow"),
    .arguments = {{.name = "x"}},
    // Length 1 fits behind every start; `slice` has the longer ones.
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim},
                   {.name = "start", .kind = AttributeKind::kIndexAlong, .dim_attribute = "dim"},
                   {.name = "length", .choices = {1}}},
    .min_rank = 1,
    .allows_empty = false,
    .build = WithAttributes("narrow", 1, {"dim", "start", "length"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "narrow");
                              const int64_t start = RequireInt(attributes, "start", "narrow");
                              const int64_t length = RequireInt(attributes, "length", "narrow");
                              return [=](const Tensors& in) -> Tensors {
                                return {Narrow(in[0], dim, start, length)};
                              };
                            }),
    .reference = NarrowReference,
    .error_cases = {{.description = "past the end",
                     .inputs = {{DType::kF64, {4}}},
                     .attributes = {{"dim", 0}, {"start", 3}, {"length", 3}}},
                    {.description = "a negative length",
                     .inputs = {{DType::kF64, {4}}},
                     .attributes = {{"dim", 0}, {"start", 0}, {"length", -1}}}},
});

// By Python's rule: a bound counts from the end where it is negative, and is clamped to the axis.
std::vector<Array> SliceReference(std::span<const Array> inputs, const Attributes& attributes) {
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", kTag), inputs[0]);
  const int64_t size = SizeAlong(inputs[0], dim);
  int64_t start = GetInt(attributes, "start", 0, kTag);
  int64_t end = GetInt(attributes, "end", kEnd, kTag);
  if (start < 0) start += size;
  if (end < 0) end += size;
  std::vector<int64_t> positions;
  for (int64_t i = std::max<int64_t>(start, 0); i < std::min(end, size);
       i += GetInt(attributes, "step", 1, kTag)) {
    positions.push_back(i);
  }
  return Picked(inputs[0], dim, positions);
}

const Registration kSlice({
    .name = "slice",
    .formula = "y = x[start : end : step] along dim; dy likewise",
    .source = "https://docs.python.org/3/library/stdtypes.html#common-sequence-operations",
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim},
                   {.name = "start", .choices = {0, std::monostate(), 1, -2}},
                   {.name = "end", .choices = {std::monostate(), 1000, -1}},
                   {.name = "step", .choices = {1, 2, 3}}},
    .min_rank = 1,
    .build = WithAttributes("slice", 1, {"dim", "start", "end", "step"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "slice");
                              const int64_t start = GetInt(attributes, "start", 0, "slice");
                              const int64_t end = GetInt(attributes, "end", kEnd, "slice");
                              const int64_t step = GetInt(attributes, "step", 1, "slice");
                              return [=](const Tensors& in) -> Tensors {
                                return {Slice(in[0], dim, start, end, step)};
                              };
                            }),
    .reference = SliceReference,
    .error_cases = {{.description = "step 0",
                     .inputs = {{DType::kF64, {4}}},
                     .attributes = {{"dim", 0}, {"step", 0}}},
                    {.description = "dim past the end",
                     .inputs = {{DType::kF64, {4}}},
                     .attributes = {{"dim", 1}}}},
});

std::vector<Array> SelectReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const auto dim =
      static_cast<std::ptrdiff_t>(WrapReferenceDim(RequireInt(attributes, "dim", kTag), x));
  int64_t position = RequireInt(attributes, "index", kTag);
  if (position < 0) position += SizeAlong(x, static_cast<size_t>(dim));
  Shape shape = x.shape();
  shape.erase(shape.begin() + dim);
  return {FromIndices(x.dtype(), shape, [&](Index index) {
    index.insert(index.begin() + dim, position);
    return At(x, index);
  })};
}

const Registration kSelect({
    .name = "select",
    .formula = "y = x[index] along dim, which is dropped; dy likewise",
    .source = Docs("select"),
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim},
                   {.name = "index", .kind = AttributeKind::kIndexAlong, .dim_attribute = "dim"}},
    .min_rank = 1,
    .allows_empty = false,
    .build = WithAttributes("select", 1, {"dim", "index"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "select");
                              const int64_t index = RequireInt(attributes, "index", "select");
                              return [=](const Tensors& in) -> Tensors {
                                return {Select(in[0], dim, index)};
                              };
                            }),
    .reference = SelectReference,
    .error_cases = {{.description = "index past the end",
                     .inputs = {{DType::kF64, {4}}},
                     .attributes = {{"dim", 0}, {"index", 4}}},
                    {.description = "no axis",
                     .inputs = {{DType::kF64, {}}},
                     .attributes = {{"dim", 0}, {"index", 0}}}},
});

std::vector<Array> FlipReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  return {FromIndices(x.dtype(), x.shape(), [&](Index index) {
    for (const int64_t dim : RequireInts(attributes, "dims", kTag)) {
      if (x.rank() == 0) continue;
      const size_t axis = WrapReferenceDim(dim, x);
      index[axis] = x.shape()[axis] - 1 - index[axis];
    }
    return At(x, index);
  })};
}

const Registration kFlip({
    .name = "flip",
    .formula = "y = x reversed along dims; dy likewise",
    .source = Docs("flip"),
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "dims", .kind = AttributeKind::kDimList}},
    .build = WithAttributes("flip", 1, {"dims"},
                            [](const Attributes& attributes) {
                              const Dims dims = RequireInts(attributes, "dims", "flip");
                              return [dims](const Tensors& in) -> Tensors {
                                return {Flip(in[0], dims)};
                              };
                            }),
    .reference = FlipReference,
    .error_cases = {{.description = "a dim twice",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"dims", std::vector<int64_t>{1, -1}}}},
                    {.description = "dim past the end",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"dims", std::vector<int64_t>{2}}}}},
});

// Pairs (before, after) from the last axis on, as in torch.nn.functional.pad.
std::vector<int64_t> PadPairs(const Attributes& attributes) {
  std::vector<int64_t> pad = RequireInts(attributes, "pad", "constant_pad_nd");
  if (pad.size() % 2 != 0) {
    ThrowInvalidArgument(absl::StrCat("[constant_pad_nd] pad has ", pad.size(),
                                      " numbers; expected pairs of before and after"));
  }
  return pad;
}

std::vector<Array> PadReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const std::vector<int64_t> pad = PadPairs(attributes);
  Shape shape = x.shape();
  std::vector<int64_t> before(shape.size(), 0);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    before[shape.size() - 1 - i] = pad[2 * i];
    shape[shape.size() - 1 - i] += pad[2 * i] + pad[2 * i + 1];
  }
  return {FromIndices(x.dtype(), shape, [&](Index index) {
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] -= before[i];
      if (index[i] < 0 || index[i] >= x.shape()[i]) return 0.0;
    }
    return At(x, index);
  })};
}

const Registration kPad({
    .name = "constant_pad_nd",
    .formula = "y = x between zeros, pad = (before, after) of the last axis, of the one before, "
               "..; dy likewise",
    .source = Docs("nn.functional.pad"),
    .arguments = {{.name = "x"}},
    // None of the padded sizes (of axes of size 0, 1, 3, ..) is 2.
    .attributes = {{.name = "pad",
                    .choices = {std::vector<int64_t>{1, 2}, std::vector<int64_t>{3, 0},
                                std::vector<int64_t>{0, 4}}}},
    .min_rank = 1,
    .build = WithAttributes("constant_pad_nd", 1, {"pad"},
                            [](const Attributes& attributes) {
                              const std::vector<int64_t> pad = PadPairs(attributes);
                              return [pad](const Tensors& in) -> Tensors {
                                Tensor y = in[0];
                                for (size_t i = 0; i < pad.size() / 2; ++i) {
                                  y = Pad(y, -1 - static_cast<int64_t>(i), pad[2 * i],
                                          pad[2 * i + 1]);
                                }
                                return {y};
                              };
                            }),
    .reference = PadReference,
    .error_cases = {{.description = "more pairs than axes",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"pad", std::vector<int64_t>{1, 1, 1, 1}}}},
                    {.description = "half a pair",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"pad", std::vector<int64_t>{1}}}}},
});

// tril keeps column <= row + diagonal, triu column >= row + diagonal.
Registration Triangle(const std::string& name, bool lower, Tensor (*call)(const Tensor&, int64_t),
                      const std::string& formula,
                      SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = Docs(name),
          .arguments = {{.name = "x", .shape = "... n m"}},
          .attributes = {{.name = "diagonal", .choices = {0, std::monostate(), 1, -1, 3}}},
          .build = WithAttributes(name, 1, {"diagonal"},
                                  [=](const Attributes& attributes) {
                                    const int64_t diagonal =
                                        GetInt(attributes, "diagonal", 0, name);
                                    return [call, diagonal](const Tensors& in) -> Tensors {
                                      return {call(in[0], diagonal)};
                                    };
                                  }),
          .reference =
              [lower](std::span<const Array> inputs, const Attributes& attributes) {
                const Array& x = inputs[0];
                const int64_t diagonal = GetInt(attributes, "diagonal", 0, kTag);
                return std::vector<Array>{
                    FromIndices(x.dtype(), x.shape(), [&](const Index& index) {
                      const int64_t edge = index[index.size() - 2] + diagonal;
                      const bool kept = lower ? index.back() <= edge : index.back() >= edge;
                      return kept ? At(x, index) : 0.0;
                    })};
              },
          .error_cases = {{.description = "one axis", .inputs = {{DType::kF64, {3}}}}},
      },
      where);
}

const Registration kTril =
    Triangle("tril", true, Tril, "y_ij = x_ij where j <= i + diagonal, else 0; dy likewise");
const Registration kTriu =
    Triangle("triu", false, Triu, "y_ij = x_ij where j >= i + diagonal, else 0; dy likewise");

}  // namespace
}  // namespace peelcheck
