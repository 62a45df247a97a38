// The custom functions: values and derivatives in closed form, written = generated = loop,
// identity, refusals, and every entry against its own reference and error cases.
#include "opinfo_db/functions/functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/ops.h"
#include "engine/transforms.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

Tensor F64(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}

void ExpectNear(const Tensor& came, const std::vector<double>& expected) {
  const std::vector<double> values = came.array().ToDoubles();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-12) << i;
}

void ExpectSame(const Tensors& came, const Tensors& expected) {
  ASSERT_EQ(came.size(), expected.size());
  for (size_t i = 0; i < came.size(); ++i) {
    EXPECT_EQ(came[i].shape(), expected[i].shape()) << i;
    EXPECT_EQ(came[i].dtype(), expected[i].dtype()) << i;
    ExpectNear(came[i], expected[i].array().ToDoubles());
  }
}

// "failed_precondition [tag] ..."
std::string ThrownBy(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(ErrorClassName(error.error_class())) + " " + error.what();
  }
  return "nothing";
}

const TensorFn kRefusing = [](const Tensors& in) -> Tensors {
  return {OpaqueCubeNotComposable(in[0])};
};

TEST(semantics_database, CubeCountsBothCotangentsAndDifferentiatesTwice) {
  const Tensor x = F64({3}, {-1, 0.5, 2});
  for (Tensors (*cube)(const Tensor&) : {OpaqueCube, CubeGenVmap}) {
    const TensorFn f = [cube](const Tensors& in) { return cube(in[0]); };
    // 3x^2 u + 6x v
    ExpectNear(Vjp(f, {x}).pullback({F64({3}, {1, 1, 1}), F64({3}, {2, 3, 4})})[0],
               {3 - 12, 0.75 + 9, 12 + 48});
    const TensorFn total = [cube](const Tensors& in) -> Tensors {
      const Tensors out = cube(in[0]);
      return {Sum(out[0]) + Sum(out[1])};
    };
    const TensorFn slope = [&](const Tensors& in) -> Tensors { return {Sum(Grad(total)(in)[0])}; };
    ExpectNear(Grad(slope)({x})[0], {6 * -1 + 6, 6 * 0.5 + 6, 6 * 2 + 6});
    const TensorFn bend = [&](const Tensors& in) -> Tensors { return {Sum(Grad(slope)(in)[0])}; };
    ExpectNear(Grad(bend)({x})[0], {6, 6, 6});
  }
}

TEST(semantics_database, MulBatchesOperandsOfDifferentRanks) {
  const Tensor x = F64({3, 2}, {1, 2, 3, 4, 5, 6});         // [n, B]
  const Tensor y = F64({2, 1, 3}, {1, -1, 2, 0.5, 3, -2});  // [B, m, n]
  for (Tensor (*mul)(const Tensor&, const Tensor&) : {OpaqueMul, MulGenVmap}) {
    const TensorFn f = [mul](const Tensors& in) -> Tensors { return {mul(in[0], in[1])}; };
    const Tensor out = Vmap(f, {.in_dims = {1, 0}})({x, y})[0];
    EXPECT_EQ(out.shape(), (Shape{2, 1, 3}));
    ExpectNear(out, {1, -3, 10, 1, 12, -12});
  }
}

TEST(semantics_database, MulTakesAnIntegerOperandWithoutGradient) {
  const Tensor k = Tensor::FromArray(Array::FromInts({3}, std::vector<int64_t>{2, 3, 4}));
  const TensorFn f = [&](const Tensors& in) -> Tensors { return {Sum(OpaqueMul(k, in[0]))}; };
  ExpectNear(Grad(f)({F64({3}, {1, 1, 1})})[0], {2, 3, 4});
  ExpectNear(Jvp(f, {F64({3}, {1, 1, 1})}, {F64({3}, {1, 0, 2})}).tangents[0], {10});
}

TEST(semantics_database, SortReturnsSortedValuesAndTheInverseOfTheirIndices) {
  const Tensor x = F64({1, 4}, {3, 1, 4, 2});
  for (Tensors (*sort)(const Tensor&, int64_t) : {OpaqueSort, SortGenVmap}) {
    const Tensors out = sort(x, -1);
    ExpectNear(out[0], {1, 2, 3, 4});
    ExpectNear(out[1], {1, 3, 0, 2});
    ExpectNear(out[2], {2, 0, 3, 1});
    const TensorFn f = [sort](const Tensors& in) -> Tensors { return {sort(in[0], -1)[0]}; };
    ExpectNear(Vjp(f, {x}).pullback({F64({1, 4}, {10, 20, 30, 40})})[0], {30, 10, 40, 20});
  }
}

