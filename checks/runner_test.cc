// A whole run and its replays: order, exit codes, what is refused, the same outcome whatever jobs
// is.
#include "checks/runner.h"

#include <gtest/gtest.h>

#include <set>

#include "checks/select.h"
#include "checks/test_engines.h"

namespace peelcheck {
namespace {

const EngineRegistration kScaled("test-scaled", "gradients times 1.0001", [] {
  return std::make_unique<FaultyEngine>(Fault::kScaledGradient);
});
const EngineRegistration kNothing("test-nothing", "supports nothing", [] {
  return std::make_unique<FaultyEngine>(Fault::kUnsupported);
});

class RecordingSink : public Sink {
 public:
  void Begin(const RunInfo& info) override {
    text += "begin " + std::to_string(info.cell_count) + "\n";
  }
  void OnMismatch(const Mismatch& m) override {
    mismatches.push_back(m);
    text += "  mismatch " + m.token + " " + m.summary + "\n";
  }
  void OnCell(const CellResult& cell) override {
    cells.push_back(cell);
    text += cell.id.op + " " + cell.id.check + " " + cell.id.dtype + " " +
            VerdictName(cell.verdict) + " " + std::to_string(cell.comparisons) + " " +
            std::to_string(cell.worst_error) + "\n";
  }
  void End(const RunEnd& end) override { text += "end " + std::to_string(end.exit_code) + "\n"; }

  std::string text;
  std::vector<CellResult> cells;
  std::vector<Mismatch> mismatches;
};

RunOptions Small(const std::string& engine) {
  RunOptions options;
  options.engine = engine;
  options.ops = {"sin", "mul", "su*"};
  options.checks = {"value", "vjp", "vmapvjp", "vmapvmapvjp"};
  options.samples = 5;
  options.seed = 3;
  return options;
}

TEST(RunChecks, SameOutcomeWhateverJobsIs) {
  std::string one;
  for (const int jobs : {1, 2, 7}) {
    RunOptions options = Small("test-scaled");
    options.jobs = jobs;
    RecordingSink sink;
    const auto end = RunChecks(options, sink);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->exit_code, 1);
    EXPECT_EQ(end->cells, static_cast<int64_t>(sink.cells.size()));
    if (one.empty()) one = sink.text;
    EXPECT_EQ(sink.text, one) << jobs << " jobs";
  }
}

TEST(RunChecks, RightEnginePassesWithExitCodeZero) {
  RecordingSink sink;
  const auto end = RunChecks(Small("builtin"), sink);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->exit_code, 0) << sink.text;
  EXPECT_EQ(end->mismatches, 0);
  EXPECT_GT(end->comparisons, 0);
}

TEST(RunChecks, NothingComparedIsExitCodeThree) {
  RecordingSink sink;
  const auto end = RunChecks(Small("test-nothing"), sink);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->exit_code, 3);
}

TEST(RunChecks, InterruptedRunEndsEarlyAndSaysSo) {
  const std::atomic<bool> interrupted = true;
  RunOptions options = Small("builtin");
  options.jobs = 1;
  options.interrupted = &interrupted;
  RecordingSink sink;
  const auto end = RunChecks(options, sink);
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->interrupted);
}

TEST(SelectCells, UnknownNamesAreRefusedWithTheClosest) {
  RunOptions options;
  options.ops = {"mull"};
  EXPECT_NE(SelectCells(options).status().ToString().find("mul"), std::string::npos);
  options.ops = {};
  options.checks = {"vmapvjq"};
  EXPECT_NE(SelectCells(options).status().ToString().find("did you mean vmapvjp"),
            std::string::npos);
  options.checks = {"nothing*"};
  EXPECT_EQ(SelectCells(options).status().code(), absl::StatusCode::kInvalidArgument);
  RecordingSink sink;
  EXPECT_EQ(RunChecks({.engine = "buildin"}, sink).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sink.text, "") << "a run that cannot start tells nothing";
}

TEST(SelectCells, NoSamplesAndNoDTypeAreRefused) {
  EXPECT_FALSE(SelectCells({.samples = 0}).ok());
  EXPECT_FALSE(SelectCells({.dtypes = {}}).ok());
  EXPECT_FALSE(SelectCells({.dtypes = {DType::kI64}}).ok());
}

