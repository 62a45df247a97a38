// The built program, end to end: exit codes, text and files on good and bad input. Its path comes
// as PEELCHECK_BINARY.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace peelcheck {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct Result {
  int exit_code = -1;
  std::string out, err;
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("peelcheck_program_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Out(const std::string& name = "out") const { return (folder_ / name).string(); }

  // `arguments` as the shell reads them.
  Result Run(const std::string& arguments, const std::string& input = "") const {
    const fs::path in = folder_ / "stdin", out = folder_ / "stdout", err = folder_ / "stderr";
    std::ofstream(in, std::ios::binary) << input;
    const std::string command = std::string(PEELCHECK_BINARY) + " " + arguments + " <" +
                                in.string() + " >" + out.string() + " 2>" + err.string();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out), ReadFile(err)};
  }

  // Exit 2, one line on stderr that says `message`.
  void ExpectUsageError(const std::string& arguments, const std::string& message,
                        const std::string& input = "") const {
    const Result result = Run(arguments, input);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_NE(result.err.find(message), std::string::npos) << arguments << ": " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1)
        << arguments << ": " << result.err;
  }

  fs::path folder_;
};

std::vector<Json> Records(const std::string& jsonl) {
  std::vector<Json> records;
  std::istringstream lines(jsonl);
  for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
  return records;
}

// The bytes of a report without what may differ: the seconds.
std::string WithoutSeconds(const std::string& jsonl) {
  std::string text;
  for (Json record : Records(jsonl)) {
    record.erase("seconds");
    text += record.dump() + "\n";
  }
  return text;
}

TEST_F(Program, RunChecksOneCellAndWritesTheReports) {
  const Result result = Run("run --op CubeGenVmap --check vjpvjp --out " + Out());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("CubeGenVmap"), std::string::npos);
  EXPECT_NE(result.out.find("no mismatch"), std::string::npos);
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << "colours in a file";
  const std::vector<Json> records = Records(ReadFile(Out() + "/results.jsonl"));
  ASSERT_EQ(records.size(), 4u);  // run, f64, f32, end
  EXPECT_EQ(records[0]["record"], "run");
  EXPECT_EQ(records[1]["op"], "CubeGenVmap");
  EXPECT_EQ(records[1]["verdict"], "pass");
  EXPECT_GT(records[1]["comparisons"], 0);
  EXPECT_EQ(records[3]["record"], "end");
  EXPECT_EQ(records[3]["interrupted"], false);
  EXPECT_NE(ReadFile(Out() + "/junit.xml").find("vjpvjp[f32]"), std::string::npos);
}

TEST_F(Program, SameSeedSameBytesWhateverTheJobs) {
  Run("run --op 'm*,Opaque*' --seed 7 --jobs 1 --out " + Out("one"));
  Run("run --op 'm*,Opaque*' --seed 7 --jobs 3 --out " + Out("three"));
  Run("run --op 'm*,Opaque*' --seed 8 --jobs 3 --out " + Out("other"));
  const std::string one = WithoutSeconds(ReadFile(Out("one") + "/results.jsonl"));
  EXPECT_GT(one.size(), 1000u);
  EXPECT_EQ(one, WithoutSeconds(ReadFile(Out("three") + "/results.jsonl")));
  EXPECT_NE(one, WithoutSeconds(ReadFile(Out("other") + "/results.jsonl")));
}

TEST_F(Program, DepthAddsEveryWord) {
  const Result result = Run("run --op neg --dtype f64 --samples 3 --depth 2 --out " + Out());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> checks;
  for (const Json& record : Records(ReadFile(Out() + "/results.jsonl"))) {
    if (record["record"] == "cell") checks.push_back(record["check"]);
  }
  for (const char* outer : {"grad", "vjp", "jvp", "vmap"}) {
    for (const char* inner : {"grad", "vjp", "jvp", "vmap"}) {
      EXPECT_EQ(std::count(checks.begin(), checks.end(), std::string(outer) + inner), 1)
          << outer << inner;
    }
  }
}

