// checks/compare.cc: shape and dtype first, then values; see compare.h.
#include "checks/compare.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace peelcheck {
namespace {

double Ratio(double engine, double oracle, double bound) {
  if (engine == oracle || (std::isnan(engine) && std::isnan(oracle))) return 0.0;
  const double ratio =
      std::abs(engine - oracle) / std::max(bound, std::numeric_limits<double>::min());
  // A nan on one side, or in the bound, is a difference: it must not fail every `>` and pass.
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

}  // namespace

Comparison CompareArrays(const Array& engine, const Array& oracle, std::span<const double> bounds) {
  Comparison result;
  if (engine.shape() != oracle.shape() || engine.dtype() != oracle.dtype()) {
    result.structure =
        absl::StrCat("is ", DTypeName(engine.dtype()), ShapeToString(engine.shape()), "; expected ",
                     DTypeName(oracle.dtype()), ShapeToString(oracle.shape()));
    return result;
  }
  for (int64_t i = 0; i < oracle.size(); ++i) {
    const double a = engine.DoubleAt(i);
    const double b = oracle.DoubleAt(i);
    const double ratio = Ratio(a, b, bounds[static_cast<size_t>(i)]);
    result.any_nonzero = result.any_nonzero || a != 0 || b != 0;
    if (ratio > result.worst_ratio || result.worst < 0) {
      result.worst_ratio = ratio;
      result.worst = i;
    }
    if (ratio > 1.0) {
      if (result.differing++ == 0) result.first = i;
    }
  }
  result.compared = oracle.size();
  return result;
}

std::vector<double> UniformBounds(const Array& oracle, double units, DType dtype) {
  double scale = 0.0;
  for (int64_t i = 0; i < oracle.size(); ++i) {
    const double value = std::abs(oracle.DoubleAt(i));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  return std::vector<double>(static_cast<size_t>(oracle.size()),
                             units * Epsilon(dtype) * (1.0 + scale));
}

std::vector<int64_t> IndexOf(const Shape& shape, int64_t position) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

}  // namespace peelcheck
