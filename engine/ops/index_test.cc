// gather, scatter_add, index_select, argsort and sort against hand-written loops: values,
// gradients, tangents, vmap with every combination of batched operands.
//
//   EXPECT_EQ(Gather(x, 1, index)[i, j], x[i, index[i, j]])
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

using Values = std::vector<double>;

Tensor F64(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
Tensor Ints(const Shape& shape, std::vector<int64_t> values) {
  return Tensor::FromArray(Array::FromInts(shape, values));
}
Values ValuesOf(const Tensor& x) { return x.array().ToDoubles(); }

Tensor Distinct(const Shape& shape, double first) {
  Values values;
  for (int64_t i = 0; i < ElementCount(shape); ++i)
    values.push_back(first + static_cast<double>(i));
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
// 0..bound-1 in a scrambled order, with repetitions.
Tensor Indices(const Shape& shape, int64_t bound) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < ElementCount(shape); ++i) values.push_back((i * i + 2 * i) % bound);
  return Ints(shape, values);
}

// f mapped over slots against a loop, for outputs of any dtype.
void ExpectVmapIsLoop(const TensorFn& f, const Tensors& inputs,
                      const std::vector<BatchDim>& in_dims, int64_t size) {
  const Tensors mapped = Vmap(f, {.in_dims = in_dims})(inputs);
  for (size_t o = 0; o < mapped.size(); ++o) ASSERT_EQ(mapped[o].dim(0), size);
  for (int64_t slot = 0; slot < size; ++slot) {
    Tensors one;
    for (size_t i = 0; i < inputs.size(); ++i) {
      one.push_back(in_dims[i] ? Tensor::FromArray(inputs[i].array().Selected(*in_dims[i], slot))
                               : inputs[i]);
    }
    const Tensors expected = f(one);
    ASSERT_EQ(expected.size(), mapped.size());
    for (size_t o = 0; o < mapped.size(); ++o) {
      EXPECT_TRUE(mapped[o].array().Selected(0, slot).BitEquals(expected[o].array()))
          << "slot " << slot << ": " << mapped[o].array().Selected(0, slot).ToString()
          << " but the loop gives " << expected[o].array().ToString();
    }
  }
}

// Every combination of batched and unbatched, except for none; the batch axis of a batched operand
// is its last or its first.
void ExpectVmapIsLoopForAllCombinations(const TensorFn& f, const Tensors& slots,
                                        const std::function<Tensor(size_t, const Shape&)>& make) {
  constexpr int64_t kSize = 2;
  for (size_t mask = 1; mask < size_t{1} << slots.size(); ++mask) {
    for (bool last : {false, true}) {
      Tensors inputs;
      std::vector<BatchDim> in_dims;
      for (size_t i = 0; i < slots.size(); ++i) {
        const bool batched = (mask >> i & 1) != 0;
        Shape shape = slots[i].shape();
        if (batched) shape.insert(last ? shape.end() : shape.begin(), kSize);
        inputs.push_back(batched ? make(i, shape) : slots[i]);
        in_dims.push_back(batched ? BatchDim(last ? slots[i].rank() : 0) : std::nullopt);
      }
      SCOPED_TRACE("batched inputs " + std::to_string(mask) +
                   (last ? ", last axis" : ", first axis"));
      ExpectVmapIsLoop(f, inputs, in_dims, kSize);
    }
  }
}

