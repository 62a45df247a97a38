// What shrinking tries, the boldest first: fewer leading axes, smaller axes and batches, plainer
// argnums, dims and attributes, simpler values.
//
//   leading {3, 4}: {4}, {3}, {1, 4}, {3, 1}, {3, 3}; then {4} with the values one element further
//   on, ...
//
// Every step makes (structure, choices, values) smaller in this order, so that a descent ends.
// Values that were set by hand are dropped where the structure changes: their elements are
// elsewhere then.
#include <algorithm>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "generators/arguments.h"

namespace peelcheck {
namespace {

constexpr int64_t kMostOffsets = 12;
// The simplest value first; distinct arguments and batches need several of them.
constexpr double kSimple[] = {1, 2, 3, 0.5, -1, 1.5, -2, -0.5, 4, 5};
constexpr double kSimpleDirections[] = {1, 0.5, -1, 1.5};

constexpr size_t kMostCandidates = 400;  // as many as ShrinkBudget tries by default

class Smaller {
 public:
  Smaller(const CaseRequest& request, const Recipe& recipe, const Case& built)
      : request_(request), recipe_(recipe), built_(built) {}

  std::vector<Recipe> All() {
    AddStructures(recipe_.value_offset, true);
    // A fault of one value at some place in a large array: bring that value to the front of a small
    // one.
    for (int64_t further = 1; further < std::min(kMostOffsets, LargestSize()); ++further) {
      AddStructures(recipe_.value_offset + further, false);
    }
    for (size_t i = 0; i < recipe_.stack.size(); ++i) AddChoices(i);
    AddAttributes();
    for (int coarseness = 2; coarseness > recipe_.coarseness; --coarseness) {
      Add([&](Recipe& r) { r.coarseness = coarseness; });
    }
    AddValues();
    return std::move(found_);
  }

 private:
  // A candidate; but for values, it forgets the overrides.
  void Add(auto edit) {
    Recipe candidate = recipe_;
    candidate.overrides.clear();
    edit(candidate);
    found_.push_back(std::move(candidate));
  }

  int64_t LargestSize() const {
    int64_t largest = 0;
    for (const Array& input : built_.inputs) largest = std::max(largest, input.size());
    return largest;
  }

  void AddStructures(int64_t offset, bool all) {
    if (std::ssize(recipe_.leading) > LeastLeadingAxes(*request_.entry)) {
      for (size_t i = 0; i < recipe_.leading.size(); ++i) {
        Add([&](Recipe& r) {
          r.leading.erase(r.leading.begin() + static_cast<int64_t>(i));
          r.value_offset = offset;
        });
      }
    }
    for (int64_t size : {1, 3, 4, 5}) {
      if (size > 1 && !all) break;
      for (size_t i = 0; i < recipe_.leading.size(); ++i) {
        if (size < recipe_.leading[i])
          Add([&](Recipe& r) { r.leading[i] = size, r.value_offset = offset; });
      }
      for (const auto& [name, current] : recipe_.axes) {
        if (size < current)
          Add([&, key = name](Recipe& r) { r.axes[key] = size, r.value_offset = offset; });
      }
    }
    for (size_t i = 0; all && i < recipe_.stack.size(); ++i) {
      for (int64_t size : {1, 2, 3, 6}) {
        const bool mapped = recipe_.stack[i].kind == TransformKind::kVmap;
        if (mapped && size < recipe_.stack[i].batch_size)
          Add([&](Recipe& r) { r.stack[i].batch_size = size; });
      }
    }
    if (all && !recipe_.full_broadcast) Add([](Recipe& r) { r.full_broadcast = true; });
  }

  void AddChoices(size_t i) {
    const TransformChoice& choice = recipe_.stack[i];
    const Transform& t = built_.program.stack[i];
    if (choice.kind == TransformKind::kVmap) {
      if (!choice.all_batched) Add([i](Recipe& r) { r.stack[i].all_batched = true; });
      AddBits(&TransformChoice::plain_in, i, choice.all_batched ? 0 : t.in_dims.size());
      AddBits(&TransformChoice::plain_out, i, t.out_dims.size());
    } else {
      if (!choice.all_argnums) Add([i](Recipe& r) { r.stack[i].all_argnums = true; });
      const size_t count = choice.all_argnums || choice.only_argnum >= 0 ? 0 : t.argnums->size();
      for (size_t only = 0; only < count; ++only) {
        Add([&](Recipe& r) { r.stack[i].only_argnum = static_cast<int64_t>(only); });
      }
    }
    if (!choice.unsigned_dims) Add([i](Recipe& r) { r.stack[i].unsigned_dims = true; });
  }

  // All bits of a mask at once, then one by one.
  void AddBits(uint64_t TransformChoice::*mask, size_t i, size_t count) {
    const uint64_t current = recipe_.stack[i].*mask;
    const uint64_t all = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    if ((current & all) == all) return;
    Add([&](Recipe& r) { r.stack[i].*mask = all; });
    for (size_t bit = 0; bit < std::min<size_t>(count, 64); ++bit) {
      const uint64_t more = current | uint64_t{1} << bit;
      if (more != current) Add([&](Recipe& r) { r.stack[i].*mask = more; });
    }
  }

