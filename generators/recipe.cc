#include "generators/recipe.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace peelcheck {

uint64_t Stream::Next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::vector<std::string> PatternWords(const std::string& pattern) {
  std::istringstream words(pattern);
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

namespace {

bool IsLiteral(const std::string& word) { return word.find_first_not_of("0123456789") == std::string::npos; }
bool IsOpen(const std::string& word) { return word == "..." || word == "~"; }

// Fixed axes of the argument with the fewest of them, among those with an open part; -1: no argument has one.
int64_t FewestFixedAxes(const Entry& entry) {
  int64_t fewest = -1;
  for (const Argument& argument : entry.arguments) {
    const std::vector<std::string> words = PatternWords(argument.shape);
    const auto open = std::count_if(words.begin(), words.end(), IsOpen);
    const auto fixed = static_cast<int64_t>(words.size()) - open;
    if (open > 0 && (fewest < 0 || fixed < fewest)) fewest = fixed;
  }
  return fewest;
}

// The class of sample `index`: the first three are general, so that even a short run sees real content.
std::string DrawClass(const CaseRequest& request, bool mapped, Stream& stream) {
  if (request.index < 3) return "general";
  const int64_t draw = stream.Below(100);
  if (draw < 12) return "size 1";
  if (draw < 17) return request.entry->allows_empty ? "empty" : "general";
  if (draw < 25) return FewestFixedAxes(*request.entry) == 0 && request.entry->min_rank == 0 ? "0-d" : "general";
  if (mapped && draw < 34) return draw < 28 ? "batch 1" : draw < 32 ? "batch 3" : "batch 0";
  return "general";
}

// Sizes in an order of drawing; small ones first more often than not.
std::vector<int64_t> DrawSizes(const std::string& sample_class, Stream& stream) {
  std::vector<int64_t> sizes = {3, 4, 5};
  if (sample_class == "batch 3") sizes = {4, 5};
  for (size_t i = sizes.size(); i > 1; --i) std::swap(sizes[i - 1], sizes[static_cast<size_t>(stream.Below(static_cast<int64_t>(i)))]);
  sizes.insert(stream.Chance(1, 6) ? sizes.begin() : sizes.end(), 7);
  return sizes;
}

void DrawAxes(const Entry& entry, Recipe& recipe, Stream& stream) {
  const int64_t fewest = FewestFixedAxes(entry);
  int64_t leading = 0;
  if (fewest >= 0 && recipe.sample_class != "0-d") {
    const int64_t least = std::max<int64_t>(entry.min_rank - fewest, 0);
    const int64_t wanted = stream.Below(4);  // 0, 1, 1, 2
    leading = std::clamp<int64_t>(wanted == 3 ? 2 : wanted == 0 ? 0 : 1, least, std::max(least, entry.max_leading_axes));
    if (fewest == 0) leading = std::max<int64_t>(leading, 1);
  }
  std::set<std::string> names;
  for (const Argument& argument : entry.arguments) {
    for (const std::string& word : PatternWords(argument.shape)) {
      if (!IsOpen(word) && !IsLiteral(word)) names.insert(word);
    }
  }
  const std::vector<int64_t> sizes = DrawSizes(recipe.sample_class, stream);
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
  if (axes.empty()) {
    recipe.sample_class = "general";
    return;
  }
  const auto sure = static_cast<size_t>(stream.Below(static_cast<int64_t>(axes.size())));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i == sure || (!one && stream.Chance(1, 2))) *axes[i] = size;
  }
}