TEST(Gather, ValuesAreThoseOfTheLoopForEveryDimDtypeAndLayout) {
  for (DType dtype : {DType::kBool, DType::kI64, DType::kF32, DType::kF64}) {
    for (int64_t dim : {0, 1, -1}) {
      const Array x = Distinct({4, 3}, dtype == DType::kBool ? 0 : 1)
                          .array()
                          .MovedDim(0, 1)
                          .Cast(dtype);  // [3, 4]
      const int64_t axis = dim < 0 ? 1 : dim;
      const Tensor index = Indices({3, 3}, axis == 0 ? 3 : 4);
      Values expected;
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 3; ++j) {
          const int64_t at = index.array().IntAt(i * 3 + j);
          expected.push_back(axis == 0 ? x.DoubleAt(at * 4 + j) : x.DoubleAt(i * 4 + at));
        }
      }
      const Tensor dense = Tensor::FromArray(x.Contiguous());
      EXPECT_EQ(ValuesOf(Gather(Tensor::FromArray(x), dim, index)), expected);
      EXPECT_EQ(ValuesOf(Gather(dense, dim, index)), expected);
      const Tensor columns = Tensor::FromArray(
          index.array().MovedDim(0, 1).Copy().MovedDim(0, 1));  // the same, other strides
      EXPECT_EQ(ValuesOf(Gather(dense, dim, columns)), expected);
    }
  }
}

TEST(Gather, RepeatedIndicesAddUpInTheGradient) {
  const TensorFn gather = [](const Tensors& in) -> Tensors { return {Gather(in[0], 1, in[1])}; };
  const VjpResult vjp = Vjp(gather, {Distinct({2, 3}, 1), Ints({2, 4}, {0, 0, 2, 0, 1, 1, 1, 1})});
  EXPECT_EQ(ValuesOf(vjp.pullback({Distinct({2, 4}, 1)})[0]),
            (Values{1 + 2 + 4, 0, 3, 0, 5 + 6 + 7 + 8, 0}));
}

TEST(Gather, ZeroRankAndEmptyIndices) {
  EXPECT_EQ(ValuesOf(Gather(Tensor::Scalar(5), -1, Ints({}, {0}))), (Values{5}));
  EXPECT_EQ(Gather(Distinct({3, 4}, 1), 1, Ints({3, 0}, {})).shape(), (Shape{3, 0}));
  EXPECT_EQ(Gather(Distinct({3, 0}, 1), 1, Ints({3, 0}, {})).shape(), (Shape{3, 0}));
}

TEST(Gather, VmapIsTheLoopForAllCombinationsOfBatchedOperands) {
  const auto make = [](size_t i, const Shape& shape) {
    return i == 0 ? Distinct(shape, 50) : Indices(shape, 3);
  };
  for (int64_t dim : {0, 1}) {
    const TensorFn gather = [dim](const Tensors& in) -> Tensors {
      return {Gather(in[0], dim, in[1])};
    };
    ExpectVmapIsLoopForAllCombinations(gather, {Distinct({3, 4}, 1), Indices({3, 4}, 3)}, make);
  }
  const TensorFn scalar = [](const Tensors& in) -> Tensors { return {Gather(in[0], 0, in[1])}; };
  ExpectVmapIsLoopForAllCombinations(scalar, {Tensor::Scalar(5), Ints({}, {0})},
                                     [](size_t i, const Shape& shape) {
                                       return i == 0 ? Distinct(shape, 50) : Ints(shape, {0, 0});
                                     });
}

TEST(Gather, VmapOfTheGradientIsTheLoop) {
  const TensorFn pullback = [](const Tensors& in) {
    const TensorFn gather = [&in](const Tensors& x) -> Tensors { return {Gather(x[0], 1, in[1])}; };
    return Vjp(gather, {in[0]}).pullback({in[2]});
  };
  ExpectVmapIsLoopForAllCombinations(pullback,
                                     {Distinct({3, 4}, 1), Indices({3, 5}, 4), Distinct({3, 5}, 7)},
                                     [](size_t i, const Shape& shape) {
                                       return i == 1 ? Indices(shape, 4) : Distinct(shape, 50);
                                     });
}

