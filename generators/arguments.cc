// Shapes, attributes and values of a bare operation, from its descriptor.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "generators/recipe.h"

namespace peelcheck {
namespace {

// "~": the leading axes with some of them missing, or 1.
void AppendBroadcastAxes(const Recipe& recipe, size_t argument, Shape& shape) {
  Stream stream(recipe.shape_seed + argument);
  const bool full = recipe.full_broadcast || stream.Chance(2, 5);
  const auto rank = static_cast<int64_t>(recipe.leading.size());
  const int64_t missing = full || rank == 0 ? 0 : stream.Below(rank + 1);
  for (int64_t i = missing; i < rank; ++i) {
    const int64_t size = recipe.leading[static_cast<size_t>(i)];
    shape.push_back(!full && size != 0 && stream.Chance(1, 3) ? 1 : size);
  }
}

std::vector<int64_t> Shuffled(int64_t n, Stream& stream) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[static_cast<size_t>(stream.Below(static_cast<int64_t>(i)))]);
  return order;
}

// A dim of an argument in one of its two spellings; seed 0 (the plainest) gives dim 0.
int64_t SpelledDim(int64_t dim, int64_t rank, bool plain, Stream& stream) {
  return !plain && stream.Chance(1, 2) ? dim - std::max<int64_t>(rank, 1) : dim;
}

int64_t DrawDim(int64_t rank, bool plain, Stream& stream) {
  return plain ? 0 : SpelledDim(rank == 0 ? 0 : stream.Below(rank), rank, plain, stream);
}

std::vector<int64_t> DrawDimList(int64_t rank, int64_t least, bool plain, Stream& stream) {
  const int64_t count = plain ? std::min(least, rank) : std::min(rank, least + (rank > least ? stream.Below(rank - least + 1) : 0));
  std::vector<int64_t> dims = plain ? std::vector<int64_t>{} : Shuffled(rank, stream);
  for (int64_t i = 0; plain && i < count; ++i) dims.push_back(i);
  dims.resize(static_cast<size_t>(count));
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

std::vector<int64_t> DrawReshape(const Shape& shape, bool plain, Stream& stream) {
  int64_t size = 1;
  for (int64_t axis : shape) size *= axis;
  if (plain) return {size};
  std::vector<int64_t> result;
  switch (stream.Below(4)) {
    case 0: result = {size}; break;
    case 1: result.assign(shape.rbegin(), shape.rend()); break;
    case 2: result.assign(shape.begin(), shape.end()); result.insert(result.begin() + stream.Below(static_cast<int64_t>(result.size()) + 1), 1); break;
    default:
      // A split in two factors; 2 is no size here either.
      result = {1, size};
      for (int64_t factor : {3, 4, 5}) {
        if (size % factor == 0 && size / factor != 2 && size > 0) result = {factor, size / factor};
      }
  }
  // -1 is ambiguous where nothing is there to divide.
  if (size > 0 && !result.empty() && stream.Chance(1, 2)) result[static_cast<size_t>(stream.Below(static_cast<int64_t>(result.size())))] = -1;
  return result;
}

std::vector<int64_t> DrawExpand(const Shape& shape, bool plain, Stream& stream) {
  std::vector<int64_t> result(shape.begin(), shape.end());
  if (plain) return result;
  for (int64_t& size : result) {
    if (size == 1 && stream.Chance(2, 3)) size = 3;
    else if (stream.Chance(1, 3)) size = -1;
  }
  if (stream.Chance(1, 2)) result.insert(result.begin(), stream.Chance(1, 2) ? 4 : 1);
  return result;
}

AttributeValue DrawAttribute(const AttributeSpec& spec, const std::vector<Shape>& shapes, const Attributes& so_far, bool plain,
                             Stream& stream) {
  const Shape shape = shapes.empty() ? Shape() : shapes[static_cast<size_t>(spec.of)];
  const auto rank = static_cast<int64_t>(shape.size());
  switch (spec.kind) {
    case AttributeKind::kChoice:
      return spec.choices[plain ? 0 : static_cast<size_t>(stream.Below(static_cast<int64_t>(spec.choices.size())))];
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
      const int64_t size = rank == 0 ? 1 : std::max<int64_t>(shape[static_cast<size_t>(dim)], 1);
      return plain ? 0 : stream.Below(2 * size) - size;
    }
    case AttributeKind::kReshape: return DrawReshape(shape, plain, stream);
    case AttributeKind::kExpand: return DrawExpand(shape, plain, stream);
  }
  return {};
}

