// JSON: what is written reads back to the same bits; what is wrong is refused with the place, what
// came and what was expected.
#include "opinfo_db/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

Array RoundTrip(const Array& array) {
  const absl::StatusOr<Json> json = ParseJson(ArrayToJson(array).dump());
  EXPECT_TRUE(json.ok()) << json.status();
  const absl::StatusOr<Array> back = ArrayFromJson(*json, "array");
  EXPECT_TRUE(back.ok()) << back.status();
  return *back;
}

TEST(ArrayJson, FloatsHaveTheirShortestDigits) {
  EXPECT_EQ(ArrayToJson(Array::FromValues(DType::kF32, {3}, {0.1, 1.0 / 3, 1})).dump(),
            R"({"dtype":"f32","shape":[3],"data":[0.1,0.33333334,1.0]})");
  EXPECT_EQ(ArrayToJson(Array::FromValues(DType::kBool, {2}, {1, 0})).dump(),
            R"({"dtype":"bool","shape":[2],"data":[true,false]})");
  EXPECT_EQ(ArrayToJson(Array::FromValues(DType::kF64, {3}, {NAN, INFINITY, -INFINITY})).dump(),
            R"({"dtype":"f64","shape":[3],"data":["nan","inf","-inf"]})");
}

TEST(ArrayJson, AnyBitsReadBack) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    const uint64_t bits = random();
    Array f32 = Array::Zeros(DType::kF32, {1});
    Array f64 = Array::Zeros(DType::kF64, {1});
    const float single = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double twice = std::bit_cast<double>(bits);
    if (std::isnan(single) || std::isnan(twice)) continue;
    f32.mutable_data<float>()[0] = single;
    f64.mutable_data<double>()[0] = twice;
    EXPECT_TRUE(RoundTrip(f32).BitEquals(f32)) << ArrayToJson(f32);
    EXPECT_TRUE(RoundTrip(f64).BitEquals(f64)) << ArrayToJson(f64);
  }
}

TEST(ArrayJson, EdgesOfTheDTypesReadBack) {
  using D = std::numeric_limits<double>;
  using F = std::numeric_limits<float>;
  const Array f64 = Array::FromValues(
      DType::kF64, {7}, {-0.0, D::max(), D::lowest(), D::min(), D::denorm_min(), NAN, -INFINITY});
  const Array f32 = Array::FromValues(
      DType::kF32, {6}, {-0.0, F::max(), F::lowest(), F::min(), F::denorm_min(), INFINITY});
  const std::vector<int64_t> ints = {std::numeric_limits<int64_t>::min(), -1, 0,
                                     (int64_t{1} << 53) + 1, std::numeric_limits<int64_t>::max()};
  EXPECT_TRUE(RoundTrip(f64).BitEquals(f64));
  EXPECT_TRUE(RoundTrip(f32).BitEquals(f32));
  EXPECT_TRUE(RoundTrip(Array::FromInts({5}, ints)).BitEquals(Array::FromInts({5}, ints)));
}