TEST(ScatterAdd, AddsEachSourceAtItsIndex) {
  const Tensor result =
      ScatterAdd(Distinct({2, 3}, 10), 1, Ints({2, 2}, {1, 1, 0, 2}), Distinct({2, 2}, 1));
  EXPECT_EQ(ValuesOf(result), (Values{10, 11 + 1 + 2, 12, 13 + 3, 14, 15 + 4}));
  // Only the part of the source that the index covers.
  EXPECT_EQ(ValuesOf(ScatterAdd(F64({2}, {1, 2}), 0, Ints({1}, {1}), F64({3}, {10, 20, 30}))),
            (Values{1, 12}));
}

TEST(ScatterAdd, InputIsNotWritten) {
  const Tensor x = F64({2}, {1, 2});
  ScatterAdd(x, 0, Ints({1}, {1}), F64({1}, {10}));
  EXPECT_EQ(ValuesOf(x), (Values{1, 2}));
}

TEST(ScatterAdd, TrueAndTrueIsTrue) {
  const Tensor truth = Tensor::FromArray(Array::Full(DType::kBool, {1}, 1));
  EXPECT_EQ(*ScatterAdd(truth, 0, Ints({1}, {0}), truth).array().data<uint8_t>(), 1);
}

TEST(ScatterAdd, GradientsAndTangents) {
  const TensorFn scatter = [](const Tensors& in) -> Tensors {
    return {ScatterAdd(in[0], 0, Ints({2}, {2, 2}), in[1])};
  };
  const Tensors primals = {Distinct({3}, 1), Distinct({4}, 1)};
  const Tensors gradients = Vjp(scatter, primals).pullback({F64({3}, {5, 6, 7})});
  EXPECT_EQ(ValuesOf(gradients[0]), (Values{5, 6, 7}));
  EXPECT_EQ(ValuesOf(gradients[1]), (Values{7, 7, 0, 0}));  // the index covers two of the four
  EXPECT_EQ(ValuesOf(Jvp(scatter, primals, {Tensor(), Distinct({4}, 1)}).tangents[0]),
            (Values{0, 0, 3}));
  EXPECT_EQ(ValuesOf(Jvp(scatter, primals, {Distinct({3}, 1), Tensor()}).tangents[0]),
            (Values{1, 2, 3}));
}

TEST(ScatterAdd, VmapIsTheLoopForAllCombinationsOfBatchedOperands) {
  const auto make = [](size_t i, const Shape& shape) {
    return i == 1 ? Indices(shape, 3) : Distinct(shape, 50);
  };
  for (int64_t dim : {0, 1}) {
    const TensorFn scatter = [dim](const Tensors& in) -> Tensors {
      return {ScatterAdd(in[0], dim, in[1], in[2])};
    };
    ExpectVmapIsLoopForAllCombinations(
        scatter, {Distinct({3, 4}, 1), Indices({3, 3}, 3), Distinct({3, 5}, 9)}, make);
  }
  const TensorFn scalar = [](const Tensors& in) -> Tensors {
    return {ScatterAdd(in[0], 0, in[1], in[2])};
  };
  ExpectVmapIsLoopForAllCombinations(scalar, {Tensor::Scalar(5), Ints({}, {0}), Tensor::Scalar(7)},
                                     [](size_t i, const Shape& shape) {
                                       return i == 1 ? Ints(shape, {0, 0}) : Distinct(shape, 50);
                                     });
}

TEST(IndexSelect, ValuesAndGradient) {
  const Tensor index = Ints({5}, {3, 0, 3, 1, 3});
  const TensorFn select = [&](const Tensors& in) -> Tensors {
    return {IndexSelect(in[0], 1, index)};
  };
  const Tensor x = Distinct({3, 4}, 0);  // x[i, j] = 4 i + j
  const VjpResult vjp = Vjp(select, {x});
  Values expected;
  Values gradient(12, 0);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      const int64_t at = 4 * i + index.array().IntAt(j);
      expected.push_back(static_cast<double>(at));
      gradient[static_cast<size_t>(at)] += static_cast<double>(5 * i + j + 1);
    }
  }
  EXPECT_EQ(ValuesOf(vjp.outputs[0]), expected);
  EXPECT_EQ(ValuesOf(vjp.pullback({Distinct({3, 5}, 1)})[0]), gradient);
  EXPECT_EQ(ValuesOf(Jvp(select, {x}, {x}).tangents[0]), expected);
}

