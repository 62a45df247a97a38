// Drawing a recipe: the class of the sample, then axis sizes, then batch sizes; all the rest is
// seeds.
//
//   class "size 1", pattern "~": leading = {1, 4}; word vmap vmap vjp: batch sizes 6, 2
#include <algorithm>
#include <set>
#include <utility>

#include "generators/arguments.h"

namespace peelcheck {
namespace {

// Whether an axis has this size in every sample ("n c 11").
bool HasAxisOf(const Entry& entry, const std::string& size) {
  return std::any_of(entry.arguments.begin(), entry.arguments.end(), [&](const Argument& a) {
    const std::vector<std::string> words = PatternWords(a.shape);
    return std::find(words.begin(), words.end(), size) != words.end();
  });
}

// The first three samples are general, so that even a short run sees real content.
std::string DrawClass(const CaseRequest& request, bool mapped, Stream& stream) {
  if (request.index < 3) return "general";
  const int64_t draw = stream.Below(100);
  if (draw < 12) return "size 1";
  if (draw < 17) return request.entry->allows_empty ? "empty" : "general";
  if (draw < 25) {
    return FewestFixedAxes(*request.entry) == 0 && request.entry->min_rank == 0 ? "0-d" : "general";
  }
  if (mapped && draw < 28) return "batch 1";
  if (mapped && draw < 32) return HasAxisOf(*request.entry, "3") ? "general" : "batch 3";
  if (mapped && draw < 34) return "batch 0";
  return "general";
}

// Sizes in an order of drawing. With three axes or more the 7 comes last: an argument of [3, 4, 5]
// has 60 elements, and thousands of cases should run in milliseconds.
std::vector<int64_t> DrawSizes(const std::string& sample_class, size_t axes, Stream& stream) {
  std::vector<int64_t> sizes = {3, 4, 5};
  if (sample_class == "batch 3") sizes = {4, 5};
  stream.Shuffle(sizes);
  sizes.insert(axes <= 2 && stream.Chance(1, 6) ? sizes.begin() : sizes.end(), 7);
  return sizes;
}

int64_t DrawLeadingCount(const CaseRequest& request, const std::string& sample_class, int64_t named,
                         Stream& stream) {
  const Entry& entry = *request.entry;
  const int64_t fewest = FewestFixedAxes(entry);
  if (fewest < 0 || sample_class == "0-d") return 0;
  const int64_t least = std::max<int64_t>(LeastLeadingAxes(entry), fewest == 0 ? 1 : 0);
  // There are four sizes to tell axes apart.
  const int64_t most = std::max(least, std::min(entry.max_leading_axes, 4 - named));
  constexpr int64_t kWanted[] = {0, 1, 1, 2};
  return std::clamp(kWanted[stream.Below(4)], least, most);
}

void DrawAxes(const CaseRequest& request, Recipe& recipe, Stream& stream) {
  std::set<std::string> names;
  for (const Argument& argument : request.entry->arguments) {
    for (std::string& word : PatternWords(argument.shape)) {
      if (!IsOpen(word) && !IsLiteral(word)) names.insert(std::move(word));
    }
  }
  const int64_t leading = DrawLeadingCount(request, recipe.drawn_class, std::ssize(names), stream);
  const std::vector<int64_t> sizes =
      DrawSizes(recipe.drawn_class, names.size() + static_cast<size_t>(leading), stream);
  size_t next = 0;
  const auto draw = [&] { return next < sizes.size() ? sizes[next++] : int64_t{1}; };
  for (const std::string& name : names) recipe.axes[name] = draw();
  for (int64_t i = 0; i < leading; ++i) recipe.leading.push_back(draw());
}

// Sets one axis (class "empty") or some axes (class "size 1") to `size`.
void SetSomeAxes(Recipe& recipe, int64_t size, bool one, Stream& stream) {
  std::vector<int64_t*> axes;
  for (int64_t& axis : recipe.leading) axes.push_back(&axis);
  for (auto& [name, axis] : recipe.axes) axes.push_back(&axis);
  if (axes.empty()) return;
  const auto sure = static_cast<size_t>(stream.Below(std::ssize(axes)));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i == sure || (!one && stream.Chance(1, 2))) *axes[i] = size;
  }
}

void SetLongAxesToTwo(Recipe& recipe) {
  for (int64_t& axis : recipe.leading) axis = std::min<int64_t>(axis, 2);
  for (auto& [name, axis] : recipe.axes) axis = std::min<int64_t>(axis, 2);
}

// Batch sizes from the inside out: 2, then sizes that no axis has.
void DrawStack(const CaseRequest& request, Recipe& recipe, Stream& stream) {
  constexpr int64_t kSizes[] = {2, 6, 8, 9, 10};
  std::vector<size_t> maps;
  recipe.stack.resize(request.word.size());
  for (size_t i = request.word.size(); i-- > 0;) {
    TransformChoice& choice = recipe.stack[i];
    choice.kind = request.word[i];
    choice.seed = stream.Next();
    choice.all_argnums = !stream.Chance(1, 4);
    if (choice.kind != TransformKind::kVmap) continue;
    // A sixth vmap and on count upwards, so that they differ too.
    choice.batch_size =
        maps.size() < 5 ? kSizes[maps.size()] : static_cast<int64_t>(maps.size()) + 6;
    maps.push_back(i);
  }
  if (recipe.drawn_class.rfind("batch ", 0) != 0) return;
  recipe.stack[maps[static_cast<size_t>(stream.Below(std::ssize(maps)))]].batch_size =
      recipe.drawn_class.back() - '0';
}

}  // namespace

uint64_t Stream::Next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Recipe DrawRecipe(const CaseRequest& request, Stream stream) {
  Recipe recipe;
  const bool mapped = std::find(request.word.begin(), request.word.end(), TransformKind::kVmap) !=
                      request.word.end();
  recipe.drawn_class = DrawClass(request, mapped, stream);
  DrawAxes(request, recipe, stream);
  if (recipe.drawn_class == "size 1") SetSomeAxes(recipe, 1, false, stream);
  if (recipe.drawn_class == "empty") SetSomeAxes(recipe, 0, true, stream);
  if (request.style.axes_of_two) SetLongAxesToTwo(recipe);
  recipe.shape_seed = stream.Next();
  recipe.attribute_seed = stream.Next();
  recipe.value_seed = stream.Next();
  DrawStack(request, recipe, stream);
  return recipe;
}

}  // namespace peelcheck
