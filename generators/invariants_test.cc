// InvariantViolations finds what is planted, and nothing in a hundred thousand cases of the
// database, shrunk ones included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "generators/fake_entries.h"

namespace peelcheck {
namespace {

using enum TransformKind;
using Word = std::vector<TransformKind>;

// The first violation, "" where there is none.
std::string First(const Entry& entry, const Case& c) {
  const std::vector<std::string> violations = InvariantViolations(entry, c);
  return violations.empty() ? "" : violations[0];
}

Array F64(const Shape& shape, std::initializer_list<double> values) {
  return Array::FromValues(DType::kF64, shape, values);
}
Array Ints(const Shape& shape, const std::vector<int64_t>& values) {
  return Array::FromInts(shape, values);
}

Case Plain(std::vector<Array> inputs) { return {{.op = "fake"}, std::move(inputs), "general"}; }

TEST(InvariantViolations, AxisOfSizeTwo) {
  EXPECT_EQ(First(Fake({{.name = "x"}}), Plain({F64({2}, {1, 0.5})})), "axis of size 2 in x");
}

TEST(InvariantViolations, AxesOfEqualSize) {
  const Entry entry = Fake({{.name = "x", .shape = "m n"}});
  EXPECT_EQ(First(entry, Plain({Array::Full(DType::kF64, {3, 3}, 1)})), "two axes have the size 3");
  EXPECT_EQ(First(entry, Plain({Array::Full(DType::kF64, {1, 1}, 1)})), "");
}

TEST(InvariantViolations, ANamedAxisWithTwoSizesAndAWrongRank) {
  const Entry entry = Fake({{.name = "x", .shape = "n"}, {.name = "y", .shape = "n"}});
  EXPECT_NE(First(entry, Plain({F64({3}, {1, 1, 1}), F64({1}, {1})})), "");
  EXPECT_EQ(First(entry, Plain({F64({1}, {1}), F64({}, {1})})).substr(0, 4), "rank");
  EXPECT_NE(First(Fake({{.name = "x", .shape = "3"}}), Plain({F64({4}, {1, 1, 1, 1})})), "");
}

TEST(InvariantViolations, ValueOutOfDomainOrAtAKink) {
  const Entry entry =
      Fake({{.name = "x", .domain = {.low = -1, .high = 1, .kinks = {0}, .margin = 0.1}}});
  EXPECT_EQ(First(entry, Plain({F64({}, {1.01})})).substr(0, 6), "domain");
  EXPECT_EQ(First(entry, Plain({F64({}, {0.05})})).substr(0, 6), "domain");
  EXPECT_EQ(First(entry, Plain({F64({}, {std::nan("")})})).substr(0, 6), "domain");
  EXPECT_EQ(First(entry, Plain({F64({}, {-0.1})})), "");
}

TEST(InvariantViolations, TiesWithinAndAcrossDistinctArguments) {
  const Domain distinct = {.low = -5, .high = 5, .margin = 0.1, .distinct = true};
  const Entry entry =
      Fake({{.name = "x", .domain = distinct}, {.name = "y", .shape = "~", .domain = distinct}});
  EXPECT_EQ(First(entry, Plain({F64({3}, {1, 2, 1.05}), F64({}, {3})})).substr(0, 8), "distinct");
  EXPECT_EQ(First(entry, Plain({F64({}, {1}), F64({}, {1})})).substr(0, 8), "distinct");
  EXPECT_EQ(First(entry, Plain({F64({}, {1}), F64({}, {7})})).substr(0, 6), "domain");
  EXPECT_EQ(First(entry, Plain({F64({}, {1}), F64({}, {1.1})})), "");
}

TEST(InvariantViolations, IndexOutOfRange) {
  const Entry entry =
      Fake({{.name = "x", .shape = "n"}, {.name = "i", .shape = "k", .kind = ValueKind::kIndex}});
  const Array x = F64({3}, {1, 1, 1});
  EXPECT_EQ(First(entry, Plain({x, Ints({1}, {3})})).substr(0, 5), "index");
  EXPECT_EQ(First(entry, Plain({x, Ints({1}, {-1})})).substr(0, 5), "index");
  EXPECT_EQ(First(entry, Plain({x, Ints({1}, {2})})), "");
}

TEST(InvariantViolations, NoPermutationAndNoInverse) {
  const Entry entry =
      Fake({{.name = "x", .shape = "n"},
            {.name = "p", .shape = "n", .kind = ValueKind::kPermutation},
            {.name = "q", .shape = "n", .kind = ValueKind::kInversePermutation, .of = 1}});
  const Array x = F64({3}, {1, 1, 1});
  EXPECT_EQ(First(entry, Plain({x, Ints({3}, {1, 2, 1}), Ints({3}, {1, 2, 0})})),
            "permutation: p repeats an index");
  EXPECT_EQ(First(entry, Plain({x, Ints({3}, {1, 2, 0}), Ints({3}, {1, 2, 0})})),
            "permutation: q is not the inverse");
  EXPECT_EQ(First(entry, Plain({x, Ints({3}, {1, 2, 0}), Ints({3}, {2, 0, 1})})), "");
}

TEST(InvariantViolations, EqualSlots) {
  const Entry entry = Fake({{.name = "x"}});
  Case c = Plain({F64({2, 1}, {1, 1})});
  c.program.stack = {{.kind = kVmap}};
  EXPECT_EQ(First(entry, c), "slots 0 and 1 of a batch hold the same values");
  c.inputs = {F64({2, 1}, {1, 0.5})};
  EXPECT_EQ(First(entry, c), "");
}

TEST(InvariantViolations, BatchSizeOfAnAxisOrOfAnotherBatch) {
  const Entry entry = Fake({{.name = "x"}});
  Case c = Plain({F64({3, 3}, {1, 1, 1, 1, 1, 2, 1, 2, 1})});
  c.program.stack = {{.kind = kVmap, .batch_size = 3}};
  EXPECT_EQ(First(entry, c), "batch size 3 is also the size of an axis of x");
  c.program.stack.push_back(c.program.stack[0]);
  EXPECT_EQ(First(entry, c), "two vmaps have the batch size 3");
}

TEST(InvariantViolations, ZeroCotangentAndMissingTangent) {
  const Entry entry = Fake({{.name = "x"}});
  Case c = Plain({F64({}, {1}), F64({}, {0})});
  c.program.stack = {{.kind = kVjp}};
  EXPECT_EQ(First(entry, c).substr(0, 9), "direction");
  c.program.stack[0].kind = kJvp;
  c.inputs.resize(1);
  EXPECT_EQ(First(entry, c).substr(0, 14), "the inputs do ");
}

// All words of up to three transforms, and a few longer ones.
std::vector<Word> Words() {
  std::vector<Word> words = {{}};
  for (size_t i = 0; i < words.size() && words[i].size() < 3; ++i) {
    for (TransformKind kind : {kGrad, kVjp, kJvp, kVmap}) {
      Word longer = words[i];
      longer.insert(longer.begin(), kind);
      words.push_back(longer);
    }
  }
  words.push_back({kVmap, kVmap, kVmap, kVjp});
  words.push_back({kVjp, kVmap, kVjp, kVmap});
  return words;
}

bool Applies(const Entry& entry, const Word& word) {
  return entry.differentiable ||
         std::all_of(word.begin(), word.end(), [](TransformKind kind) { return kind == kVmap; });
}

// A predicate without any reason: about a third of the cases fail, whatever they look like.
bool FailsByChance(const Case& c) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const Array& input : c.inputs) {
    for (double value : input.ToDoubles())
      hash = (hash ^ static_cast<uint64_t>(value * 100 + 1e6)) * 0x100000001B3u;
    hash = (hash ^ static_cast<uint64_t>(input.rank())) * 0x100000001B3u;
  }
  return (hash >> 32) % 3 == 0;
}

