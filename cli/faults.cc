// peelcheck faults: runs the harness over functions and engines that are wrong on purpose, and
// prints what caught what.
//
//   peelcheck faults --fault 'cube-*'
//   cube-absolute   vjp rule   killed by 9: vjp vjpvjp ..   1 case   0.00 s   loud|silent  vjp cube
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "checks/select.h"
#include "cli/commands.h"
#include "faults/run_fault.h"

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

struct FaultsOptions {
  std::vector<std::string> globs;
  bool json = false, quick = false, measure = false;
  uint64_t seed = 1;
  int64_t samples = 20;
  int jobs = 0;
};

// Runs `work(i)` for 0..count-1 on some threads.
template <typename Work>
void InParallel(size_t count, int jobs, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  const unsigned threads =
      jobs > 0 ? static_cast<unsigned>(jobs) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (unsigned t = 1; t < threads; ++t) workers.emplace_back(loop);
  loop();
  for (std::thread& worker : workers) worker.join();
}

std::vector<std::string> ChecksThatKill(const FaultOutcome& outcome) {
  std::vector<std::string> checks;
  for (const FaultKill& kill : outcome.kills) {
    if (std::find(checks.begin(), checks.end(), kill.check) == checks.end()) {
      checks.push_back(kill.check);
    }
  }
  return checks;
}

std::string Loudness(const FaultOutcome& outcome) {
  const auto loud = std::count_if(outcome.kills.begin(), outcome.kills.end(),
                                  [](const FaultKill& kill) { return kill.loud; });
  if (outcome.kills.empty()) return "-";
  return loud == std::ssize(outcome.kills) ? "loud" : loud == 0 ? "silent" : "both";
}

Json ToJson(const FaultOutcome& outcome) {
  const SeededFault& fault = *outcome.fault;
  Json kills = Json::array();
  for (const FaultKill& kill : outcome.kills) {
    kills.push_back({{"op", kill.op},
                     {"check", kill.check},
                     {"dtype", kill.dtype},
                     {"verdict", kill.verdict},
                     {"oracle", kill.oracle},
                     {"loud", kill.loud},
                     {"cases", kill.cases}});
  }
  return {{"fault", fault.name},
          {"kind", FaultKindName(fault.kind)},
          {"description", fault.description},
          {"report", fault.report},
          {"axis", fault.axis},
          {"killed", outcome.killed()},
          {"deeper_words_only", outcome.deeper},
          {"checks", ChecksThatKill(outcome)},
          {"loud", Loudness(outcome)},
          {"cases_to_kill", outcome.cases_to_kill},
          {"seconds_to_kill", outcome.seconds_to_kill},
          {"shortest_stack", outcome.stack},
          {"shrunk_elements", outcome.shrunk_elements},
          {"summary", outcome.summary},
          {"kills", kills}};
}

// What the checks are worth together: which kill nothing, and which no fault needs because another
// one sees everything that they see.
struct Totals {
  size_t killed = 0, deeper = 0;
  std::vector<std::string> survivors, useless, not_needed;
  std::map<std::string, int64_t> kills_of;  // check -> faults
  int64_t median_cases = 0;
};

Totals Sum(const std::vector<FaultOutcome>& outcomes) {
  Totals totals;
  std::vector<int64_t> cases;
  std::set<std::string> needed;
  for (const FaultOutcome& outcome : outcomes) {
    if (!outcome.killed()) {
      totals.survivors.push_back(outcome.fault->name);
      continue;
    }
    ++totals.killed;
    totals.deeper += outcome.deeper ? 1 : 0;
    cases.push_back(outcome.cases_to_kill);
    const std::vector<std::string> checks = ChecksThatKill(outcome);
    for (const std::string& check : checks) ++totals.kills_of[check];
    if (checks.size() == 1) needed.insert(checks[0]);
  }
  for (const Check& check : NamedChecks()) {
    if (totals.kills_of[check.name] == 0) {
      totals.useless.push_back(check.name);
    } else if (!needed.contains(check.name)) {
      totals.not_needed.push_back(check.name);
    }
  }
  std::sort(cases.begin(), cases.end());
  if (!cases.empty()) totals.median_cases = cases[cases.size() / 2];
  return totals;
}

