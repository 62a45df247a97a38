// Shrinking: to the smallest shape, the plainest choices, the simplest values; within its budget,
// and the same each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "generators/fake_entries.h"

namespace peelcheck {
namespace {

using enum TransformKind;

std::string Text(const Case& c) {
  std::string text = c.sample_class + " " + ProgramToString(c.program);
  for (const Array& input : c.inputs) text += " " + input.ToString();
  return text;
}

bool AnyAbove(const Array& array, double bound) {
  const std::vector<double> values = array.ToDoubles();
  return std::any_of(values.begin(), values.end(), [&](double value) { return value > bound; });
}

// Shrinks those of the first `count` cases that fail.
std::vector<ShrinkOutcome> ShrinkAll(const Entry& entry, const std::vector<TransformKind>& word,
                                     int64_t count, const std::function<bool(const Case&)>& fails) {
  std::vector<ShrinkOutcome> outcomes;
  for (int64_t i = 0; i < count; ++i) {
    const CaseRequest request{.entry = &entry, .word = word, .seed = 1, .index = i};
    if (!fails(GenerateCase(request))) continue;
    outcomes.push_back(ShrinkCase(request, fails, {.tries = 2000}));
    EXPECT_TRUE(fails(outcomes.back().smallest));
    EXPECT_FALSE(outcomes.back().exhausted);
    EXPECT_EQ(InvariantViolations(entry, outcomes.back().smallest), std::vector<std::string>());
  }
  EXPECT_FALSE(outcomes.empty());
  return outcomes;
}

TEST(ShrinkCase, AnElementAboveOneEndsAsTheScalarTwo) {
  const Entry entry = Fake({{.name = "x", .domain = {.low = -3, .high = 3}}});
  for (const ShrinkOutcome& o :
       ShrinkAll(entry, {}, 40, [](const Case& c) { return AnyAbove(c.inputs[0], 1.0); })) {
    EXPECT_EQ(Text(o.smallest), "0-d fake f64[] 2");
  }
}

TEST(ShrinkCase, AFaultInEveryCaseEndsWithTheSmallestOne) {
  const Entry entry = Fake({{.name = "x"}, {.name = "y", .shape = "~"}},
                           {{.name = "dim", .kind = AttributeKind::kOptionalDim}});
  for (const ShrinkOutcome& o : ShrinkAll(entry, {kVjp}, 20, [](const Case&) { return true; })) {
    EXPECT_EQ(Text(o.smallest), "0-d vjp fake f64[] 1 f64[] 1 f64[] 1");
  }
}

TEST(ShrinkCase, ANegativeBatchDimIsKeptWhereTheFaultNeedsIt) {
  const auto fails = [](const Case& c) {
    const Transform& t = c.program.stack[0];
    return t.in_dims[0] && *t.in_dims[0] < 0 && !t.in_dims[1];
  };
  for (const ShrinkOutcome& o :
       ShrinkAll(Fake({{.name = "x"}, {.name = "y"}}), {kVmap}, 100, fails)) {
    EXPECT_EQ(o.smallest.program.stack[0].in_dims, (std::vector<BatchDim>{-1, std::nullopt}));
    EXPECT_EQ(o.smallest.program.stack[0].out_dims, std::vector<BatchDim>{0});
    EXPECT_EQ(o.smallest.program.stack[0].batch_size, 1);
  }
}

TEST(ShrinkCase, OnlyTheGuiltyAttributeStaysOdd) {
  const Entry entry =
      Fake({{.name = "x", .shape = "m n"}}, {{.name = "dim", .kind = AttributeKind::kDim},
                                             {.name = "alpha", .choices = {1.0, 2.5, -0.5}}});
  const auto fails = [](const Case& c) {
    return std::get<double>(c.program.attributes.at("alpha")) != 1.0;
  };
  for (const ShrinkOutcome& o : ShrinkAll(entry, {}, 20, fails)) {
    EXPECT_EQ(std::get<int64_t>(o.smallest.program.attributes.at("dim")), 0);
    EXPECT_EQ(o.smallest.inputs[0].size(), 1);
  }
}

TEST(ShrinkCase, KeepsMinRankAndRenamesTheClass) {
  Entry entry = Fake({{.name = "x"}});
  entry.min_rank = 1;
  for (const ShrinkOutcome& o :
       ShrinkAll(entry, {}, 10, [](const Case& c) { return c.inputs[0].size() > 0; })) {
    EXPECT_EQ(Text(o.smallest), "size 1 fake f64[1] {1}");
  }
}

TEST(ShrinkCase, KeepsSlotsDifferentAndValuesDistinct) {
  const Domain domain = {.low = -9, .high = 9, .margin = 0.5, .distinct = true};
  const Entry entry = Fake({{.name = "x", .shape = "n", .domain = domain}});
  const auto fails = [](const Case& c) {
    return c.program.stack[0].batch_size == 2 && c.inputs[0].size() >= 6;
  };
  for (const ShrinkOutcome& o : ShrinkAll(entry, {kVmap}, 10, fails))
    EXPECT_EQ(o.smallest.inputs[0].size(), 6);
}

TEST(ShrinkCase, BudgetOfTriesIsKeptAndReported) {
  const Entry entry = Fake({{.name = "x"}});
  int64_t calls = 0;
  const auto fails = [&](const Case& c) { return ++calls, c.inputs[0].size() >= 3; };
  const ShrinkOutcome none = ShrinkCase({.entry = &entry}, fails, {.tries = 0});
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(none.exhausted);
  EXPECT_EQ(Text(none.smallest), Text(GenerateCase({.entry = &entry})));
  const ShrinkOutcome few = ShrinkCase({.entry = &entry}, fails, {.tries = 3});
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(few.tries, 3);
}

TEST(ShrinkCase, IsDeterministicAndTriesNoCaseTwice) {
  const Entry entry = Fake({{.name = "x", .shape = "~"}, {.name = "y", .shape = "~"}});
  const CaseRequest request{.entry = &entry, .word = {kVmap, kVjp}, .index = 1};
  std::vector<std::string> first, second;
  const auto recording = [](std::vector<std::string>& log) {
    return [&log](const Case& c) {
      log.push_back(Text(c).substr(c.sample_class.size()));
      return AnyAbove(c.inputs[0], 0.75);
    };
  };
  ShrinkCase(request, recording(first));
  ShrinkCase(request, recording(second));
  EXPECT_EQ(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

}  // namespace
}  // namespace peelcheck
