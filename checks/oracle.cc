#include "checks/oracle.h"

#include <absl/strings/str_cat.h>

namespace peelcheck {

void Judgement::Compare(const std::string& oracle, const std::string& output_name, int64_t output_index, const Array& engine,
                        const Array& expected, std::span<const double> bounds, const std::string& evidence) {
  Comparison comparison = CompareArrays(engine, expected, bounds);
  comparisons += comparison.compared;
  any_nonzero = any_nonzero || comparison.any_nonzero;
  worst_ratio = std::max(worst_ratio, comparison.worst_ratio);
  if (comparison.ok() || finding.has_value()) return;
  Finding found{.oracle = oracle, .output_name = output_name, .output_index = output_index, .engine = engine, .oracle_value = expected};
  found.summary = comparison.structure.empty()
                      ? absl::StrCat(output_name, " differs from the ", oracle, " in ", comparison.differing, " of ",
                                     comparison.compared, " elements")
                      : absl::StrCat(output_name, " ", comparison.structure);
  if (comparison.worst >= 0) found.bound = bounds[static_cast<size_t>(comparison.worst)];
  if (!evidence.empty()) found.evidence.push_back(evidence);
  found.comparison = std::move(comparison);
  finding = std::move(found);
}

bool Judgement::CheckCount(const std::string& oracle, size_t came, size_t expected) {
  if (came == expected) return true;
  if (!finding.has_value()) {
    finding = Finding{.oracle = oracle, .summary = absl::StrCat(came, " outputs came; expected ", expected)};
  }
  return false;
}

void Judgement::NotePeeledError(const std::string& oracle, const Program& program, const absl::Status& status) {
  if (finding.has_value()) return;
  finding = Finding{.verdict = status.code() == absl::StatusCode::kUnknown ? Verdict::kCrash : Verdict::kWrongError,
                    .oracle = oracle,
                    .summary = absl::StrCat("the engine runs the whole program but fails on its part `", ProgramToString(program),
                                            "`: ", std::string(status.message()))};
}

PeeledProgram PeelCase(const CheckedCase& c) {
  const std::vector<int64_t> counts =
      InputCounts(c.sample.program, static_cast<int64_t>(c.entry.arguments.size()), c.sample.inputs);
  return {Peeled(c.sample.program), static_cast<size_t>(counts[counts.size() - 2])};
}

BlackBox Differenced(const CheckedCase& c, const Program& program) {
  Program differenced = program;
  if (c.entry.surrogate != nullptr) differenced.op += "#surrogate";
  return [&engine = c.engine, differenced = std::move(differenced)](std::span<const Array> inputs) {
    return engine.Run(differenced, inputs);
  };
}

std::vector<size_t> OutermostArgnums(const CheckedCase& c, size_t primal_count) {
  const Transform& t = c.sample.program.stack.front();
  std::vector<size_t> result;
  if (t.argnums.has_value()) {
    const auto count = static_cast<int64_t>(primal_count);
    for (int64_t argnum : *t.argnums) result.push_back(static_cast<size_t>(argnum < 0 ? argnum + count : argnum));
    return result;
  }
  for (size_t i = 0; i < primal_count; ++i) {
    if (IsFloating(c.sample.inputs[i].dtype())) result.push_back(i);
  }
  return result;
}

std::vector<std::string> InputNames(const Entry& entry, const Program& program, std::span<const Array> inputs) {
  const std::vector<int64_t> counts = InputCounts(program, static_cast<int64_t>(entry.arguments.size()), inputs);
  std::vector<std::string> names;
  for (const Argument& argument : entry.arguments) names.push_back(argument.name);
  for (size_t i = 1; i < counts.size(); ++i) {
    const bool jvp = program.stack[program.stack.size() - i].kind == TransformKind::kJvp;
    for (int64_t k = 0; k < counts[i] - counts[i - 1]; ++k) {
      const std::string where = counts.size() > 2 ? absl::StrCat(" of transform ", i, " from the inside") : "";
      names.push_back(absl::StrCat(jvp ? "tangent " : "cotangent ", k, where));
    }
  }
  return names;
}

}  // namespace peelcheck
