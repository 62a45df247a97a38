#include "reports/jsonl_sink.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no nan and no infinities.
Json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JsonlSink>> JsonlSink::Open(const std::string& path) {
  errno = 0;
  std::unique_ptr<JsonlSink> sink(new JsonlSink(path));
  if (!sink->file_)
    return absl::UnavailableError("cannot write " + path + ": " + std::strerror(errno));
  return sink;
}

absl::Status JsonlSink::status() const {
  if (file_.good()) return absl::OkStatus();
  return absl::UnavailableError("writing " + path_ +
                                " failed: the disk may be full; the report is incomplete");
}

void JsonlSink::Write(const Json& record) { file_ << record.dump() << "\n" << std::flush; }

void JsonlSink::Begin(const RunInfo& info) {
  Json options = Json::object();
  for (const auto& [name, value] : info.options) options[name] = value;
  Write({{"record", "run"},
         {"schema", kResultsSchemaVersion},
         {"version", info.version},
         {"engine", info.engine},
         {"profile", info.profile},
         {"seed", info.seed},
         {"cells", info.cell_count},
         {"options", options}});
}

void JsonlSink::OnCell(const CellResult& cell) {
  Json verdicts = Json::object();
  for (const auto& [name, count] : cell.verdicts) verdicts[name] = count;
  Write({{"record", "cell"},
         {"op", cell.id.op},
         {"check", cell.id.check},
         {"dtype", cell.id.dtype},
         {"cases", cell.cases},
         {"comparisons", cell.comparisons},
         {"verdict", VerdictName(cell.verdict)},
         {"verdicts", verdicts},
         {"worst_error", Number(cell.worst_error)},
         {"seconds", Number(cell.seconds)}});
}

void JsonlSink::OnMismatch(const Mismatch& m) {
  Json replayable = Json::parse(m.case_json, nullptr, /*allow_exceptions=*/false);
  Write({{"record", "mismatch"},
         {"op", m.id.op},
         {"check", m.id.check},
         {"dtype", m.id.dtype},
         {"verdict", VerdictName(m.verdict)},
         {"case_index", m.case_index},
         {"oracle", m.oracle},
         {"stack", m.stack},
         {"summary", m.summary},
         {"sample_class", m.sample_class},
         {"attributes", m.attributes},
         {"inputs", m.inputs},
         {"engine", m.engine_name},
         {"engine_result", m.engine_result},
         {"oracle_result", m.oracle_result},
         {"output_index", m.output_index},
         {"output_name", m.output_name},
         {"first_index", m.first_index},
         {"worst_index", m.worst_index},
         {"differing", m.differing},
         {"compared", m.compared},
         {"worst_engine_value", Number(m.worst_engine_value)},
         {"worst_oracle_value", Number(m.worst_oracle_value)},
         {"absolute_error", Number(m.absolute_error)},
         {"relative_error", Number(m.relative_error)},
         {"bound", Number(m.bound)},
         {"evidence", m.evidence},
         {"entry_file", m.entry_file},
         {"entry_line", m.entry_line},
         {"token", m.token},
         {"replay_command", m.replay_command},
         {"case", replayable.is_discarded() ? Json() : replayable}});
}

void JsonlSink::End(const RunEnd& end) {
  Write({{"record", "end"},
         {"interrupted", end.interrupted},
         {"exit_code", end.exit_code},
         {"cells", end.cells},
         {"cases", end.cases},
         {"comparisons", end.comparisons},
         {"mismatches", end.mismatches},
         {"seconds", Number(end.seconds)}});
}

}  // namespace peelcheck
