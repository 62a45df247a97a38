// checks/compare.h: an engine's array against an oracle's, element by element, each with its bound.
//
//   Comparison c = CompareArrays(engine, oracle, bounds);   // c.differing == 0: equal within the
//   bounds
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/array.h"

namespace peelcheck {

struct Comparison {
  std::string structure;  // shape or dtype differ: what came, what was expected; values are not
                          // compared then
  int64_t compared = 0;
  int64_t differing = 0;
  int64_t first = -1, worst = -1;  // row-major positions
  double worst_ratio = 0.0;        // largest |engine - oracle| / bound
  bool any_nonzero = false;        // on either side

  bool ok() const { return structure.empty() && differing == 0; }
};

// nan equals nan, and an infinity equals itself; otherwise |engine - oracle| <= bounds[i].
Comparison CompareArrays(const Array& engine, const Array& oracle, std::span<const double> bounds);

// Bounds for two computations of one value in one dtype: `units` * eps * (1 + the largest finite
// |oracle|).
std::vector<double> UniformBounds(const Array& oracle, double units, DType dtype);

// Row-major position -> index.
std::vector<int64_t> IndexOf(const Shape& shape, int64_t position);

}  // namespace peelcheck
