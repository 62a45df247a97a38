// Shapes of arguments from their patterns: "m k", "k n" with m = 3, k = 5, n = 4 -> [3, 5], [5, 4].
#include <algorithm>
#include <utility>

#include "generators/arguments.h"

namespace peelcheck {
namespace {

int64_t FixedAxes(const std::vector<std::string>& words) {
  return std::count_if(words.begin(), words.end(),
                       [](const std::string& word) { return !IsOpen(word); });
}

// "~": the leading axes with some of them missing, or 1. An empty axis stays, so that the sample
// stays empty.
void AppendBroadcastAxes(const Recipe& recipe, size_t argument, int64_t least, Shape& shape) {
  Stream stream(recipe.shape_seed + argument);
  const bool full = recipe.full_broadcast || stream.Chance(2, 5);
  const auto rank = static_cast<int64_t>(recipe.leading.size());
  const int64_t missing = full || rank <= least ? 0 : stream.Below(rank - least + 1);
  for (int64_t i = missing; i < rank; ++i) {
    const int64_t size = recipe.leading[static_cast<size_t>(i)];
    shape.push_back(!full && size != 0 && stream.Chance(1, 3) ? 1 : size);
  }
}

}  // namespace

std::vector<std::string> PatternWords(const std::string& pattern) {
  // By hand: this is on the hot path, and a stringstream costs more than the values.
  std::vector<std::string> words;
  for (size_t start = 0; start < pattern.size();) {
    const size_t end = std::min(pattern.find(' ', start), pattern.size());
    if (end > start) words.push_back(pattern.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

bool IsOpen(const std::string& word) { return word == "..." || word == "~"; }

bool IsLiteral(const std::string& word) {
  return word.find_first_not_of("0123456789") == std::string::npos;
}

int64_t FewestFixedAxes(const Entry& entry) {
  int64_t fewest = -1;
  for (const Argument& argument : entry.arguments) {
    const std::vector<std::string> words = PatternWords(argument.shape);
    const int64_t fixed = FixedAxes(words);
    const bool open = fixed < static_cast<int64_t>(words.size());
    if (open && (fewest < 0 || fixed < fewest)) fewest = fixed;
  }
  return fewest;
}

int64_t LeastLeadingAxes(const Entry& entry) {
  const int64_t fewest = FewestFixedAxes(entry);
  return fewest < 0 ? 0 : std::max<int64_t>(entry.min_rank - fewest, 0);
}

std::vector<Shape> ArgumentShapes(const Entry& entry, const Recipe& recipe) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    Shape shape;
    const std::vector<std::string> words = PatternWords(entry.arguments[i].shape);
    for (const std::string& word : words) {
      if (word == "...") {
        shape.insert(shape.end(), recipe.leading.begin(), recipe.leading.end());
      } else if (word == "~") {
        AppendBroadcastAxes(recipe, i, std::max<int64_t>(entry.min_rank - FixedAxes(words), 0),
                            shape);
      } else if (const auto axis = recipe.axes.find(word); axis != recipe.axes.end()) {
        shape.push_back(axis->second);
      } else {
        shape.push_back(std::stoll(word));
      }
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace peelcheck
