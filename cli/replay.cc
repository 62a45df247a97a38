// peelcheck replay: one case of an earlier run again, from its token or from its file.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "checks/runner.h"
#include "cli/commands.h"
#include "cli/report_options.h"

namespace peelcheck {
namespace {

int Replay(const std::string& what, RunOptions run) {
  run.program = program_path;
  if (FindEngine(run.engine) == nullptr) {
    return UsageError("unknown engine \"" + run.engine + "\"; see `peelcheck list engines`");
  }
  auto reports = RunReports::Open("");
  if (!reports.ok()) return kExitInfrastructure;
  Sink& sink = (*reports)->sink();
  std::ifstream file(what, std::ios::binary);
  if (file) {
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return FinishRun(ReplayCase(text, run, sink), **reports);
  }
  if (what.find(':') == std::string::npos) {
    return UsageError("\"" + what +
                      "\" is no file and no token; expected a mismatch file or "
                      "peelcheck-1:op:check:dtype:seed:case");
  }
  return FinishRun(ReplayToken(what, run, sink), **reports);
}

}  // namespace

void AddReplayCommand(CLI::App& app, int* exit_code) {
  struct Options {
    std::string what;
    RunOptions run;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("replay", "Run one case of a report again");
  command->add_option("case", options->what, "The token or the file that a mismatch names")
      ->required();
  command->add_option("--engine", options->run.engine, "The engine under test")
      ->capture_default_str();
  command->footer(
      "A token draws the case again from its seed; a file holds the values themselves.\n"
      "Examples:\n"
      "  peelcheck replay peelcheck-1:mul:vmapvjp:f64:42:7\n"
      "  peelcheck replay out/mismatches/1-mul-vmapvjp-f64.json");
  command->callback([options, exit_code] { *exit_code = Replay(options->what, options->run); });
}

}  // namespace peelcheck
