// opinfo_db/ops/normalization.h: what layer_norm, batch_norm and their references share.
//
//   Tensor y = Standardised(x, {-1}, 1e-5);   // mean 0, variance 1 along the dims
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

// (x - mean) / sqrt(var + eps); mean and variance (divided by the count) are functions of x, in
// every derivative.
inline Tensor Standardised(const Tensor& x, const Dims& dims, double eps) {
  const Tensor centred = x - Mean(x, dims, true);
  return centred * Rsqrt(Mean(Square(centred), dims, true) + eps);
}

// No two values are close: where all nearly agree, gradients are differences of large numbers,
// which f32 cannot tell from the zero that their sum is.
inline Domain ValuesApart() { return {.low = -30, .high = 30, .margin = 1, .distinct = true}; }

// Mean and variance of some values.
inline std::pair<double, double> Moments(const std::vector<double>& values) {
  double mean = 0, variance = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values)
    variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  return {mean, variance};
}

}  // namespace peelcheck
