// generators/plan.h: the transforms of a stack with all that is chosen for them. Internal to
// generators/.
//
//   Plan plan = MakePlan(entry, recipe, operation);  // operation: the signature of the bare one
//   plan.transforms[0].in_dims;                      // of the innermost: {-1, nullopt}
//   plan.signatures[1].inputs;                       // of the program that it makes
#pragma once

#include <vector>

#include "generators/recipe.h"

namespace peelcheck {

// From the inside out.
struct Plan {
  std::vector<Transform> transforms;
  std::vector<Signature> signatures;  // one more: [0] is the operation's
};

Plan MakePlan(const Entry& entry, const Recipe& recipe, Signature operation);

// `shape` with a batch axis at `dim`, which counts in the result.
Shape WithAxis(Shape shape, int64_t dim, int64_t size);

}  // namespace peelcheck
