// Names of checks, and where a check applies.
#include "checks/check.h"

#include <gtest/gtest.h>

#include <set>

namespace peelcheck {
namespace {

using Word = std::vector<TransformKind>;
constexpr TransformKind kVjp = TransformKind::kVjp;
constexpr TransformKind kVmap = TransformKind::kVmap;

TEST(Checks, NamedOnesComeInTheOrderOfTheReport) {
  std::vector<std::string> names;
  for (const Check& check : NamedChecks()) names.push_back(check.name);
  EXPECT_EQ(names, (std::vector<std::string>{"value", "grad", "vjp", "vjpvjp", "jvp", "vmap",
                                             "vmapvjp", "vmapvjpvjp", "vmapjvp", "vjpvmap",
                                             "jvpvjp", "vjpjvp", "jvpjvp", "vmapvmap", "jvpvmap"}));
}

TEST(Checks, NameIsReadAsAWord) {
  EXPECT_EQ(FindCheck("vmapvmapvjp")->word, (Word{kVmap, kVmap, kVjp}));
  EXPECT_TRUE(FindCheck("value")->word.empty());
  for (const char* no_word : {"", "vmapp", "vmap vjp", "Vjp", "valuevjp", "vjpvalue"}) {
    EXPECT_FALSE(FindCheck(no_word).has_value()) << no_word;
  }
}

TEST(Checks, DepthAddsEveryWordOnce) {
  std::set<std::string> names;
  for (const Check& check : ChecksToDepth(3)) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name << " comes twice";
  }
  // value, and 4 + 16 + 64 words: vmapvjpvjp, the longest named one, is among them.
  EXPECT_EQ(names.size(), 1u + 4 + 16 + 64);
}

TEST(Checks, EachSaysWhichOracleComparesWhat) {
  for (const Check& check : ChecksToDepth(2)) EXPECT_FALSE(check.description.empty());
}

TEST(Checks, DerivativesNeedADifferentiableArgument) {
  Entry entry{.name = "e", .formula = "", .arguments = {{.name = "x"}}, .build = nullptr};
  EXPECT_TRUE(Applies(*FindCheck("vmapvjp"), entry));
  EXPECT_FALSE(Applies(*FindCheck("value"), entry)) << "there is no reference";
  entry.arguments[0].differentiable = false;
  EXPECT_FALSE(Applies(*FindCheck("vmapvjp"), entry));
  EXPECT_TRUE(Applies(*FindCheck("vmapvmap"), entry));
  entry.arguments[0] = {.name = "index", .kind = ValueKind::kIndex};
  EXPECT_FALSE(Applies(*FindCheck("jvp"), entry));
  entry.arguments[0] = {.name = "x"};
  entry.differentiable = false;
  EXPECT_FALSE(Applies(*FindCheck("grad"), entry)) << "floating input, integer outputs only";
}

}  // namespace
}  // namespace peelcheck
