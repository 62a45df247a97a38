// checks/run_case.cc: what is asked of every case, in the order in which a failure explains itself
// best; see run_case.h.
//
//   supported? -> runs, inputs unchanged -> refused where it must be -> no error -> the same twice
//   -> number, shapes and dtypes of the outputs -> the oracle of the outermost transform
#include "checks/run_case.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "checks/guarded_engine.h"
#include "checks/plain_call.h"

namespace peelcheck {
namespace {

using Outputs = absl::StatusOr<std::vector<Array>>;

// An outcome that no oracle was needed for.
CaseOutcome Failure(Verdict verdict, const std::string& summary, const std::string& oracle) {
  CaseOutcome outcome{.verdict = verdict, .judgement = {}, .operation = {}};
  outcome.judgement.finding = Finding{.verdict = verdict, .oracle = oracle, .summary = summary};
  return outcome;
}

std::string Raised(const absl::Status& status) {
  return absl::StrCat("raised ", absl::StatusCodeToString(status.code()), ": ",
                      std::string(status.message()));
}

CaseOutcome ErrorFailure(const absl::Status& status, const std::string& summary,
                         const std::string& oracle) {
  const bool crash = status.code() == absl::StatusCode::kUnknown;
  return Failure(crash ? Verdict::kCrash : Verdict::kWrongError, summary, oracle);
}

// What a function that is not composable must refuse: vmap, jvp, and a second derivative.
bool MustRefuse(const Entry& entry, const Program& program) {
  if (entry.composable || program.stack.empty()) return false;
  const TransformKind outermost = program.stack[0].kind;
  return program.stack.size() > 1 || outermost == TransformKind::kVmap ||
         outermost == TransformKind::kJvp;
}

CaseOutcome JudgeRefusal(const Outputs& outputs) {
  constexpr const char* kOracle = "declared refusal";
  if (outputs.ok()) {
    return Failure(Verdict::kWrongError,
                   "the function is declared not composable, but the engine composed it; expected "
                   "unimplemented or failed_precondition",
                   kOracle);
  }
  const absl::StatusCode code = outputs.status().code();
  if (code != absl::StatusCode::kUnimplemented && code != absl::StatusCode::kFailedPrecondition) {
    return ErrorFailure(
        outputs.status(),
        absl::StrCat(Raised(outputs.status()), "; expected unimplemented or failed_precondition"),
        kOracle);
  }
  CaseOutcome outcome;
  outcome.judgement.comparisons = 1;
  outcome.judgement.any_nonzero = true;
  return outcome;
}

// The program failed; what the plain call does says whose fault it is.
CaseOutcome JudgeError(const absl::Status& status, const PlainCall& plain, bool is_plain) {
  CaseOutcome outcome = ErrorFailure(status, Raised(status), "legal sample");
  outcome.operation = plain.signature;
  if (!is_plain) {
    outcome.judgement.finding->evidence.push_back(
        plain.status.ok() ? "the plain call on one slot of this sample succeeds"
                          : absl::StrCat("the plain call fails too: ", Raised(plain.status)));
  }
  return outcome;
}

std::vector<Array> Copies(const std::vector<Array>& arrays) {
  std::vector<Array> copies;
  for (const Array& array : arrays) copies.push_back(array.Copy());
  return copies;
}

bool SameBits(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.BitEquals(y); });
}

Judgement AskOracles(const CheckedCase& c) {
  const std::vector<Transform>& stack = c.sample.program.stack;
  if (stack.empty()) return AgainstReference(c);
  const bool mapped = stack[0].kind == TransformKind::kVmap;
  if (c.dtype == DType::kF32) {
    Judgement judgement = mapped ? AgainstLoop(c) : Judgement();
    judgement.Merge(AgainstShadow(c));
    return judgement;
  }
  if (mapped) return AgainstLoop(c);
  return stack[0].kind == TransformKind::kJvp ? AgainstDifference(c) : AgainstAdjoint(c);
}

