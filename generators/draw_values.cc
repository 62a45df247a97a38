// Values of one slot: a joint draw of all arguments, and of directions. Everything floating is on a
// grid of 0.01.
//
// An ordinary value depends on (slot, argument, element) only, not on how many were drawn before
// it: where shrinking drops elements, the others keep their values.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "generators/arguments.h"

namespace peelcheck {
namespace {

double OnGrid(double value) { return std::round(value * 100) / 100; }

// The value on a coarser grid, where it stays legal there.
double Coarsened(const Domain& domain, double value, int coarseness) {
  if (coarseness == 0) return value;
  const double grid = coarseness == 1 ? 0.5 : 1.0;
  const double rounded = std::round(value / grid) * grid;
  return IsLegal(domain, rounded) ? rounded : value;
}

double DrawValue(const Domain& domain, int coarseness, Stream stream) {
  // The grid's points in the domain: low may lie between two.
  const auto first = static_cast<int64_t>(std::ceil(domain.low * 100 - 1e-6));
  const auto last = static_cast<int64_t>(std::floor(domain.high * 100 + 1e-6));
  for (int attempt = 0; attempt < 200 && first <= last; ++attempt) {
    const double value = static_cast<double>(first + stream.Below(last - first + 1)) / 100;
    if (ClearOfKinks(domain, value)) return Coarsened(domain, value, coarseness);
  }
  ThrowInvalidArgument(
      "[generator] a domain has no value on the grid of 0.01 that is clear of its kinks; widen it");
}

Array Filled(DType dtype, const Shape& shape, auto&& value_of) {
  Array result = Array::Empty(dtype, shape);
  VisitFloating(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = result.fresh_data<T>();
    for (int64_t i = 0; i < result.size(); ++i) data[i] = static_cast<T>(value_of(i));
  });
  return result;
}

Array DrawInts(const Shape& shape, int64_t low, int64_t count, Stream& stream) {
  Array result = Array::Empty(DType::kI64, shape);
  int64_t* data = result.fresh_data<int64_t>();
  for (int64_t i = 0; i < result.size(); ++i)
    data[i] = low + stream.Below(std::max<int64_t>(count, 1));
  return result;
}

// Permutations along a dim, a fresh one for each line.
Array DrawPermutation(const Shape& shape, int64_t dim, Stream& stream) {
  Array result = Array::Zeros(DType::kI64, shape);
  if (shape.empty() || result.size() == 0) return result;
  Array lines = result.MovedDim(dim, result.rank() - 1);
  const int64_t n = lines.dim(lines.rank() - 1);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t start = 0; start < lines.size(); start += n) {
    stream.Shuffle(order);
    for (int64_t i = 0; i < n; ++i)
      lines.SetDouble(start + i, static_cast<double>(order[static_cast<size_t>(i)]));
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
    for (int64_t i = 0; i < n; ++i)
      to.SetDouble(start + from.IntAt(start + i), static_cast<double>(i));
  }
  return result;
}

Array DrawInteger(const Argument& argument, const std::vector<Array>& so_far, const Shape& shape,
                  const Shape& of_shape, const Attributes& attributes, Stream& stream) {
  if (argument.kind == ValueKind::kBool) return DrawInts(shape, 0, 2, stream).Cast(DType::kBool);
  if (argument.kind == ValueKind::kInteger) return DrawInts(shape, -5, 11, stream);
  const auto rank = static_cast<int64_t>(of_shape.size());
  const int64_t dim = IndexedDim(argument.dim_attribute, argument.dim, attributes, rank);
  if (argument.kind == ValueKind::kPermutation) return DrawPermutation(of_shape, dim, stream);
  if (argument.kind == ValueKind::kInversePermutation) {
    return InversePermutation(so_far[static_cast<size_t>(argument.of)], dim);
  }
  return DrawInts(shape, 0, rank == 0 ? 1 : of_shape[static_cast<size_t>(dim)], stream);
}

bool IsDistinct(const Argument& argument) {
  return argument.kind == ValueKind::kFloating && argument.domain.distinct;
}

}  // namespace

bool ClearOfKinks(const Domain& domain, double value) {
  return std::none_of(domain.kinks.begin(), domain.kinks.end(),
                      [&](double kink) { return std::abs(value - kink) < domain.margin - 1e-9; });
}

bool IsLegal(const Domain& domain, double value) {
  constexpr double kRounding = 1e-5;
  return value >= domain.low - kRounding && value <= domain.high + kRounding &&
         std::none_of(domain.kinks.begin(), domain.kinks.end(), [&](double kink) {
           return std::abs(value - kink) < domain.margin - kRounding;
         });
}

