// checks/check.cc: words over {grad, vjp, jvp, vmap} and where they apply; see check.h.
#include "checks/check.h"

#include <algorithm>
#include <map>

namespace peelcheck {
namespace {

constexpr TransformKind kAlphabet[] = {TransformKind::kGrad, TransformKind::kVjp,
                                       TransformKind::kJvp, TransformKind::kVmap};

std::string OracleOf(const std::vector<TransformKind>& word) {
  if (word.empty()) return "outputs against the entry's independent reference";
  switch (word[0]) {
    case TransformKind::kVmap: return "a loop over the batch, stacked";
    case TransformKind::kJvp: return "a finite difference along the tangent";
    default: return "the adjoint identity <gradient, t> = <cotangent, finite difference along t>";
  }
}

Check MakeCheck(const std::vector<TransformKind>& word) {
  Check check{.word = word, .description = OracleOf(word)};
  for (const TransformKind kind : word) check.name += TransformName(kind);
  if (word.empty()) check.name = "value";
  return check;
}

bool IsFloatingArgument(const Argument& argument) {
  return argument.kind == ValueKind::kFloating && argument.differentiable;
}

}  // namespace

const std::vector<Check>& NamedChecks() {
  static const std::vector<Check> checks = [] {
    std::vector<Check> result;
    for (const char* name :
         {"value", "grad", "vjp", "vjpvjp", "jvp", "vmap", "vmapvjp", "vmapvjpvjp", "vmapjvp",
          "vjpvmap", "jvpvjp", "vjpjvp", "jvpjvp", "vmapvmap", "jvpvmap"}) {
      result.push_back(*FindCheck(name));
    }
    return result;
  }();
  return checks;
}

std::vector<Check> ChecksToDepth(int depth) {
  std::vector<Check> checks = NamedChecks();
  std::vector<std::vector<TransformKind>> words = {{}};
  for (int length = 1; length <= depth; ++length) {
    std::vector<std::vector<TransformKind>> longer;
    for (const std::vector<TransformKind>& word : words) {
      for (const TransformKind kind : kAlphabet) {
        longer.push_back(word);
        longer.back().push_back(kind);
      }
    }
    for (const std::vector<TransformKind>& word : longer) {
      Check check = MakeCheck(word);
      const bool known = std::any_of(checks.begin(), checks.end(),
                                     [&](const Check& c) { return c.name == check.name; });
      if (!known) checks.push_back(std::move(check));
    }
    words = std::move(longer);
  }
  return checks;
}

std::optional<Check> FindCheck(const std::string& name) {
  if (name == "value") return MakeCheck({});
  std::vector<TransformKind> word;
  for (size_t at = 0; at < name.size();) {
    const size_t before = at;
    for (const TransformKind kind : kAlphabet) {
      const std::string letter = TransformName(kind);
      if (name.compare(at, letter.size(), letter) != 0) continue;
      word.push_back(kind);
      at += letter.size();
      break;
    }
    if (at == before) return std::nullopt;
  }
  if (word.empty()) return std::nullopt;
  return MakeCheck(word);
}

bool Applies(const Check& check, const Entry& entry) {
  if (check.word.empty()) return entry.reference != nullptr;
  const bool derives = std::any_of(check.word.begin(), check.word.end(),
                                   [](TransformKind k) { return k != TransformKind::kVmap; });
  if (!derives) return true;
  return entry.differentiable &&
         std::any_of(entry.arguments.begin(), entry.arguments.end(), IsFloatingArgument);
}

}  // namespace peelcheck
