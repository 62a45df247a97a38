// Each law must refuse an engine that breaks it, and say nothing against the right one.
#include <gtest/gtest.h>

#include <functional>

#include "checks/oracle.h"

namespace peelcheck {
namespace {

using Spoil = std::function<void(const Program&, std::span<const Array>, std::vector<Array>&)>;

class SpoiledEngine : public EngineUnderTest {
 public:
  explicit SpoiledEngine(Spoil spoil) : spoil_(std::move(spoil)) {}
  std::string name() const override { return "spoiled"; }
  bool Supports(const Program&) const override { return true; }
  absl::StatusOr<std::vector<Array>> Run(const Program& program,
                                         std::span<const Array> inputs) override {
    absl::StatusOr<std::vector<Array>> outputs = right_->Run(program, inputs);
    if (outputs.ok()) spoil_(program, inputs, *outputs);
    return outputs;
  }

 private:
  Spoil spoil_;
  std::unique_ptr<EngineUnderTest> right_ = FindEngine("builtin")->make();
};

// What the law of that name says of `check` of mul; "not asked" where it does not apply.
std::string Said(const std::string& law_name, const std::string& check, Spoil spoil) {
  const Entry& entry = *FindEntry("mul");
  const Case sample = GenerateCase(
      {.entry = &entry, .word = FindCheck(check)->word, .seed = 1, .check = check, .index = 3});
  SpoiledEngine engine(std::move(spoil));
  const auto outputs = engine.Run(sample.program, sample.inputs);
  if (!outputs.ok()) return "failed";
  const Signature operation;
  const CheckedCase c{entry, DType::kF64, sample, engine, *outputs, operation, 1};
  for (const Law& law : AllLaws()) {
    if (law.name != law_name || !law.applies(c)) continue;
    const Judgement judgement = law.judge(c);
    if (!judgement.finding.has_value()) return judgement.comparisons > 0 ? "holds" : "silent";
    return VerdictName(judgement.finding->verdict);
  }
  return "not asked";
}

void Right(const Program&, std::span<const Array>, std::vector<Array>&) {}
void AddOne(std::vector<Array>& outputs) {
  for (Array& output : outputs) {
    output = output.Copy();
    for (int64_t i = 0; i < output.size(); ++i) output.SetDouble(i, output.DoubleAt(i) + 1);
  }
}

TEST(Laws, TheRightEngineKeepsAll) {
  EXPECT_GE(AllLaws().size(), 5u);
  for (const char* check : {"vjp", "jvp"}) {
    EXPECT_EQ(Said("linearity", check, Right), "holds");
    EXPECT_EQ(Said("zeros", check, Right), "holds");
    EXPECT_EQ(Said("slot order", check, Right), "not asked");
  }
  EXPECT_EQ(Said("slot order", "vmap", Right), "holds");
  EXPECT_EQ(Said("layout", "vmapvjp", Right), "holds");
  EXPECT_EQ(Said("second run", "grad", Right), "holds");
}

TEST(Laws, AnOffsetBreaksLinearityAndZeros) {
  const Spoil offset = [](const Program&, std::span<const Array>, std::vector<Array>& outputs) {
    AddOne(outputs);
  };
  for (const char* check : {"vjp", "jvp"}) {
    EXPECT_EQ(Said("linearity", check, offset), "mismatch");
    EXPECT_EQ(Said("zeros", check, offset), "mismatch");
  }
}

TEST(Laws, AnEngineThatReadsAcrossStridesBreaksLayout) {
  const Spoil strided = [](const Program&, std::span<const Array> in, std::vector<Array>& outputs) {
    if (!in[0].is_contiguous() || in[0].offset() != 0) AddOne(outputs);
  };
  EXPECT_EQ(Said("layout", "vjp", strided), "mismatch");
}

TEST(Laws, StateBetweenCallsBreaksTheSecondRun) {
  int64_t runs = 0;
  const Spoil drift = [&](const Program&, std::span<const Array>, std::vector<Array>& outputs) {
    if (++runs > 1) AddOne(outputs);
  };
  EXPECT_EQ(Said("second run", "vjp", drift), "nondeterministic");
}

TEST(Laws, AnEngineThatSpoilsTheFirstSlotBreaksTheOrderOfSlots) {
  const Spoil first = [](const Program& program, std::span<const Array>,
                         std::vector<Array>& outputs) {
    if (program.stack.empty()) return;
    outputs[0] = outputs[0].Copy();
    outputs[0].SetDouble(0, outputs[0].DoubleAt(0) + 1);
  };
  EXPECT_EQ(Said("slot order", "vmap", first), "mismatch");
}

}  // namespace
}  // namespace peelcheck
