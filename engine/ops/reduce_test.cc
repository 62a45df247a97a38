// Reductions, softmax, sum_to and broadcast_to: values, dtypes, special values, derivatives to
// second order.
//
//   CheckDerivatives(f, {x});   // vjp = finite difference, jvp agrees with vjp, second order too,
//   vmap = loop
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

using Doubles = std::vector<double>;

Tensor F64(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
Tensor F32(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kF32, shape, values));
}
Tensor Bools(const Shape& shape, const Doubles& values) {
  return Tensor::FromArray(Array::FromValues(DType::kBool, shape, values));
}
Tensor Ints(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::FromArray(Array::FromInts(shape, values));
}
Doubles Values(const Tensor& tensor) { return tensor.array().ToDoubles(); }

// What `body` throws, or "nothing".
template <typename Body>
std::string ThrownBy(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(ErrorClassName(error.error_class())) + " " + error.what();
  }
  return "nothing";
}

// The gradient of the sum of f(x).
template <typename F>
Doubles Gradients(F f, const Tensor& x) {
  const TensorFn wrapped = [&](const Tensors& in) -> Tensors { return {f(in[0])}; };
  const VjpResult vjp = Vjp(wrapped, {x});
  return Values(vjp.pullback({OnesLike(vjp.outputs[0])})[0]);
}

// Distinct numbers of both signs: a cotangent or tangent that no mix-up of elements leaves alone.
Tensor Probe(const Tensor& like) {
  Doubles values;
  for (int64_t i = 0; i < like.size(); ++i)
    values.push_back(std::sin(1.0 + 2.3 * static_cast<double>(i)) + 0.1);
  return F64(like.shape(), values);
}

void ExpectNear(const Tensor& actual, const Tensor& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  for (size_t i = 0; i < Values(expected).size(); ++i) {
    const double wanted = Values(expected)[i];
    EXPECT_NEAR(Values(actual)[i], wanted, tolerance * (1 + std::fabs(wanted)))
        << what << ", element " << i;
  }
}

// Gradients of a function with one 0-d output against central differences.
void CheckGradients(const TensorFn& f, const Tensors& inputs, const std::string& what) {
  constexpr double kStep = 1e-5;
  const Tensors gradients = Vjp(f, inputs).pullback({Tensor::Scalar(1)});
  for (size_t i = 0; i < inputs.size(); ++i) {
    Array slopes = Array::Zeros(DType::kF64, inputs[i].shape());
    for (int64_t e = 0; e < inputs[i].size(); ++e) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        Array moved = inputs[i].array().Copy();
        moved.SetDouble(e, moved.DoubleAt(e) + (side == 0 ? kStep : -kStep));
        Tensors shifted = inputs;
        shifted[i] = Tensor::FromArray(moved);
        sides[side] = f(shifted)[0].item();
      }
      slopes.SetDouble(e, (sides[0] - sides[1]) / (2 * kStep));
    }
    ExpectNear(gradients[i], Tensor::FromArray(slopes), 1e-6,
               what + " of input " + std::to_string(i));
  }
}

// vmap of f over three different slots, of all inputs and of each alone, against the loop.
void CheckVmap(const TensorFn& f, const Tensors& inputs, const std::string& what) {
  for (size_t only = 0; only <= inputs.size(); ++only) {
    for (bool at_end : {false, true}) {
      VmapOptions options{.in_dims = {}};
      Tensors mapped;
      std::vector<Tensors> slots(3, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (only < inputs.size() && only != i) {
          options.in_dims.push_back(std::nullopt);
          mapped.push_back(inputs[i]);
          continue;
        }
        Tensors values;
        for (size_t s = 0; s < 3; ++s)
          values.push_back(slots[s][i] = inputs[i] * (1 + 0.25 * static_cast<double>(s)));
        options.in_dims.push_back(at_end ? -1 : 0);
        mapped.push_back(Stack(values, at_end ? inputs[i].rank() : 0));
      }
      const Tensors outputs = Vmap(f, options)(mapped);
      for (size_t o = 0; o < outputs.size(); ++o) {
        for (size_t s = 0; s < 3; ++s) {
          const std::string where =
              what + ", output " + std::to_string(o) + ", slot " + std::to_string(s);
          ExpectNear(Select(outputs[o], 0, static_cast<int64_t>(s)), f(slots[s])[o], 1e-12, where);
        }
      }
    }
  }
}