void PrintOutcome(const FaultOutcome& outcome, bool quick) {
  std::vector<std::string> checks = ChecksThatKill(outcome);
  const size_t count = checks.size();
  if (count > 4) {
    checks.resize(4);
    checks.push_back("..");
  }
  if (!outcome.killed()) {
    std::printf("%-46s %-16s SURVIVES  %s\n", outcome.fault->name.c_str(),
                FaultKindName(outcome.fault->kind), outcome.fault->description.c_str());
    return;
  }
  std::printf("%-46s %-16s %-6s %5ld cases %5.2f s  %s", outcome.fault->name.c_str(),
              FaultKindName(outcome.fault->kind), Loudness(outcome).c_str(),
              static_cast<long>(outcome.cases_to_kill), outcome.seconds_to_kill,
              outcome.stack.c_str());
  if (quick) {
    std::printf("  (%s)\n", absl::StrJoin(checks, " ").c_str());
  } else {
    std::printf(" of %ld elements  (%ld checks: %s)\n", static_cast<long>(outcome.shrunk_elements),
                static_cast<long>(count), absl::StrJoin(checks, " ").c_str());
  }
}

void PrintTotals(const Totals& totals, size_t faults, size_t twins,
                 const std::vector<std::string>& twin_failures, double seconds, bool quick) {
  std::printf(
      "\n%zu of %zu faults killed (%.1f%%), %zu of them by words beyond the named checks; "
      "median of cases to the first kill: %ld\n",
      totals.killed, faults,
      100.0 * static_cast<double>(totals.killed) / static_cast<double>(faults), totals.deeper,
      static_cast<long>(totals.median_cases));
  if (!quick) {
    std::vector<std::string> counts;
    for (const auto& [check, count] : totals.kills_of) {
      if (count > 0) counts.push_back(absl::StrCat(check, " ", count));
    }
    std::printf("faults that each check kills: %s\n", absl::StrJoin(counts, ", ").c_str());
    std::printf("checks that kill nothing: %s\n",
                totals.useless.empty() ? "none" : absl::StrJoin(totals.useless, " ").c_str());
    std::printf("checks that no fault needs (another one kills it too): %s\n",
                totals.not_needed.empty() ? "none" : absl::StrJoin(totals.not_needed, " ").c_str());
  }
  for (const std::string& name : totals.survivors) std::printf("SURVIVES  %s\n", name.c_str());
  for (const std::string& line : twin_failures) std::printf("TWIN FAILS  %s\n", line.c_str());
  std::printf("%zu right twins, %zu of their cells fail; %.1f s\n", twins, twin_failures.size(),
              seconds);
}

absl::StatusOr<std::vector<const SeededFault*>> SelectFaults(
    const std::vector<std::string>& globs) {
  std::vector<std::string> names;
  for (const SeededFault& fault : FaultCatalogue()) names.push_back(fault.name);
  for (const std::string& glob : globs) {
    const bool matches = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return GlobMatches(glob, name);
    });
    if (!matches) return UnknownName("fault", glob, names);
  }
  std::vector<const SeededFault*> selected;
  for (const SeededFault& fault : FaultCatalogue()) {
    const bool wanted =
        globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
          return GlobMatches(glob, fault.name);
        });
    if (wanted) selected.push_back(&fault);
  }
  return selected;
}