double OnDiagonal(const Domain& domain, const Shape& shape, int64_t element) {
  if (domain.diagonal == 0 || shape.size() < 2) return 0;
  const int64_t column = element % shape[shape.size() - 1];
  const int64_t row = element / shape[shape.size() - 1] % shape[shape.size() - 2];
  return row == column ? domain.diagonal * static_cast<double>(row + 1) : 0;
}

DistinctCells MakeDistinctCells(const Domain& domain, int64_t count) {
  const double width = domain.high - domain.low;
  const double least = std::max(std::ceil(domain.margin * 100 - 1e-6) / 100, 0.01);
  const auto wanted = static_cast<double>(4 * std::max<int64_t>(count, 1));
  DistinctCells result;
  result.cell = std::max(least, std::floor(width / wanted * 100) / 100);
  const auto add = [&](int64_t place) {
    const double start = OnGrid(domain.low + result.cell * static_cast<double>(place));
    const double end = start + result.cell - domain.margin;
    const bool clear = std::none_of(domain.kinks.begin(), domain.kinks.end(), [&](double kink) {
      return kink > start - domain.margin + 1e-9 && kink < end + domain.margin - 1e-9;
    });
    if (clear) result.starts.push_back(start);
  };
  const auto inside = static_cast<int64_t>(std::floor(width / result.cell + 1e-6));
  for (int64_t place = 0; place < inside; ++place) add(place);
  for (int64_t beyond = 0; std::ssize(result.starts) < count; ++beyond) {
    add(inside + beyond);
    add(-1 - beyond);
  }
  return result;
}

ArgumentDrawer::ArgumentDrawer(const Entry& entry, const std::vector<Shape>& shapes,
                               const Attributes& attributes, DType dtype, const Recipe& recipe)
    : entry_(entry), shapes_(shapes), attributes_(attributes), dtype_(dtype), recipe_(recipe) {
  int64_t count = 0;
  const Domain* domain = nullptr;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!IsDistinct(entry.arguments[i])) continue;
    domain = &entry.arguments[i].domain;
    count += ElementCount(shapes[i]);
  }
  if (domain == nullptr) return;
  distinct_ = MakeDistinctCells(*domain, count);
  std::vector<double> cells = distinct_.starts;
  Stream(recipe.value_seed).Shuffle(cells);
  const int64_t share = count == 0 ? 0 : std::ssize(cells) / count;
  cells_.resize(shapes.size());
  auto next = cells.begin();
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!IsDistinct(entry.arguments[i])) continue;
    const auto end = next + share * ElementCount(shapes[i]);
    cells_[i].assign(next, end);
    next = end;
  }
}

Array ArgumentDrawer::DrawFloating(size_t argument, Stream& stream) const {
  const Domain& domain = entry_.arguments[argument].domain;
  if (domain.distinct) {
    std::vector<double> cells = cells_[argument];
    stream.Shuffle(cells);
    const auto jitter =
        static_cast<int64_t>(std::floor((distinct_.cell - domain.margin) * 100 + 1e-6));
    return Filled(dtype_, shapes_[argument], [&](int64_t i) {
      return OnGrid(cells[static_cast<size_t>(i)] +
                    0.01 * static_cast<double>(stream.Below(jitter + 1)));
    });
  }
  const uint64_t seed = stream.Next();
  return Filled(dtype_, shapes_[argument], [&](int64_t i) {
    const auto element = static_cast<uint64_t>(i + recipe_.value_offset);
    return DrawValue(domain, recipe_.coarseness, Stream(seed + element * 0xD1342543DE82EF95u)) +
           OnDiagonal(domain, shapes_[argument], i);
  });
}

Array ArgumentDrawer::DrawDirection(const ArraySpec& spec, Stream& stream) const {
  return Filled(spec.dtype, spec.shape, [&](int64_t) {
    const double size = 0.25 + 0.01 * static_cast<double>(stream.Below(126));
    const double signed_size = stream.Chance(1, 2) ? size : -size;
    if (recipe_.coarseness == 0) return OnGrid(signed_size);
    return std::copysign(recipe_.coarseness == 1 ? std::max(std::round(size * 2) / 2, 0.5) : 1.0,
                         signed_size);
  });
}

std::vector<Array> ArgumentDrawer::Draw(Stream& stream) const {
  std::vector<Array> arrays;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Argument& argument = entry_.arguments[i];
    if (argument.kind == ValueKind::kFloating) {
      arrays.push_back(DrawFloating(i, stream));
    } else {
      const Shape& of_shape = shapes_[static_cast<size_t>(argument.of)];
      arrays.push_back(DrawInteger(argument, arrays, shapes_[i], of_shape, attributes_, stream));
    }
  }
  return arrays;
}

}  // namespace peelcheck
