// checks/runner.cc: cells in parallel, told in order; see runner.h.
//
//   worker: Take() -> RunCell -> Put()        main thread: Next() -> sink
#include "checks/runner.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "checks/select.h"

namespace peelcheck {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

RunInfo InfoOf(const RunOptions& options, size_t cells) {
  RunInfo info{.version = PEELCHECK_VERSION,
               .engine = options.engine,
               .profile = options.profile,
               .seed = options.seed};
  info.cell_count = static_cast<int64_t>(cells);
  std::vector<std::string> dtypes;
  for (const DType dtype : options.dtypes) dtypes.push_back(DTypeName(dtype));
  // The number of jobs is left out: it must not change a byte of the report.
  info.options = {{"op", absl::StrJoin(options.ops, ",")},
                  {"check", absl::StrJoin(options.checks, ",")},
                  {"depth", absl::StrCat(options.depth)},
                  {"dtype", absl::StrJoin(dtypes, ",")},
                  {"samples", absl::StrCat(options.samples)}};
  return info;
}

// Outcomes wait here until their turn: a worker may run ahead, but only by a window, so that memory
// stays flat.
class OrderedOutcomes {
 public:
  explicit OrderedOutcomes(size_t count) : outcomes_(count) {}

  // The next cell to work at; nullopt: none is left, or the run was stopped.
  std::optional<size_t> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || taken_ < told_ + kWindow; });
    if (stopped_ || taken_ == outcomes_.size()) return std::nullopt;
    return taken_++;
  }
  void Put(size_t index, CellOutcome outcome) {
    const std::lock_guard lock(mutex_);
    outcomes_[index] = std::move(outcome);
    changed_.notify_all();
  }
  // Waits for the next outcome in order; nullopt: all were told, or the run was stopped and no more
  // will come.
  std::optional<CellOutcome> Next() {
    std::unique_lock lock(mutex_);
    if (told_ == outcomes_.size() || (stopped_ && told_ == taken_)) return std::nullopt;
    changed_.wait(lock,
                  [this] { return outcomes_[told_].has_value() || (stopped_ && told_ == taken_); });
    if (told_ >= outcomes_.size() || !outcomes_[told_].has_value()) return std::nullopt;
    CellOutcome outcome = std::move(*outcomes_[told_]);
    outcomes_[told_++].reset();
    changed_.notify_all();
    return outcome;
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr size_t kWindow = 256;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<CellOutcome>> outcomes_;
  size_t taken_ = 0, told_ = 0;
  bool stopped_ = false;
};

// A cell that leaves by an exception is a crash of its own; the others go on.
CellOutcome RunCellSafely(const Cell& cell, EngineUnderTest& engine, const RunOptions& options) {
  try {
    return RunCell(cell, engine, options);
  } catch (const std::exception& error) {
    CellOutcome outcome;
    outcome.result.id = {cell.entry->name, cell.check.name, DTypeName(cell.dtype)};
    outcome.result.verdict = Verdict::kCrash;
    Mismatch m{.id = outcome.result.id, .verdict = Verdict::kCrash, .oracle = "runner"};
    m.summary = absl::StrCat("the cell was left by an exception: ", error.what());
    m.stack = absl::StrCat(cell.check.name, " ", cell.entry->name);
    m.engine_name = options.engine;
    m.entry_file = cell.entry->file;
    m.entry_line = cell.entry->line;
    m.case_json = "{}";
    outcome.mismatches.push_back(std::move(m));
    return outcome;
  }
}

void Work(const std::vector<Cell>& cells, const RunOptions& options, OrderedOutcomes& outcomes) {
  const std::unique_ptr<EngineUnderTest> engine = FindEngine(options.engine)->make();
  while (const std::optional<size_t> index = outcomes.Take()) {
    outcomes.Put(*index, RunCellSafely(cells[*index], *engine, options));
  }
}

// 3: nothing was compared, which must not look like a pass.
int ExitCodeOf(const RunEnd& end, bool failed) {
  if (failed) return 1;
  return end.comparisons == 0 && !end.interrupted ? 3 : 0;
}

RunEnd RunSelected(const std::vector<Cell>& cells, const RunOptions& options, Sink& sink) {
  const Clock::time_point started = Clock::now();
  sink.Begin(InfoOf(options, cells.size()));
  OrderedOutcomes outcomes(cells.size());
  const size_t jobs = options.jobs > 0 ? static_cast<size_t>(options.jobs)
                                       : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::min(jobs, std::max<size_t>(cells.size(), 1)); ++i) {
    workers.emplace_back([&] { Work(cells, options, outcomes); });
  }
  RunEnd end;
  bool failed = false;
  while (std::optional<CellOutcome> outcome = outcomes.Next()) {
    for (const Mismatch& mismatch : outcome->mismatches) sink.OnMismatch(mismatch);
    sink.OnCell(outcome->result);
    ++end.cells;
    end.cases += outcome->result.cases;
    end.comparisons += outcome->result.comparisons;
    end.mismatches += static_cast<int64_t>(outcome->mismatches.size());
    failed = failed || IsFailure(outcome->result.verdict);
    if (options.interrupted != nullptr && options.interrupted->load() && !end.interrupted) {
      end.interrupted = true;
      outcomes.Stop();
    }
  }
  for (std::thread& worker : workers) worker.join();
  end.exit_code = ExitCodeOf(end, failed);
  end.seconds = SecondsSince(started);
  sink.End(end);
  return end;
}

}  // namespace

absl::StatusOr<RunEnd> RunChecks(const RunOptions& options, Sink& sink) {
  const absl::Status known = KnownEngine(options.engine);
  if (!known.ok()) return known;
  absl::StatusOr<std::vector<Cell>> cells = SelectCells(options);
  if (!cells.ok()) return cells.status();
  return RunSelected(*cells, options, sink);
}

}  // namespace peelcheck