int RunFaults(const FaultsOptions& options) {
  if (options.samples < 1) {
    return UsageError(absl::StrCat("--samples is ", options.samples, "; expected 1 or more"));
  }
  const auto faults = SelectFaults(options.globs);
  if (!faults.ok()) return UsageError(std::string(faults.status().message()));
  const auto started = std::chrono::steady_clock::now();
  const FaultRunOptions run{
      .seed = options.seed, .samples = options.samples, .first_only = options.quick};
  std::vector<FaultOutcome> outcomes(faults->size());
  InParallel(faults->size(), options.jobs,
             [&](size_t i) { outcomes[i] = RunFault(*(*faults)[i], run); });
  const std::vector<const Entry*> twins = TwinsOf(*faults);
  std::vector<std::vector<std::string>> failures(twins.size());
  InParallel(twins.size(), options.jobs,
             [&](size_t i) { failures[i] = TwinFailures(*twins[i], run); });
  std::vector<std::string> twin_failures;
  for (const std::vector<std::string>& lines : failures) {
    twin_failures.insert(twin_failures.end(), lines.begin(), lines.end());
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const Totals totals = Sum(outcomes);
  if (options.json) {
    Json rows = Json::array();
    for (const FaultOutcome& outcome : outcomes) rows.push_back(ToJson(outcome));
    const Json report = {{"seed", options.seed},
                         {"samples", options.samples},
                         {"faults", outcomes.size()},
                         {"killed", totals.killed},
                         {"survivors", totals.survivors},
                         {"median_cases_to_kill", totals.median_cases},
                         {"kills_of_check", totals.kills_of},
                         {"checks_that_kill_nothing", totals.useless},
                         {"checks_that_no_fault_needs", totals.not_needed},
                         {"twins", twins.size()},
                         {"twin_failures", twin_failures},
                         {"seconds", seconds},
                         {"rows", rows}};
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    for (const FaultOutcome& outcome : outcomes) PrintOutcome(outcome, options.quick);
    PrintTotals(totals, outcomes.size(), twins.size(), twin_failures, seconds, options.quick);
  }
  return totals.survivors.empty() && twin_failures.empty() ? kExitOk : kExitMismatches;
}

// What size-2-free samples and distinct slots are worth: the faults that line up a wrong axis, with
// and without each, at each depth of stacks.
int Measure(const FaultsOptions& options) {
  std::vector<const SeededFault*> faults;
  for (const SeededFault& fault : FaultCatalogue()) {
    const bool batches =
        fault.kind == FaultKind::kVmap || fault.name.find("slot") != std::string::npos;
    if (fault.axis || batches) faults.push_back(&fault);
  }
  Json rows = Json::array();
  for (size_t depth = 1; depth <= 3; ++depth) {
    std::vector<std::string> checks;
    for (const Check& check : NamedChecks()) {
      if (!check.word.empty() && check.word.size() <= depth) checks.push_back(check.name);
    }
    for (const bool two : {false, true}) {
      for (const bool copies : {false, true}) {
        const FaultRunOptions run{.seed = options.seed,
                                  .samples = options.samples,
                                  .named_only = true,
                                  .checks = checks,
                                  .style = {.axes_of_two = two, .copied_slots = copies}};
        std::vector<FaultOutcome> outcomes(faults.size());
        InParallel(faults.size(), options.jobs,
                   [&](size_t i) { outcomes[i] = RunFault(*faults[i], run); });
        // [axis faults, other faults of batching]
        std::array<int64_t, 2> all{}, found{}, loud{};
        for (const FaultOutcome& outcome : outcomes) {
          const size_t group = outcome.fault->axis ? 0 : 1;
          ++all[group];
          found[group] += outcome.killed() ? 1 : 0;
          const std::string how = Loudness(outcome);
          loud[group] += how == "loud" || how == "both" ? 1 : 0;
        }
        const char* groups[] = {"axis", "slots"};
        for (size_t group = 0; group < 2; ++group) {
          rows.push_back({{"depth", depth},
                          {"axes", two ? "all of size 2" : "size-2-free"},
                          {"slots", copies ? "copies" : "distinct"},
                          {"faults", groups[group]},
                          {"count", all[group]},
                          {"found", found[group]},
                          {"loud", loud[group]}});
        }
      }
    }
  }
  const Json report = {{"seed", options.seed}, {"samples", options.samples}, {"rows", rows}};
  std::printf("%s\n", report.dump(2).c_str());
  return kExitOk;
}

}  // namespace

void AddFaultsCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<FaultsOptions>();
  CLI::App* command =
      app.add_subcommand("faults", "Run the checks over functions and engines wrong on purpose");
  command->add_option("--fault", options->globs, "Globs over the names of faults (default: all)");
  command->add_option("--seed", options->seed, "Seed of the samples")->capture_default_str();
  command->add_option("--samples", options->samples, "Samples per cell")->capture_default_str();
  command->add_option("--jobs", options->jobs, "Threads (default: one per processor)");
  command->add_flag("--quick", options->quick, "Stop at the first kill of each fault");
  command->add_flag("--json", options->json, "One JSON object with every kill");
  command->add_flag("--measure", options->measure,
                    "What size-2-free axes and distinct slots are worth, as JSON");
  command->footer(
      "Examples:\n  peelcheck faults\n  peelcheck faults --fault 'engine-gen-*' --json\n"
      "Exit codes: 0 all killed and all right twins pass, 1 a fault survives or a twin fails, 2 "
      "usage.");
  command->callback([options, exit_code] {
    *exit_code = options->measure ? Measure(*options) : RunFaults(*options);
  });
}

}  // namespace peelcheck
