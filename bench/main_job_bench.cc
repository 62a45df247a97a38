// The main job: cells and cases per second, all operations x named checks, with one job and with
// two.
//
//   build/release/main_job_bench
//   build/release/main_job_bench --benchmark_filter=autograd   the custom functions only
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "checks/runner.h"

namespace peelcheck {
namespace {

class NullSink : public Sink {
 public:
  void Begin(const RunInfo&) override {}
  void OnMismatch(const Mismatch&) override {}
  void OnCell(const CellResult&) override {}
  void End(const RunEnd&) override {}
};

void RunJob(benchmark::State& state, RunOptions options) {
  NullSink sink;
  int64_t cells = 0;
  int64_t cases = 0;
  for (auto _ : state) {
    const absl::StatusOr<RunEnd> end = RunChecks(options, sink);
    if (!end.ok() || end->exit_code != 0) {
      state.SkipWithError("the run failed");
      return;
    }
    cells += end->cells;
    cases += end->cases;
  }
  state.counters["cells/s"] =
      benchmark::Counter(static_cast<double>(cells), benchmark::Counter::kIsRate);
  state.counters["cases/s"] =
      benchmark::Counter(static_cast<double>(cases), benchmark::Counter::kIsRate);
}

void RegisterAll() {
  for (int jobs : {1, 2}) {
    RunOptions everything;
    everything.depth = 2;
    everything.jobs = jobs;
    RunOptions autograd = everything;
    autograd.depth = 0;
    for (const Entry* entry : AllEntries()) {
      if (entry->custom_function) autograd.ops.push_back(entry->name);
    }
    const std::string suffix = "/jobs:" + std::to_string(jobs);
    for (const auto& [name, options] :
         {std::pair{"everything", everything}, std::pair{"autograd_functions", autograd}}) {
      benchmark::RegisterBenchmark((name + suffix).c_str(), RunJob, options)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace peelcheck

int main(int argc, char** argv) {
  peelcheck::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