// All of it for f with one f64 output: vjp and its own vjp are finite differences, jvp is their
// adjoint, vmap is a loop.
void CheckDerivatives(const TensorFn& f, const Tensors& inputs) {
  const TensorFn loss = [&](const Tensors& in) -> Tensors {
    const Tensor y = f(in)[0];
    return {Sum(y * Probe(y))};
  };
  CheckGradients(loss, inputs, "vjp");
  const TensorFn gradients = [&](const Tensors& in) -> Tensors {
    return Vjp(loss, in).pullback({Tensor::Scalar(1)});
  };
  const TensorFn second = [&](const Tensors& in) -> Tensors {
    Tensor total = Tensor::Scalar(0);
    for (const Tensor& gradient : gradients(in)) total = total + Sum(gradient * Probe(gradient));
    return {total};
  };
  CheckGradients(second, inputs, "vjp of vjp");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensors tangents(inputs.size());
    tangents[i] = Probe(inputs[i]);
    const double forward = Jvp(loss, inputs, tangents).tangents[0].item();
    const double reverse = Sum(gradients(inputs)[i] * tangents[i]).item();
    EXPECT_NEAR(forward, reverse, 1e-9 * (1 + std::fabs(reverse))) << "jvp by input " << i;
  }
  CheckVmap(f, inputs, "vmap");
  CheckVmap(gradients, inputs, "vmap of vjp");
}

using Reduction = Tensor (*)(const Tensor&, const std::optional<Dims>&, bool);

constexpr double kInf = std::numeric_limits<double>::infinity();

// [2, 3, 4] with distinct values of both signs.
Tensor Block() {
  Doubles values;
  for (int i = 0; i < 24; ++i) values.push_back(0.3 + 0.37 * ((i * 7) % 24) - 4);
  return F64({2, 3, 4}, values);
}

struct Row {
  const char* name;
  Reduction op;
  double (*fold)(const Doubles&);
};

double SumOf(const Doubles& v) {
  double total = 0;
  for (double x : v) total += x;
  return total;
}

const Row kRows[] = {
    {"sum", Sum, SumOf},
    {"mean", Mean, [](const Doubles& v) { return SumOf(v) / static_cast<double>(v.size()); }},
    {"amax", Amax, [](const Doubles& v) { return *std::max_element(v.begin(), v.end()); }},
    {"amin", Amin, [](const Doubles& v) { return *std::min_element(v.begin(), v.end()); }},
    {"logsumexp",
     [](const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
       return LogSumExp(x,
                        dims.value_or(x.rank() == 0   ? Dims{0}
                                      : x.rank() == 3 ? Dims{0, 1, 2}
                                                      : Dims{0}),
                        keepdim);
     },
     [](const Doubles& v) {
       double total = 0;
       for (double x : v) total += std::exp(x);
       return std::log(total);
     }},
};

// Groups the elements of a [2, 3, 4] block by the axes that are kept.
Doubles Folded(const Tensor& x, const std::vector<bool>& reduced, double (*fold)(const Doubles&)) {
  std::map<std::vector<int64_t>, Doubles> groups;
  const Doubles values = Values(x);
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t index[] = {i / 12, i / 4 % 3, i % 4};
    std::vector<int64_t> key;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!reduced[axis]) key.push_back(index[axis]);
    }
    groups[key].push_back(values[static_cast<size_t>(i)]);
  }
  Doubles result;
  for (const auto& [key, group] : groups) result.push_back(fold(group));
  return result;
}

