// The peelcheck program. Its subcommands stand in cli/<name>.cc.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace peelcheck {

std::string program_path = "peelcheck";

int UsageError(const std::string& message) {
  std::fprintf(stderr, "peelcheck: %s\n", message.c_str());
  return kExitUsage;
}

namespace {

int Main(int argc, char** argv) {
  program_path = argv[0];
  CLI::App app{
      "Checks engines of composable function transforms (grad, vjp, jvp, vmap, nested) against "
      "independent oracles."};
  app.name("peelcheck");
  app.set_version_flag("--version", std::string("peelcheck ") + PEELCHECK_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  peelcheck run                                   all operations, all named checks\n"
      "  peelcheck run --op 'Opaque*' --check vmapvjp    some of them\n"
      "  peelcheck list ops\n"
      "Exit codes: 0 ok, 1 mismatches, 2 usage, 3 nothing was compared, 4 a report could not be "
      "written.");
  int exit_code = kExitOk;
  AddRunCommand(app, &exit_code);
  AddListCommand(app, &exit_code);
  AddEvalCommand(app, &exit_code);
  AddReplayCommand(app, &exit_code);
  AddFaultsCommand(app, &exit_code);
  AddLintCommand(app, &exit_code);
  AddCoverageCommand(app, &exit_code);
  // Of a wrong command CLI11 would only say that one is missing.
  if (argc > 1 && argv[1][0] != '-') {
    const std::vector<CLI::App*> commands =
        app.get_subcommands([&](CLI::App* c) { return c->get_name() == argv[1]; });
    if (commands.empty()) {
      return UsageError(std::string("unknown command \"") + argv[1] +
                        "\"; expected run, list, eval, replay, faults, lint or coverage: see `peelcheck --help`");
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return UsageError(std::string(error.what()) + "; see `peelcheck --help`");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peelcheck: %s\n", error.what());
    return kExitInfrastructure;
  }
  return exit_code;
}

}  // namespace
}  // namespace peelcheck

int main(int argc, char** argv) { return peelcheck::Main(argc, argv); }
