// checks/mismatch.cc: tells a failing case: what the report shows, and what replays it; declared in
// run_case.h.
//
//   ExplainMismatch(..).inputs[0] == "x = f64[3] {1, 2, 3}"
#include <absl/strings/str_cat.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "checks/run_case.h"
#include "opinfo_db/json.h"

namespace peelcheck {
namespace {

constexpr int64_t kShownElements = 40;

// Names of the inputs. Where the plain call failed its outputs are not known: one is assumed, and
// what comes after it is called by number.
std::vector<std::string> InputNamesOf(const Entry& entry, const Case& sample, Signature operation) {
  if (operation.inputs.empty()) {
    for (size_t i = 0; i < entry.arguments.size() && i < sample.inputs.size(); ++i) {
      operation.inputs.push_back({sample.inputs[i].dtype(), sample.inputs[i].shape()});
    }
  }
  if (operation.outputs.empty()) operation.outputs.resize(1);
  return NamesOf(entry, sample.program, operation).inputs;
}

void FillNumbers(const Finding& finding, Mismatch& m) {
  const Comparison& comparison = finding.comparison;
  m.compared = comparison.compared;
  m.differing = comparison.differing;
  if (comparison.worst < 0) return;
  const Shape& shape = finding.oracle_value.shape();
  m.first_index = IndexOf(shape, std::max<int64_t>(comparison.first, 0));
  m.worst_index = IndexOf(shape, comparison.worst);
  m.worst_engine_value = finding.engine.DoubleAt(comparison.worst);
  m.worst_oracle_value = finding.oracle_value.DoubleAt(comparison.worst);
  m.absolute_error = std::abs(m.worst_engine_value - m.worst_oracle_value);
  // Relative to the larger side: an oracle of 0 would make every error infinite.
  const double size = std::max(std::abs(m.worst_engine_value), std::abs(m.worst_oracle_value));
  m.relative_error = size > 0 ? m.absolute_error / size : 0.0;
  m.bound = finding.bound;
}

}  // namespace

std::string CaseToJson(const CellId& id, const Case& sample, const std::string& engine,
                       const std::string& token) {
  nlohmann::ordered_json json = {{"version", 1},      {"engine", engine},
                                 {"op", id.op},       {"check", id.check},
                                 {"dtype", id.dtype}, {"sample_class", sample.sample_class},
                                 {"token", token}};
  json["program"] = ProgramToJson(ProgramWithInputs{sample.program, sample.inputs});
  return json.dump();
}

Mismatch ExplainMismatch(const CaseContext& context, const CellId& id, const Case& sample,
                         const CaseOutcome& outcome, const RunOptions& options,
                         int64_t case_index) {
  const Finding& finding = *outcome.judgement.finding;
  Mismatch m{
      .id = id, .verdict = outcome.verdict, .case_index = case_index, .oracle = finding.oracle};
  m.stack = ProgramToString(sample.program);
  m.summary = finding.summary;
  m.sample_class = sample.sample_class;
  const std::vector<std::string> names = InputNamesOf(context.entry, sample, outcome.operation);
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    m.inputs.push_back(
        absl::StrCat(NameAt(names, i, "input"), " = ", sample.inputs[i].ToString(kShownElements)));
  }
  for (const auto& [name, value] : sample.program.attributes) {
    m.attributes.push_back(absl::StrCat(name, " = ", AttributeToString(value)));
  }
  m.engine_name = context.engine.name();
  if (finding.engine.defined()) m.engine_result = finding.engine.ToString(kShownElements);
  if (finding.oracle_value.defined() && finding.comparison.structure.empty()) {
    m.oracle_result = finding.oracle_value.ToString(kShownElements);
  }
  m.output_index = finding.output_index;
  m.output_name = finding.output_name;
  FillNumbers(finding, m);
  m.evidence = finding.evidence;
  m.entry_file = context.entry.file;
  m.entry_line = context.entry.line;
  m.token = MakeToken(id, options.seed, case_index);
  m.replay_command = absl::StrCat(options.program, " replay ", m.token);
  m.case_json = CaseToJson(id, sample, m.engine_name, m.token);
  return m;
}

}  // namespace peelcheck
