// Each rule of the lint, by an entry that breaks it; the database itself is clean.
#include "checks/lint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"

namespace peelcheck {
namespace {

Entry Sound() {
  return {.name = "lint_sample",
          .formula = "y = x^2; dy = 2 x dx",
          .arguments = {{.name = "x"}},
          .build =
              Plain("lint_sample", 1, [](const Tensors& in) -> Tensors { return {Square(in[0])}; }),
          .reference = ElementwiseReference([](double x) { return x * x; })};
}

std::vector<std::string> RulesOf(const Entry& entry) {
  const ScopedEntry registered(entry);
  std::vector<std::string> rules;
  for (const LintFinding& finding : LintEntry(entry)) {
    rules.push_back(finding.rule);
    EXPECT_EQ(finding.op, entry.name);
    EXPECT_FALSE(finding.message.empty());
  }
  return rules;
}

using Rules = std::vector<std::string>;

TEST(Lint, SoundEntryHasNoFinding) { EXPECT_EQ(RulesOf(Sound()), Rules()); }

TEST(Lint, FormulaIsMissingOrWithoutDerivative) {
  Entry entry = Sound();
  entry.formula = "";
  EXPECT_EQ(RulesOf(entry), Rules{"formula"});
  entry.formula = "y = x^2";
  EXPECT_EQ(RulesOf(entry), Rules{"formula"});
}

TEST(Lint, AxisOfSizeTwo) {
  Entry entry = Sound();
  entry.arguments[0].shape = "2 n";
  const Rules rules = RulesOf(entry);
  EXPECT_EQ(std::count(rules.begin(), rules.end(), "pattern"), 1);
}

TEST(Lint, UnreachableChoice) {
  Entry entry = Sound();
  entry.attributes = {{.name = "flag", .choices = {int64_t{1}, int64_t{3}}}};
  entry.build = WithAttributes("lint_sample", 1, {"flag"}, [](const Attributes&) {
    return [](const Tensors& in) -> Tensors { return {Square(in[0])}; };
  });
  EXPECT_EQ(RulesOf(entry), Rules());
  // More choices than there are samples.
  for (int64_t i = 10; i < 400; ++i) entry.attributes[0].choices.push_back(i);
  const Rules rules = RulesOf(entry);
  EXPECT_GT(std::count(rules.begin(), rules.end(), "unreachable"), 0);
}

class NoRules : public Function {
 public:
  std::string name() const override { return "no_rules"; }
  Tensors Forward(TensorSpan in) const override { return {in[0] * 2.0}; }
};

TEST(Lint, MissingDerivative) {
  Entry entry = Sound();
  entry.build =
      Plain("lint_sample", 1, [](const Tensors& in) { return Call(MakeRef<NoRules>(), {in[0]}); });
  EXPECT_EQ(RulesOf(entry), Rules{"no derivative"});
}

TEST(Lint, FalseClaimsInEitherDirection) {
  Entry entry = Sound();
  entry.zero_derivative = true;
  EXPECT_EQ(RulesOf(entry), Rules{"false claim"});
  entry = Sound();
  entry.build = Plain("lint_sample", 1, [](const Tensors& in) -> Tensors { return {Sign(in[0])}; });
  EXPECT_EQ(RulesOf(entry), Rules{"false claim"});
  entry.build =
      Plain("lint_sample", 1, [](const Tensors& in) -> Tensors { return {Gt(in[0], in[0])}; });
  EXPECT_EQ(RulesOf(entry), Rules{"false claim"});
}

TEST(Lint, OperationThatRefusesItsSamples) {
  Entry entry = Sound();
  entry.build = Plain("lint_sample", 1, [](const Tensors&) -> Tensors {
    ThrowInvalidArgument("[lint_sample] never");
  });
  EXPECT_EQ(RulesOf(entry), Rules{"no sample"});
}

TEST(Lint, NothingToCompare) {
  Entry entry = Sound();
  entry.reference = nullptr;
  entry.differentiable = false;
  EXPECT_EQ(RulesOf(entry), Rules{"no reference"});
}

TEST(Lint, TheDatabaseIsClean) {
  for (const Entry* entry : AllEntries()) {
    for (const LintFinding& finding : LintEntry(*entry)) {
      ADD_FAILURE_AT(finding.file.c_str(), finding.line)
          << finding.op << " [" << finding.rule << "] " << finding.message;
    }
  }
  for (const LintFinding& finding : LintFiles(PEELCHECK_SOURCE_DIR)) {
    ADD_FAILURE() << finding.file << ": " << finding.message;
  }
}

}  // namespace
}  // namespace peelcheck