bool ClearOfKinks(const Domain& domain, double value) {
  return std::none_of(domain.kinks.begin(), domain.kinks.end(),
                      [&](double kink) { return std::abs(value - kink) < domain.margin - 1e-9; });
}

double OnGrid(double value) { return std::round(value * 100) / 100; }

// The value on a coarser grid, where it stays legal there.
double Coarsened(const Domain& domain, double value, int coarseness) {
  if (coarseness == 0 || domain.distinct) return value;
  const double grid = coarseness == 1 ? 0.5 : 1.0;
  const double rounded = std::round(value / grid) * grid;
  const bool legal = rounded >= domain.low && rounded <= domain.high && ClearOfKinks(domain, rounded);
  return legal ? rounded : value;
}

double DrawValue(const Domain& domain, int coarseness, Stream& stream) {
  const auto steps = static_cast<int64_t>(std::round((domain.high - domain.low) * 100));
  for (int attempt = 0; attempt < 100; ++attempt) {
    const double value = OnGrid(domain.low + 0.01 * static_cast<double>(stream.Below(steps + 1)));
    if (ClearOfKinks(domain, value)) return Coarsened(domain, value, coarseness);
  }
  return domain.high;
}

// Values of all `distinct` arguments of a slot: any two differ by the margin at least.
std::vector<double> DrawDistinct(const Domain& domain, int64_t count, Stream& stream) {
  const double width = domain.high - domain.low;
  // One value in each cell of a grid, moved inside its cell by less than what keeps neighbours apart.
  const double cell = std::max(std::ceil(domain.margin * 200) / 100, std::floor(width / static_cast<double>(std::max<int64_t>(count, 1)) * 100) / 100);
  const double low = std::min(domain.low, -OnGrid(cell * static_cast<double>(count) / 2));
  const auto jitter = static_cast<int64_t>(std::floor((cell - domain.margin) * 100));
  std::vector<double> values;
  for (int64_t place : Shuffled(count, stream)) {
    values.push_back(OnGrid(low + cell * static_cast<double>(place) + 0.01 * static_cast<double>(stream.Below(jitter + 1))));
  }
  return values;
}

// Permutations along a dim, a fresh one for each line.
Array DrawPermutation(const Shape& shape, int64_t dim, Stream& stream) {
  Array result = Array::Zeros(DType::kI64, shape);
  if (shape.empty() || result.size() == 0) return result;
  const Array lines = result.MovedDim(dim, result.rank() - 1);
  const int64_t n = lines.dim(lines.rank() - 1);
  Array view = lines;
  for (int64_t start = 0; start < lines.size(); start += n) {
    const std::vector<int64_t> order = Shuffled(n, stream);
    for (int64_t i = 0; i < n; ++i) view.SetDouble(start + i, static_cast<double>(order[static_cast<size_t>(i)]));
  }
  return result;
}

Array InversePermutation(const Array& permutation, int64_t dim) {
  Array result = Array::Zeros(DType::kI64, permutation.shape());
  if (result.rank() == 0 || result.size() == 0) return result;
  const Array from = permutation.MovedDim(dim, result.rank() - 1);
  Array to = result.MovedDim(dim, result.rank() - 1);
  const int64_t n = from.dim(from.rank() - 1);
  for (int64_t start = 0; start < from.size(); start += n) {
    for (int64_t i = 0; i < n; ++i) to.SetDouble(start + from.IntAt(start + i), static_cast<double>(i));
  }
  return result;
}

Array DrawInts(const Shape& shape, int64_t low, int64_t count, Stream& stream) {
  Array result = Array::Empty(DType::kI64, shape);
  int64_t* data = result.fresh_data<int64_t>();
  for (int64_t i = 0; i < result.size(); ++i) data[i] = low + stream.Below(std::max<int64_t>(count, 1));
  return result;
}

