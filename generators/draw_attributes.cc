// Attributes of an operation, in every spelling: dim = 1, dim = -2, dims = [0, -1], dims absent.
#include <algorithm>
#include <numeric>
#include <utility>

#include "generators/arguments.h"

namespace peelcheck {
namespace {

using Ints = std::vector<int64_t>;

// One of the two spellings of a dim.
int64_t SpelledDim(int64_t dim, int64_t rank, bool plain, Stream& stream) {
  return !plain && stream.Chance(1, 2) ? dim - std::max<int64_t>(rank, 1) : dim;
}

int64_t DrawDim(int64_t rank, bool plain, Stream& stream) {
  return plain ? 0 : SpelledDim(rank == 0 ? 0 : stream.Below(rank), rank, plain, stream);
}

Ints DrawDimList(int64_t rank, int64_t least, bool plain, Stream& stream) {
  Ints dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  if (!plain) stream.Shuffle(dims);
  const int64_t more = !plain && rank > least ? stream.Below(rank - least + 1) : 0;
  dims.resize(static_cast<size_t>(std::min(rank, least + more)));
  for (int64_t& dim : dims) dim = SpelledDim(dim, rank, plain, stream);
  return dims;
}

// Absent, one dim, or a list.
AttributeValue DrawDims(int64_t rank, bool plain, Stream& stream) {
  const int64_t spelling = plain ? 0 : stream.Below(4);
  if (spelling == 0) return {};
  if (spelling == 1 || rank == 0) return DrawDim(rank, plain, stream);
  return DrawDimList(rank, 1, plain, stream);
}

// Flat, reversed, with a new axis of size 1, or split in two factors, none of them 2.
Ints DrawReshape(const Shape& shape, bool plain, Stream& stream) {
  const int64_t size = ElementCount(shape);
  if (plain) return {size};
  Ints result(shape.begin(), shape.end());
  switch (stream.Below(4)) {
    case 0: result = {size}; break;
    case 1: std::reverse(result.begin(), result.end()); break;
    case 2: result.insert(result.begin() + stream.Below(std::ssize(result) + 1), 1); break;
    default:
      result = {1, size};
      for (int64_t factor : {3, 4, 5}) {
        if (size > 0 && size % factor == 0 && size / factor != 2) result = {factor, size / factor};
      }
  }
  // -1 is ambiguous where nothing is there to divide.
  if (size > 0 && !result.empty() && stream.Chance(1, 2)) {
    result[static_cast<size_t>(stream.Below(std::ssize(result)))] = -1;
  }
  return result;
}

// Axes of size 1 grow, to sizes that no other axis has; others stay, some spelled -1; sometimes
// there is a new one.
Ints DrawExpand(const Shape& shape, bool plain, Stream& stream) {
  Ints result(shape.begin(), shape.end());
  if (plain) return result;
  const auto unused = [&] {
    for (int64_t size : {5, 4, 7, 3}) {
      if (std::find(result.begin(), result.end(), size) == result.end() &&
          std::find(shape.begin(), shape.end(), size) == shape.end()) {
        return size;
      }
    }
    return int64_t{1};
  };
  for (int64_t& size : result) {
    if (size == 1 && stream.Chance(2, 3)) {
      size = unused();
    } else if (stream.Chance(1, 3)) {
      size = -1;
    }
  }
  if (stream.Chance(1, 2)) result.insert(result.begin(), stream.Chance(1, 2) ? unused() : 1);
  return result;
}

AttributeValue DrawAttribute(const AttributeSpec& spec, const Shape& shape,
                             const Attributes& so_far, bool plain, Stream& stream) {
  const auto rank = static_cast<int64_t>(shape.size());
  switch (spec.kind) {
    case AttributeKind::kChoice:
      return spec.choices[plain ? 0 : static_cast<size_t>(stream.Below(std::ssize(spec.choices)))];
    case AttributeKind::kDim: return DrawDim(rank, plain, stream);
    case AttributeKind::kOptionalDim:
      if (plain || stream.Chance(1, 3)) return {};
      return DrawDim(rank, plain, stream);
    case AttributeKind::kDims: return DrawDims(rank, plain, stream);
    case AttributeKind::kDimList: return DrawDimList(rank, 1, plain, stream);
    case AttributeKind::kPermutation: return DrawDimList(rank, rank, plain, stream);
    case AttributeKind::kNewDim: return plain ? 0 : stream.Below(2 * (rank + 1)) - (rank + 1);
    case AttributeKind::kIndexAlong: {
      const int64_t dim = IndexedDim(spec.dim_attribute, spec.dim, so_far, rank);
      // An empty axis has no index: the operation refuses the 0, and the sample is drawn again.
      const int64_t size = rank == 0 ? 1 : std::max<int64_t>(shape[static_cast<size_t>(dim)], 1);
      return plain ? 0 : stream.Below(2 * size) - size;
    }
    case AttributeKind::kTrailingSizes: return Ints(shape.end() - spec.dim, shape.end());
    case AttributeKind::kReshape: return DrawReshape(shape, plain, stream);
    case AttributeKind::kExpand: return DrawExpand(shape, plain, stream);
  }
  return {};
}

}  // namespace

int64_t IndexedDim(const std::string& dim_attribute, int64_t dim, const Attributes& attributes,
                   int64_t rank) {
  if (!dim_attribute.empty()) dim = GetInt(attributes, dim_attribute, dim, "generator");
  return WrapDim(dim, rank, "generator");
}

Attributes ResolveAttributes(const Entry& entry, const std::vector<Shape>& shapes,
                             const Recipe& recipe) {
  Attributes attributes;
  Stream seeds(recipe.attribute_seed);
  for (size_t i = 0; i < entry.attributes.size(); ++i) {
    const AttributeSpec& spec = entry.attributes[i];
    // A stream each: making one attribute plain leaves the others as they are.
    Stream stream(seeds.Next());
    const Shape shape = shapes.empty() ? Shape() : shapes[static_cast<size_t>(spec.of)];
    const bool plain = (recipe.plain_attributes >> i & 1) != 0;
    AttributeValue value = DrawAttribute(spec, shape, attributes, plain, stream);
    if (!std::holds_alternative<std::monostate>(value)) attributes[spec.name] = std::move(value);
  }
  return attributes;
}

}  // namespace peelcheck