TEST(semantics_database, NegativeDimCountsWithoutTheBatchAxis) {
  const Tensor x = F64({3, 4}, {3, 1, 4, 2, 8, 7, 6, 5, 0, 9, -1, 2});
  for (Tensors (*sort)(const Tensor&, int64_t) : {OpaqueSort, SortGenVmap}) {
    const TensorFn along_last = [sort](const Tensors& in) { return sort(in[0], -1); };
    // The batch axis last: inside, -1 is what was axis 0.
    ExpectSame(Vmap(along_last, {.in_dims = {1}, .out_dims = {1}})({x}), sort(x, 0));
    const TensorFn scalar = Vmap(along_last);
    ExpectSame(scalar({F64({4}, {3, 1, 4, 2})}),
               {F64({4}, {3, 1, 4, 2}), Full({4}, 0, DType::kI64), Full({4}, 0, DType::kI64)});
  }
}

TEST(semantics_database, TakeWithOnlyTheIndexBatchedSumsTheGradientOverSlots) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor ind =
      Tensor::FromArray(Array::FromInts({2, 3}, std::vector<int64_t>{2, 0, 1, 0, 2, 1}));
  const Tensor inverse =
      Tensor::FromArray(Array::FromInts({2, 3}, std::vector<int64_t>{1, 2, 0, 0, 2, 1}));
  for (auto take : {OpaqueTake, TakeGenVmap}) {
    const TensorFn one = [take](const Tensors& in) -> Tensors {
      return {take(in[0], in[1], in[2], -1)};
    };
    const TensorFn rows = Vmap(one, {.in_dims = {std::nullopt, 0, 0}});
    ExpectNear(rows({x, ind, inverse})[0], {3, 1, 2, 1, 3, 2});
    const TensorFn of_x = [&](const Tensors& in) { return rows({in[0], ind, inverse}); };
    ExpectNear(Vjp(of_x, {x}).pullback({F64({2, 3}, {1, 2, 3, 10, 20, 30})})[0],
               {2 + 10, 3 + 30, 1 + 20});
  }
  EXPECT_NE(ThrownBy([&] {
              OpaqueTake(x, Full({3}, 3, DType::kI64), Full({3}, 0, DType::kI64), 0);
            }).find("invalid_argument [OpaqueTake] index 3"),
            std::string::npos);
}

TEST(semantics_database, InPlaceReturnsTheCallersOwnTensorThroughEveryLevel) {
  for (Tensor (*exp_in_place)(const Tensor&) : {OpaqueExpInPlace, ExpInPlaceGenVmap}) {
    const TensorFn f = [exp_in_place](const Tensors& in) -> Tensors {
      const Tensor x = in[0] * 1.0;
      EXPECT_TRUE(exp_in_place(x).is(x));
      return {Sum(x)};
    };
    const Tensor x = F64({3}, {0, 1, 2});
    const std::vector<double> expected = {1, std::exp(1.0), std::exp(2.0)};
    ExpectNear(Grad(f)({x})[0], expected);
    ExpectNear(Vmap(Grad(f))({F64({1, 3}, {0, 1, 2})})[0], expected);
    ExpectNear(Jvp(f, {x}, {F64({3}, {0, 0, 1})}).tangents[0], {expected[2]});
    const Tensor own = F64({3}, {0, 1, 2});
    EXPECT_TRUE(exp_in_place(own).is(own));
    ExpectNear(own, expected);
  }
  const Tensor spread = Tensor::FromArray(Array::FromValues(DType::kF64, {1}, {1}).Expanded({3}));
  EXPECT_NE(ThrownBy([&] { OpaqueExpInPlace(spread); }).find("failed_precondition"),
            std::string::npos);
}

TEST(semantics_database, UndefinedCotangentsReachTheRuleWhereNothingIsMaterialized) {
  const TensorFn f = [](const Tensors& in) { return SumDiffNoMaterialize(in[0], in[1]); };
  const Tensor x = F64({3}, {1, 2, 3}), y = F64({3}, {4, 5, 6}), ct = F64({3}, {1, 10, 100});
  const Tensors of_difference = Vjp(f, {x, y}).pullback({Tensor(), ct});
  ExpectNear(of_difference[0], {1, 10, 100});
  ExpectNear(of_difference[1], {-1, -10, -100});
  const Tensors tangents = Jvp(f, {x, y}, {Tensor(), ct}).tangents;
  ExpectNear(tangents[1], {-1, -10, -100});
}

