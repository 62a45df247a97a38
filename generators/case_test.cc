// What is drawn: the same case for the same request, every class, every spelling, values where the
// descriptor wants them.
#include "generators/case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "generators/fake_entries.h"

namespace peelcheck {
namespace {

using enum TransformKind;

std::string Text(const Case& c) {
  std::string text = c.sample_class + " " + ProgramToString(c.program);
  for (const Array& input : c.inputs) text += " " + input.ToString();
  return text;
}

// Every value that an attribute takes over arguments of the class general, as text.
std::set<std::string> Spellings(const Entry& entry, int64_t count = 400) {
  std::set<std::string> seen;
  for (const Case& c : Samples(entry, {}, count)) {
    if (c.sample_class != "general") continue;
    const auto found = c.program.attributes.find("a");
    seen.insert(found == c.program.attributes.end() ? "absent" : AttributeToString(found->second));
  }
  return seen;
}

std::set<std::string> Strings(std::initializer_list<const char*> texts) {
  return {texts.begin(), texts.end()};
}

// "" or the first one of `expected` that is missing.
std::string Missing(const std::set<std::string>& seen, const std::set<std::string>& expected) {
  for (const std::string& text : expected) {
    if (!seen.contains(text)) return text;
  }
  return "";
}

TEST(GenerateCase, SameRequestGivesSameCase) {
  const Entry entry = Fake({{.name = "x", .shape = "~"}, {.name = "y", .shape = "~"}});
  for (int64_t i = 0; i < 50; ++i) {
    const CaseRequest request{
        .entry = &entry, .word = {kVmap, kVjp}, .seed = 7, .check = "vmapvjp", .index = i};
    EXPECT_EQ(Text(GenerateCase(request)), Text(GenerateCase(request)));
  }
}

TEST(GenerateCase, SeedCheckIndexAndWordNameTheStream) {
  const Entry entry = Fake({{.name = "x", .shape = "... n"}});
  const CaseRequest request{
      .entry = &entry, .word = {kVmap}, .seed = 7, .check = "vmap", .index = 0};
  CaseRequest seed = request, check = request, index = request;
  seed.seed = 8;
  check.check = "loop";
  index.index = 1;
  for (const CaseRequest& other : {seed, check, index})
    EXPECT_NE(Text(GenerateCase(request)), Text(GenerateCase(other)));
}

TEST(GenerateCase, DtypesSeeTheSameNumbers) {
  const Entry entry =
      Fake({{.name = "x"},
            {.name = "y", .domain = {.low = -9, .high = 9, .margin = 0.05, .distinct = true}}});
  for (int64_t i = 0; i < 50; ++i) {
    CaseRequest request{.entry = &entry, .word = {kVmap, kJvp}, .index = i};
    const Case in_f64 = GenerateCase(request);
    request.dtype = DType::kF32;
    const Case in_f32 = GenerateCase(request);
    ASSERT_EQ(in_f64.inputs.size(), in_f32.inputs.size());
    for (size_t k = 0; k < in_f64.inputs.size(); ++k) {
      EXPECT_TRUE(in_f64.inputs[k].Cast(DType::kF32).BitEquals(in_f32.inputs[k]));
    }
  }
}

TEST(GenerateCase, ReachesEveryClassAndStartsWithGeneral) {
  const Entry entry = Fake({{.name = "x"}});
  const std::vector<Case> cases = Samples(entry, {kVmap, kVjp}, 2000);
  std::map<std::string, double> share;
  for (const Case& c : cases) share[c.sample_class] += 1.0 / 2000;
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cases[i].sample_class, "general");
  EXPECT_EQ(share.size(), 7u);
  EXPECT_NEAR(share["general"], 0.66, 0.06);
  EXPECT_NEAR(share["size 1"], 0.12, 0.04);
  EXPECT_NEAR(share["empty"], 0.05, 0.03);
  EXPECT_NEAR(share["0-d"], 0.08, 0.03);
  EXPECT_NEAR(share["batch 0"] + share["batch 1"] + share["batch 3"], 0.09, 0.03);
}

TEST(GenerateCase, WithoutVmapThereIsNoBatchClassAndWithoutOpenPatternNo0d) {
  for (const Case& c : Samples(Fake({{.name = "x", .shape = "m n"}}), {kVjp}, 500)) {
    EXPECT_TRUE(c.sample_class != "0-d" && c.sample_class.substr(0, 5) != "batch")
        << c.sample_class;
  }
}

TEST(GenerateCase, ClassSaysWhatTheShapesAre) {
  for (const Case& c : Samples(Fake({{.name = "x"}}), {}, 500)) {
    const Shape& shape = c.inputs[0].shape();
    const auto has = [&](int64_t size) {
      return std::find(shape.begin(), shape.end(), size) != shape.end();
    };
    EXPECT_EQ(c.sample_class, shape.empty() ? "0-d"
                              : has(0)      ? "empty"
                              : has(1)      ? "size 1"
                                            : "general");
  }
}

TEST(GenerateCase, MinRankHoldsAndArgumentsStaySmall) {
  Entry entry = Fake({{.name = "x"}, {.name = "y", .shape = "~"}});
  entry.min_rank = 1;
  int64_t elements = 0;
  for (const Case& c : Samples(entry, {}, 500)) {
    EXPECT_GE(std::min(c.inputs[0].rank(), c.inputs[1].rank()), 1) << Text(c);
    EXPECT_LE(c.inputs[0].size(), 60);
    elements += c.inputs[0].size();
  }
  EXPECT_LT(elements / 500, 15);
}

TEST(GenerateCase, OptionalDimIsAbsentPositiveAndNegative) {
  const Entry entry =
      Fake({{.name = "x", .shape = "m n"}}, {{.name = "a", .kind = AttributeKind::kOptionalDim}});
  EXPECT_EQ(Spellings(entry), Strings({"absent", "0", "1", "-1", "-2"}));
}

TEST(GenerateCase, DimsAreAbsentOneOrAListInAnyOrder) {
  const Entry entry =
      Fake({{.name = "x", .shape = "m n"}}, {{.name = "a", .kind = AttributeKind::kDims}});
  EXPECT_EQ(Missing(Spellings(entry),
                    Strings({"absent", "0", "-1", "[0]", "[-2]", "[0, 1]", "[1, 0]", "[-1, 0]"})),
            "");
}

TEST(GenerateCase, DimsOfA0dArgumentAre0OrMinus1) {
  std::set<std::string> seen;
  const Entry entry = Fake({{.name = "x"}}, {{.name = "a", .kind = AttributeKind::kDim}});
  for (const Case& c : Samples(entry, {}, 500)) {
    if (c.sample_class == "0-d") seen.insert(AttributeToString(c.program.attributes.at("a")));
  }
  EXPECT_EQ(seen, Strings({"0", "-1"}));
}

TEST(GenerateCase, DimListPermutationNewDimAndIndexReachEverySpelling) {
  const std::vector<Argument> x = {{.name = "x", .shape = "m n"}};
  EXPECT_EQ(Missing(Spellings(Fake(x, {{.name = "a", .kind = AttributeKind::kDimList}})),
                    Strings({"[0]", "[1]", "[-1]", "[-2]", "[0, 1]", "[1, 0]", "[-1, -2]"})),
            "");
  EXPECT_EQ(Spellings(Fake(x, {{.name = "a", .kind = AttributeKind::kPermutation}})),
            Strings({"[0, 1]", "[0, -1]", "[-2, 1]", "[-2, -1]", "[1, 0]", "[1, -2]", "[-1, 0]",
                     "[-1, -2]"}));
  EXPECT_EQ(Spellings(Fake(x, {{.name = "a", .kind = AttributeKind::kNewDim}})),
            Strings({"0", "1", "2", "-1", "-2", "-3"}));
  EXPECT_EQ(
      Missing(Spellings(Fake(x, {{.name = "a", .kind = AttributeKind::kIndexAlong, .dim = 1}})),
              Strings({"0", "4", "-1", "-5"})),
      "");
  EXPECT_EQ(Spellings(Fake(x, {{.name = "a", .choices = {std::monostate(), 2.5, true}}})).size(),
            3u);
}

TEST(GenerateCase, ReshapeKeepsTheElementsAndExpandBroadcasts) {
  const Entry reshape = Fake({{.name = "x"}}, {{.name = "a", .kind = AttributeKind::kReshape}});
  const Entry expand = Fake({{.name = "x"}}, {{.name = "a", .kind = AttributeKind::kExpand}});
  bool inferred = false, grown = false;
  for (const Case& c : Samples(reshape, {}, 500)) {
    const auto shape = std::get<std::vector<int64_t>>(c.program.attributes.at("a"));
    int64_t known = 1;
    for (int64_t size : shape) known *= std::abs(size);
    const bool infers = std::count(shape.begin(), shape.end(), -1) > 0;
    inferred = inferred || infers;
    EXPECT_TRUE(infers ? c.inputs[0].size() % known == 0 : c.inputs[0].size() == known) << Text(c);
    EXPECT_EQ(std::count(shape.begin(), shape.end(), 2), 0);
  }
  for (const Case& c : Samples(expand, {}, 500)) {
    const auto size = std::get<std::vector<int64_t>>(c.program.attributes.at("a"));
    const Shape& shape = c.inputs[0].shape();
    ASSERT_GE(size.size(), shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t wanted = size[size.size() - shape.size() + i];
      grown = grown || (shape[i] == 1 && wanted > 1);
      EXPECT_TRUE(wanted == -1 || wanted == shape[i] || shape[i] == 1) << Text(c);
    }
  }
  EXPECT_TRUE(inferred && grown);
}

TEST(GenerateCase, BatchDimsReachEveryAxisInBothSpellingsAndNone) {
  std::set<std::string> in, out;
  for (const Case& c : Samples(Fake({{.name = "x", .shape = "m n"}, {.name = "y", .shape = "m n"}}),
                               {kVmap}, 400)) {
    const Transform& t = c.program.stack[0];
    for (const BatchDim& dim : t.in_dims) in.insert(dim ? std::to_string(*dim) : "_");
    for (const BatchDim& dim : t.out_dims) out.insert(dim ? std::to_string(*dim) : "_");
    EXPECT_TRUE(t.in_dims[0] || t.in_dims[1]);
  }
  EXPECT_EQ(in, Strings({"-3", "-2", "-1", "0", "1", "2", "_"}));
  EXPECT_EQ(out, Strings({"-3", "-2", "-1", "0", "1", "2"}));
}

TEST(GenerateCase, ArgnumsLeaveOutWhatIsNotDifferentiable) {
  const Entry entry = Fake({{.name = "x"}, {.name = "w", .differentiable = false}, {.name = "b"}});
  std::set<std::vector<int64_t>> seen;
  for (const Case& c : Samples(entry, {kVjp}, 300)) {
    ASSERT_TRUE(c.program.stack[0].argnums.has_value());
    std::vector<int64_t> argnums = *c.program.stack[0].argnums;
    seen.insert(argnums);
    for (int64_t argnum : argnums) EXPECT_TRUE(argnum != 1 && argnum != -2);
  }
  for (const std::vector<int64_t>& argnums : {std::vector<int64_t>{0, 2}, {2, 0}, {0}, {-1}, {-3}})
    EXPECT_TRUE(seen.contains(argnums));
}

TEST(GenerateCase, OuterTransformsDifferentiateCotangentsToo) {
  bool cotangent = false;
  for (const Case& c : Samples(Fake({{.name = "x"}}), {kVjp, kVjp}, 100)) {
    const auto& argnums = c.program.stack[0].argnums;
    cotangent = cotangent || (argnums && std::count(argnums->begin(), argnums->end(), 1) > 0);
  }
  EXPECT_TRUE(cotangent);
}

TEST(GenerateCase, NestedVmapsHaveBatchSizesOfTheirOwn) {
  for (const Case& c : Samples(Fake({{.name = "x"}}), {kVmap, kVjp, kVmap, kVmap}, 3)) {
    EXPECT_EQ(c.program.stack[0].batch_size, 8);
    EXPECT_EQ(c.program.stack[2].batch_size, 6);
    EXPECT_EQ(c.program.stack[3].batch_size, 2);
  }
}

TEST(GenerateCase, DirectionsHaveBothSignsAndNoZero) {
  bool negative = false, positive = false;
  for (const Case& c : Samples(Fake({{.name = "x"}}), {kVjp}, 20)) {
    for (double value : c.inputs[1].ToDoubles()) {
      EXPECT_GE(std::abs(value), 0.25 - 1e-9);
      (value < 0 ? negative : positive) = true;
    }
  }
  EXPECT_TRUE(negative && positive);
}

TEST(GenerateCase, DistinctValuesStayInADomainWithRoom) {
  const Domain positive = {.low = 0.5, .high = 40, .margin = 0.05, .distinct = true};
  for (const Case& c : Samples(Fake({{.name = "x", .domain = positive}}), {}, 100)) {
    for (double value : c.inputs[0].ToDoubles()) EXPECT_TRUE(value >= 0.5 && value <= 40) << value;
  }
}

TEST(GenerateCase, DistinctValuesOutgrowATightDomainOnBothSides) {
  const Domain tight = {.low = 1, .high = 2, .margin = 0.5, .distinct = true};
  for (const Case& c : Samples(Fake({{.name = "x", .shape = "n", .domain = tight}}), {}, 20)) {
    std::vector<double> values = c.inputs[0].ToDoubles();
    std::sort(values.begin(), values.end());
    for (size_t i = 1; i < values.size(); ++i) EXPECT_GE(values[i] - values[i - 1], 0.5 - 1e-9);
  }
}

TEST(GenerateCase, SlotsOfADomainWithoutRoomAreRefused) {
  const Entry entry =
      Fake({{.name = "x", .shape = "", .domain = {.low = 1, .high = 1, .kinks = {}}}});
  EXPECT_THROW(GenerateCase({.entry = &entry, .word = {kVmap}}), Error);
}

}  // namespace
}  // namespace peelcheck
