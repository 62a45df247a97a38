// cli/commands.h: the subcommands of the peelcheck program; one file each, cli/<name>.cc.
//
// A command adds itself to the program; when it was chosen on the command line its callback runs
// and leaves its exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace peelcheck {

enum ExitCode : int {
  kExitOk = 0,
  kExitMismatches = 1,
  kExitUsage = 2,           // the command line or an input file is wrong; nothing was written
  kExitVacuous = 3,         // nothing was compared
  kExitInfrastructure = 4,  // a report could not be written
};

void AddRunCommand(CLI::App& app, int* exit_code);
void AddListCommand(CLI::App& app, int* exit_code);
void AddEvalCommand(CLI::App& app, int* exit_code);
void AddReplayCommand(CLI::App& app, int* exit_code);
void AddFaultsCommand(CLI::App& app, int* exit_code);
void AddLintCommand(CLI::App& app, int* exit_code);
void AddCoverageCommand(CLI::App& app, int* exit_code);

// "peelcheck: <message>" in one line on stderr; returns kExitUsage.
int UsageError(const std::string& message);

// How this program was called, for the commands that reports print.
extern std::string program_path;

}  // namespace peelcheck
