// generators/arguments.h: shapes, attributes and values of a bare operation, from its descriptor.
// Internal to generators/.
//
//   std::vector<Shape> shapes = ArgumentShapes(entry, recipe);             // "m k", "k n" -> [3,
//   5], [5, 4] Attributes attributes = ResolveAttributes(entry, shapes, recipe);      // dim = -1
//   ArgumentDrawer drawer(entry, shapes, attributes, DType::kF64, recipe);
//   std::vector<Array> slot = drawer.Draw(stream);                         // one joint draw of all
//   arguments
#pragma once

#include <string>
#include <vector>

#include "generators/recipe.h"

namespace peelcheck {

// A pattern's words: "... n" -> "...", "n".
std::vector<std::string> PatternWords(const std::string& pattern);
bool IsOpen(const std::string& word);     // "..." or "~": any number of axes
bool IsLiteral(const std::string& word);  // digits
// Fixed axes of the argument with the fewest of them, among those with an open part; -1: no
// argument has one.
int64_t FewestFixedAxes(const Entry& entry);
// How many leading axes the entry's min_rank asks for.
int64_t LeastLeadingAxes(const Entry& entry);

std::vector<Shape> ArgumentShapes(const Entry& entry, const Recipe& recipe);
Attributes ResolveAttributes(const Entry& entry, const std::vector<Shape>& shapes,
                             const Recipe& recipe);
// The dim that an index or a permutation runs along.
int64_t IndexedDim(const std::string& dim_attribute, int64_t dim, const Attributes& attributes,
                   int64_t rank);

bool ClearOfKinks(const Domain& domain, double value);
// In the domain and clear of its kinks, up to the rounding of f32.
bool IsLegal(const Domain& domain, double value);

// What Domain::diagonal adds to an element, by its row-major position.
double OnDiagonal(const Domain& domain, const Shape& shape, int64_t element);

// Cells for `count` values of a `distinct` domain, all clear of its kinks: a value in start..start
// + cell - margin keeps the margin to any value of another cell. There are up to four times as many
// as asked for; they leave the domain, on both sides, only where it has too few.
struct DistinctCells {
  std::vector<double> starts;
  double cell = 0;
};
DistinctCells MakeDistinctCells(const Domain& domain, int64_t count);

class ArgumentDrawer {
 public:
  ArgumentDrawer(const Entry& entry, const std::vector<Shape>& shapes, const Attributes& attributes,
                 DType dtype, const Recipe& recipe);
  std::vector<Array> Draw(Stream& stream) const;
  // A cotangent or tangent: 0.25 to 1.5, both signs.
  Array DrawDirection(const ArraySpec& spec, Stream& stream) const;

 private:
  Array DrawFloating(size_t argument, Stream& stream) const;

  const Entry& entry_;
  const std::vector<Shape>& shapes_;
  const Attributes& attributes_;
  DType dtype_;
  const Recipe& recipe_;
  DistinctCells distinct_;
  // Each distinct argument has cells of its own, the same in every slot of a batch: one that is not
  // batched meets the values of all slots.
  std::vector<std::vector<double>> cells_;
};

}  // namespace peelcheck
