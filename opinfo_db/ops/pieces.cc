// opinfo_db/ops/pieces.cc: one tensor in several pieces along a dim: split, split_with_sizes,
// chunk, unbind.
//
//   BuildOperation("split", {{"split_size", 3}, {"dim", 0}})({x})   // [7, n] -> [3, n], [3, n],
//   [1, n]
#include <algorithm>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

using Sizes = std::vector<int64_t>;

// Pieces of `size`, the last one smaller; one empty piece of an empty axis.
Sizes EvenSizes(int64_t axis, int64_t size, const std::string& tag) {
  if (size < 1) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] pieces of size ", size, "; expected 1 or more"));
  }
  Sizes sizes;
  for (int64_t start = 0; start < axis; start += size)
    sizes.push_back(std::min(size, axis - start));
  return sizes.empty() ? Sizes{0} : sizes;
}

Sizes ListedSizes(const Attributes& attributes, const std::string& name, int64_t axis,
                  const std::string& tag) {
  const Sizes sizes = RequireInts(attributes, name, tag);
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  if (total != axis || std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 0; })) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] ", name, " sums to ", total, " for an axis of ",
                                      axis, "; expected sizes >= 0 that sum to the axis"));
  }
  return sizes;
}

Sizes ListedSizes(const Attributes& attributes, int64_t axis, const std::string& tag) {
  return ListedSizes(attributes, "split_sizes", axis, tag);
}

// split_size: one size, or, as in PyTorch, the size of each piece.
Sizes SplitSizes(const Attributes& attributes, int64_t axis, const std::string& tag) {
  const AttributeValue& value = attributes.at("split_size");
  if (std::holds_alternative<int64_t>(value)) {
    return EvenSizes(axis, std::get<int64_t>(value), tag);
  }
  return ListedSizes(attributes, "split_size", axis, tag);
}

Sizes ChunkSizes(const Attributes& attributes, int64_t axis, const std::string& tag) {
  const int64_t chunks = RequireInt(attributes, "chunks", tag);
  if (chunks < 1) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] chunks=", chunks, "; expected 1 or more"));
  }
  return EvenSizes(axis, std::max<int64_t>(1, (axis + chunks - 1) / chunks), tag);
}

Sizes Ones(const Attributes&, int64_t axis, const std::string&) {
  return Sizes(static_cast<size_t>(axis), 1);
}

// Where a piece ends, position by position; shares nothing with the sizes above.
bool EndsPiece(const Attributes& attributes, const std::string& attribute, int64_t position,
               int64_t axis) {
  if (attribute.empty()) return true;
  int64_t size = 0;
  if (attribute == "chunks") {
    const double chunks = static_cast<double>(RequireInt(attributes, attribute, "reference"));
    while (static_cast<double>(size) < static_cast<double>(axis) / chunks) ++size;
  } else {
    size = RequireInts(attributes, attribute, "reference")[0];
  }
  return (position + 1) % std::max<int64_t>(size, 1) == 0;
}

std::vector<Array> PiecesReference(const Array& x, const Attributes& attributes,
                                   const std::string& attribute, bool drops_axis) {
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", 0, "reference"), x);
  const int64_t axis = x.shape()[dim];
  std::vector<Array> pieces;
  const auto cut = [&](int64_t start, int64_t end) {
    Shape shape = x.shape();
    shape[dim] = end - start;
    if (drops_axis) shape.erase(shape.begin() + static_cast<int64_t>(dim));
    pieces.push_back(FromIndices(x.dtype(), shape, [&](Index at) {
      if (drops_axis) at.insert(at.begin() + static_cast<int64_t>(dim), 0);
      at[dim] += start;
      return At(x, at);
    }));
  };
  int64_t start = 0;
  if (attribute == "split_sizes") {
    for (const int64_t size : RequireInts(attributes, attribute, "reference")) {
      cut(start, start + size);
      start += size;
    }
    return pieces;
  }
  for (int64_t i = 0; i < axis; ++i) {
    if (i + 1 < axis && !EndsPiece(attributes, attribute, i, axis)) continue;
    cut(start, i + 1);
    start = i + 1;
  }
  return pieces;
}

