// The conformance cells as GoogleTests: one test per operation x check x dtype, at the entry's own
// file and line.
//
//   build/release/conformance_test --gtest_filter='mul.vmapvjp*'     the same as `peelcheck run
//   --op mul --check vmapvjp` PEELCHECK_ENGINE=mine build/release/conformance_test another engine
//
// GoogleTest 1.12 exits 0 where a filter or a shard selects nothing: main() turns that into a
// failure.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "checks/runner.h"
#include "engine/dtype.h"
#include "reports/mismatch_text.h"

namespace peelcheck {
namespace {

// Fewer samples than the main job: this is the quick gate, and `scripts/run` is the thorough one.
constexpr int64_t kSamples = 8;
constexpr uint64_t kSeed = 1;

class CellTest : public testing::Test {
 public:
  CellTest(Cell cell, RunOptions options) : cell_(std::move(cell)), options_(std::move(options)) {}

  void TestBody() override {
    const EngineInfo* info = FindEngine(options_.engine);
    ASSERT_NE(info, nullptr) << "unknown engine " << options_.engine;
    const CellOutcome outcome = RunCell(cell_, *info->make(), options_);
    for (const Mismatch& mismatch : outcome.mismatches) {
      ADD_FAILURE_AT(mismatch.entry_file.c_str(), mismatch.entry_line) << RenderMismatch(mismatch);
    }
    EXPECT_FALSE(IsFailure(outcome.result.verdict)) << VerdictName(outcome.result.verdict);
    EXPECT_GT(outcome.result.comparisons, 0) << "nothing was compared";
  }

 private:
  Cell cell_;
  RunOptions options_;
};

std::string TestName(const Cell& cell) { return cell.check.name + "/" + DTypeName(cell.dtype); }

bool RegisterCells() {
  RunOptions options;
  options.samples = kSamples;
  options.seed = kSeed;
  if (const char* engine = std::getenv("PEELCHECK_ENGINE")) options.engine = engine;
  const absl::StatusOr<std::vector<Cell>> cells = SelectCells(options);
  if (!cells.ok()) {
    std::fprintf(stderr, "conformance: %s\n", std::string(cells.status().message()).c_str());
    return false;
  }
  for (const Cell& cell : *cells) {
    testing::RegisterTest(cell.entry->name.c_str(), TestName(cell).c_str(), nullptr, nullptr,
                          cell.entry->file.c_str(), cell.entry->line,
                          [=]() -> testing::Test* { return new CellTest(cell, options); });
  }
  return true;
}

}  // namespace
}  // namespace peelcheck

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!peelcheck::RegisterCells()) return EXIT_FAILURE;
  const int result = RUN_ALL_TESTS();
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  if (!testing::GTEST_FLAG(list_tests) && unit.test_to_run_count() == 0) {
    std::fprintf(stderr, "conformance: no cell was selected; see --gtest_list_tests\n");
    return EXIT_FAILURE;
  }
  return result;
}
