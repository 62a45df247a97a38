// generators/recipe.h: the choices that a case is made of. Internal to generators/.
//
// A recipe holds raw choices: sizes, and numbers that are read modulo what is possible (a dim, an index). So any smaller recipe is a
// recipe again: shrinking edits it, and BuildCase resolves it anew.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generators/case.h"

namespace peelcheck {

// A stream of 64-bit numbers (SplitMix64, Steele, Lea & Flood 2014): values of arrays are drawn from it.
class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // 0..n-1; n > 0.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  bool Chance(int64_t in, int64_t of) { return Below(of) < in; }

 private:
  uint64_t state_;
};

struct TransformChoice {
  TransformKind kind = TransformKind::kVjp;
  int64_t batch_size = 2;
  uint64_t seed = 0;        // of argnums, in_dims, out_dims
  bool all_argnums = true;  // plain: absent
  bool plain_in = false;    // in_dims all 0
  bool plain_out = false;   // out_dims all 0
};

struct Recipe {
  std::string sample_class = "general";
  std::vector<int64_t> leading;         // sizes of "..." and "~"
  std::map<std::string, int64_t> axes;  // named
  uint64_t shape_seed = 0;              // which operands of "~" lack axes
  bool full_broadcast = false;          // plain: none does
  uint64_t attribute_seed = 0;
  uint64_t value_seed = 0;
  int coarseness = 0;                   // values on a grid of 0.01, 0.5, 1
  std::vector<TransformChoice> stack;   // outermost first
};

Recipe DrawRecipe(const CaseRequest& request, Stream stream);
Case BuildCase(const CaseRequest& request, const Recipe& recipe);
// Smaller recipes, the boldest first.
std::vector<Recipe> SmallerRecipes(const Recipe& recipe);

// -- shapes, attributes and values of the bare operation ------------------------------------------------------------------------

std::vector<Shape> ArgumentShapes(const Entry& entry, const Recipe& recipe);
Attributes ResolveAttributes(const Entry& entry, const std::vector<Shape>& shapes, uint64_t seed);
// One joint draw of all arguments.
std::vector<Array> DrawArguments(const Entry& entry, const std::vector<Shape>& shapes, const Attributes& attributes, DType dtype,
                                 int coarseness, Stream& stream);
// Cotangents and tangents: 0.25 to 1.5, both signs.
Array DrawDirection(const ArraySpec& spec, Stream& stream);
// The dim that an index or permutation argument runs along.
int64_t IndexedDim(const std::string& dim_attribute, int64_t dim, const Attributes& attributes, int64_t rank);
std::vector<std::string> PatternWords(const std::string& pattern);

}  // namespace peelcheck
