// peelcheck run: the main job.
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "checks/runner.h"
#include "cli/commands.h"
#include "cli/report_options.h"

namespace peelcheck {
namespace {

constexpr uint64_t kCiSeed = 1;

struct Options {
  RunOptions run;
  std::vector<std::string> dtypes = {"f64", "f32"};
  uint64_t seed = 0;
  CLI::Option* seed_given = nullptr;
  std::string out = "out";
};

int Run(Options& options) {
  RunOptions& run = options.run;
  run.program = program_path;
  run.seed = kCiSeed;
  if (options.seed_given->count() > 0) {
    run.seed = options.seed;
  } else if (run.profile == "dev") {
    run.seed = std::random_device{}();
    std::fprintf(stderr, "peelcheck: seed %llu (repeat with --seed)\n",
                 static_cast<unsigned long long>(run.seed));
  }
  absl::StatusOr<std::vector<DType>> dtypes = ParseDTypes(options.dtypes);
  if (!dtypes.ok()) return UsageError(std::string(dtypes.status().message()));
  run.dtypes = *dtypes;
  if (FindEngine(run.engine) == nullptr) {
    return UsageError("unknown engine \"" + run.engine + "\"; see `peelcheck list engines`");
  }
  // Before a report is opened: a run that cannot start must not overwrite the last one.
  const absl::StatusOr<std::vector<Cell>> cells = SelectCells(run);
  if (!cells.ok()) return UsageError(std::string(cells.status().message()));
  auto reports = RunReports::Open(options.out);
  if (!reports.ok()) {
    std::fprintf(stderr, "peelcheck: %s\n", std::string(reports.status().message()).c_str());
    return kExitInfrastructure;
  }
  HandleInterrupts();
  run.interrupted = &Interrupted();
  return FinishRun(RunChecks(run, (*reports)->sink()), **reports);
}

}  // namespace

void AddRunCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  RunOptions& run = options->run;
  CLI::App* command =
      app.add_subcommand("run", "Check operations on an engine and write the reports");
  command->add_option("--engine", run.engine, "The engine under test")->capture_default_str();
  command->add_option("--op", run.ops, "Operations, as globs")
      ->delimiter(',')
      ->type_name("GLOB,..");
  command
      ->add_option("--check", run.checks,
                   "Checks, as globs over the named ones, or any word such as vmapvmapvjp")
      ->delimiter(',')
      ->type_name("GLOB,..");
  command
      ->add_option("--depth", run.depth,
                   "And every word over grad, vjp, jvp, vmap up to this length")
      ->check(CLI::Range(0, 5));
  command->add_option("--dtype", options->dtypes, "f64, f32")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--samples", run.samples, "Samples of each operation x check x dtype")
      ->capture_default_str();
  options->seed_given = command->add_option("--seed", options->seed,
                                            "Seed of all random streams (ci: 1; dev: drawn)");
  command->add_option("--jobs", run.jobs, "Threads; 0 = one per processor")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--profile", run.profile,
                   "ci: the same on every machine; dev: a new seed each time")
      ->check(CLI::IsMember({"ci", "dev"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "Folder for results.jsonl, junit.xml and mismatches/")
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  peelcheck run                                     everything that is named\n"
      "  peelcheck run --op CubeGenVmap --check vjpvjp     one cell, both dtypes\n"
      "  peelcheck run --op 'Opaque*,mul' --depth 3 --dtype f64 --samples 5\n"
      "  peelcheck run --profile dev --samples 200         a longer look with a new seed");
  command->callback([options, exit_code] { *exit_code = Run(*options); });
}

}  // namespace peelcheck