TEST(IndexSelect, StridedInputStridedIndexAndEmptyIndex) {
  const Tensor x = Transpose(Distinct({4, 3}, 0), 0, 1);                // x[i, j] = 3 j + i
  const Tensor index = Select(Ints({3, 2}, {2, 9, 0, 9, 2, 9}), 1, 0);  // [2, 0, 2]
  EXPECT_EQ(ValuesOf(IndexSelect(x, 0, index)), (Values{2, 5, 8, 11, 0, 3, 6, 9, 2, 5, 8, 11}));
  EXPECT_EQ(IndexSelect(x, 1, Ints({0}, {})).shape(), (Shape{3, 0}));
}

TEST(IndexSelect, VmapIsTheLoopForAllCombinationsOfBatchedOperands) {
  const auto make = [](size_t i, const Shape& shape) {
    return i == 0 ? Distinct(shape, 50) : Indices(shape, 3);
  };
  for (int64_t dim : {0, 1, 2}) {
    const TensorFn select = [dim](const Tensors& in) -> Tensors {
      return {IndexSelect(in[0], dim, in[1])};
    };
    ExpectVmapIsLoopForAllCombinations(select, {Distinct({3, 4, 5}, 1), Indices({7}, 3)}, make);
    const TensorFn pullback = [dim](const Tensors& in) {
      const TensorFn f = [&](const Tensors& x) -> Tensors {
        return {Square(IndexSelect(x[0], dim, in[1]))};
      };
      const VjpResult vjp = Vjp(f, {in[0]});
      return vjp.pullback({vjp.outputs[0]});
    };
    ExpectVmapIsLoopForAllCombinations(pullback, {Distinct({3, 4, 5}, 1), Indices({7}, 3)}, make);
  }
}

TEST(Index, IndicesOutOfRangeAndWrongDtypesAreRefusedByName) {
  struct Refusal {
    std::function<void()> run;
    std::string message;
  };
  const Tensor x = Distinct({3}, 1);
  for (const Refusal& refusal : std::vector<Refusal>{
           {[&] { Gather(x, 0, Ints({1}, {3})); },
            "[gather] index 3 is out of range for a dim of size 3; expected 0..2"},
           {[&] { Gather(x, 0, Ints({1}, {-1})); }, "[gather] index -1"},
           {[&] { Gather(x, 0, x); }, "[gather] index is f64; expected i64"},
           {[&] {
              Gather(x, 0, Ints({1, 1}, {0}));
            },
            "[gather] index has shape [1, 1]"},
           {[&] { Gather(Distinct({0}, 1), 0, Ints({1}, {0})); },
            "[gather] index 0 is out of range for a dim of size 0"},
           {[&] { ScatterAdd(x, 0, Ints({1}, {3}), x); }, "[scatter_add] index 3"},
           {[&] {
              ScatterAdd(x, 0, Ints({2}, {0, 1}), F64({1}, {1}));
            },
            "[scatter_add] source is f64[1]"},
           {[&] { IndexSelect(x, 0, Ints({1}, {3})); }, "[index_select] index 3"},
           {[&] { IndexSelect(x, 0, x); }, "[index_select] index is f64; expected i64"},
           {[&] { IndexSelect(x, 0, Ints({}, {0})); }, "[index_select] index has shape []"},
           {[&] { Argsort(x, 1); }, "[argsort] dim=1"},
           {[&] { Sort(x, 1); }, "[sort] dim=1"}}) {
    try {
      refusal.run();
      ADD_FAILURE() << "accepted: " << refusal.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(refusal.message), std::string::npos) << error.what();
    }
  }
}

