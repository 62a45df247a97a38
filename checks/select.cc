// checks/select.cc: which cells a run has: SelectCells of runner.h, and select.h.
//
//   SelectCells({.ops = {"Opaque*"}, .checks = {"vmap*"}})   // entries by name, checks as listed
#include "checks/select.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>

#include "checks/runner.h"

namespace peelcheck {
namespace {

bool MatchesAny(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return GlobMatches(glob, name); });
}

bool MatchesSome(const std::string& glob, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return GlobMatches(glob, name); });
}

absl::StatusOr<std::vector<const Entry*>> SelectEntries(const std::vector<std::string>& globs) {
  std::vector<std::string> names;
  for (const Entry* entry : AllEntries()) names.push_back(entry->name);
  for (const std::string& glob : globs) {
    if (!MatchesSome(glob, names)) return UnknownName("op", glob, names);
  }
  std::vector<const Entry*> selected;
  for (const Entry* entry : AllEntries()) {
    if (globs.empty() || MatchesAny(globs, entry->name)) selected.push_back(entry);
  }
  return selected;
}

absl::StatusOr<std::vector<Check>> SelectChecks(const std::vector<std::string>& globs, int depth) {
  const std::vector<Check> known = ChecksToDepth(depth);
  std::vector<std::string> names;
  std::vector<Check> selected;
  for (const Check& check : known) {
    names.push_back(check.name);
    if (globs.empty() || MatchesAny(globs, check.name)) selected.push_back(check);
  }
  for (const std::string& glob : globs) {
    if (MatchesSome(glob, names)) continue;
    // Not one of the listed ones: any other word may be spelled out.
    std::optional<Check> word = FindCheck(glob);
    if (!word.has_value()) return UnknownName("check", glob, names);
    names.push_back(word->name);
    selected.push_back(std::move(*word));
  }
  return selected;
}

// Each once, in the order given.
absl::StatusOr<std::vector<DType>> SelectDTypes(const std::vector<DType>& given) {
  if (given.empty()) {
    return absl::InvalidArgumentError("no dtype was given; expected f64, f32 or both");
  }
  std::vector<DType> selected;
  for (const DType dtype : given) {
    if (!IsFloating(dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dtype ", DTypeName(dtype), " is not floating; expected f64 or f32"));
    }
    if (std::find(selected.begin(), selected.end(), dtype) == selected.end()) {
      selected.push_back(dtype);
    }
  }
  return selected;
}

}  // namespace

bool GlobMatches(const std::string& glob, const std::string& text) {
  // The last * and what it was matched with: on a failure it takes one character more. Linear in
  // memory and never exponential, whatever the user types.
  size_t g = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string::npos;
}

absl::Status UnknownName(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known) {
  const std::vector<std::string> closest = ClosestNames(name, known);
  const std::string hint =
      closest.empty() ? "; " : absl::StrCat("; did you mean ", absl::StrJoin(closest, ", "), "? ");
  return absl::InvalidArgumentError(absl::StrCat("no ", what, " matches \"", name, "\"", hint,
                                                 "See `peelcheck list ", what, "s`"));
}

absl::Status KnownEngine(const std::string& name) {
  if (FindEngine(name) != nullptr) return absl::OkStatus();
  std::vector<std::string> known;
  for (const EngineInfo& engine : AllEngines()) known.push_back(engine.name);
  return UnknownName("engine", name, known);
}

absl::StatusOr<std::vector<Cell>> SelectCells(const RunOptions& options) {
  if (options.samples < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("samples is ", options.samples, "; expected 1 or more"));
  }
  const absl::StatusOr<std::vector<DType>> dtypes = SelectDTypes(options.dtypes);
  if (!dtypes.ok()) return dtypes.status();
  const absl::StatusOr<std::vector<const Entry*>> entries = SelectEntries(options.ops);
  if (!entries.ok()) return entries.status();
  const absl::StatusOr<std::vector<Check>> checks = SelectChecks(options.checks, options.depth);
  if (!checks.ok()) return checks.status();
  std::vector<Cell> cells;
  for (const Entry* entry : *entries) {
    for (const Check& check : *checks) {
      if (!Applies(check, *entry)) continue;
      for (const DType dtype : *dtypes) cells.push_back({entry, check, dtype});
    }
  }
  return cells;
}

}  // namespace peelcheck
