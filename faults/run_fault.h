// faults/run_fault.h: the harness over one seeded fault: which checks kill it, how soon, how
// loudly.
//
//   FaultOutcome outcome = RunFault(fault, {.seed = 1});
//   outcome.killed() && outcome.kills[0].check == "vjp"
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checks/runner.h"
#include "faults/catalogue.h"

namespace peelcheck {

struct FaultRunOptions {
  uint64_t seed = 1;
  int64_t samples = 20;     // per cell, as the main job
  bool first_only = false;  // end at the first kill: the quick answer to "is it killed"
  bool named_only = false;  // no deeper words for one that the named checks let live
  std::vector<std::string> checks = {};  // the named ones where empty
  SampleStyle style = {};
};

struct FaultKill {
  std::string op, check, dtype;
  std::string oracle;   // which one saw it
  std::string verdict;  // "mismatch", "wrong_error", ..
  bool loud = false;    // an error or a wrong structure, not merely wrong numbers
  int64_t cases = 0;    // of the cell, the killing one included
};

struct FaultOutcome {
  const SeededFault* fault = nullptr;
  std::vector<FaultKill> kills;  // one per cell that fails, in the order of the main job
  bool deeper = false;           // only words beyond the named checks kill it
  int64_t cases_to_kill = 0;     // of all cells up to the first kill
  double seconds_to_kill = 0;
  std::string stack;            // of the kill with the shortest stack, shrunk
  std::string summary;          // what it says
  int64_t shrunk_elements = 0;  // of all inputs of that case

  bool killed() const { return !kills.empty(); }
};

FaultOutcome RunFault(const SeededFault& fault, const FaultRunOptions& options);

// The cells of the main job in which an entry of AllTwins fails; one line each.
std::vector<std::string> TwinFailures(const Entry& twin, const FaultRunOptions& options);
// The right twins of these faults, each once.
std::vector<const Entry*> TwinsOf(const std::vector<const SeededFault*>& faults);

}  // namespace peelcheck