TEST(Reduce, EverySetOfAxesMatchesTheLoop) {
  for (const Row& row : kRows) {
    for (size_t mask = 1; mask < 8; ++mask) {
      Dims dims;
      std::vector<bool> reduced;
      Shape kept;
      Shape dropped;
      for (int64_t axis = 0; axis < 3; ++axis) {
        const bool folds = (mask >> axis & 1) != 0;
        reduced.push_back(folds);
        kept.push_back(folds ? 1 : axis + 2);
        if (!folds) dropped.push_back(axis + 2);
        if (folds) dims.push_back(axis % 2 == 0 ? axis - 3 : axis);  // negative and positive
      }
      SCOPED_TRACE(std::string(row.name) + " mask " + std::to_string(mask));
      const Tensor x = Block();
      const Doubles expected = Folded(x, reduced, row.fold);
      const Tensor y = row.op(x, dims, false);
      EXPECT_EQ(y.shape(), dropped);
      EXPECT_EQ(row.op(x, dims, true).shape(), kept);
      ASSERT_EQ(Values(y).size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(Values(y)[i], expected[i], 1e-13);
      // The same values through a view whose memory order is another.
      const Tensor view =
          Permute(Tensor::FromArray(Permute(x, {2, 0, 1}).array().Copy()), {1, 2, 0});
      const Doubles of_view = Values(row.op(view, dims, false));
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(of_view[i], expected[i], 1e-13);
      for (bool keepdim : {false, true}) {
        CheckDerivatives(
            [&](const Tensors& in) -> Tensors { return {row.op(in[0], dims, keepdim)}; }, {x});
      }
    }
  }
}

TEST(Reduce, ZeroDimensionsOneElementAndEmptySets) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_DOUBLE_EQ(row.op(Tensor::Scalar(3), std::nullopt, false).item(), 3);
    EXPECT_EQ(row.op(Tensor::Scalar(3), Dims{-1}, true).shape(), Shape{});
    EXPECT_EQ(row.op(F64({0, 3}, {}), Dims{1}, false).shape(), (Shape{0}));
    CheckDerivatives([&](const Tensors& in) -> Tensors { return {row.op(in[0], Dims{0}, false)}; },
                     {Tensor::Scalar(0.7)});
    CheckDerivatives([&](const Tensors& in) -> Tensors { return {row.op(in[0], Dims{1}, true)}; },
                     {F64({1, 1}, {0.7})});
    CheckDerivatives([&](const Tensors& in) -> Tensors { return {row.op(in[0], Dims{-1}, false)}; },
                     {F64({0, 3}, {})});
    const std::string repeated = ThrownBy([&] { row.op(Block(), Dims{1, -2}, false); });
    EXPECT_NE(repeated.find("invalid_argument"), std::string::npos) << repeated;
    EXPECT_NE(ThrownBy([&] { row.op(Block(), Dims{3}, false); }).find("invalid_argument"),
              std::string::npos);
  }
  EXPECT_EQ(Sum(F64({0}, {})).item(), 0);
  EXPECT_TRUE(std::isnan(Mean(F64({0}, {})).item()));
  EXPECT_EQ(Values(LogSumExp(F64({2, 0}, {}), {1})), (Doubles{-kInf, -kInf}));
  EXPECT_NE(ThrownBy([] {
              Amax(F64({3, 0}, {}), Dims{1});
            }).find("invalid_argument [amax]"),
            std::string::npos);
  EXPECT_NE(ThrownBy([] { Amin(F64({0}, {})); }).find("invalid_argument [amin]"),
            std::string::npos);
}

TEST(Reduce, Dtypes) {
  EXPECT_EQ(Sum(Ints({2}, {1, 2})).dtype(), DType::kI64);
  EXPECT_EQ(Sum(Bools({3}, {1, 0, 1})).dtype(), DType::kI64);
  EXPECT_EQ(Sum(Bools({3}, {1, 0, 1})).item(), 2);
  EXPECT_EQ(Prod(Bools({2}, {1, 1})).dtype(), DType::kI64);
  EXPECT_EQ(CumSum(Bools({2}, {1, 1}), 0).dtype(), DType::kI64);
  EXPECT_EQ(Amax(Bools({2}, {0, 1})).dtype(), DType::kBool);
  EXPECT_EQ(Sum(F32({2}, {1, 2})).dtype(), DType::kF32);
  EXPECT_NE(ThrownBy([] {
              Mean(Ints({2}, {1, 2}));
            }).find("invalid_argument [mean]"),
            std::string::npos);
}

