// checks/runner.h: the main job: every selected operation x check x dtype on an engine, told to a
// sink.
//
//   RunOptions options{.ops = {"Opaque*"}, .samples = 20, .seed = 1};
//   absl::StatusOr<RunEnd> end = RunChecks(options, sink);
//
// Same options and seed, same outcome, whatever `jobs` is: each case has its own random stream, and
// cells are told in order.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/engine_under_test.h"
#include "generators/case.h"
#include "reports/outcome.h"

namespace peelcheck {

struct RunOptions {
  std::string engine = "builtin";
  std::vector<std::string> ops =
      {};  // globs (*, ?); empty = all. One that matches nothing: invalid_argument
  std::vector<std::string> checks =
      {};         // globs over the named checks, or any word; empty = the named checks
  int depth = 0;  // and every word up to this depth
  std::vector<DType> dtypes = {DType::kF64, DType::kF32};
  int64_t samples = 20;
  uint64_t seed = 0;
  int jobs = 0;  // 0 = number of processors
  std::string profile = "ci";
  ShrinkBudget shrink = {};
  bool stop_at_failure = false;  // a cell ends with its first failing case
  SampleStyle style = {};
  std::string program = "build/release/peelcheck";  // for replay commands
  const std::atomic<bool>* interrupted =
      nullptr;  // set by a signal: the run ends after the cells at work
};

struct Cell {
  const Entry* entry = nullptr;
  Check check;
  DType dtype = DType::kF64;
};

// The cells that the options select, in the order of the report. invalid_argument for an unknown
// operation or check (with the closest names), for no dtype, and for samples < 1.
absl::StatusOr<std::vector<Cell>> SelectCells(const RunOptions& options);

struct CellOutcome {
  CellResult result;
  std::vector<Mismatch> mismatches;  // shrunk; at most one per (verdict, oracle): the first
};
// One cell on one engine; what a GoogleTest of the cell calls.
CellOutcome RunCell(const Cell& cell, EngineUnderTest& engine, const RunOptions& options);

// All cells. The exit code in RunEnd: 0 ok, 1 failures, 3 nothing was compared.
absl::StatusOr<RunEnd> RunChecks(const RunOptions& options, Sink& sink);

// -- replay
// ------------------------------------------------------------------------------------------------------------------------

// "peelcheck-1:mul:vmapvjp:f64:42:7": version of generator and token, operation, check, dtype,
// seed, case.
std::string MakeToken(const CellId& id, uint64_t seed, int64_t case_index);
// Runs one case again and tells it to the sink as a run of one cell. invalid_argument for a
// malformed token, another version, and an unknown operation or check.
absl::StatusOr<RunEnd> ReplayToken(const std::string& token, const RunOptions& options, Sink& sink);
// The same from the text of a mismatch file (`case_json`): the values themselves, not drawn again.
absl::StatusOr<RunEnd> ReplayCase(const std::string& json, const RunOptions& options, Sink& sink);

}  // namespace peelcheck