TEST(SelectCells, EachCellOnce) {
  RunOptions options;
  options.ops = {"mul", "m?l"};
  options.checks = {"vjp", "v*p", "vmapvmapvjp", "vmapvmapvjp"};
  options.dtypes = {DType::kF64, DType::kF64};
  std::set<std::string> seen;
  const auto cells = SelectCells(options);
  ASSERT_TRUE(cells.ok());
  for (const Cell& cell : *cells)
    EXPECT_TRUE(seen.insert(cell.check.name).second) << cell.check.name;
  EXPECT_TRUE(seen.count("vmapvmapvjp"));
}

TEST(Globs, StarAndQuestionMark) {
  EXPECT_TRUE(GlobMatches("Opaque*", "OpaqueMul"));
  EXPECT_TRUE(GlobMatches("*a*b*", "xxaxxbxx"));
  EXPECT_TRUE(GlobMatches("m?l", "mul"));
  EXPECT_FALSE(GlobMatches("m?l", "ml"));
  EXPECT_FALSE(GlobMatches("mul", "mul_"));
  EXPECT_FALSE(GlobMatches("*********************b", std::string(200, 'a')));
}

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    RunOptions options = Small("test-scaled");
    options.checks = {"vjp"};
    options.ops = {"mul"};
    options.dtypes = {DType::kF64};
    RecordingSink sink;
    ASSERT_TRUE(RunChecks(options, sink).ok());
    ASSERT_EQ(sink.mismatches.size(), 1u);
    told_ = sink.mismatches[0];
  }
  Mismatch told_;
};

TEST_F(Replay, TokenGivesTheSameSmallCase) {
  RecordingSink sink;
  const auto end = ReplayToken(told_.token, {.engine = "test-scaled"}, sink);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 1);
  ASSERT_EQ(sink.mismatches.size(), 1u);
  EXPECT_EQ(sink.mismatches[0].inputs, told_.inputs);
  EXPECT_EQ(sink.mismatches[0].token, told_.token);
}

TEST_F(Replay, FileGivesTheSameValues) {
  RecordingSink sink;
  const auto end = ReplayCase(told_.case_json, {.engine = "test-scaled"}, sink);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 1);
  ASSERT_EQ(sink.mismatches.size(), 1u);
  EXPECT_EQ(sink.mismatches[0].inputs, told_.inputs);
  EXPECT_EQ(sink.mismatches[0].case_json, told_.case_json);
}

TEST_F(Replay, RightEnginePasses) {
  RecordingSink sink;
  EXPECT_EQ(ReplayToken(told_.token, {}, sink)->exit_code, 0);
  EXPECT_EQ(ReplayCase(told_.case_json, {}, sink)->exit_code, 0);
}

TEST(ReplayErrors, MalformedTokensAndFilesAreRefused) {
  RecordingSink sink;
  for (const char* token : {"", "mul", "peelcheck-1:mul:vjp:f64:1", "peelcheck-1:mul:vjp:f64:x:1",
                            "peelcheck-1:mul:vjp:f64:1:-1", "peelcheck-9:mul:vjp:f64:1:1",
                            "peelcheck-1:mull:vjp:f64:1:1", "peelcheck-1:mul:vjq:f64:1:1",
                            "peelcheck-1:mul:vjp:i64:1:1", "peelcheck-1:argsort:vjp:f64:1:1"}) {
    EXPECT_EQ(ReplayToken(token, {}, sink).status().code(), absl::StatusCode::kInvalidArgument)
        << token;
  }
  for (const char* text :
       {"", "[]", "{}", R"({"version":2,"op":"mul","check":"vjp","dtype":"f64","program":{}})",
        R"({"version":1,"op":7,"check":"vjp","dtype":"f64","program":{}})",
        R"({"version":1,"op":"mul","check":"vjp","dtype":"f64","program":{}})",
        R"({"version":1,"op":"mul","check":"vjp","dtype":"f64","program":
                               {"op":"mul","stack":[{"kind":"vjp"}],"inputs":[]}})",
        R"({"version":1,"op":"mul","check":"jvp","dtype":"f64","program":
                               {"op":"mul","stack":[{"kind":"vjp"}],"inputs":[]}})"}) {
    EXPECT_EQ(ReplayCase(text, {}, sink).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(sink.text, "");
}

TEST(ReplayFile, BatchSizeIsReadFromTheInputs) {
  RecordingSink sink;
  const auto end = ReplayCase(R"({"version":1,"op":"sin","check":"vmap","dtype":"f64","program":
      {"op":"sin","stack":[{"kind":"vmap"}],
       "inputs":[{"dtype":"f64","shape":[3],"data":[0.1,0.2,0.3]}]}})",
                              {}, sink);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->comparisons, 3);
}

}  // namespace
}  // namespace peelcheck