Array DrawInteger(const Argument& argument, const std::vector<Array>& so_far, const Shape& shape, const Shape& of_shape,
                  const Attributes& attributes, Stream& stream) {
  const auto of_rank = static_cast<int64_t>(of_shape.size());
  const int64_t dim = IndexedDim(argument.dim_attribute, argument.dim, attributes, of_rank);
  switch (argument.kind) {
    case ValueKind::kIndex: return DrawInts(shape, 0, of_rank == 0 ? 1 : of_shape[static_cast<size_t>(dim)], stream);
    case ValueKind::kPermutation: return DrawPermutation(of_shape, dim, stream);
    case ValueKind::kInversePermutation: return InversePermutation(so_far[static_cast<size_t>(argument.of)], dim);
    case ValueKind::kBool: return DrawInts(shape, 0, 2, stream).Cast(DType::kBool);
    default: return DrawInts(shape, -5, 11, stream);
  }
}

}  // namespace

int64_t IndexedDim(const std::string& dim_attribute, int64_t dim, const Attributes& attributes, int64_t rank) {
  if (!dim_attribute.empty()) dim = GetInt(attributes, dim_attribute, dim, "generator");
  return WrapDim(dim, rank, "generator");
}

std::vector<Shape> ArgumentShapes(const Entry& entry, const Recipe& recipe) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    Shape shape;
    for (const std::string& word : PatternWords(entry.arguments[i].shape)) {
      if (word == "...") {
        shape.insert(shape.end(), recipe.leading.begin(), recipe.leading.end());
      } else if (word == "~") {
        AppendBroadcastAxes(recipe, i, shape);
      } else if (const auto axis = recipe.axes.find(word); axis != recipe.axes.end()) {
        shape.push_back(axis->second);
      } else {
        shape.push_back(std::stoll(word));
      }
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Attributes ResolveAttributes(const Entry& entry, const std::vector<Shape>& shapes, uint64_t seed) {
  Attributes attributes;
  Stream stream(seed);
  for (const AttributeSpec& spec : entry.attributes) {
    AttributeValue value = DrawAttribute(spec, shapes, attributes, seed == 0, stream);
    if (!std::holds_alternative<std::monostate>(value)) attributes[spec.name] = std::move(value);
  }
  return attributes;
}

Array DrawDirection(const ArraySpec& spec, Stream& stream) {
  Array result = Array::Empty(spec.dtype, spec.shape);
  VisitFloating(spec.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = result.fresh_data<T>();
    for (int64_t i = 0; i < result.size(); ++i) {
      const double size = 0.25 + 0.01 * static_cast<double>(stream.Below(126));
      data[i] = static_cast<T>(OnGrid(stream.Chance(1, 2) ? size : -size));
    }
  });
  return result;
}

std::vector<Array> DrawArguments(const Entry& entry, const std::vector<Shape>& shapes, const Attributes& attributes, DType dtype,
                                 int coarseness, Stream& stream) {
  int64_t distinct_count = 0;
  const Domain* distinct_domain = nullptr;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (entry.arguments[i].kind != ValueKind::kFloating || !entry.arguments[i].domain.distinct) continue;
    distinct_domain = &entry.arguments[i].domain;
    distinct_count += ElementCount(shapes[i]);
  }
  std::vector<double> distinct;
  if (distinct_domain != nullptr) distinct = DrawDistinct(*distinct_domain, distinct_count, stream);
  size_t used = 0;
  std::vector<Array> arrays;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Argument& argument = entry.arguments[i];
    if (argument.kind != ValueKind::kFloating) {
      arrays.push_back(DrawInteger(argument, arrays, shapes[i], shapes[static_cast<size_t>(argument.of)], attributes, stream));
      continue;
    }
    Array array = Array::Empty(dtype, shapes[i]);
    VisitFloating(dtype, [&](auto tag) {
      using T = decltype(tag);
      T* data = array.fresh_data<T>();
      for (int64_t k = 0; k < array.size(); ++k) {
        data[k] = static_cast<T>(argument.domain.distinct ? distinct[used++] : DrawValue(argument.domain, coarseness, stream));
      }
    });
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace peelcheck
