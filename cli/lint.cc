// peelcheck lint: what is wrong with the entries of the database. Exit 1 where something is.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "checks/lint.h"
#include "checks/select.h"
#include "cli/commands.h"

namespace peelcheck {
namespace {

int Lint(const std::vector<std::string>& globs, const std::string& source) {
  int64_t entries = 0;
  std::vector<LintFinding> findings;
  for (const Entry* entry : AllEntries()) {
    if (!globs.empty() && std::none_of(globs.begin(), globs.end(), [&](const std::string& glob) {
          return GlobMatches(glob, entry->name);
        }))
      continue;
    ++entries;
    for (LintFinding& finding : LintEntry(*entry)) findings.push_back(std::move(finding));
  }
  if (entries == 0) {
    return UsageError("no op matches \"" + globs.front() + "\"; see `peelcheck list ops`");
  }
  if (globs.empty()) {
    for (LintFinding& finding : LintFiles(source)) findings.push_back(std::move(finding));
  }
  for (const LintFinding& finding : findings) {
    std::printf("%s:%d: %s%s[%s] %s\n", finding.file.c_str(), finding.line, finding.op.c_str(),
                finding.op.empty() ? "" : ": ", finding.rule.c_str(), finding.message.c_str());
  }
  std::printf("%lld entries, %zu findings\n", static_cast<long long>(entries), findings.size());
  return findings.empty() ? kExitOk : kExitMismatches;
}

}  // namespace

void AddLintCommand(CLI::App& app, int* exit_code) {
  struct Options {
    std::vector<std::string> ops;
    std::string source = ".";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("lint", "Look for faults in the database's entries");
  command->add_option("--op", options->ops, "Operations by name or glob, separated by commas")
      ->delimiter(',');
  command
      ->add_option("--source", options->source,
                   "The source tree, whose files are compared with the registered entries")
      ->capture_default_str();
  command->footer(
      "Rules: formula, pattern, no sample, size 2, unreachable, no derivative, false claim, no\n"
      "reference, no entry. Exit code 0: no finding; 1: findings; 2: usage.\n\n"
      "Examples:\n  peelcheck lint\n  peelcheck lint --op 'log*'");
  command->callback([options, exit_code] { *exit_code = Lint(options->ops, options->source); });
}

}  // namespace peelcheck
