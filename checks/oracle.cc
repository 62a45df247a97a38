// checks/oracle.cc: how findings are noted, and what oracles need of a case; see oracle.h.
#include "checks/oracle.h"

#include <absl/strings/str_cat.h>

namespace peelcheck {
namespace {

std::string OutputName(const CheckedCase& c, size_t o) {
  return NameAt(NamesOf(c.entry, c.sample.program, c.operation).outputs, o, "output");
}

}  // namespace

void Judgement::Compare(const CheckedCase& c, const std::string& oracle, size_t o,
                        const Array& expected, std::span<const double> bounds,
                        const std::string& evidence) {
  Comparison comparison = CompareArrays(c.outputs[o], expected, bounds);
  comparisons += comparison.compared;
  any_nonzero = any_nonzero || comparison.any_nonzero;
  worst_ratio = std::max(worst_ratio, comparison.worst_ratio);
  if (comparison.ok() || finding.has_value()) return;
  // Names are only made up for a failure: they cost more than the comparison.
  const std::string name = OutputName(c, o);
  Finding found{
      .oracle = oracle,
      .summary = comparison.structure.empty()
                     ? absl::StrCat(name, " differs from the ", oracle, " in ",
                                    comparison.differing, " of ", comparison.compared, " elements")
                     : absl::StrCat(name, " ", comparison.structure),
      .output_name = name,
      .output_index = static_cast<int64_t>(o),
      .engine = c.outputs[o],
      .oracle_value = expected};
  if (comparison.worst >= 0) found.bound = bounds[static_cast<size_t>(comparison.worst)];
  if (!evidence.empty()) found.evidence.push_back(evidence);
  found.comparison = std::move(comparison);
  finding = std::move(found);
}

bool Judgement::CheckCount(const CheckedCase& c, const std::string& oracle, size_t expected) {
  if (c.outputs.size() == expected) return true;
  if (!finding.has_value()) {
    finding =
        Finding{.oracle = oracle,
                .summary = absl::StrCat(c.outputs.size(), " outputs came; expected ", expected)};
  }
  return false;
}

void Judgement::NotePeeledError(const std::string& oracle, const Program& program,
                                const absl::Status& status) {
  if (finding.has_value()) return;
  const bool crash = status.code() == absl::StatusCode::kUnknown;
  finding = Finding{
      .verdict = crash ? Verdict::kCrash : Verdict::kWrongError,
      .oracle = oracle,
      .summary = absl::StrCat("the engine runs the whole program but fails on its part `",
                              ProgramToString(program), "`: ", std::string(status.message()))};
}

void Judgement::NoteUseless(const std::string& evidence) {
  if (inconclusive.empty()) inconclusive = "ill-conditioned or at a kink: " + evidence;
}

void Judgement::Merge(Judgement other) {
  comparisons += other.comparisons;
  any_nonzero = any_nonzero || other.any_nonzero;
  worst_ratio = std::max(worst_ratio, other.worst_ratio);
  if (!finding.has_value()) finding = std::move(other.finding);
  if (inconclusive.empty()) inconclusive = std::move(other.inconclusive);
}

PeeledProgram PeelCase(const CheckedCase& c) {
  const std::vector<int64_t> counts = InputCounts(
      c.sample.program, static_cast<int64_t>(c.entry.arguments.size()), c.sample.inputs);
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
    for (const int64_t argnum : *t.argnums) {
      result.push_back(static_cast<size_t>(argnum < 0 ? argnum + count : argnum));
    }
    return result;
  }
  for (size_t i = 0; i < primal_count; ++i) {
    if (IsFloating(c.sample.inputs[i].dtype())) result.push_back(i);
  }
  return result;
}

}  // namespace peelcheck
