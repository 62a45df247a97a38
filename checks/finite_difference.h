// checks/finite_difference.h: directional derivatives of a black box, each element with an error
// bound that is measured, not assumed.
//
//   absl::StatusOr<Directional> d = DifferentiateAlong(f, inputs, {0}, {direction});
//   |d->derivative[o] - truth| <= d->bound[o], element by element
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checks/numerics.h"
#include "engine/array.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

using BlackBox = std::function<absl::StatusOr<std::vector<Array>>(std::span<const Array>)>;

// How far along the unit direction, and against it, a function may be evaluated.
struct Reach {
  double backward = kReach, forward = kReach;
  // The same, each side `factor` times as far.
  Reach Times(double factor) const { return {backward * factor, forward * factor}; }
};

// No further than the declared domains allow, and not up to a declared kink. `arguments` are those
// of the inputs, in order; inputs beyond them (tangents, cotangents) have no limits.
Reach ReachAlong(std::span<const Argument> arguments, std::span<const Array> inputs,
                 std::span<const size_t> argnums, std::span<const Array> directions);

struct Directional {
  std::vector<Array> derivative;           // f64, one per floating output of f
  std::vector<std::vector<double>> bound;  // same elements
  double scale = 0.0;                      // largest |derivative|
  double widest = 0.0;                     // largest bound; nan where a bound is
  // "finite difference: reach 0.031, degree 5, noise 1.1e-16, bound 3e-13; central differences at
  // step 0.031, 0.016, 0.0078 are off by 4e-5, 1e-5, 2.5e-6: order 2.00"
  std::string evidence;
  bool useful() const;  // the bound decides something
  // Keeps, element by element, what lies nearer to `claimed` as measured by its bound: a claim is
  // refuted only where every reach refutes it. `claimed` has the arrays of `derivative`.
  void KeepNearer(const Directional& other, std::span<const Array> claimed);
};

// d/ds f(inputs with inputs[argnums[k]] + s * directions[k]) at s = 0. Inputs and directions are
// f64; the step is taken along the unit direction. A polynomial is fitted to nine equidistant
// values (one-sided where `reach` or a value that is not finite forbids a side); the reach shrinks
// until the bound is tight. Fails as f fails. `middle`: f(inputs), where it is known already.
absl::StatusOr<Directional> DifferentiateAlong(const BlackBox& f, std::span<const Array> inputs,
                                               std::span<const size_t> argnums,
                                               std::span<const Array> directions,
                                               const Reach& reach = {},
                                               const std::vector<Array>* middle = nullptr);

}  // namespace peelcheck