TEST(semantics_database, InputReturnedAsItIsHasItsCotangentOnce) {
  const TensorFn f = [](const Tensors& in) { return ReturnsInputGenVmap(in[0], in[1]); };
  const Tensor x = F64({3}, {1, 2, 3}), y = F64({3}, {4, 5, 6});
  const Tensors gradients = Vjp(f, {x, y}).pullback({F64({3}, {1, 1, 1}), F64({3}, {10, 10, 10})});
  ExpectNear(gradients[0], {41, 51, 61});
  ExpectNear(gradients[1], {10, 20, 30});
  EXPECT_TRUE(ReturnsInputGenVmap(x, y)[0].is(x));
}

// Only y is batched: x's own cotangent, of an output that is not batched either, counts once per
// slot it was given to.
TEST(semantics_database, CotangentOfAnUnbatchedOutputIsNotCountedOncePerSlot) {
  const Tensor x = F64({3}, {1, 2, 3}), y = F64({2, 3}, {4, 5, 6, 7, 8, 9});
  const Tensor ct = F64({2, 3}, {1, 1, 1, 1, 1, 1}), none = F64({2, 3}, {0, 0, 0, 0, 0, 0});
  for (const char* name : {"ReturnsInput", "ReturnsInputGenVmap"}) {
    const TensorFn rows = Vmap(BuildOperation(name, {}), {.in_dims = {std::nullopt, 0}});
    ExpectNear(Vjp(rows, {x, y}).pullback({ct, none})[0], {2, 2, 2});
    ExpectNear(Vjp(rows, {x, y}).pullback({ct, ct})[0], {2 + 11, 2 + 13, 2 + 15});
  }
}

TEST(semantics_database, NotComposableHasAGradientAndNothingElse) {
  const Tensor x = F64({3}, {1, 2, 3}), one = F64({3}, {1, 1, 1});
  ExpectNear(Vjp(kRefusing, {x}).pullback({F64({3}, {1, 10, 100})})[0], {3, 120, 2700});
  EXPECT_EQ(ThrownBy([&] { Vmap(kRefusing)({x}); }).find("unimplemented [OpaqueCubeNotComposable]"),
            0u);
  EXPECT_EQ(
      ThrownBy([&] { Jvp(kRefusing, {x}, {one}); }).find("unimplemented [OpaqueCubeNotComposable]"),
      0u);
  const TensorFn gradient = [&](const Tensors& in) { return Vjp(kRefusing, in).pullback({one}); };
  const std::string twice = ThrownBy([&] { Vjp(gradient, {x}).pullback({one}); });
  EXPECT_EQ(twice.find("failed_precondition [OpaqueCubeNotComposable"), 0u) << twice;
}

// Strides of an empty array say nothing about shared elements.
TEST(semantics_database, InPlaceAcceptsEmptyTensors) {
  for (const char* name : {"OpaqueExpInPlace", "ExpInPlaceGenVmap"}) {
    const Tensor empty = Tensor::FromArray(Array::Zeros(DType::kF64, {3, 0}));
    EXPECT_EQ(BuildOperation(name, {})({empty})[0].shape(), (Shape{3, 0})) << name;
  }
}

// A database entry's error cases fail plain, and under vmap, with their class.
TEST(semantics_database, ErrorCasesAreRefusedPlainAndBatched) {
  int64_t cases = 0;
  for (const Entry* entry : AllEntries()) {
    if (!entry->custom_function) continue;
    EXPECT_FALSE(entry->pins_down.empty()) << entry->name;
    for (const ErrorCase& each : entry->error_cases) {
      Tensors plain, batched;
      for (const ArraySpec& spec : each.inputs) {
        Shape shape = spec.shape;
        plain.push_back(Full(shape, 0, spec.dtype));
        shape.insert(shape.begin(), 2);
        batched.push_back(Full(shape, 0, spec.dtype));
      }
      const std::string expected = ErrorClassName(each.error_class);
      const std::string direct =
          ThrownBy([&] { BuildOperation(entry->name, each.attributes)(plain); });
      EXPECT_EQ(direct.find(expected), 0u)
          << entry->name << ", " << each.description << ": " << direct;
      if (!entry->composable) continue;
      const std::string mapped =
          ThrownBy([&] { Vmap(BuildOperation(entry->name, each.attributes))(batched); });
      EXPECT_EQ(mapped.find(expected), 0u)
          << entry->name << ", " << each.description << ": " << mapped;
      ++cases;
    }
  }
  EXPECT_GE(cases, 30);
}

}  // namespace
}  // namespace peelcheck
