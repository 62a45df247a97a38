// generators/recipe.h: the choices that a case is made of. Internal to generators/.
//
//   Recipe recipe = DrawRecipe(request, Stream(7));
//   std::optional<Case> c = BuildCase(request, recipe);  // a pure function of the two
//   for (const Recipe& smaller : SmallerRecipes(request, recipe, *c)) ...
//
// A recipe holds raw choices: sizes, seeds, and flags for "the plain reading of what the seed
// says". So whatever shrinking edits is a recipe again, and BuildCase resolves it anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generators/case.h"

namespace peelcheck {

// A stream of 64-bit numbers (SplitMix64, Steele, Lea & Flood 2014): the same on every machine, and
// a tenth of the cost of rc::Random, which seeds it.
class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // 0..n-1; n > 0.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  bool Chance(int64_t in, int64_t of) { return Below(of) < in; }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(Below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  uint64_t state_;
};

struct TransformChoice {
  TransformKind kind = TransformKind::kVjp;
  int64_t batch_size = 2;
  uint64_t seed = 0;           // of argnums, in_dims, out_dims
  bool all_argnums = true;     // absent, where the entry allows it
  int64_t only_argnum = -1;    // >= 0: this one of those drawn
  bool all_batched = false;    // in_dims all 0
  uint64_t plain_in = 0;       // bit i: input i is batched at 0, if at all
  uint64_t plain_out = 0;      // bit i: output i has its batch axis at 0
  bool unsigned_dims = false;  // dims and argnums are spelled 0..n-1
};

// An element of a program input that shrinking has set.
struct Override {
  size_t input = 0;
  int64_t element = 0;
  double value = 0;
};

struct Recipe {
  std::string drawn_class = "general";  // the built case says what it is, which shrinking changes
  std::vector<int64_t> leading;         // sizes of "..." and "~"
  std::map<std::string, int64_t> axes;  // named
  uint64_t shape_seed = 0;              // which operands of "~" lack axes
  bool full_broadcast = false;          // none does
  uint64_t attribute_seed = 0;
  uint64_t plain_attributes = 0;  // bit i: attribute i is the plainest there is
  uint64_t value_seed = 0;
  int64_t value_offset = 0;  // element k takes the value of element k + offset
  int coarseness = 0;        // values on a grid of 0.01, 0.5, 1
  std::vector<Override> overrides;
  std::vector<TransformChoice> stack;  // outermost first
};

Recipe DrawRecipe(const CaseRequest& request, Stream stream);

// nullopt where no draw tells the slots of a batch apart; what the operation throws is passed on.
std::optional<Case> BuildCase(const CaseRequest& request, const Recipe& recipe);

// Smaller recipes, the boldest first; `built` is what `recipe` makes.
std::vector<Recipe> SmallerRecipes(const CaseRequest& request, const Recipe& recipe,
                                   const Case& built);

// Every choice, as text: equal if and only if the recipes are.
std::string Fingerprint(const Recipe& recipe);

}  // namespace peelcheck