  void AddAttributes() {
    const size_t count = request_.entry->attributes.size();
    const uint64_t all = (uint64_t{1} << count) - 1;
    if (count == 0 || recipe_.plain_attributes == all) return;
    Add([&](Recipe& r) { r.plain_attributes = all; });
    for (size_t bit = 0; bit < count; ++bit) {
      const uint64_t more = recipe_.plain_attributes | uint64_t{1} << bit;
      if (more != recipe_.plain_attributes) Add([&](Recipe& r) { r.plain_attributes = more; });
    }
  }

  // Simpler values for one element than the one it has, at most two.
  std::vector<double> SimplerValues(size_t input, int64_t element) const {
    const Argument* argument =
        input < request_.entry->arguments.size() ? &request_.entry->arguments[input] : nullptr;
    const double value = built_.inputs[input].DoubleAt(element);
    if (argument != nullptr && argument->kind != ValueKind::kFloating) {
      const bool free = argument->kind != ValueKind::kPermutation &&
                        argument->kind != ValueKind::kInversePermutation;
      return free && value != 0 ? std::vector<double>{0} : std::vector<double>{};
    }
    // A simple value would take the diagonal's share away; a coarser grid keeps it.
    if (argument != nullptr && argument->domain.diagonal != 0) return {};
    const std::span<const double> ladder = argument != nullptr
                                               ? std::span<const double>(kSimple)
                                               : std::span<const double>(kSimpleDirections);
    std::vector<double> result;
    for (double simple : ladder) {
      if (std::abs(simple - value) < 1e-9) break;
      if (argument == nullptr || argument->domain.distinct || IsLegal(argument->domain, simple))
        result.push_back(simple);
      // Distinct values, and those of other slots, may have taken the first ones.
      if (result.size() == 2 && argument != nullptr && !argument->domain.distinct) break;
    }
    return result;
  }

  void AddValues() {
    const size_t inputs = built_.inputs.size();
    std::vector<Override> simplest;
    for (size_t i = 0; i < inputs; ++i) {
      for (int64_t k = 0; k < built_.inputs[i].size(); ++k) {
        const std::vector<double> values = SimplerValues(i, k);
        if (!values.empty()) simplest.push_back({i, k, values[0]});
      }
    }
    // Everything at once, then halves, quarters and eighths of it, then each element by itself.
    for (size_t parts : {1, 2, 4, 8}) {
      if (parts * 2 > simplest.size()) break;
      for (size_t part = 0; part < parts; ++part) {
        const auto begin = simplest.begin() + static_cast<int64_t>(simplest.size() * part / parts);
        const auto end =
            simplest.begin() + static_cast<int64_t>(simplest.size() * (part + 1) / parts);
        AddOverrides({begin, end});
      }
    }
    // A candidate holds all values that were simplified before it: of many elements, those that the
    // budget of the search will never reach would fill the memory.
    for (const Override& one : simplest) {
      if (found_.size() >= kMostCandidates) return;
      for (double value : SimplerValues(one.input, one.element))
        AddOverrides({{one.input, one.element, value}});
    }
  }

  void AddOverrides(const std::vector<Override>& more) {
    Recipe candidate = recipe_;
    for (const Override& one : more) {
      std::erase_if(candidate.overrides, [&](const Override& o) {
        return o.input == one.input && o.element == one.element;
      });
      candidate.overrides.push_back(one);
    }
    found_.push_back(std::move(candidate));
  }

  const CaseRequest& request_;
  const Recipe& recipe_;
  const Case& built_;
  std::vector<Recipe> found_;
};

}  // namespace

std::vector<Recipe> SmallerRecipes(const CaseRequest& request, const Recipe& recipe,
                                   const Case& built) {
  return Smaller(request, recipe, built).All();
}

std::string Fingerprint(const Recipe& r) {
  std::string text = absl::StrCat(r.drawn_class, ";", r.shape_seed, ",", r.attribute_seed, ",",
                                  r.value_seed, ";", r.full_broadcast, ",", r.plain_attributes, ",",
                                  r.value_offset, ",", r.coarseness, ";");
  for (int64_t size : r.leading) absl::StrAppend(&text, size, ",");
  for (const auto& [name, size] : r.axes) absl::StrAppend(&text, name, "=", size, ",");
  for (const TransformChoice& c : r.stack) {
    absl::StrAppend(&text, ";", static_cast<int>(c.kind), ",", c.batch_size, ",", c.seed, ",",
                    c.all_argnums, ",");
    absl::StrAppend(&text, c.only_argnum, ",", c.all_batched, ",", c.plain_in, ",", c.plain_out,
                    ",", c.unsigned_dims);
  }
  for (const Override& o : r.overrides)
    absl::StrAppend(&text, ";", o.input, ",", o.element, ",", o.value);
  return text;
}

}  // namespace peelcheck
