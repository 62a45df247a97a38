// What every generated and every shrunk case must satisfy; see generators/case.h. It looks at the
// final case only: it undoes the batch axes of the stack, and reads the operation's own arguments
// of each slot.
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "generators/arguments.h"
#include "generators/slots.h"

namespace peelcheck {
namespace {

using Violations = std::vector<std::string>;

// Grid values in f32 are off by a rounding.
constexpr double kRounding = 1e-5;

bool IsDistinct(const Argument& argument) {
  return argument.kind == ValueKind::kFloating && argument.domain.distinct;
}

void CheckDomain(const Argument& argument, const Array& array, Violations& out) {
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = array.DoubleAt(i) - OnDiagonal(argument.domain, array.shape(), i);
    if (IsLegal(argument.domain, value)) continue;
    out.push_back(absl::StrCat("domain: ", argument.name, " has ", value, ", outside of ",
                               argument.domain.low, "..", argument.domain.high, " or closer than ",
                               argument.domain.margin, " to a kink"));
  }
}

// All distinct arguments of one slot together: no ties; outside of the domain only as far as there
// are too many values.
void CheckDistinct(const Entry& entry, const std::vector<Array>& inputs, Violations& out) {
  std::vector<double> values;
  const Domain* domain = nullptr;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    if (!IsDistinct(entry.arguments[i])) continue;
    domain = &entry.arguments[i].domain;
    const std::vector<double> more = inputs[i].ToDoubles();
    values.insert(values.end(), more.begin(), more.end());
  }
  if (domain == nullptr || values.empty()) return;
  std::sort(values.begin(), values.end());
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] >= domain->margin - kRounding) continue;
    out.push_back(absl::StrCat("distinct: ", values[i - 1], " and ", values[i], " are closer than ",
                               domain->margin));
  }
  const DistinctCells cells = MakeDistinctCells(*domain, std::ssize(values));
  const auto [first, last] = std::minmax_element(cells.starts.begin(), cells.starts.end());
  Domain room = *domain;
  room.low = std::min(room.low, *first);
  room.high = std::max(room.high, *last + cells.cell);
  for (double value : values) {
    if (!IsLegal(room, value))
      out.push_back(absl::StrCat("domain: the distinct value ", value, " is not in it"));
  }
}

void CheckIntegers(const Entry& entry, const Attributes& attributes,
                   const std::vector<Array>& inputs, size_t i, Violations& out) {
  const Argument& argument = entry.arguments[i];
  if (argument.kind == ValueKind::kBool || argument.kind == ValueKind::kInteger) return;
  const Array& of = inputs[static_cast<size_t>(argument.of)];
  const int64_t dim = IndexedDim(argument.dim_attribute, argument.dim, attributes, of.rank());
  const int64_t size = of.rank() == 0 ? 1 : of.dim(dim);
  for (int64_t k = 0; k < inputs[i].size(); ++k) {
    const int64_t index = inputs[i].IntAt(k);
    if (index >= 0 && index < size) continue;
    out.push_back(
        absl::StrCat("index: ", argument.name, " has ", index, "; expected 0..", size - 1));
  }
  const bool permutation =
      argument.kind == ValueKind::kPermutation || argument.kind == ValueKind::kInversePermutation;
  if (!permutation || of.rank() == 0 || inputs[i].size() == 0 || !out.empty()) return;
  const Array lines = inputs[i].MovedDim(dim, inputs[i].rank() - 1);
  const bool inverse = argument.kind == ValueKind::kInversePermutation;
  const Array forward = inverse ? of.MovedDim(dim, of.rank() - 1) : lines;
  for (int64_t start = 0; start < lines.size(); start += size) {
    std::set<int64_t> seen;
    for (int64_t k = 0; k < size; ++k) {
      seen.insert(lines.IntAt(start + k));
      if (inverse && lines.IntAt(start + forward.IntAt(start + k)) != k) {
        out.push_back(absl::StrCat("permutation: ", argument.name, " is not the inverse"));
        return;
      }
    }
    if (std::ssize(seen) != size)
      out.push_back(absl::StrCat("permutation: ", argument.name, " repeats an index"));
  }
}

