// checks/run_cell.cc: one cell: its samples, its verdict, its shrunk mismatches; declared in
// runner.h.
//
//   RunCell({FindEntry("mul"), *FindCheck("vjp"), DType::kF64}, engine, {.samples = 20})
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "checks/numerics.h"
#include "checks/run_case.h"

namespace peelcheck {
namespace {

// How bad a verdict of a case is for its cell. Among failures the first one counts.
int Severity(Verdict verdict) {
  if (IsFailure(verdict)) return 3;
  return verdict == Verdict::kInconclusive ? 2 : verdict == Verdict::kUnsupported ? 1 : 0;
}

bool IsDerivative(TransformKind kind) { return kind != TransformKind::kVmap; }

// A gradient inside of another derivative: grad has no cotangent, so the second derivative of a
// linear function is zero in every part.
bool DifferentiatesGrad(const std::vector<TransformKind>& word) {
  const auto outer = std::find_if(word.begin(), word.end(), IsDerivative);
  return outer != word.end() &&
         std::find(outer + 1, word.end(), TransformKind::kGrad) != word.end();
}

// The entry's reference itself says that the outputs are zeros.
bool ReferenceIsZero(const Entry& entry, const CaseRequest& request) {
  if (entry.reference == nullptr) return false;
  CaseRequest plain = request;
  plain.word = {};
  const Case sample = GenerateCase(plain);
  for (const Array& output : entry.reference(sample.inputs, sample.program.attributes)) {
    for (const double value : output.ToDoubles()) {
      if (value != 0) return false;
    }
  }
  return true;
}

class CellRun {
 public:
  CellRun(const Cell& cell, EngineUnderTest& engine, const RunOptions& options)
      : cell_(cell), engine_(engine), options_(options) {
    out_.result.id = {cell.entry->name, cell.check.name, DTypeName(cell.dtype)};
  }

  CellOutcome Run() {
    const auto started = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < options_.samples; ++i) {
      RunSample(i);
      if (options_.stop_at_failure && IsFailure(out_.result.verdict)) break;
    }
    Conclude();
    const auto taken = std::chrono::steady_clock::now() - started;
    out_.result.seconds = std::chrono::duration<double>(taken).count();
    return std::move(out_);
  }

 private:
  CaseRequest RequestOf(int64_t index) const {
    return {.entry = cell_.entry,
            .word = cell_.check.word,
            .dtype = cell_.dtype,
            .seed = options_.seed,
            .check = cell_.check.name,
            .index = index,
            .style = options_.style};
  }
  CaseContext ContextOf(int64_t index) const {
    return {*cell_.entry, cell_.dtype, engine_, DirectionSeed(options_.seed, index), index == 0};
  }

  void RunSample(int64_t index) {
    Case sample;
    try {
      sample = GenerateCase(RequestOf(index));
    } catch (const std::exception& error) {
      // The operation refuses what its own descriptor calls legal.
      Note(Verdict::kWrongError);
      ReportWithoutSample(
          index, Verdict::kWrongError, "generator",
          absl::StrCat("the operation refuses a sample of its own descriptor: ", error.what()));
      return;
    }
    CaseOutcome outcome = RunCase(ContextOf(index), sample);
    const Judgement& judgement = outcome.judgement;
    out_.result.comparisons += judgement.comparisons;
    out_.result.worst_error = std::max(out_.result.worst_error, judgement.worst_ratio);
    any_nonzero_ = any_nonzero_ || judgement.any_nonzero;
    if (outcome.verdict == Verdict::kInconclusive && undecided_ < 0) {
      undecided_ = index;
      undecided_reason_ = judgement.inconclusive;
    }
    if (judgement.finding.has_value()) Report(index, sample, outcome);
    Note(outcome.verdict);
  }

  void Note(Verdict verdict) {
    ++out_.result.cases;
    ++out_.result.verdicts[VerdictName(verdict)];
    if (Severity(verdict) > Severity(out_.result.verdict)) out_.result.verdict = verdict;
  }

  bool FirstOf(const CaseOutcome& outcome) {
    return told_.insert({outcome.verdict, outcome.judgement.finding->oracle}).second;
  }

