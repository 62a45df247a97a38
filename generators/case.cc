// GenerateCase and ShrinkCase: RapidCheck's random streams, generator and shrinkables, under a
// driver of our own that has a budget. The one file that includes RapidCheck.
#include "generators/case.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/str_cat.h>
#include <rapidcheck.h>

#include <chrono>
#include <utility>

#include "generators/recipe.h"

namespace peelcheck {
namespace {

// FNV-1a: the same on every machine, unlike std::hash.
uint64_t Mixed(uint64_t hash, const std::string& text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return (hash ^ 0xFFu) * 0x100000001B3u;
}

// One stream per (seed, operation, check, index). The dtype is left out: f32 and f64 see the same
// numbers.
uint64_t StreamSeed(const CaseRequest& request) {
  uint64_t hash = Mixed(0xCBF29CE484222325u, request.entry->name);
  hash = Mixed(hash, request.check);
  for (const TransformKind kind : request.word) hash = Mixed(hash, TransformName(kind));
  hash = Mixed(hash, std::to_string(request.seed));
  return Mixed(hash, std::to_string(request.index));
}

// nullopt where it cannot be built: an operation may refuse an axis that became empty or 1.
std::optional<Case> TryBuild(const CaseRequest& request, const Recipe& recipe) {
  try {
    return BuildCase(request, recipe);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Draws for `drawn`, and shrinks for `request`, which must outlive it.
rc::Gen<Recipe> RecipeGen(const CaseRequest& drawn, const CaseRequest& request) {
  return rc::Gen<Recipe>([&](rc::Random random, int) {
    return rc::shrinkable::shrinkRecur(
        DrawRecipe(drawn, Stream(random.next())), [&](const Recipe& recipe) {
          const std::optional<Case> built = TryBuild(request, recipe);
          return rc::seq::fromContainer(built ? SmallerRecipes(request, recipe, *built)
                                              : std::vector<Recipe>());
        });
  });
}

struct Sample {
  rc::Shrinkable<Recipe> recipe;
  Case built;
};

// Draws until a recipe can be built: an index into an axis that came out empty cannot, nor slots of
// a narrow domain that no draw tells apart. The later attempts are general samples.
Sample DrawSample(const CaseRequest& request) {
  constexpr int kAttempts = 16;
  rc::Random random(StreamSeed(request));
  for (int attempt = 0; attempt < kAttempts / 2; ++attempt) {
    rc::Shrinkable<Recipe> recipe = RecipeGen(request, request)(random.split(), rc::kNominalSize);
    try {
      if (std::optional<Case> built = BuildCase(request, recipe.value()))
        return {recipe, std::move(*built)};
    } catch (const Error&) {
      // Any other class must be legal: a database that says otherwise is wrong.
      if (recipe.value().drawn_class != "empty") throw;
    }
  }
  CaseRequest general = request;
  general.index = 0;
  for (int attempt = 0; attempt < kAttempts / 2; ++attempt) {
    rc::Shrinkable<Recipe> recipe = RecipeGen(general, request)(random.split(), rc::kNominalSize);
    if (std::optional<Case> built = BuildCase(request, recipe.value()))
      return {recipe, std::move(*built)};
  }
  throw Error(ErrorClass::kInternal,
              absl::StrCat("[generator] ", request.entry->name,
                           ": no draw tells the slots of a batch apart; widen a domain"));
}

// All that an engine sees of a case.
std::string Fingerprint(const Case& c) {
  std::string text = ProgramToString(c.program);
  for (const auto& [name, value] : c.program.attributes)
    absl::StrAppend(&text, ";", name, "=", AttributeToString(value));
  for (const Array& input : c.inputs) {
    absl::StrAppend(&text, ";", DTypeName(input.dtype()), ShapeToString(input.shape()));
    for (int64_t i = 0; i < input.size(); ++i) absl::StrAppend(&text, " ", input.DoubleAt(i));
  }
  return text;
}

// The smaller cases that are worth a call of the predicate: legal, and not tried before.
class Candidates {
 public:
  Candidates(const CaseRequest& request, const Sample& sample) : request_(request) {
    recipes_.insert(Fingerprint(sample.recipe.value()));
    cases_.insert(Fingerprint(sample.built));
  }
  std::optional<Case> New(const Recipe& recipe) {
    if (!recipes_.insert(Fingerprint(recipe)).second) return std::nullopt;
    std::optional<Case> built = TryBuild(request_, recipe);
    if (!built || !InvariantViolations(*request_.entry, *built).empty()) return std::nullopt;
    if (!cases_.insert(Fingerprint(*built)).second) return std::nullopt;
    return built;
  }

 private:
  const CaseRequest& request_;
  absl::flat_hash_set<std::string> recipes_, cases_;
};

}  // namespace

Case GenerateCase(const CaseRequest& request) { return DrawSample(request).built; }

ShrinkOutcome ShrinkCase(const CaseRequest& request, const std::function<bool(const Case&)>& fails,
                         const ShrinkBudget& budget) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget.seconds);
  Sample sample = DrawSample(request);
  Candidates candidates(request, sample);
  ShrinkOutcome outcome;
  outcome.smallest = std::move(sample.built);
  rc::Shrinkable<Recipe> best = sample.recipe;
  for (bool improved = true; improved;) {
    improved = false;
    rc::Seq<rc::Shrinkable<Recipe>> smaller = best.shrinks();
    for (auto next = smaller.next(); next && !improved; next = smaller.next()) {
      std::optional<Case> candidate = candidates.New(next->value());
      if (!candidate) continue;
      if (outcome.tries >= budget.tries || Clock::now() > deadline) {
        outcome.exhausted = true;
        return outcome;
      }
      ++outcome.tries;
      if (!fails(*candidate)) continue;
      best = *next;
      outcome.smallest = std::move(*candidate);
      ++outcome.steps;
      improved = true;
    }
  }
  return outcome;
}

}  // namespace peelcheck