TEST(Reduce, LongRunsOfEveryDtypeAndStrideAreExact) {
  for (int64_t n : {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000}) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < 2 * n; ++i) values.push_back((i * 37) % 101 - 50);
    int64_t all = 0;
    int64_t even = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      all += values[i];
      if (i % 2 == 0) even += values[i];
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    for (DType dtype : {DType::kI64, DType::kF32, DType::kF64}) {
      const Tensor x = To(Ints({n, 2}, values), dtype);
      EXPECT_EQ(Sum(x).item(), static_cast<double>(all)) << n;
      EXPECT_EQ(Values(Sum(x, Dims{0}))[0], static_cast<double>(even)) << n;
      EXPECT_EQ(Sum(Select(x, 1, 0)).item(), static_cast<double>(even)) << n;
      EXPECT_EQ(Amax(x).item(), static_cast<double>(*high)) << n;
      EXPECT_EQ(Amin(x).item(), static_cast<double>(*low)) << n;
    }
  }
}

// 2^24 + 1 is no f32: added one by one in f32 the ones would be lost.
TEST(Reduce, SingleSumsAreAccumulatedInDouble) {
  const Tensor x = Cat(Tensors{F32({1}, {16777216}), Full({64}, 1, DType::kF32)}, 0);
  EXPECT_EQ(Sum(x).item(), 16777280);
  EXPECT_EQ(Values(CumSum(x, 0)).back(), 16777280);
  EXPECT_EQ(Values(CumSum(Unsqueeze(x, 1), 0)).back(), 16777280);
}

TEST(Reduce, NanWinsAndTiesShareEvenly) {
  for (Reduction op : {Reduction(Amax), Reduction(Amin)}) {
    for (size_t at = 0; at < 40; ++at) {
      Doubles values(40, 1);
      values[at] = std::nan("");
      EXPECT_TRUE(std::isnan(op(F64({40}, values), std::nullopt, false).item())) << at;
    }
    const auto whole = [&](const Tensor& x) { return op(x, std::nullopt, false); };
    EXPECT_EQ(Gradients(whole, F64({4}, {2, 2, 2, 2})), (Doubles{0.25, 0.25, 0.25, 0.25}));
  }
  const auto rows = [](const Tensor& x) { return Amax(x, Dims{1}); };
  EXPECT_EQ(Gradients(rows, F64({2, 3}, {3, 3, 1, 0, 5, 2})), (Doubles{0.5, 0.5, 0, 0, 1, 0}));
}

TEST(Prod, ValuesAndDerivativesWithZeros) {
  for (const Doubles& values :
       {Doubles{2, -3, 4}, Doubles{2, 0, 4}, Doubles{0, 3, 0}, Doubles{0, 0, 0}}) {
    const Tensor x = F64({3}, values);
    EXPECT_EQ(Prod(x).item(), values[0] * values[1] * values[2]);
    const auto whole = [](const Tensor& v) { return Prod(v); };
    EXPECT_EQ(Gradients(whole, x),
              (Doubles{values[1] * values[2], values[0] * values[2], values[0] * values[1]}));
    CheckDerivatives([](const Tensors& in) -> Tensors { return {Prod(in[0])}; }, {x});
  }
  for (bool keepdim : {false, true}) {
    for (int64_t dim : {0, 1, -1}) {
      CheckDerivatives(
          [=](const Tensors& in) -> Tensors { return {Prod(in[0] * 0.5, dim, keepdim)}; },
          {Block()});
    }
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {Prod(in[0], 0, keepdim)}; },
                     {Tensor::Scalar(2)});
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {Prod(in[0], 1, keepdim)}; },
                     {F64({3, 1}, {1, 2, 0})});
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {Prod(in[0], 1, keepdim)}; },
                     {F64({3, 0}, {})});
  }
  EXPECT_EQ(Prod(F64({0, 3}, {})).item(), 1);
  EXPECT_EQ(Prod(Block(), std::nullopt, true).shape(), (Shape{1, 1, 1}));
  for (int64_t n : {4, 5, 6, 7, 8, 9}) {  // one zero in each place
    for (int64_t zero = 0; zero < n; ++zero) {
      Doubles values;
      double others = 1;
      for (int64_t i = 0; i < n; ++i) {
        values.push_back(i == zero ? 0.0 : static_cast<double>(i + 1));
        if (i != zero) others *= static_cast<double>(i + 1);
      }
      Doubles expected(static_cast<size_t>(n), 0);
      expected[static_cast<size_t>(zero)] = others;
      const auto whole = [](const Tensor& v) { return Prod(v); };
      EXPECT_EQ(Gradients(whole, F64({n}, values)), expected);
    }
  }
}