TEST_F(Program, LintIsCleanAndCoverageNamesEveryOperation) {
  const Result lint = Run("lint --source " + std::string(PEELCHECK_SOURCE_DIR));
  EXPECT_EQ(lint.exit_code, 0) << lint.out;
  EXPECT_NE(lint.out.find(" 0 findings"), std::string::npos) << lint.out;
  const Result coverage = Run("coverage");
  EXPECT_EQ(coverage.exit_code, 0);
  for (const char* op : {"| mul |", "| OpaqueCube |", "| svd |"}) {
    EXPECT_NE(coverage.out.find(op), std::string::npos) << op;
  }
}

TEST_F(Program, BadCommandLinesSayWhatToDo) {
  ExpectUsageError("lint --op nosuchop", "no op matches \"nosuchop\"");
  ExpectUsageError("run --op nosuchop --out " + Out(), "no op matches \"nosuchop\"");
  ExpectUsageError("run --check nosuch --out " + Out(), "no check matches \"nosuch\"");
  ExpectUsageError("run --dtype f16 --out " + Out(), "half precision is not supported");
  ExpectUsageError("run --engine nosuch --out " + Out(), "peelcheck list engines");
  ExpectUsageError("run --samples 0 --out " + Out(), "samples is 0");
  ExpectUsageError("run --nosuch --out " + Out(), "--nosuch");
  ExpectUsageError("nosuch", "nosuch");
  ExpectUsageError("", "subcommand");
  ExpectUsageError("list nosuch", "nosuch");
  ExpectUsageError("replay nosuch", "no file and no token");
  ExpectUsageError("replay peelcheck-1:mul:vjp", "is no token");
  ExpectUsageError("replay peelcheck-99:mul:vjp:f64:1:0", "version");
  ExpectUsageError("replay peelcheck-1:nosuch:vjp:f64:1:0", "nosuch");
  ExpectUsageError("eval /no/such/file", "cannot read");
  EXPECT_FALSE(fs::exists(Out())) << "a run that cannot start wrote something";
}

TEST_F(Program, AReportThatCannotBeWrittenIsExit4) {
  std::ofstream(folder_ / "file") << "in the way";
  const Result result = Run("run --op neg --out " + (folder_ / "file" / "out").string());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("cannot"), std::string::npos) << result.err;
}

TEST_F(Program, HelpAndVersionOfEverySubcommand) {
  EXPECT_EQ(Run("--version").out.substr(0, 10), "peelcheck ");
  for (const char* command : {"run", "list", "eval", "replay"}) {
    const Result result = Run(std::string(command) + " --help");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.out.find("Examples:"), std::string::npos) << command;
  }
}

TEST_F(Program, ListIsTextOrJson) {
  EXPECT_NE(Run("list ops").out.find("OpaqueMul"), std::string::npos);
  const Json checks = Json::parse(Run("list checks --json").out);
  EXPECT_EQ(checks.size(), 15u);
  EXPECT_EQ(checks[0]["name"], "value");
  EXPECT_EQ(Json::parse(Run("list engines --json").out)[0]["name"], "builtin");
  EXPECT_EQ(Json::parse(Run("list dtypes --json").out).size(), 2u);
}

constexpr const char* kMulVjp =
    R"({"op":"OpaqueMul","stack":[{"kind":"vmap","in_dims":[0,null,0],"batch_size":2},{"kind":"vjp","argnums":[0]}],)"
    R"("inputs":[{"dtype":"f64","shape":[2,3],"data":[1,2,3,4,5,6]},{"dtype":"f64","shape":[3],"data":[1,2,"inf"]},)"
    R"({"dtype":"f64","shape":[2,3],"data":[1,1,1,2,2,2]}]})";

TEST_F(Program, EvalRunsAProgram) {
  const Result result = Run("eval -", kMulVjp);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Json output = Json::parse(result.out)["outputs"][0];
  EXPECT_EQ(output["shape"], Json::parse("[2,3]"));
  EXPECT_EQ(output["data"], Json::parse(R"([1,2,"inf",2,4,"inf"])"));
}