struct Pieces {
  std::string name, formula;
  std::string attribute;  // "": none
  std::vector<AttributeValue> choices;
  Sizes (*sizes)(const Attributes& attributes, int64_t axis, const std::string& tag);
  bool drops_axis = false;
  std::vector<ErrorCase> errors;
  std::vector<AttributeValue> dims = {int64_t{0}, int64_t{1}, int64_t{-1},
                                      int64_t{-2}};  // of [7, 3]
};

Registration Row(const Pieces& row, SourceLocation where = SourceLocation::Current()) {
  std::vector<AttributeSpec> specs = {{.name = "dim", .choices = row.dims}};
  std::vector<std::string> known = {"dim"};
  if (!row.attribute.empty()) {
    specs.push_back({.name = row.attribute, .choices = row.choices});
    known.push_back(row.attribute);
  }
  return Registration(
      {.name = row.name,
       .formula = row.formula,
       .source = Docs(row.name),
       .arguments = {{.name = "x", .shape = "7 3"}},
       .attributes = specs,
       .build = WithAttributes(
           row.name, 1, known,
           [row](const Attributes& attributes) {
             const int64_t dim = GetInt(attributes, "dim", 0, row.name);
             if (!row.attribute.empty() && !attributes.contains(row.attribute)) {
               ThrowInvalidArgument(
                   absl::StrCat("[", row.name, "] ", row.attribute, " is missing; give it"));
             }
             return [row, attributes, dim](const Tensors& in) {
               if (in[0].rank() == 0) {
                 ThrowInvalidArgument(
                     absl::StrCat("[", row.name, "] x has rank 0; expected an axis to cut"));
               }
               const int64_t axis = WrapDim(dim, in[0].rank(), row.name);
               Tensors pieces;
               int64_t start = 0;
               for (const int64_t size : row.sizes(attributes, in[0].dim(axis), row.name)) {
                 const Tensor piece = Narrow(in[0], axis, start, size);
                 pieces.push_back(row.drops_axis ? Squeeze(piece, axis) : piece);
                 start += size;
               }
               return pieces;
             };
           }),
       .reference =
           [row](std::span<const Array> inputs, const Attributes& attributes) {
             return PiecesReference(inputs[0], attributes, row.attribute, row.drops_axis);
           },
       .error_cases = row.errors},
      where);
}

const Registration kRows[] = {
    Row({"split",
         "y_0, y_1, .. = x cut into pieces of split_size along dim; dy likewise",
         "split_size",
         {int64_t{3}, int64_t{1}, int64_t{9}},
         SplitSizes,
         false,
         {{.description = "pieces of size 0",
           .inputs = {{DType::kF64, {7, 3}}},
           .attributes = {{"split_size", int64_t{0}}}}}}),
    Row({"split_with_sizes",
         "y_i = the next split_sizes[i] of x along dim; dy likewise",
         "split_sizes",
         {Sizes{3, 4}, Sizes{1, 0, 5, 1}},
         ListedSizes,
         false,
         {{.description = "sizes that do not sum to the axis",
           .inputs = {{DType::kF64, {7, 3}}},
           .attributes = {{"split_sizes", Sizes{3, 3}}}}},
         {int64_t{0}, int64_t{-2}}}),
    Row({"chunk",
         "y_0, y_1, .. = x in at most `chunks` pieces along dim; dy likewise",
         "chunks",
         {int64_t{3}, int64_t{1}, int64_t{4}, int64_t{9}},
         ChunkSizes,
         false,
         {{.description = "no chunks",
           .inputs = {{DType::kF64, {7, 3}}},
           .attributes = {{"chunks", int64_t{0}}}}}}),
    Row({"unbind",
         "y_i = x[i] along dim, which is dropped; dy likewise",
         "",
         {},
         Ones,
         true,
         {{.description = "rank 0", .inputs = {{DType::kF64, {}}}}}}),
};

}  // namespace
}  // namespace peelcheck
