// checks/finite_difference.h: directional derivatives of a black box, each element with an error
// bound.
//
//   absl::StatusOr<Directional> d = DifferentiateAlong(f, inputs, {0}, {direction});
//   |d->derivative[o] - truth| <= d->bound[o], element by element
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/array.h"

namespace peelcheck {

using BlackBox = std::function<absl::StatusOr<std::vector<Array>>(std::span<const Array>)>;

struct Directional {
  std::vector<Array> derivative;           // f64, one per floating output of f
  std::vector<std::vector<double>> bound;  // same elements
  double scale = 0.0;                      // largest |derivative|
  double widest = 0.0;                     // largest bound
  std::string evidence;                    // "step 0.02, order 6, bound 3e-11"
  bool useful() const;                     // the bound decides something
};

// d/ds f(inputs with inputs[argnums[k]] + s * directions[k]) at s = 0. Inputs and directions are
// f64; the step is taken along the unit direction. Central differences at h, h/2, h/4 with
// Richardson extrapolation; h shrinks until the bound is tight. Fails as f fails.
absl::StatusOr<Directional> DifferentiateAlong(const BlackBox& f, std::span<const Array> inputs,
                                               std::span<const size_t> argnums,
                                               std::span<const Array> directions);

}  // namespace peelcheck
