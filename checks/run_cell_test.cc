// Each engine that is wrong on purpose must give its verdict, and the right one must pass: the
// tests of the checks.
#include <gtest/gtest.h>

#include "checks/runner.h"
#include "checks/test_engines.h"

namespace peelcheck {
namespace {

CellOutcome RunFaulty(Fault fault, const std::string& op, const std::string& check,
                      DType dtype = DType::kF64, const Entry* entry = nullptr) {
  FaultyEngine engine(fault);
  RunOptions options;
  options.samples = 12;
  options.seed = 1;
  options.shrink = {.tries = 60, .seconds = 5};
  return RunCell({entry != nullptr ? entry : FindEntry(op), *FindCheck(check), dtype}, engine,
                 options);
}

struct Expected {
  Fault fault;
  const char* op;
  const char* check;
  Verdict verdict;
  const char* oracle;  // of the first mismatch; "" where there is none
};

const Expected kExpected[] = {
    {Fault::kScaledGradient, "sin", "vjp", Verdict::kMismatch, "finite difference"},
    {Fault::kScaledGradient, "mul", "grad", Verdict::kMismatch, "finite difference"},
    // The inner vjp is as wrong as the outer one: a fault shows at the shortest stack, and only
    // there.
    {Fault::kScaledGradient, "matmul", "vjpvjp", Verdict::kPass, ""},
    {Fault::kSparseGradient, "mul", "vjp", Verdict::kMismatch, "finite difference"},
    {Fault::kSparseGradient, "matmul", "vjp", Verdict::kMismatch, "finite difference"},
    {Fault::kScaledTangent, "sin", "jvp", Verdict::kMismatch, "finite difference"},
    {Fault::kScaledTangent, "mul", "jvpvjp", Verdict::kMismatch, "finite difference"},
    {Fault::kZeroGradient, "exp", "vjp", Verdict::kMismatch, "finite difference"},
    {Fault::kZeros, "exp", "value", Verdict::kMismatch, "reference"},
    {Fault::kZeros, "exp", "vjp", Verdict::kVacuous, ""},
    {Fault::kZeros, "exp", "vmap", Verdict::kVacuous, ""},
    {Fault::kSwappedSlots, "sin", "vmap", Verdict::kMismatch, "loop over the batch"},
    {Fault::kSwappedSlots, "mul", "vmapvjp", Verdict::kMismatch, "loop over the batch"},
    {Fault::kSwappedSlots, "mul", "vmapvmap", Verdict::kMismatch, "loop over the batch"},
    {Fault::kFirstSlotForAll, "mul", "vmap", Verdict::kMismatch, "loop over the batch"},
    {Fault::kLastSlotWrong, "sum", "vmapjvp", Verdict::kMismatch, "loop over the batch"},
    {Fault::kWrongDType, "sin", "vjp", Verdict::kMismatch, "signature of the plain call"},
    {Fault::kWrongDType, "sin", "vmap", Verdict::kMismatch, "signature of the plain call"},
    {Fault::kWrongShape, "mul", "vjp", Verdict::kMismatch, "signature of the plain call"},
    {Fault::kExtraOutput, "sin", "jvp", Verdict::kMismatch, "signature of the plain call"},
    {Fault::kNanOnce, "sin", "vjp", Verdict::kNondeterministic, "finite difference"},
    {Fault::kNoisy, "sin", "vjp", Verdict::kInconclusive, "finite difference"},
    {Fault::kThrows, "sin", "vmap", Verdict::kCrash, "legal sample"},
    {Fault::kUndefinedOutput, "sin", "vjp", Verdict::kWrongError, "legal sample"},
    {Fault::kMutatesInput, "sin", "value", Verdict::kMismatch, "inputs before the call"},
    {Fault::kDrifts, "sin", "vjp", Verdict::kNondeterministic, "second run"},
    {Fault::kRefuses, "sin", "vmapvjp", Verdict::kWrongError, "legal sample"},
    {Fault::kUnsupported, "sin", "vjp", Verdict::kUnsupported, ""},
};

TEST(RunCell, EachFaultGivesItsVerdict) {
  for (const Expected& expected : kExpected) {
    const CellOutcome outcome = RunFaulty(expected.fault, expected.op, expected.check);
    const std::string where = std::string(expected.op) + " " + expected.check + " fault " +
                              std::to_string(static_cast<int>(expected.fault));
    EXPECT_EQ(VerdictName(outcome.result.verdict), std::string(VerdictName(expected.verdict)))
        << where;
    EXPECT_EQ(outcome.result.cases, 12) << where;
    const std::string oracle = outcome.mismatches.empty() ? "" : outcome.mismatches[0].oracle;
    EXPECT_EQ(oracle, expected.oracle) << where;
  }
}

TEST(RunCell, RightEnginePassesWhereTheFaultsFail) {
  for (const Expected& expected : kExpected) {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const CellOutcome outcome = RunFaulty(Fault::kNone, expected.op, expected.check, dtype);
      EXPECT_EQ(outcome.result.verdict, Verdict::kPass) << expected.op << " " << expected.check;
      EXPECT_TRUE(outcome.mismatches.empty());
      EXPECT_GT(outcome.result.comparisons, 0);
      EXPECT_LE(outcome.result.worst_error, 1.0);
    }
  }
}

TEST(RunCell, F32FaultsOfDTypeAndSlotsAreSeen) {
  EXPECT_EQ(RunFaulty(Fault::kWrongDType, "sin", "vjp", DType::kF32).result.verdict,
            Verdict::kMismatch);
  EXPECT_EQ(RunFaulty(Fault::kSwappedSlots, "sin", "vmap", DType::kF32).result.verdict,
            Verdict::kMismatch);
  EXPECT_EQ(RunFaulty(Fault::kWrongShape, "sin", "grad", DType::kF32).result.verdict,
            Verdict::kMismatch);
}

TEST(RunCell, MismatchTellsTheSmallestCaseInFull) {
  const CellOutcome outcome = RunFaulty(Fault::kScaledGradient, "mul", "vjp");
  ASSERT_EQ(outcome.mismatches.size(), 1u) << "one for each verdict and oracle";
  const Mismatch& m = outcome.mismatches[0];
  EXPECT_EQ(m.output_name, "gradient of x");
  ASSERT_EQ(m.inputs.size(), 3u);
  EXPECT_EQ(m.inputs[0].rfind("x = f64[", 0), 0u) << m.inputs[0];
  EXPECT_EQ(m.inputs[2].rfind("cotangent of output 0 = f64[", 0), 0u) << m.inputs[2];
  EXPECT_EQ(m.engine_name, "faulty");
  EXPECT_EQ(m.first_index.size(), m.worst_index.size());
  EXPECT_NEAR(m.relative_error, 1e-4, 1e-6);
  EXPECT_GT(m.absolute_error, m.bound);
  EXPECT_GT(m.bound, 0);
  EXPECT_FALSE(m.evidence.empty());
  EXPECT_GT(m.entry_line, 0);
  EXPECT_EQ(m.token.rfind("peelcheck-1:mul:vjp:f64:1:", 0), 0u);
  EXPECT_NE(m.replay_command.find(m.token), std::string::npos);
  EXPECT_NE(m.case_json.find("\"version\":1"), std::string::npos);
}

TEST(RunCell, ShapesAreReportedBeforeValues) {
  const CellOutcome outcome = RunFaulty(Fault::kWrongShape, "sin", "vjp");
  ASSERT_FALSE(outcome.mismatches.empty());
  EXPECT_NE(outcome.mismatches[0].summary.find("; expected f64["), std::string::npos)
      << outcome.mismatches[0].summary;
}

TEST(RunCell, ErrorSaysWhetherThePlainCallSucceeds) {
  const CellOutcome outcome = RunFaulty(Fault::kRefuses, "mul", "vjp");
  ASSERT_FALSE(outcome.mismatches.empty());
  EXPECT_EQ(outcome.mismatches[0].evidence[0],
            "the plain call on one slot of this sample succeeds");
}

TEST(RunCell, NotComposableFunctionMustBeRefused) {
  Entry entry = *FindEntry("sin");
  entry.composable = false;
  const auto verdict = [&](Fault fault, const std::string& check) {
    return RunFaulty(fault, "sin", check, DType::kF64, &entry).result.verdict;
  };
  for (const char* check : {"vmap", "jvp", "vjpvjp", "vmapvjp"}) {
    EXPECT_EQ(verdict(Fault::kRefuses, check), Verdict::kPass) << check;
    EXPECT_EQ(verdict(Fault::kNone, check), Verdict::kWrongError) << check;
    EXPECT_EQ(verdict(Fault::kWrongClass, check), Verdict::kWrongError) << check;
    EXPECT_EQ(verdict(Fault::kThrows, check), Verdict::kCrash) << check;
  }
  EXPECT_EQ(verdict(Fault::kNone, "vjp"), Verdict::kPass) << "the first derivative is declared";
  EXPECT_EQ(verdict(Fault::kScaledGradient, "vjp"), Verdict::kMismatch);
}

TEST(RunCell, SurrogateIsDifferencedInPlaceOfTheOperation) {
  // detach is the identity, but its declared derivative is zero.
  EXPECT_EQ(RunFaulty(Fault::kNone, "detach", "vjp").result.verdict, Verdict::kPass);
  EXPECT_EQ(RunFaulty(Fault::kNone, "detach", "jvpvjp").result.verdict, Verdict::kPass);
  Entry undeclared = *FindEntry("detach");
  undeclared.surrogate = nullptr;
  EXPECT_EQ(RunFaulty(Fault::kNone, "detach", "vjp", DType::kF64, &undeclared).result.verdict,
            Verdict::kMismatch);
}

TEST(RunCell, ZerosPassOnlyWhereTheyAreDeclared) {
  for (const char* check : {"value", "vmap", "vjp", "jvp"}) {
    EXPECT_EQ(RunFaulty(Fault::kNone, "zeros_like", check).result.verdict, Verdict::kPass) << check;
  }
  Entry undeclared = *FindEntry("zeros_like");
  undeclared.zero_derivative = false;
  for (const char* check : {"value", "vmap", "vjp", "jvp"}) {
    EXPECT_EQ(RunFaulty(Fault::kNone, "zeros_like", check, DType::kF64, &undeclared).result.verdict,
              Verdict::kVacuous)
        << check;
  }
}

}  // namespace
}  // namespace peelcheck