TEST(InvariantViolations, NoneInAHundredThousandCasesAndTheirShrinks) {
  constexpr int64_t kWanted = 100000;
  const std::vector<Word> words = Words();
  int64_t samples = 0, shrunk = 0, descents = 0, failures = 0;
  std::set<std::string> classes;
  const auto check = [&](const Entry& entry, const Case& c) {
    const std::string violation = First(entry, c);
    if (violation.empty() || ++failures > 20) return;
    ADD_FAILURE() << ProgramToString(c.program) << " (" << c.sample_class << "): " << violation;
  };
  for (int64_t index = 0; samples < kWanted; ++index) {
    ASSERT_FALSE(AllEntries().empty());
    for (const Entry* entry : AllEntries()) {
      for (const Word& word : words) {
        if (!Applies(*entry, word)) continue;
        const CaseRequest request{.entry = entry,
                                  .word = word,
                                  .dtype = index % 2 == 0 ? DType::kF64 : DType::kF32,
                                  .seed = 1,
                                  .index = index};
        const Case c = GenerateCase(request);
        check(*entry, c);
        classes.insert(c.sample_class);
        if (++samples % 50 != 0) continue;
        ++descents;
        ShrinkCase(request,
                   [&](const Case& smaller) {
                     check(*entry, smaller);
                     ++shrunk;
                     return FailsByChance(smaller);
                   },
                   {.tries = 40, .seconds = 60});
      }
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_GE(samples, kWanted);
  EXPECT_GE(shrunk, 10 * descents);
  EXPECT_EQ(classes.size(), 7u);
}

TEST(GenerateCase, ProgramsOfTheDatabaseAreLegal) {
  int64_t run = 0;
  for (const Entry* entry : AllEntries()) {
    for (const Word& word : {Word{}, Word{kVmap}, Word{kVjp}, Word{kJvp}, Word{kGrad},
                             Word{kVmap, kVjp}, Word{kVjp, kVmap}}) {
      if (!Applies(*entry, word) || (!entry->composable && word != Word{kVjp})) continue;
      for (int64_t index = 0; index < 12; ++index) {
        const Case c = GenerateCase({.entry = entry, .word = word, .index = index});
        Tensors tensors;
        for (const Array& input : c.inputs) tensors.push_back(Tensor::FromArray(input.Copy()));
        try {
          ApplyStack(BuildOperation(c.program.op, c.program.attributes), c.program.stack)(tensors);
        } catch (const Error& error) {
          ADD_FAILURE() << ProgramToString(c.program) << " (" << c.sample_class
                        << "): " << error.what();
        }
        ++run;
      }
    }
  }
  EXPECT_GT(run, 1000);
}

TEST(GenerateCase, EveryEntryThatAllowsEmptyAxesGetsThem) {
  for (const Entry* entry : AllEntries()) {
    int64_t empty = 0, axes = 0;
    for (const Case& c : Samples(*entry, {}, 300)) {
      empty += c.sample_class == "empty" ? 1 : 0;
      axes += c.sample_class == "size 1" ? 1 : 0;
    }
    if (axes == 0) continue;
    EXPECT_EQ(empty > 0, entry->allows_empty) << entry->name;
  }
}

}  // namespace
}  // namespace peelcheck