// Sizes of named axes by name, those of leading axes by their distance from the right end: "-1",
// "-2".
void CheckAxes(const Entry& entry, const std::vector<Array>& inputs, Violations& out) {
  std::map<std::string, int64_t> sizes;
  const auto see = [&](const std::string& axis, int64_t size, bool broadcasts,
                       const std::string& argument) {
    if (size == 2) out.push_back(absl::StrCat("axis of size 2 in ", argument));
    int64_t& known = sizes.emplace(axis, size).first->second;
    if (known != size && !(broadcasts && (known == 1 || size == 1))) {
      out.push_back(absl::StrCat("axis ", axis, " of ", argument, " has size ", size,
                                 "; elsewhere it has ", known));
    }
    if (known == 1) known = size;
  };
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const std::vector<std::string> words = PatternWords(entry.arguments[i].shape);
    const Shape& shape = inputs[i].shape();
    const auto open = std::find_if(words.begin(), words.end(), IsOpen);
    const int64_t leading = std::ssize(shape) - std::ssize(words) + (open == words.end() ? 0 : 1);
    if (leading < 0 || (open == words.end() && leading > 0) ||
        (open != words.end() && std::ssize(shape) < entry.min_rank)) {
      out.push_back(absl::StrCat("rank: ", entry.arguments[i].name, " has shape ",
                                 ShapeToString(shape), "; expected \"", entry.arguments[i].shape,
                                 "\" of rank >= ", entry.min_rank));
      continue;
    }
    size_t axis = 0;
    for (const std::string& word : words) {
      const int64_t axes = IsOpen(word) ? leading : 1;
      for (int64_t k = 0; k < axes; ++k, ++axis) {
        const std::string name = IsOpen(word) ? std::to_string(k - axes) : word;
        see(name, shape[axis], word == "~", entry.arguments[i].name);
        if (IsLiteral(word) && std::to_string(shape[axis]) != word) {
          out.push_back(
              absl::StrCat("axis of ", entry.arguments[i].name, " must have size ", word));
        }
      }
    }
  }
  std::set<int64_t> seen;
  for (const auto& [name, size] : sizes) {
    if (size <= 1 || (IsLiteral(name) && !name.empty())) continue;
    if (!seen.insert(size).second) out.push_back(absl::StrCat("two axes have the size ", size));
  }
}

// One slot of everything: the operation's own arguments.
void CheckArguments(const Entry& entry, const Case& c, const std::vector<Array>& inputs,
                    Violations& out) {
  CheckAxes(entry, inputs, out);
  if (!out.empty()) return;  // what follows relies on the shapes
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    if (entry.arguments[i].kind != ValueKind::kFloating) {
      CheckIntegers(entry, c.program.attributes, inputs, i, out);
    } else if (!entry.arguments[i].domain.distinct) {
      CheckDomain(entry.arguments[i], inputs[i], out);
    }
  }
  CheckDistinct(entry, inputs, out);
}

class StackChecker {
 public:
  StackChecker(const Entry& entry, const Case& c, Violations& out)
      : entry_(entry),
        case_(c),
        counts_(InputCounts(c.program, std::ssize(entry.arguments), c.inputs)),
        out_(out) {}

  // The transforms from `level` inwards; `inputs` are those of the program there.
  void Check(size_t level, std::vector<Array> inputs) {
    if (level == case_.program.stack.size()) return CheckArguments(entry_, case_, inputs, out_);
    const Transform& t = case_.program.stack[level];
    const auto inner = static_cast<size_t>(counts_[case_.program.stack.size() - level - 1]);
    if (t.kind == TransformKind::kVmap) return CheckBatch(t, level, inputs);
    for (size_t i = inner; i < inputs.size(); ++i) CheckDirection(inputs[i]);
    inputs.resize(inner);
    Check(level + 1, std::move(inputs));
  }

 private:
  void CheckDirection(const Array& direction) {
    for (int64_t i = 0; i < direction.size(); ++i) {
      const double size = std::abs(direction.DoubleAt(i));
      if (size >= 0.25 - kRounding && size <= 1.5 + kRounding) continue;
      out_.push_back(absl::StrCat("direction: ", direction.DoubleAt(i),
                                  "; expected 0.25 to 1.5, or minus that"));
    }
  }

  void CheckBatch(const Transform& t, size_t level, const std::vector<Array>& inputs) {
    std::vector<std::vector<Array>> slots;
    for (int64_t b = 0; b < t.batch_size && out_.empty(); ++b) {
      slots.push_back(SlotOf(t, inputs, b));
      for (size_t earlier = 0; earlier + 1 < slots.size(); ++earlier) {
        if (SameSlot(t, slots[earlier], slots.back())) {
          out_.push_back(
              absl::StrCat("slots ", earlier, " and ", b, " of a batch hold the same values"));
        }
      }
      if (b == 0) CheckBatchSize(t, slots[0]);
      Check(level + 1, slots.back());
    }
  }

  // Against the axes of the arguments, and the batch axes further inside.
  void CheckBatchSize(const Transform& t, const std::vector<Array>& slot) {
    for (size_t i = 0; t.batch_size > 1 && i < entry_.arguments.size(); ++i) {
      const Shape& shape = slot[i].shape();
      if (std::find(shape.begin(), shape.end(), t.batch_size) == shape.end()) continue;
      out_.push_back(absl::StrCat("batch size ", t.batch_size, " is also the size of an axis of ",
                                  entry_.arguments[i].name));
    }
  }

  const Entry& entry_;
  const Case& case_;
  std::vector<int64_t> counts_;  // of inputs, from the inside out
  Violations& out_;
};

}  // namespace

std::vector<std::string> InvariantViolations(const Entry& entry, const Case& c) {
  Violations out;
  std::set<int64_t> batch_sizes;
  for (const Transform& t : c.program.stack) {
    if (t.kind == TransformKind::kVmap && !batch_sizes.insert(t.batch_size).second) {
      out.push_back(absl::StrCat("two vmaps have the batch size ", t.batch_size));
    }
  }
  try {
    StackChecker(entry, c, out).Check(0, c.inputs);
  } catch (const Error& error) {
    out.push_back(absl::StrCat("the inputs do not fit the stack: ", error.what()));
  }
  return out;
}

}  // namespace peelcheck