TEST(Sort, IsStableInBothDirections) {
  const Tensor x = F64({5}, {2, 1, 2, 1, 3});
  EXPECT_EQ(ValuesOf(Sort(x, 0).indices), (Values{1, 3, 0, 2, 4}));
  EXPECT_EQ(ValuesOf(Sort(x, 0, true).indices), (Values{4, 0, 2, 1, 3}));
  EXPECT_EQ(ValuesOf(Sort(x, 0, true).values), (Values{3, 2, 2, 1, 1}));
}

// Long enough for an unstable algorithm to show: short inputs are sorted by insertion.
TEST(Sort, IsStableForManyEqualValues) {
  constexpr int64_t kSize = 301;
  const Tensor x = To(Indices({kSize}, 3), DType::kF64);
  for (bool descending : {false, true}) {
    const Array order = Argsort(x, 0, descending).array();
    for (int64_t i = 1; i < kSize; ++i) {
      const double before = x.array().DoubleAt(order.IntAt(i - 1));
      const double after = x.array().DoubleAt(order.IntAt(i));
      EXPECT_TRUE(descending ? before >= after : before <= after) << "at " << i;
      EXPECT_TRUE(before != after || order.IntAt(i - 1) < order.IntAt(i)) << "at " << i;
    }
  }
}

TEST(Sort, NanIsTheLargestValue) {
  const Tensor x = F64({4}, {1, std::nan(""), std::numeric_limits<double>::infinity(), 0});
  EXPECT_EQ(ValuesOf(Argsort(x, 0)), (Values{3, 0, 2, 1}));
  EXPECT_EQ(ValuesOf(Argsort(x, 0, true)), (Values{1, 2, 0, 3}));
}

TEST(Sort, SortsAlongTheDimOfAStridedInput) {
  const Tensor x =
      Transpose(F64({2, 3}, {3, 1, 2, 5, 6, 4}), 0, 1);  // columns [3, 1, 2] and [5, 6, 4]
  EXPECT_EQ(ValuesOf(Sort(x, 0).values), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(ValuesOf(Sort(x, -1).values), (Values{3, 5, 1, 6, 2, 4}));
  EXPECT_EQ(ValuesOf(Sort(Tensor::Scalar(5), 0).values), (Values{5}));
  EXPECT_EQ(Sort(Distinct({3, 0}, 1), 1).indices.shape(), (Shape{3, 0}));
  EXPECT_EQ(Sort(Distinct({0, 3}, 1), 0).indices.shape(), (Shape{0, 3}));
}

TEST(Sort, GradientAndTangentFollowThePermutation) {
  const TensorFn sort = [](const Tensors& in) -> Tensors { return {Sort(in[0], 1, true).values}; };
  const Tensor x = F64({2, 3}, {3, 1, 2, 5, 6, 4});
  EXPECT_EQ(ValuesOf(Vjp(sort, {x}).pullback({Distinct({2, 3}, 1)})[0]),
            (Values{1, 3, 2, 5, 4, 6}));
  EXPECT_EQ(ValuesOf(Jvp(sort, {x}, {Distinct({2, 3}, 1)}).tangents[0]),
            (Values{1, 3, 2, 5, 4, 6}));
}

TEST(Sort, VmapIsTheLoop) {
  const Tensor xs = F64({2, 3, 2}, {3, 9, 1, 7, 2, 8, 5, 1, 6, 3, 4, 2});
  for (int64_t batch : {0, 2}) {
    for (int64_t dim : {0, 1}) {
      const TensorFn sort = [dim](const Tensors& in) -> Tensors {
        const SortResult result = Sort(in[0], dim);
        return {result.values, result.indices};
      };
      ExpectVmapIsLoop(sort, {xs}, {batch}, 2);
    }
  }
  const TensorFn scalar = [](const Tensors& in) -> Tensors { return {Argsort(in[0], 0)}; };
  ExpectVmapIsLoop(scalar, {F64({3}, {3, 1, 2})}, {0}, 3);
}

}  // namespace
}  // namespace peelcheck
