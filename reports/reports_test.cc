// The sinks on one small run: exact text where people or programs read it.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/jsonl_sink.h"
#include "reports/junit_sink.h"
#include "reports/mismatch_files.h"
#include "reports/mismatch_text.h"
#include "reports/terminal_sink.h"

namespace peelcheck {
namespace {

namespace fs = std::filesystem;

CellResult Cell(const std::string& op, const std::string& check, const std::string& dtype,
                Verdict verdict) {
  CellResult cell{.id = {op, check, dtype}};
  cell.cases = 3;
  cell.comparisons = 12;
  cell.verdict = verdict;
  cell.verdicts[VerdictName(verdict)] = 3;
  cell.worst_error = 0.25;
  return cell;
}

Mismatch ExampleMismatch() {
  Mismatch m{.id = {"mul", "vjp", "f64"}};
  m.oracle = "finite difference";
  m.stack = "vjp mul";
  m.summary = "gradient of x differs from the finite difference in 1 of 3 elements";
  m.sample_class = "general";
  m.inputs = {"x = f64[3] {1, 2, 3}"};
  m.attributes = {"dim = -1"};
  m.engine_name = "builtin";
  m.engine_result = "f64[3] {1, 2, 4}";
  m.oracle_result = "f64[3] {1, 2, 3}";
  m.output_name = "gradient of x";
  m.output_index = 0;
  m.first_index = m.worst_index = {2};
  m.differing = 1;
  m.compared = 3;
  m.worst_engine_value = 4;
  m.worst_oracle_value = 3;
  m.absolute_error = 1;
  m.relative_error = 1.0 / 3;
  m.bound = 1e-9;
  m.evidence = {"finite difference: step 0.02, order 6, bound 1.0e-09"};
  m.entry_file = "opinfo_db/ops/binary.cc";
  m.entry_line = 7;
  m.token = "peelcheck-1:mul:vjp:f64:1:0";
  m.replay_command = "peelcheck replay peelcheck-1:mul:vjp:f64:1:0";
  m.case_json = R"({"version":1,"op":"mul"})";
  return m;
}

// Two operations, two checks, one mismatch.
RunEnd TellExampleRun(Sink& sink) {
  RunInfo info{
      .version = "0.1.0", .engine = "builtin", .profile = "ci", .seed = 1, .cell_count = 3};
  info.options = {{"samples", "3"}};
  sink.Begin(info);
  sink.OnCell(Cell("add", "grad", "f64", Verdict::kPass));
  sink.OnCell(Cell("add", "vjp", "f64", Verdict::kInconclusive));
  sink.OnMismatch(ExampleMismatch());
  sink.OnCell(Cell("mul", "vjp", "f64", Verdict::kMismatch));
  RunEnd end{
      .exit_code = 1, .cells = 3, .cases = 9, .comparisons = 36, .mismatches = 1, .seconds = 0.5};
  sink.End(end);
  return end;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Folder {
 public:
  Folder() : path(fs::temp_directory_path() / ("peelcheck_reports_" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

TEST(TerminalSink, TableShowsOneGlyphPerCellAndNoColoursByDefault) {
  std::ostringstream out;
  TerminalSink sink({.report = &out});
  TellExampleRun(sink);
  const std::string text = out.str();
  EXPECT_EQ(text.substr(0, text.find("\n\n") + 1),
            "    grad vjp\n"
            "add  .    ?\n"
            "mul       F\n");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("3 cells, 9 cases, 36 comparisons in 0.5 s; 3 cases inconclusive, 3 cases "
                      "mismatch, 1 mismatch\n"),
            std::string::npos)
      << text;
}

TEST(TerminalSink, ColoursOnlyWhenAsked) {
  std::ostringstream out;
  TerminalSink sink({.report = &out, .colour = true});
  TellExampleRun(sink);
  EXPECT_NE(out.str().find("\x1b[31mF\x1b[0m"), std::string::npos);
}

TEST(TerminalSink, ACellShowsTheWorstOfItsDtypes) {
  std::ostringstream out;
  TerminalSink sink({.report = &out});
  sink.Begin({});
  sink.OnCell(Cell("add", "vjp", "f64", Verdict::kMismatch));
  sink.OnCell(Cell("add", "vjp", "f32", Verdict::kPass));
  sink.End({});
  EXPECT_NE(out.str().find("add  F\n"), std::string::npos) << out.str();
}

TEST(TerminalSink, WideTablesAreSplit) {
  std::ostringstream out;
  TerminalSink sink({.report = &out, .width = 20});
  sink.Begin({});
  for (const char* check : {"vmapvjp", "vmapvmap", "jvpvjp"})
    sink.OnCell(Cell("add", check, "f64", Verdict::kPass));
  sink.End({});
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "    vmapvjp vmapvmap");
}

TEST(TerminalSink, MoreMismatchesThanTheLimitGetOneLineEach) {
  std::ostringstream out;
  TerminalSink sink({.report = &out, .full_mismatches = 1});
  sink.Begin({});
  for (int i = 0; i < 3; ++i) sink.OnMismatch(ExampleMismatch());
  sink.End({});
  EXPECT_NE(out.str().find("and 2 more"), std::string::npos) << out.str();
}

TEST(TerminalSink, InterruptedAndVacuousRunsSaySo) {
  std::ostringstream out;
  TerminalSink sink({.report = &out});
  sink.Begin({});
  sink.End({.interrupted = true, .exit_code = 3});
  EXPECT_NE(out.str().find("interrupted"), std::string::npos);
  EXPECT_NE(out.str().find("nothing was compared"), std::string::npos);
}

TEST(MismatchText, SaysWhatWhereHowFarAndHowToRerun) {
  EXPECT_EQ(RenderMismatch(ExampleMismatch()),
            "mul  vjp  f64: mismatch\n"
            "  gradient of x differs from the finite difference in 1 of 3 elements\n"
            "  program: vjp mul\n"
            "  sample (general, shrunk)\n"
            "    dim = -1\n"
            "    x = f64[3] {1, 2, 3}\n"
            "  engine builtin: f64[3] {1, 2, 4}\n"
            "  oracle finite difference: f64[3] {1, 2, 3}\n"
            "  1 of 3 elements differ; first at [2], worst at [2]:\n"
            "    engine 4, oracle 3: absolute error 1, relative 0.333, bound 1e-09\n"
            "  finite difference: step 0.02, order 6, bound 1.0e-09\n"
            "  entry: opinfo_db/ops/binary.cc:7\n"
            "  rerun: peelcheck replay peelcheck-1:mul:vjp:f64:1:0\n");
}

TEST(JsonlSink, OneRecordALineAndEveryKeyIsDocumented) {
  const Folder folder;
  auto sink = JsonlSink::Open((folder.path / "results.jsonl").string());
  ASSERT_TRUE(sink.ok());
  TellExampleRun(**sink);
  EXPECT_TRUE((*sink)->status().ok());
  const std::string schema = ReadFile(fs::path(PEELCHECK_SOURCE_DIR) / "docs/results_schema.md");
  std::istringstream lines(ReadFile(folder.path / "results.jsonl"));
  std::vector<std::string> records;
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::ordered_json::parse(line);
    records.push_back(record["record"]);
    for (const auto& [key, value] : record.items()) {
      EXPECT_NE(schema.find("`" + key + "`"), std::string::npos)
          << key << " of record " << records.back();
    }
  }
  EXPECT_EQ(records, (std::vector<std::string>{"run", "cell", "cell", "mismatch", "cell", "end"}));
}

TEST(JsonlSink, NanAndInfinityAreStrings) {
  const Folder folder;
  auto sink = JsonlSink::Open((folder.path / "results.jsonl").string());
  ASSERT_TRUE(sink.ok());
  CellResult cell = Cell("add", "vjp", "f64", Verdict::kMismatch);
  cell.worst_error = std::numeric_limits<double>::infinity();
  (*sink)->OnCell(cell);
  EXPECT_EQ(nlohmann::json::parse(ReadFile(folder.path / "results.jsonl"))["worst_error"], "inf");
}

TEST(JsonlSink, AFileThatCannotBeWrittenIsAnError) {
  const auto sink = JsonlSink::Open("/proc/nothing/results.jsonl");
  ASSERT_FALSE(sink.ok());
  EXPECT_NE(std::string(sink.status().message()).find("/proc/nothing/results.jsonl"),
            std::string::npos);
}

TEST(JunitSink, FailuresAreCountedAndEscaped) {
  const Folder folder;
  const std::string path = (folder.path / "junit.xml").string();
  JunitSink sink(path);
  TellExampleRun(sink);
  const std::string xml = ReadFile(path);
  EXPECT_TRUE(sink.status().ok());
  EXPECT_NE(xml.find("<testsuite name=\"mul\" tests=\"1\" failures=\"1\" skipped=\"0\">"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<testsuite name=\"add\" tests=\"2\" failures=\"0\" skipped=\"1\">"),
            std::string::npos)
      << xml;
  EXPECT_FALSE(fs::exists(path + ".tmp"));
  EXPECT_EQ(XmlEscaped("a<b>&\"'\x01\n"), "a&lt;b&gt;&amp;&quot;&apos;\n");
}

// An undecided cell told as a <failure> that `failures` does not count is refused by readers of
// JUnit files, or counted as a pass.
TEST(JunitSink, AnInconclusiveCellIsSkippedAndCounted) {
  const Folder folder;
  const std::string path = (folder.path / "junit.xml").string();
  JunitSink sink(path);
  sink.Begin({});
  Mismatch undecided = ExampleMismatch();
  undecided.verdict = Verdict::kInconclusive;
  undecided.summary = "9 of 20 cases could not be decided";
  sink.OnMismatch(undecided);
  sink.OnCell(Cell("mul", "vjp", "f64", Verdict::kInconclusive));
  sink.OnCell(Cell("mul", "vmap", "f64", Verdict::kUnsupported));
  sink.OnCell(Cell("mul", "jvp", "f64", Verdict::kPass));
  sink.End({});
  const std::string xml = ReadFile(path);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"0\" skipped=\"2\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"9 of 20 cases could not be decided\">"), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<skipped message=\"unsupported\"/>"), std::string::npos) << xml;
  EXPECT_EQ(xml.find("<failure"), std::string::npos) << xml;
}

TEST(MismatchFiles, AreWrittenByValueAndStaleOnesGo) {
  const Folder folder;
  const fs::path stale = folder.path / "7-old-vjp-f64.json";
  const fs::path foreign = folder.path / "notes.json";
  std::ofstream(stale) << "{}";
  std::ofstream(foreign) << "{}";
  MismatchFilesSink sink(folder.path.string());
  TellExampleRun(sink);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_EQ(nlohmann::json::parse(ReadFile(folder.path / "1-mul-vjp-f64.json"))["op"], "mul");
}

}  // namespace
}  // namespace peelcheck