TEST_F(Program, EvalAnswersLineByLineAndGoesOnAfterAnError) {
  const std::string good = R"({"op":"neg","inputs":[{"dtype":"i64","shape":[],"data":[3]}]})";
  const Result result = Run("eval -", good + "\n{\"op\":\n\n" + good + "\n");
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<Json> answers = Records(result.out);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]["outputs"][0]["data"], Json::parse("[-3]"));
  EXPECT_EQ(answers[1]["error"]["class"], "invalid_argument");
  EXPECT_EQ(answers[2], answers[0]);
}

TEST_F(Program, EvalTellsMistakesOfTheProgramFromRefusalsOfTheEngine) {
  ExpectUsageError("eval -", "expected", "{\"op\":\"mul\"");
  ExpectUsageError("eval -", "nosuchop", R"({"op":"nosuchop","inputs":[]})");
  ExpectUsageError("eval -", "expected 2", R"({"op":"mul","inputs":[]})");
  ExpectUsageError("eval -", "1 numbers for shape [3]",
                   R"({"op":"neg","inputs":[{"dtype":"f64","shape":[3],"data":[1]}]})");
  ExpectUsageError("eval -", "expected a size",
                   R"({"op":"neg","inputs":[{"dtype":"f64","shape":[99999999999],"data":[1]}]})");
  ExpectUsageError("eval -", "empty", "");
  const Result refused = Run(
      "eval -",
      R"({"op":"sum","attributes":{"dim":7},"inputs":[{"dtype":"f64","shape":[1],"data":[1]}]})");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(Json::parse(refused.out)["error"]["message"],
            "[sum] dim=7 for an input of rank 1; expected -1..0");
}

TEST_F(Program, ReplayOfATokenRunsOneCase) {
  const Result result = Run("replay peelcheck-1:mul:vmapvjp:f64:42:7");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("1 cells, 1 cases"), std::string::npos) << result.out;
}

TEST_F(Program, CtrlCWritesTheReportSoFar) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stdout);
    execl(PEELCHECK_BINARY, "peelcheck", "run", "--samples", "100000", "--jobs", "1", "--out",
          Out().c_str(), nullptr);
    _exit(127);
  }
  // Until the first cell is told, so that there is something to keep.
  for (int i = 0;
       i < 3000 && ReadFile(Out() + "/results.jsonl").find("\"cell\"") == std::string::npos; ++i)
    ::usleep(10000);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  const std::vector<Json> records = Records(ReadFile(Out() + "/results.jsonl"));
  EXPECT_EQ(records.back()["record"], "end");
  EXPECT_EQ(records.back()["interrupted"], true);
  EXPECT_TRUE(fs::exists(Out() + "/junit.xml"));
}

// The example with a deliberate bug: found, shrunk, and replayed by the command that it prints.
TEST_F(Program, TheDeliberateBugIsFoundShrunkAndReplayed) {
  const std::string example =
      (fs::path(PEELCHECK_BINARY).parent_path() / "example_deliberate_bug").string();
  if (!fs::exists(example)) GTEST_FAIL() << example << " is not built";
  const auto run = [&](const std::string& command) {
    const std::string out = (folder_ / "example").string();
    const int status = std::system((command + " >" + out).c_str());
    return std::pair(WEXITSTATUS(status), ReadFile(out));
  };
  const auto [code, report] = run(example);
  EXPECT_EQ(code, 1);
  const size_t at = report.find("rerun: ");
  ASSERT_NE(at, std::string::npos) << report;
  const std::string command = report.substr(at + 7, report.find('\n', at) - at - 7);
  const auto [again_code, again] = run(command);
  EXPECT_EQ(again_code, 1);
  // The same numbers: what the first report said up to its own way of shrinking is said again.
  const size_t engine_line = report.find("engine builtin: ");
  ASSERT_NE(engine_line, std::string::npos);
  EXPECT_NE(again.find(report.substr(engine_line, report.find('\n', engine_line) - engine_line)),
            std::string::npos)
      << again;
}

}  // namespace
}  // namespace peelcheck