CaseOutcome JudgeOutputs(const CaseContext& context, const Case& sample,
                         const std::vector<Array>& outputs, const PlainCall& plain) {
  CaseOutcome outcome;
  outcome.operation = plain.signature;
  const CheckedCase c{context.entry, context.dtype,   sample,      context.engine,
                      outputs,       plain.signature, context.seed};
  if (!sample.program.stack.empty() && plain.status.ok()) outcome.judgement = AgainstSignature(c);
  // Values of a wrong shape would only be reported as a puzzle.
  if (!outcome.judgement.finding.has_value()) {
    outcome.judgement = AskOracles(c);
    if (outcome.judgement.finding.has_value()) {
      outcome.judgement.finding->evidence.push_back(LawsVote(c));
    } else {
      outcome.judgement.Merge(AskOneLaw(c));
    }
  }
  if (outcome.judgement.finding.has_value()) {
    outcome.verdict = outcome.judgement.finding->verdict;
  } else if (!outcome.judgement.inconclusive.empty()) {
    outcome.verdict = Verdict::kInconclusive;
  }
  return outcome;
}

CaseOutcome RunGuarded(const CaseContext& context, const Case& sample) {
  const Program& program = sample.program;
  EngineUnderTest& engine = context.engine;
  if (!engine.Supports(program)) {
    return {.verdict = Verdict::kUnsupported, .judgement = {}, .operation = {}};
  }
  const std::vector<Array> before = Copies(sample.inputs);
  const Outputs outputs = engine.Run(program, sample.inputs);
  if (!SameBits(before, sample.inputs)) {
    // Later runs must see the sample as it was drawn.
    for (size_t i = 0; i < before.size(); ++i) {
      Array input = sample.inputs[i];
      for (int64_t k = 0; k < input.size(); ++k) input.SetDouble(k, before[i].DoubleAt(k));
    }
    return Failure(Verdict::kMismatch, "the engine modified an input of the program",
                   "inputs before the call");
  }
  if (MustRefuse(context.entry, program)) return JudgeRefusal(outputs);
  PlainCall plain;
  if (!program.stack.empty()) {
    plain = CallPlainly(engine, context.entry, program, sample.inputs);
  } else if (outputs.ok()) {
    for (const Array& input : sample.inputs) {
      plain.signature.inputs.push_back({input.dtype(), input.shape()});
    }
    for (const Array& output : *outputs) {
      plain.signature.outputs.push_back({output.dtype(), output.shape()});
    }
  }
  if (!outputs.ok()) return JudgeError(outputs.status(), plain, program.stack.empty());
  if (!plain.status.ok() && !plain.made_up) {
    return ErrorFailure(plain.status,
                        absl::StrCat("the whole program runs, but the plain call on one slot ",
                                     Raised(plain.status)),
                        "plain call");
  }
  if (context.thorough) {
    const Outputs again = engine.Run(program, sample.inputs);
    if (!again.ok() || !SameBits(*outputs, *again)) {
      CaseOutcome outcome = Failure(Verdict::kNondeterministic,
                                    "two runs of one program differ in their bits", "second run");
      outcome.operation = plain.signature;
      return outcome;
    }
  }
  return JudgeOutputs(context, sample, *outputs, plain);
}

}  // namespace

uint64_t DirectionSeed(uint64_t run_seed, int64_t case_index) {
  return (run_seed + 1) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(case_index);
}

CaseOutcome RunCase(const CaseContext& context, const Case& sample) {
  GuardedEngine guarded(context.engine);
  const CaseContext safe{context.entry, context.dtype, guarded, context.seed, context.thorough};
  try {
    return RunGuarded(safe, sample);
  } catch (const std::exception& error) {
    // Results so wrong that the oracles cannot even take them apart.
    return Failure(Verdict::kCrash, absl::StrCat("an oracle gave up: ", error.what()), "oracle");
  }
}

ShrinkOutcome ShrinkFailure(const CaseContext& context, const CaseRequest& request,
                            const CaseOutcome& failure, const ShrinkBudget& budget) {
  return ShrinkCase(
      request,
      [&](const Case& c) {
        const CaseOutcome again = RunCase(context, c);
        return again.judgement.finding.has_value() && again.verdict == failure.verdict &&
               again.judgement.finding->oracle == failure.judgement.finding->oracle;
      },
      budget);
}

}  // namespace peelcheck