// Batch sizes from the inside out: 2, then sizes that no axis has.
void DrawStack(const CaseRequest& request, Recipe& recipe, Stream& stream) {
  constexpr int64_t kSizes[] = {2, 6, 8, 9, 10};
  size_t mapped = 0;
  for (size_t i = request.word.size(); i-- > 0;) {
    TransformChoice choice;
    choice.kind = request.word[i];
    choice.seed = stream.Next();
    choice.all_argnums = !stream.Chance(1, 4);
    if (choice.kind == TransformKind::kVmap) choice.batch_size = kSizes[std::min<size_t>(mapped++, 4)];
    recipe.stack.insert(recipe.stack.begin(), choice);
  }
  if (recipe.sample_class.rfind("batch ", 0) != 0) return;
  std::vector<TransformChoice*> maps;
  for (TransformChoice& choice : recipe.stack) {
    if (choice.kind == TransformKind::kVmap) maps.push_back(&choice);
  }
  maps[static_cast<size_t>(stream.Below(static_cast<int64_t>(maps.size())))]->batch_size = recipe.sample_class.back() - '0';
}

void AddSmallerSizes(const Recipe& recipe, std::vector<Recipe>& smaller) {
  const auto add = [&](auto edit, int64_t current) {
    for (int64_t size : {1, 3, 4, 5}) {
      if (size >= current) continue;
      Recipe candidate = recipe;
      edit(candidate, size);
      if (size == 1 && candidate.sample_class == "general") candidate.sample_class = "size 1";
      smaller.push_back(std::move(candidate));
    }
  };
  for (size_t i = 0; i < recipe.leading.size(); ++i) {
    add([i](Recipe& r, int64_t size) { r.leading[i] = size; }, recipe.leading[i]);
  }
  for (const auto& [name, current] : recipe.axes) {
    const std::string key = name;
    add([key](Recipe& r, int64_t size) { r.axes[key] = size; }, current);
  }
}

}  // namespace

Recipe DrawRecipe(const CaseRequest& request, Stream stream) {
  Recipe recipe;
  const bool mapped = std::find(request.word.begin(), request.word.end(), TransformKind::kVmap) != request.word.end();
  recipe.sample_class = DrawClass(request, mapped, stream);
  DrawAxes(*request.entry, recipe, stream);
  if (recipe.sample_class == "size 1") SetSomeAxes(recipe, 1, false, stream);
  if (recipe.sample_class == "empty") SetSomeAxes(recipe, 0, true, stream);
  recipe.shape_seed = stream.Next();
  recipe.attribute_seed = stream.Next();
  recipe.value_seed = stream.Next();
  DrawStack(request, recipe, stream);
  return recipe;
}

std::vector<Recipe> SmallerRecipes(const Recipe& recipe) {
  std::vector<Recipe> smaller;
  const auto with = [&](auto edit) {
    Recipe candidate = recipe;
    edit(candidate);
    smaller.push_back(std::move(candidate));
  };
  for (size_t i = 0; i < recipe.leading.size(); ++i) {
    with([i](Recipe& r) { r.leading.erase(r.leading.begin() + static_cast<int64_t>(i)); });
  }
  AddSmallerSizes(recipe, smaller);
  for (size_t i = 0; i < recipe.stack.size(); ++i) {
    const TransformChoice& choice = recipe.stack[i];
    if (!choice.all_argnums) with([i](Recipe& r) { r.stack[i].all_argnums = true; });
    if (choice.kind != TransformKind::kVmap) continue;
    if (!choice.plain_in) with([i](Recipe& r) { r.stack[i].plain_in = true; });
    if (!choice.plain_out) with([i](Recipe& r) { r.stack[i].plain_out = true; });
    for (int64_t size : {1, 2, 3}) {
      if (size < choice.batch_size) with([i, size](Recipe& r) { r.stack[i].batch_size = size; });
    }
  }
  if (!recipe.full_broadcast) with([](Recipe& r) { r.full_broadcast = true; });
  if (recipe.attribute_seed != 0) with([](Recipe& r) { r.attribute_seed = 0; });
  for (int coarseness = 2; coarseness > recipe.coarseness; --coarseness) {
    with([coarseness](Recipe& r) { r.coarseness = coarseness; });
  }
  return smaller;
}

}  // namespace peelcheck