TEST(ArrayJson, ViewsEmptyAndScalarArraysReadBack) {
  const Array x = Array::FromValues(DType::kF64, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array moved = x.MovedDim(0, 1);
  EXPECT_EQ(RoundTrip(moved).ToDoubles(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(RoundTrip(Array::Zeros(DType::kI64, {3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(RoundTrip(Array::Full(DType::kF32, {}, 0.5)).DoubleAt(0), 0.5);
}

TEST(ArrayJson, IntegersAreReadAsFloatsAndZeroOneAsBool) {
  const auto f64 = ArrayFromJson(Json::parse(R"({"dtype":"f64","shape":[2],"data":[1,-2]})"), "x");
  EXPECT_EQ(f64->ToDoubles(), (std::vector<double>{1, -2}));
  const auto flags =
      ArrayFromJson(Json::parse(R"({"dtype":"bool","shape":[2],"data":[1,false]})"), "x");
  EXPECT_EQ(flags->ToDoubles(), (std::vector<double>{1, 0}));
}

Program RandomProgram(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto dims = [&] {
    std::vector<BatchDim> list;
    for (int i = 1 + below(3); i > 0; --i) {
      list.push_back(below(3) == 0 ? BatchDim() : BatchDim(below(5) - 2));
    }
    return list;
  };
  Program program{.op = "op" + std::to_string(below(9))};
  const std::vector<AttributeValue> values = {std::monostate(),
                                              true,
                                              below(100) - 50,
                                              2.0,
                                              0.1,
                                              std::string("a \"b\"\n\xc3\xa9"),
                                              std::vector<int64_t>{},
                                              std::vector<int64_t>{below(9), -1}};
  for (int i = below(4); i > 0; --i) {
    program.attributes["a" + std::to_string(i)] = values[static_cast<size_t>(below(8))];
  }
  for (int i = below(4); i > 0; --i) {
    Transform transform{.kind = static_cast<TransformKind>(below(4))};
    if (transform.kind == TransformKind::kVmap) {
      transform.in_dims = dims();
      transform.out_dims = dims();
      transform.batch_size = below(5) - 1;
      transform.randomness = static_cast<Randomness>(below(3));
    } else if (below(2) == 0) {
      transform.argnums = std::vector<int64_t>{below(3), below(3) - 3};
    }
    program.stack.push_back(transform);
  }
  return program;
}

TEST(ProgramJson, RandomProgramsReadBack) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    const ProgramWithInputs written{RandomProgram(random), {Array::Full(DType::kF64, {3}, trial)}};
    const std::string text = ProgramToJson(written).dump();
    const absl::StatusOr<ProgramWithInputs> read = ProgramFromText(text);
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
    EXPECT_EQ(read->program.attributes, written.program.attributes) << text;
    EXPECT_EQ(ProgramToString(read->program), ProgramToString(written.program)) << text;
    for (size_t i = 0; i < written.program.stack.size(); ++i) {
      const Transform &a = written.program.stack[i], &b = read->program.stack[i];
      EXPECT_EQ(a.argnums, b.argnums);
      if (a.kind != TransformKind::kVmap) continue;
      EXPECT_EQ(a.in_dims, b.in_dims);
      EXPECT_EQ(a.out_dims, b.out_dims);
      EXPECT_EQ(a.batch_size, b.batch_size);
    }
    EXPECT_TRUE(read->inputs[0].BitEquals(written.inputs[0]));
    EXPECT_EQ(ProgramToJson(*read).dump(), text);
  }
}

TEST(ProgramJson, MissingKeysMeanTheDefaults) {
  const auto read = ProgramFromText(R"({"op":"mul","stack":[{"kind":"vmap"},{"kind":"vjp"}]})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ProgramToString(read->program), "vmap(0) vjp mul");
  EXPECT_EQ(read->program.stack[0].batch_size, -1);
  const auto zero = ProgramFromText(R"({"op":"mul","stack":[{"kind":"vmap","batch_size":0}]})");
  EXPECT_EQ(zero->program.stack[0].batch_size, 0);  // an empty batch is a batch
}

TEST(ProgramJson, EveryCutOfATextIsRefused) {
  const std::string text =
      R"({"op":"mul","attributes":{"a":[1,2]},"stack":[{"kind":"vmap","in_dims":[0,null]}],)"
      R"("inputs":[{"dtype":"f64","shape":[2],"data":[1.5,"nan"]}]})";
  ASSERT_TRUE(ProgramFromText(text).ok());
  for (size_t length = 0; length < text.size(); ++length) {
    const absl::Status status = ProgramFromText(text.substr(0, length)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << length;
    EXPECT_NE(status.message().find("byte "), absl::string_view::npos) << status;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
  }
}

struct BadInput {
  std::string text;
  std::string message;
};

TEST(ProgramJson, BadInputsSayWhere) {
  const auto transform = [](const std::string& json) {
    return R"({"op":"f","stack":[)" + json + "]}";
  };
  const auto array = [](const std::string& dtype, const std::string& shape,
                        const std::string& data) {
    return R"({"op":"f","inputs":[{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data":)" +
           data + "}]}";
  };
  const std::vector<BadInput> table = {
      {"[]", "program: []; expected an object with op, attributes, stack, inputs"},
      {"{}", "program: key \"op\" is missing; expected op, attributes, stack, inputs"},
      {R"({"op":1})", "op: 1; expected the name of an operation"},
      {R"({"op":""})", "op: \"\"; expected the name of an operation"},
      {R"({"op":"f","stak":[]})",
       "program: unknown key \"stak\"; expected op, attributes, stack, inputs"},
      {R"({"op":"f","attributes":[1]})", "attributes: [1]; expected an object of names and values"},
      {R"({"op":"f","attributes":{"a":{"b":1}}})",
       "attributes.a: {\"b\":1}; expected null, true, false, a number, a string or a list of "
       "integers"},
      {R"({"op":"f","attributes":{"a":[1,0.5]}})",
       "attributes.a[1]: 0.5; expected an integer of 64 bits"},
      {R"({"op":"f","attributes":{"a":18446744073709551615}})",
       "attributes.a: 18446744073709551615; expected an integer of 64 bits"},
      {R"({"op":"f","stack":"vjp"})",
       "stack: \"vjp\"; expected a list of transforms, outermost first"},
      {transform(R"("vjp")"), "stack[0]: \"vjp\"; expected an object with a \"kind\""},
      {transform(R"({"kind":"vmaps"})"),
       "stack[0].kind: \"vmaps\"; expected \"grad\", \"vjp\", \"jvp\" or \"vmap\""},
      {transform(R"({"kind":"vjp","in_dims":0})"),
       "stack[0]: unknown key \"in_dims\"; expected kind, argnums"},
      {transform(R"({"kind":"vjp","argnums":0})"),
       "stack[0].argnums: 0; expected a list of integers"},
      {transform(R"({"kind":"vmap","in_dims":"0"})"),
       "stack[0].in_dims: \"0\"; expected an integer, null or a list of those"},
      {transform(R"({"kind":"vmap","out_dims":[0,true]})"),
       "stack[0].out_dims[1]: true; expected an integer or null"},
      {transform(R"({"kind":"vmap","batch_size":-3})"),
       "stack[0].batch_size: -3; expected a size of 0 or more (left out: that of the inputs)"},
      {transform(R"({"kind":"vmap","randomness":"some"})"),
       "stack[0].randomness: \"some\"; expected \"error\", \"different\" or \"same\""},
      {R"({"op":"f","inputs":{}})", "inputs: {}; expected a list of arrays"},
      {R"({"op":"f","inputs":[{"dtype":"f64","shape":[]}]})",
       "inputs[0]: key \"data\" is missing; expected dtype, shape, data"},
      {array(R"("f16")", "[]", "[1]"),
       "inputs[0].dtype: \"f16\"; expected \"f32\", \"f64\", \"i64\" or \"bool\": half precision is not supported"},
      {array(R"("f64")", "3", "[1]"), "inputs[0].shape: 3; expected a list of sizes"},
      {array(R"("f64")", "[3,-1]", "[]"), "inputs[0].shape[1]: -1; expected a size in 0..2^28"},
      {array(R"("f64")", "[1.0]", "[1]"), "inputs[0].shape[0]: 1.0; expected a size in 0..2^28"},
      {array(R"("f64")", "[65536,65536]", "[]"),
       "inputs[0].shape: [65536,65536]; expected at most 2^28 elements"},
      {array(R"("f64")", "[0,268435456,268435456]", "[]"),
       "inputs[0].shape: [0,268435456,268435456]; expected at most 2^28 elements"},
      {array(R"("f64")", "[2,3]", "[1,2,3,4,5]"),
       "inputs[0].data: 5 numbers for shape [2, 3]; expected 6"},
      {array(R"("f64")", "[]", "1"), "inputs[0].data: 1; expected a flat list of numbers"},
      {array(R"("f64")", "[1]", R"(["NaN"])"),
       "inputs[0].data[0]: \"NaN\"; expected a number, \"nan\", \"inf\" or \"-inf\""},
      {array(R"("f64")", "[1]", "[true]"),
       "inputs[0].data[0]: true; expected a number, \"nan\", \"inf\" or \"-inf\""},
      {array(R"("f32")", "[1]", "[1e39]"),
       "inputs[0].data[0]: 1e+39; expected a number that f32 can hold, or \"inf\""},
      {array(R"("i64")", "[1]", "[0.5]"), "inputs[0].data[0]: 0.5; expected an integer of 64 bits"},
      {array(R"("i64")", "[1]", "[9223372036854775808]"),
       "inputs[0].data[0]: 9223372036854775808; expected an integer of 64 bits"},
      {array(R"("bool")", "[1]", "[2]"), "inputs[0].data[0]: 2; expected true or false"},
  };
  for (const BadInput& bad : table) {
    const absl::Status status = ProgramFromText(bad.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_EQ(std::string(status.message()), bad.message) << bad.text;
  }
}

TEST(ParseJson, NumbersOutOfRangeAndBadBytesAreRefused) {
  for (const std::string text : {"1e999", "\"\xff\"", "{\"a\":1}}", "nan", "[1,]", ""}) {
    EXPECT_EQ(ParseJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseJson, DeepNestingIsNoStackOverflow) {
  const std::string deep(100000, '[');
  EXPECT_FALSE(ProgramFromText(deep).ok());
  EXPECT_FALSE(ProgramFromText(deep + std::string(100000, ']')).ok());
}

}  // namespace
}  // namespace peelcheck
