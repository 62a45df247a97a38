// What every generated and every shrunk case must satisfy; see generators/case.h.
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "generators/recipe.h"

namespace peelcheck {
namespace {

using Violations = std::vector<std::string>;

// Grid values in f32 are off by a rounding.
constexpr double kRounding = 1e-5;

void CheckFloating(const Argument& argument, const Array& array, Violations& out) {
  const Domain& domain = argument.domain;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = array.DoubleAt(i);
    // Distinct values may need more room than the domain has.
    if (!domain.distinct && (value < domain.low - kRounding || value > domain.high + kRounding)) {
      out.push_back(absl::StrCat(argument.name, " has ", value, " outside of ", domain.low, "..", domain.high));
    }
    for (double kink : domain.kinks) {
      if (!domain.distinct && std::abs(value - kink) < domain.margin - kRounding) {
        out.push_back(absl::StrCat(argument.name, " has ", value, " at the kink ", kink));
      }
    }
  }
}

void CheckDistinct(const Entry& entry, const std::vector<Array>& inputs, Violations& out) {
  std::vector<double> values;
  double margin = 0;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    if (entry.arguments[i].kind != ValueKind::kFloating || !entry.arguments[i].domain.distinct) continue;
    margin = entry.arguments[i].domain.margin;
    const std::vector<double> more = inputs[i].ToDoubles();
    values.insert(values.end(), more.begin(), more.end());
  }
  std::sort(values.begin(), values.end());
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] < margin - kRounding) {
      out.push_back(absl::StrCat("values ", values[i - 1], " and ", values[i], " are closer than ", margin));
    }
  }
}

void CheckIndices(const Entry& entry, const Attributes& attributes, const std::vector<Array>& inputs, size_t i, Violations& out) {
  const Argument& argument = entry.arguments[i];
  if (argument.kind == ValueKind::kBool || argument.kind == ValueKind::kInteger) return;
  const Array& of = inputs[static_cast<size_t>(argument.of)];
  const int64_t dim = IndexedDim(argument.dim_attribute, argument.dim, attributes, of.rank());
  const int64_t size = of.rank() == 0 ? 1 : of.dim(dim);
  for (int64_t k = 0; k < inputs[i].size(); ++k) {
    const int64_t index = inputs[i].IntAt(k);
    if (index < 0 || index >= size) out.push_back(absl::StrCat(argument.name, " has index ", index, " for a size of ", size));
  }
  if (argument.kind == ValueKind::kIndex || of.rank() == 0 || !out.empty()) return;
  const Array lines = inputs[i].MovedDim(dim, inputs[i].rank() - 1);
  for (int64_t start = 0; start < lines.size(); start += size) {
    std::set<int64_t> seen;
    for (int64_t k = 0; k < size; ++k) seen.insert(lines.IntAt(start + k));
    if (static_cast<int64_t>(seen.size()) != size) out.push_back(argument.name + " is no permutation");
  }
}

// One slot of everything: the operation's own arguments.
void CheckArguments(const Entry& entry, const Case& c, const std::vector<Array>& inputs, Violations& out) {
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    for (int64_t size : inputs[i].shape()) {
      if (size == 2) out.push_back(absl::StrCat(entry.arguments[i].name, " has an axis of size 2: ", ShapeToString(inputs[i].shape())));
    }
    const std::vector<std::string> words = PatternWords(entry.arguments[i].shape);
    const bool open = std::any_of(words.begin(), words.end(), [](const std::string& w) { return w == "..." || w == "~"; });
    for (size_t w = 0; !open && w < words.size(); ++w) named[words[w]] = inputs[i].shape()[w];
    if (entry.arguments[i].kind == ValueKind::kFloating) {
      CheckFloating(entry.arguments[i], inputs[i], out);
    } else {
      CheckIndices(entry, c.program.attributes, inputs, i, out);
    }
  }
  std::set<int64_t> sizes;
  for (const auto& [name, size] : named) {
    if (c.sample_class == "general" && size != 1 && !sizes.insert(size).second) {
      out.push_back(absl::StrCat("named axes share the size ", size));
    }
  }
  CheckDistinct(entry, inputs, out);
}

std::vector<Array> SlotOf(const Transform& t, const std::vector<Array>& inputs, int64_t slot) {
  std::vector<Array> result = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!t.in_dims[i].has_value()) continue;
    const int64_t dim = *t.in_dims[i];
    result[i] = inputs[i].Selected(dim < 0 ? dim + inputs[i].rank() : dim, slot);
  }
  return result;
}

bool SameSlot(const Transform& t, const std::vector<Array>& a, const std::vector<Array>& b, bool& comparable) {
  comparable = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!t.in_dims[i].has_value()) continue;
    comparable = comparable || (IsFloating(a[i].dtype()) && a[i].size() > 0);
    if (!a[i].BitEquals(b[i])) return false;
  }
  return true;
}

// The transforms from `level` inwards; `inputs` are those of the program there.
void CheckLevel(const Entry& entry, const Case& c, size_t level, std::vector<Array> inputs, Violations& out) {
  if (level == c.program.stack.size()) {
    CheckArguments(entry, c, inputs, out);
    return;
  }
  const Transform& t = c.program.stack[level];
  if (t.kind != TransformKind::kVmap) {
    CheckLevel(entry, c, level + 1, inputs, out);
    return;
  }
  // Behind a program's own inputs stand the tangents and cotangents of the transforms around it.
  inputs.resize(std::min(inputs.size(), t.in_dims.size()));
  std::vector<std::vector<Array>> slots;
  for (int64_t b = 0; b < t.batch_size && out.empty(); ++b) {
    slots.push_back(SlotOf(t, inputs, b));
    bool comparable = false;
    for (size_t earlier = 0; earlier + 1 < slots.size(); ++earlier) {
      if (SameSlot(t, slots[earlier], slots.back(), comparable) && comparable) {
        out.push_back(absl::StrCat("slots ", earlier, " and ", b, " of a batch hold the same values"));
      }
    }
    CheckLevel(entry, c, level + 1, slots.back(), out);
    for (size_t i = 0; t.batch_size > 1 && i < entry.arguments.size(); ++i) {
      const Shape& shape = slots.back()[i].shape();
      if (std::find(shape.begin(), shape.end(), t.batch_size) != shape.end()) {
        out.push_back(absl::StrCat("batch size ", t.batch_size, " is also the size of an axis of ", entry.arguments[i].name));
      }
    }
  }
}

}  // namespace

std::vector<std::string> InvariantViolations(const Entry& entry, const Case& c) {
  Violations out;
  std::set<int64_t> batch_sizes;
  for (const Transform& t : c.program.stack) {
    if (t.kind == TransformKind::kVmap && !batch_sizes.insert(t.batch_size).second) {
      out.push_back(absl::StrCat("two vmaps have the batch size ", t.batch_size));
    }
  }
  CheckLevel(entry, c, 0, c.inputs, out);
  return out;
}

}  // namespace peelcheck