// d3/dx dy dz of x y z is 1, at x = y = z = 0 too.
TEST(Prod, ThirdDerivativeAtThreeZeros) {
  TensorFn f = [](const Tensors& in) -> Tensors { return {Prod(Stack(in, 0))}; };
  for (int64_t i = 0; i < 3; ++i) f = Grad(f, {.argnums = std::vector<int64_t>{i}});
  EXPECT_EQ(f({Tensor::Scalar(0), Tensor::Scalar(0), Tensor::Scalar(0)})[0].item(), 1);
}

TEST(Prod, GradientOfALongAxisNeedsNoSquareOfMemory) {
  const auto whole = [](const Tensor& v) { return Prod(v); };
  const Doubles gradient = Gradients(whole, Full({100001}, 1, DType::kF64));
  EXPECT_EQ(gradient, Doubles(100001, 1));
}

TEST(CumSum, ValuesAndDerivatives) {
  EXPECT_EQ(Values(CumSum(F64({2, 3}, {1, 2, 3, 4, 5, 6}), 0)), (Doubles{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(Values(CumSum(F64({2, 3}, {1, 2, 3, 4, 5, 6}), -1)), (Doubles{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(Values(CumSum(Transpose(F64({2, 3}, {1, 2, 3, 4, 5, 6}), 0, 1), 0)),
            (Doubles{1, 4, 3, 9, 6, 15}));
  for (int64_t dim : {0, 1, -1}) {
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {CumSum(in[0], dim)}; }, {Block()});
  }
  CheckDerivatives([](const Tensors& in) -> Tensors { return {CumSum(in[0], 0)}; },
                   {Tensor::Scalar(2)});
  CheckDerivatives([](const Tensors& in) -> Tensors { return {CumSum(in[0], 0)}; },
                   {F64({0, 3}, {})});
}

TEST(ReduceVmap, SlotWithoutAxesHasTheDtypeOfThePlainCall) {
  const TensorFn ops[] = {
      [](const Tensors& in) -> Tensors { return {Sum(in[0], Dims{0})}; },
      [](const Tensors& in) -> Tensors { return {Prod(in[0], 0)}; },
      [](const Tensors& in) -> Tensors { return {CumSum(in[0], 0)}; },
      [](const Tensors& in) -> Tensors { return {Amax(in[0], Dims{0})}; },
  };
  for (const TensorFn& op : ops) {
    const Tensor mapped = Vmap(op)({Bools({3}, {1, 0, 1})})[0];
    EXPECT_EQ(mapped.dtype(), op({Bools({}, {1})})[0].dtype());
    EXPECT_EQ(Values(mapped), (Doubles{1, 0, 1}));
  }
}

// A plain call returns new storage, so a vmapped one must as well: writing into the result leaves
// the input alone.
TEST(ReduceVmap, ResultOfASlotWithoutAxesIsNotTheInput) {
  const TensorFn ops[] = {
      [](const Tensors& in) -> Tensors { return {ExpInPlace(Prod(in[0], 0))}; },
      [](const Tensors& in) -> Tensors { return {ExpInPlace(CumSum(in[0], 0))}; },
  };
  for (const TensorFn& op : ops) {
    const Tensor x = F64({3}, {1, 2, 3});
    Vmap(op)({x});
    EXPECT_EQ(Values(x), (Doubles{1, 2, 3}));
  }
}

TEST(Softmax, ValuesAndDerivatives) {
  const Tensor x = F64({2, 3}, {1, 2, 3, 1000, 1001, 1002});
  const double total = 1 + std::exp(1.0) + std::exp(2.0);
  const Doubles row = {1 / total, std::exp(1.0) / total, std::exp(2.0) / total};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(Values(Softmax(x, 1))[i], row[i % 3], 1e-15);
    EXPECT_NEAR(Values(LogSoftmax(x, -1))[i], std::log(row[i % 3]), 1e-13);
  }
  for (int64_t dim : {0, 1, -1}) {
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {Softmax(in[0], dim)}; },
                     {Block()});
    CheckDerivatives([=](const Tensors& in) -> Tensors { return {LogSoftmax(in[0], dim)}; },
                     {Block()});
  }
  CheckDerivatives([](const Tensors& in) -> Tensors { return {Softmax(in[0], 0)}; },
                   {Tensor::Scalar(2)});
  CheckDerivatives([](const Tensors& in) -> Tensors { return {LogSoftmax(in[0], 0)}; },
                   {Tensor::Scalar(2)});
  EXPECT_EQ(Softmax(F64({3, 0}, {}), 1).shape(), (Shape{3, 0}));
  EXPECT_NE(ThrownBy([] {
              Softmax(Ints({2}, {1, 2}), 0);
            }).find("invalid_argument [softmax]"),
            std::string::npos);
}

TEST(Softmax, InfinitiesAreSane) {
  const Tensor masked = F64({3}, {-kInf, 0, 0});
  EXPECT_EQ(Values(Softmax(masked, 0)), (Doubles{0, 0.5, 0.5}));
  EXPECT_DOUBLE_EQ(LogSumExp(masked, {0}).item(), std::log(2.0));
  const Tensor nothing = F64({2}, {-kInf, -kInf});
  EXPECT_EQ(LogSumExp(nothing, {0}).item(), -kInf);
  EXPECT_EQ(LogSumExp(F64({2}, {kInf, 1}), {0}).item(), kInf);
  EXPECT_TRUE(std::isnan(Values(Softmax(nothing, 0))[0]));  // 0 / 0, as in PyTorch
  EXPECT_TRUE(std::isnan(LogSumExp(F64({2}, {std::nan(""), -kInf}), {0}).item()));
}

TEST(SumTo, IsTheTransposeOfBroadcastTo) {
  EXPECT_EQ(Values(SumTo(F64({2, 3}, {1, 2, 3, 4, 5, 6}), {3})), (Doubles{5, 7, 9}));
  EXPECT_EQ(Values(SumTo(F64({2, 3}, {1, 2, 3, 4, 5, 6}), {2, 1})), (Doubles{6, 15}));
  EXPECT_EQ(SumTo(F64({2, 3}, {1, 2, 3, 4, 5, 6}), {}).item(), 21);
  EXPECT_EQ(Values(SumTo(F64({0, 3}, {}), {1, 3})), (Doubles{0, 0, 0}));
  EXPECT_EQ(Values(BroadcastTo(F64({2, 1}, {1, 2}), {2, 3})), (Doubles{1, 1, 1, 2, 2, 2}));
  const Tensor x = F64({3}, {1, 2, 3});
  EXPECT_TRUE(SumTo(x, {3}).is(x));
  EXPECT_TRUE(BroadcastTo(x, {3}).is(x));
  for (const Shape& shape : {Shape{3, 4}, Shape{3, 1}, Shape{1, 1, 4}, Shape{}, Shape{2, 1, 1}}) {
    CheckDerivatives([&](const Tensors& in) -> Tensors { return {SumTo(in[0], shape)}; },
                     {Block()});
  }
  CheckDerivatives(
      [](const Tensors& in) -> Tensors {
        return {BroadcastTo(in[0], {2, 5, 3, 4})};
      },
      {F64({3, 1}, {1, 2, 3})});
}

TEST(SumTo, RefusesShapesThatDoNotFitPlainAndUnderVmap) {
  const auto failure = [](const TensorFn& f) {
    const Tensor x = Block();
    EXPECT_NE(ThrownBy([&] { f({Select(x, 0, 0)}); }).find("invalid_argument"), std::string::npos);
    EXPECT_NE(ThrownBy([&] { Vmap(f)({x}); }).find("invalid_argument"), std::string::npos);
  };
  failure([](const Tensors& in) -> Tensors { return {SumTo(in[0], {1, 3, 4})}; });
  failure([](const Tensors& in) -> Tensors { return {SumTo(in[0], {2, 4})}; });
  failure([](const Tensors& in) -> Tensors { return {BroadcastTo(in[0], {4})}; });
  failure([](const Tensors& in) -> Tensors { return {BroadcastTo(in[0], {3, 5})}; });
}

}  // namespace
}  // namespace peelcheck
