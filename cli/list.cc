// peelcheck list: what there is to run: operations, checks, engines, dtypes.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/engine_under_test.h"
#include "cli/commands.h"
#include "faults/catalogue.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

Json ListOps() {
  Json rows = Json::array();
  for (const Entry* entry : AllEntries()) {
    rows.push_back({{"name", entry->name},
                    {"formula", entry->formula},
                    {"custom_function", entry->custom_function},
                    {"reference", entry->reference != nullptr},
                    {"file", entry->file},
                    {"line", entry->line}});
  }
  return rows;
}

Json ListChecks() {
  Json rows = Json::array();
  for (const Check& check : NamedChecks())
    rows.push_back({{"name", check.name}, {"description", check.description}});
  return rows;
}

Json ListFaults() {
  Json rows = Json::array();
  for (const SeededFault& fault : FaultCatalogue()) {
    rows.push_back({{"name", fault.name},
                    {"kind", FaultKindName(fault.kind)},
                    {"description", fault.description},
                    {"report", fault.report}});
  }
  return rows;
}

Json ListEngines() {
  Json rows = Json::array();
  for (const EngineInfo& engine : AllEngines()) {
    rows.push_back({{"name", engine.name}, {"description", engine.description}});
  }
  return rows;
}

Json ListDTypes() {
  return Json::array(
      {{{"name", "f64"}, {"description", "IEEE double: compared with finite differences"}},
       {{"name", "f32"}, {"description", "IEEE single: compared with the same program in f64"}}});
}

void Print(const Json& rows, bool json) {
  if (json) {
    std::printf("%s\n", rows.dump(2).c_str());
    return;
  }
  for (const Json& row : rows) {
    const std::string text = row.contains("formula") ? row["formula"] : row["description"];
    std::printf("%-28s %s\n", row["name"].get<std::string>().c_str(), text.c_str());
  }
}

}  // namespace

void AddListCommand(CLI::App& app, int* exit_code) {
  struct Options {
    std::string what;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("list", "List what there is to run");
  command->add_option("what", options->what, "ops, checks, engines, faults or dtypes")
      ->required()
      ->check(CLI::IsMember({"ops", "checks", "engines", "faults", "dtypes"}));
  command->add_flag("--json", options->json, "As a JSON array, with every field");
  command->footer("Examples:\n  peelcheck list ops | wc -l\n  peelcheck list checks --json");
  command->callback([options, exit_code] {
    Json rows = options->what == "ops"       ? ListOps()
                : options->what == "checks"  ? ListChecks()
                : options->what == "engines" ? ListEngines()
                : options->what == "faults"  ? ListFaults()
                                             : ListDTypes();
    Print(rows, options->json);
    *exit_code = kExitOk;
  });
}

}  // namespace peelcheck
