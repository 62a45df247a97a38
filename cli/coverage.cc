// peelcheck coverage: which operation is covered by which check, dtype and sample class, as
// Markdown: docs/coverage.md, which a test keeps true.
//
//   peelcheck coverage > docs/coverage.md
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checks/check.h"
#include "cli/commands.h"
#include "generators/case.h"

namespace peelcheck {
namespace {

constexpr int64_t kSamples = 20;  // of a cell, at its default
constexpr uint64_t kSeed = 1;     // that of --profile ci

// "general 9, size 1 4, empty 3", the classes of a cell's samples.
std::string SampleClasses(const Entry& entry, const Check& check) {
  std::map<std::string, int64_t> counts;
  for (int64_t i = 0; i < kSamples; ++i) {
    const Case sample = GenerateCase(
        {.entry = &entry, .word = check.word, .seed = kSeed, .check = check.name, .index = i});
    ++counts[sample.sample_class];
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, ": ", count);
  }
  return text;
}

std::string AttributeNames(const Entry& entry) {
  std::string text;
  for (const AttributeSpec& spec : entry.attributes) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", spec.name);
    if (!spec.choices.empty()) absl::StrAppend(&text, " (", spec.choices.size(), ")");
  }
  return text.empty() ? "-" : text;
}

// Consecutive checks of NamedChecks that apply, as "all 15", "value, vmap" ..
std::string AppliedChecks(const Entry& entry) {
  std::string missing, applied;
  size_t count = 0;
  for (const Check& check : NamedChecks()) {
    const bool applies = Applies(check, entry);
    count += applies ? 1 : 0;
    std::string& list = applies ? applied : missing;
    absl::StrAppend(&list, list.empty() ? "" : ", ", check.name);
  }
  if (missing.empty()) return absl::StrCat("all ", count);
  if (count > NamedChecks().size() / 2) {
    return absl::StrCat("all but ", missing);
  }
  return applied;
}

int Coverage() {
  const std::optional<Check> vmap = FindCheck("vmap");
  std::printf(
      "# Coverage\n\n"
      "Made by `peelcheck coverage`; a test compares. Each operation under each of its checks is "
      "a\n"
      "cell for f64 and one for f32, of %lld samples; the classes are those of the cells at seed "
      "%llu.\n"
      "An attribute shows how many choices it has; dims are drawn absent, negative, as lists.\n\n"
      "| operation | checks | attributes | error cases | samples of the plain operation | samples "
      "under vmap |\n|---|---|---|---|---|---|\n",
      static_cast<long long>(kSamples), static_cast<unsigned long long>(kSeed));
  for (const Entry* entry : AllEntries()) {
    const auto first = std::find_if(NamedChecks().begin(), NamedChecks().end(),
                                    [&](const Check& check) { return Applies(check, *entry); });
    std::printf("| %s | %s | %s | %zu | %s | %s |\n", entry->name.c_str(),
                AppliedChecks(*entry).c_str(), AttributeNames(*entry).c_str(),
                entry->error_cases.size(), SampleClasses(*entry, *first).c_str(),
                Applies(*vmap, *entry) ? SampleClasses(*entry, *vmap).c_str() : "-");
  }
  return kExitOk;
}

}  // namespace

void AddCoverageCommand(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("coverage", "Print what is covered, as the Markdown of docs/coverage.md");
  command->footer("Example:\n  peelcheck coverage > docs/coverage.md");
  command->callback([exit_code] { *exit_code = Coverage(); });
}

}  // namespace peelcheck
