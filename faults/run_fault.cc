// faults/run_fault.cc: the cells of a fault in the order of the main job; see run_fault.h.
#include "faults/run_fault.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "opinfo_db/json.h"

namespace peelcheck {
namespace {

// A fault that every named check lets live is looked for in all words of this depth.
constexpr int kDeeperWords = 3;

std::vector<Check> ChecksOf(const FaultRunOptions& options) {
  if (options.checks.empty()) return NamedChecks();
  std::vector<Check> checks;
  for (const std::string& name : options.checks) checks.push_back(FindCheck(name).value());
  return checks;
}

bool IsLoud(const Mismatch& m) { return m.verdict != Verdict::kMismatch || m.compared == 0; }

int64_t ElementsOf(const std::string& case_json) {
  const absl::StatusOr<nlohmann::ordered_json> json = ParseJson(case_json);
  if (!json.ok() || !json->contains("program")) return 0;
  const absl::StatusOr<ProgramWithInputs> program = ProgramFromJson((*json)["program"]);
  int64_t elements = 0;
  if (program.ok()) {
    for (const Array& input : program->inputs) elements += input.size();
  }
  return elements;
}

class FaultRun {
 public:
  FaultRun(const SeededFault& fault, const FaultRunOptions& options)
      : fault_(fault), options_(options), engine_(fault.engine()) {
    out_.fault = &fault;
  }

  FaultOutcome Run() {
    RunOver(ChecksOf(options_));
    if (!out_.killed() && !options_.named_only) {
      deepening_ = true;
      RunOver(ChecksToDepth(kDeeperWords));
      out_.deeper = out_.killed();
    }
    if (shortest_.entry != nullptr && !options_.first_only) Shrink();
    return std::move(out_);
  }

 private:
  bool Done() const { return out_.killed() && (options_.first_only || deepening_); }

  void RunOver(const std::vector<Check>& checks) {
    for (const Entry* entry : fault_.entries) {
      const ScopedEntry scoped(*entry);
      for (const Check& check : checks) {
        if (!Applies(check, *entry)) continue;
        for (const DType dtype : {DType::kF64, DType::kF32}) {
          RunOne({entry, check, dtype});
          if (Done()) return;
        }
      }
    }
  }

  void RunOne(const Cell& cell) {
    RunOptions run{.samples = options_.samples, .seed = options_.seed};
    run.shrink.tries = 0;
    run.stop_at_failure = true;
    run.style = options_.style;
    const CellOutcome outcome = RunCell(cell, *engine_, run);
    if (!out_.killed()) out_.cases_to_kill += outcome.result.cases;
    if (!IsFailure(outcome.result.verdict)) return;
    FaultKill kill{
        .op = cell.entry->name, .check = cell.check.name, .dtype = DTypeName(cell.dtype)};
    kill.verdict = VerdictName(outcome.result.verdict);
    kill.cases = outcome.result.cases;
    if (outcome.mismatches.empty()) {  // nothing was compared, or only zeros
      kill.oracle = "vacuity guard";
    } else {
      kill.oracle = outcome.mismatches[0].oracle;
      kill.loud = IsLoud(outcome.mismatches[0]);
    }
    if (!out_.killed()) {
      const auto taken = std::chrono::steady_clock::now() - started_;
      out_.seconds_to_kill = std::chrono::duration<double>(taken).count();
      out_.summary = outcome.mismatches.empty() ? "nothing was compared, or only zeros"
                                                : outcome.mismatches[0].summary;
      out_.stack = absl::StrCat(cell.check.name, " ", cell.entry->name);
    }
    // A cell without a case to show cannot be shrunk.
    const bool shorter =
        shortest_.entry == nullptr || cell.check.word.size() < shortest_.check.word.size();
    if (shorter && !outcome.mismatches.empty() && outcome.mismatches[0].case_json != "{}") {
      shortest_ = cell;
    }
    out_.kills.push_back(std::move(kill));
  }

  void Shrink() {
    const ScopedEntry scoped(*shortest_.entry);
    RunOptions run{.samples = options_.samples, .seed = options_.seed};
    run.stop_at_failure = true;
    run.style = options_.style;
    run.shrink.seconds = 1.0;
    const CellOutcome outcome = RunCell(shortest_, *engine_, run);
    if (outcome.mismatches.empty()) return;
    out_.stack = outcome.mismatches[0].stack;
    out_.summary = outcome.mismatches[0].summary;
    out_.shrunk_elements = ElementsOf(outcome.mismatches[0].case_json);
  }

  const SeededFault& fault_;
  const FaultRunOptions& options_;
  std::unique_ptr<EngineUnderTest> engine_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  FaultOutcome out_;
  bool deepening_ = false;
  Cell shortest_;
};

}  // namespace

FaultOutcome RunFault(const SeededFault& fault, const FaultRunOptions& options) {
  return FaultRun(fault, options).Run();
}

std::vector<std::string> TwinFailures(const Entry& twin, const FaultRunOptions& options) {
  const ScopedEntry scoped(twin);
  const std::unique_ptr<EngineUnderTest> engine = FindEngine("builtin")->make();
  std::vector<std::string> failures;
  RunOptions run{.samples = options.samples, .seed = options.seed};
  run.style = options.style;
  for (const Check& check : ChecksOf(options)) {
    if (!Applies(check, twin)) continue;
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const CellOutcome outcome = RunCell({&twin, check, dtype}, *engine, run);
      if (!IsFailure(outcome.result.verdict)) continue;
      failures.push_back(
          absl::StrCat(twin.name, " ", check.name, " ", DTypeName(dtype), ": ",
                       VerdictName(outcome.result.verdict), " ",
                       outcome.mismatches.empty() ? "" : outcome.mismatches[0].summary));
    }
  }
  return failures;
}

std::vector<const Entry*> TwinsOf(const std::vector<const SeededFault*>& faults) {
  std::vector<const Entry*> twins;
  for (const SeededFault* fault : faults) {
    for (const Entry* twin : fault->twins) {
      if (std::find(twins.begin(), twins.end(), twin) == twins.end()) twins.push_back(twin);
    }
  }
  return twins;
}

}  // namespace peelcheck