  // The first of each (verdict, oracle) is confirmed, shrunk and told; the others are counted.
  void Report(int64_t index, const Case& sample, CaseOutcome& outcome) {
    if (!FirstOf(outcome)) return;
    const CaseContext context = ContextOf(index);
    const CaseOutcome again = RunCase(context, sample);
    if (again.verdict != outcome.verdict) {
      outcome.judgement.finding->evidence.push_back(
          absl::StrCat("a first run gave ", VerdictName(outcome.verdict), ", a second ",
                       VerdictName(again.verdict), ": not shrunk"));
      outcome.verdict = outcome.judgement.finding->verdict = Verdict::kNondeterministic;
      Tell(index, sample, outcome);
      return;
    }
    const ShrinkOutcome shrunk = ShrinkFailure(context, RequestOf(index), outcome, options_.shrink);
    CaseOutcome smallest = RunCase(context, shrunk.smallest);
    const bool stable = smallest.judgement.finding.has_value();
    if (!stable) smallest = outcome;
    smallest.judgement.finding->evidence.push_back(
        absl::StrCat("shrunk in ", shrunk.steps, " steps, ", shrunk.tries, " tries",
                     shrunk.exhausted ? ", until the budget ended" : ""));
    Tell(index, stable ? shrunk.smallest : sample, smallest);
  }

  void Tell(int64_t index, const Case& sample, const CaseOutcome& outcome) {
    out_.mismatches.push_back(
        ExplainMismatch(ContextOf(index), out_.result.id, sample, outcome, options_, index));
  }

  void ReportWithoutSample(int64_t index, Verdict verdict, const std::string& oracle,
                           const std::string& summary) {
    if (!told_.insert({verdict, oracle}).second) return;
    Mismatch m{.id = out_.result.id, .verdict = verdict, .case_index = index, .oracle = oracle};
    m.summary = summary;
    m.stack = absl::StrCat(cell_.check.name, " ", cell_.entry->name);
    m.engine_name = engine_.name();
    m.entry_file = cell_.entry->file;
    m.entry_line = cell_.entry->line;
    m.token = MakeToken(m.id, options_.seed, index);
    m.replay_command = absl::StrCat(options_.program, " replay ", m.token);
    m.case_json = "{}";
    out_.mismatches.push_back(std::move(m));
  }

  // Whether zeros compared with zeros are what the cell is about.
  bool MayBeZero() const {
    const std::vector<TransformKind>& word = cell_.check.word;
    if (std::none_of(word.begin(), word.end(), IsDerivative)) {
      return cell_.entry->zero_derivative && ReferenceIsZero(*cell_.entry, RequestOf(0));
    }
    const bool sums = std::find(word.begin(), word.end(), TransformKind::kGrad) != word.end();
    return cell_.entry->zero_derivative || (cell_.entry->constant_sum && sums) ||
           DifferentiatesGrad(word);
  }

  void Conclude() {
    CellResult& result = out_.result;
    const auto entry = result.verdicts.find(VerdictName(Verdict::kInconclusive));
    const int64_t undecided = entry == result.verdicts.end() ? 0 : entry->second;
    if (result.verdict == Verdict::kInconclusive) {
      const bool many =
          static_cast<double>(undecided) > kInconclusiveShare * static_cast<double>(result.cases);
      if (undecided == result.cases || (many && undecided >= kInconclusiveCases)) {
        ReportWithoutSample(
            undecided_, Verdict::kInconclusive, "finite difference",
            absl::StrCat(undecided, " of ", result.cases,
                         " cases could not be decided; the first: ", undecided_reason_));
        return;
      }
      result.verdict = Verdict::kPass;
    }
    if (result.verdict != Verdict::kPass) return;
    if (result.comparisons == 0 || (!any_nonzero_ && !MayBeZero())) {
      result.verdict = Verdict::kVacuous;
    }
  }

  const Cell& cell_;
  EngineUnderTest& engine_;
  const RunOptions& options_;
  CellOutcome out_;
  bool any_nonzero_ = false;
  int64_t undecided_ = -1;  // the first inconclusive case
  std::string undecided_reason_;
  std::set<std::pair<Verdict, std::string>> told_;
};

}  // namespace

CellOutcome RunCell(const Cell& cell, EngineUnderTest& engine, const RunOptions& options) {
  return CellRun(cell, engine, options).Run();
}

}  // namespace peelcheck
