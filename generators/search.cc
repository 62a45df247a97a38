// Drawing and shrinking of cases: RapidCheck's random streams and shrinkables, under a driver of our own that has a budget.
#include <rapidcheck.h>

#include <chrono>

#include "generators/recipe.h"

namespace peelcheck {
namespace {

// FNV-1a: the same on every machine, unlike std::hash.
uint64_t Mixed(uint64_t hash, const std::string& text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return (hash ^ 0xFFu) * 0x100000001B3u;
}

// One stream per (seed, operation, check, index). The dtype is left out: f32 and f64 see the same numbers.
uint64_t StreamSeed(const CaseRequest& request) {
  uint64_t hash = Mixed(0xCBF29CE484222325u, request.entry->name);
  hash = Mixed(hash, request.check);
  for (const TransformKind kind : request.word) hash = Mixed(hash, TransformName(kind));
  hash = Mixed(hash, std::to_string(request.seed));
  return Mixed(hash, std::to_string(request.index));
}

rc::Shrinkable<Recipe> ShrinkableRecipe(const Recipe& recipe) {
  return rc::shrinkable::shrinkRecur(recipe, [](const Recipe& r) { return rc::seq::fromContainer(SmallerRecipes(r)); });
}

rc::Gen<Recipe> RecipeGen(const CaseRequest& request) {
  return rc::Gen<Recipe>([request](const rc::Random& random, int) {
    rc::Random stream = random;
    return ShrinkableRecipe(DrawRecipe(request, Stream(stream.next())));
  });
}

// A candidate that cannot be built, or that leaves the invariants, is no candidate.
bool BuildsLegally(const CaseRequest& request, const Recipe& recipe, Case& built) {
  try {
    built = BuildCase(request, recipe);
  } catch (const Error&) {
    return false;
  }
  return InvariantViolations(*request.entry, built).empty();
}

}  // namespace

Case GenerateCase(const CaseRequest& request) {
  rc::Random random(StreamSeed(request));
  const Recipe recipe = DrawRecipe(request, Stream(random.next()));
  try {
    return BuildCase(request, recipe);
  } catch (const Error&) {
    // Some operations refuse an empty axis for some attributes only; a general sample takes its place.
    if (recipe.sample_class != "empty") throw;
    CaseRequest general = request;
    general.index = 0;
    return BuildCase(request, DrawRecipe(general, Stream(random.next())));
  }
}

ShrinkOutcome ShrinkCase(const CaseRequest& request, const std::function<bool(const Case&)>& fails, const ShrinkBudget& budget) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget.seconds);
  rc::Shrinkable<Recipe> best = RecipeGen(request)(rc::Random(StreamSeed(request)), rc::kNominalSize);
  ShrinkOutcome outcome;
  outcome.smallest = GenerateCase(request);
  for (bool improved = true; improved && !outcome.exhausted;) {
    improved = false;
    auto candidates = best.shrinks();
    for (auto candidate = candidates.next(); candidate; candidate = candidates.next()) {
      if (outcome.tries >= budget.tries || Clock::now() > deadline) {
        outcome.exhausted = true;
        break;
      }
      Case built;
      if (!BuildsLegally(request, candidate->value(), built)) continue;
      ++outcome.tries;
      if (!fails(built)) continue;
      best = *candidate;
      outcome.smallest = std::move(built);
      ++outcome.steps;
      improved = true;
      break;
    }
  }
  return outcome;
}

}  // namespace peelcheck
