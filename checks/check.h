// checks/check.h: the named checks: words over {grad, vjp, jvp, vmap}, and `value`.
//
//   FindCheck("vmapvjp")->word == {kVmap, kVjp}
//
// A check of `t q` peels the outermost transform t: an oracle stands in for it while the engine
// runs q. By induction over depth every nesting is covered, and a fault shows first at the shortest
// stack that contains it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "opinfo_db/entry.h"
#include "opinfo_db/program.h"

namespace peelcheck {

struct Check {
  std::string name;                      // "vmapvjp"
  std::vector<TransformKind> word = {};  // outermost first; empty = value
  std::string description;               // which oracle compares what
};

// value grad vjp vjpvjp jvp vmap vmapvjp vmapvjpvjp vmapjvp vjpvmap jvpvjp vjpjvp jvpjvp vmapvmap
// jvpvmap, in this order.
const std::vector<Check>& NamedChecks();
// The named checks and every other word up to `depth`.
std::vector<Check> ChecksToDepth(int depth);
// Any word: "vmapvmapvjp" too. nullopt where the name is none.
std::optional<Check> FindCheck(const std::string& name);
// Whether the check applies: `value` needs a reference, derivatives a differentiable argument.
bool Applies(const Check& check, const Entry& entry);

}  // namespace peelcheck
