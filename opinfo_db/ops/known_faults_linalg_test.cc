// Faults that other projects had in operations of linear algebra, networks and random numbers, each
// with the case that shows it; ours must not have them. The numbers are those of the project's list
// of public bug reports.
#include <gtest/gtest.h>

#include "opinfo_db/ops/gradient_test_helpers.h"

namespace peelcheck {
namespace {

constexpr double kGradient = 1e-8;

bool AllFinite(const Tensor& x) {
  for (const double value : ValuesOf(x))
    if (!std::isfinite(value)) return false;
  return true;
}

Tensor Targets(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::FromArray(Array::FromInts(shape, values));
}

double Distance(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape() || x.dtype() != y.dtype()) return HUGE_VAL;
  double worst = 0;
  const Values a = ValuesOf(x), b = ValuesOf(y);
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// f of each slot, stacked: what Vmap(f) with these in_dims must equal.
Tensors Loop(const TensorFn& f, const std::vector<BatchDim>& in_dims, int64_t size,
             const Tensors& in) {
  std::vector<Tensors> by_output;
  for (int64_t slot = 0; slot < size; ++slot) {
    Tensors one = in;
    for (size_t i = 0; i < in.size(); ++i)
      if (in_dims[i].has_value()) one[i] = Select(in[i], *in_dims[i], slot);
    const Tensors out = f(one);
    by_output.resize(out.size());
    for (size_t o = 0; o < out.size(); ++o) by_output[o].push_back(out[o]);
  }
  Tensors stacked;
  for (const Tensors& slots : by_output) stacked.push_back(Stack(slots, 0));
  return stacked;
}

// The backward of a convolution indexed by the wrong loop variable; equal sizes hide it.
TEST(KnownFaults, B3ConvolutionGradientWithAllSizesDifferent) {
  EXPECT_LT(
      GradientError("conv2d_bias", {{"stride", std::vector<int64_t>{1, 2}}, {"padding", 1}},
                    {Scattered({3, 2, 5, 7}, 1), Scattered({4, 2, 3, 1}, 2), Scattered({4}, 3)}),
      kGradient);
}

// Training mode left out that mean and variance depend on the input; the test took the other
// branch.
TEST(KnownFaults, B5BatchNormInTrainingDifferentiatesTheStatistics) {
  const Tensors in = {Scattered({5, 3, 4}, 1), Scattered({3}, 2), Square(Scattered({3}, 3)) + 0.5};
  EXPECT_LT(GradientError("batch_norm", {{"training", true}}, in), kGradient);
  // With statistics as constants, the gradients of a channel would not cancel.
  const Tensor gradient = Pulled(BuildOperation("batch_norm", {{"training", true}}), in)[0];
  for (const double sum : ValuesOf(Sum(gradient, Dims{0, 2}))) EXPECT_NEAR(sum, 0, 1e-12);
}

// In evaluation mode the statistics are constants, and the training formula was used.
TEST(KnownFaults, B13BatchNormInEvaluationIsAffine) {
  const Tensors in = {Scattered({5, 3, 4}, 1), Scattered({3}, 2), Square(Scattered({3}, 3)) + 0.5};
  EXPECT_LT(GradientError("batch_norm", {{"training", false}}, in), kGradient);
  const Tensor gradient = Pulled(BuildOperation("batch_norm", {{"training", false}}), in)[0];
  const Tensor expected = Scattered({5, 3, 4}, 50) * Reshape(Rsqrt(in[2] + 1e-5), {3, 1});
  EXPECT_LT(Distance(gradient, expected), 1e-14);
}

// Leading batch axes of size 1 summed away twice.
TEST(KnownFaults, B11ProductsWithLeadingAxesOfSizeOne) {
  for (const auto& [x, y] : {std::pair<Shape, Shape>{{1, 1, 3, 4}, {1, 5, 4, 2}},
                             {{1, 5, 3, 4}, {1, 1, 4, 2}},
                             {{1, 3, 4}, {1, 4, 2}},
                             {{1, 3, 4}, {4, 2}}}) {
    EXPECT_LT(GradientError("matmul", {}, {Scattered(x, 1), Scattered(y, 2)}), kGradient);
  }
  EXPECT_LT(GradientError("solve", {}, {Scattered({1, 3, 3}, 3), Scattered({1, 1, 3, 2}, 4)}),
            kGradient);
}

// The bias and the product it is added to are both broadcast.
TEST(KnownFaults, B22BiasAndProductBroadcastEachOther) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {MatMul(in[0], in[1]) + in[2]}; };
  EXPECT_LT(GradientError(f, {Scattered({2, 4}, 1), Scattered({4, 1}, 2), Scattered({1, 3}, 3)}),
            kGradient);
}

// The cotangent of an unmapped operand was not summed over the batch.
TEST(KnownFaults, B28UnmappedOperandGetsTheSumOverTheBatch) {
  const Tensors in = {Scattered({3, 3}, 1), Scattered({5, 3, 2}, 2)};
  for (const char* op : {"solve", "solve_triangular"}) {
    const TensorFn f = BuildOperation(op, {});
    const TensorFn mapped = Vmap(f, {.in_dims = {std::nullopt, 0}});
    EXPECT_LT(GradientError(mapped, in), kGradient) << op;
  }
}

// Only the first tangent was read; the second was ignored.
TEST(KnownFaults, B39EverySubsetOfTangents) {
  const Tensors in = {Scattered({3, 3}, 1), Scattered({3, 2}, 2)};
  const Tensors tangents = {Scattered({3, 3}, 3), Scattered({3, 2}, 4)};
  for (const char* op : {"solve", "solve_triangular"}) {
    const TensorFn f = BuildOperation(op, {});
    const Tensor both = Jvp(f, in, tangents).tangents[0];
    const Tensor first = Jvp(f, in, {tangents[0]}, {.argnums = {{0}}}).tangents[0];
    const Tensor second = Jvp(f, in, {tangents[1]}, {.argnums = {{1}}}).tangents[0];
    EXPECT_LT(Distance(both, first + second), 1e-13) << op;
    EXPECT_GT(Distance(both, first), 0.01) << op;
    EXPECT_GT(Distance(both, second), 0.01) << op;
  }
}

// A tangent came out as bool where the function compares.
TEST(KnownFaults, B41TangentsHaveTheDtypeOfTheirOutput) {
  for (const char* op : {"huber_loss", "kl_div", "binary_cross_entropy"}) {
    const Tensor x = Of({3}, {0.2, 0.5, 0.7}, DType::kF32);
    const Tensor t = Of({3}, {0.1, 0.9, 0.3}, DType::kF32);
    for (int call = 0; call < 2; ++call) {
      const JvpResult result = Jvp(BuildOperation(op, {}), {x, t}, {x, t});
      EXPECT_EQ(result.tangents[0].dtype(), DType::kF32) << op;
    }
  }
}

// Forward over reverse was wrong, reverse over reverse was not.
TEST(KnownFaults, B43ForwardOverReverse) {
  const auto gradient = [](const std::string& op) -> TensorFn {
    return [op](const Tensors& in) -> Tensors { return {Pulled(BuildOperation(op, {}), in)[0]}; };
  };
  for (const char* op : {"inverse", "qr", "svd", "eigh", "det"}) {
    const Tensor a = Scattered({3, 3}, 9), da = Scattered({3, 3}, 4);
    constexpr double kStep = 1e-5;
    const TensorFn f = gradient(op);
    const Tensor expected = (f({a + da * kStep})[0] - f({a - da * kStep})[0]) / (2 * kStep);
    const Tensor came = Jvp(f, {a}, {da}).tangents[0];
    const double scale = 1 + Distance(expected, ZerosLike(expected));
    EXPECT_LT(Distance(came, expected) / scale, 1e-7) << op;
  }
}

// A slice with a step that picks one element: its gradient was spread over the span.
TEST(KnownFaults, B51AStrideThatLeavesOneWindow) {
  EXPECT_LT(
      GradientError("conv1d", {{"stride", 3}}, {Scattered({2, 3, 5}, 1), Scattered({4, 3, 3}, 2)}),
      kGradient);
  EXPECT_LT(GradientError("avg_pool2d", {{"kernel_size", 3}, {"stride", 3}},
                          {Scattered({1, 2, 5, 4}, 1)}),
            kGradient);
}

// A ternary rule padded only two of its operands.
TEST(KnownFaults, B55EverySubsetOfMappedOperands) {
  const int64_t size = 2;
  const Tensors mapped = {Scattered({size, 3, 4}, 1), Targets({size, 3}, {0, 3, 1, 2, 2, 0}),
                          Square(Scattered({size, 4}, 2)) + 0.5};
  const TensorFn f = BuildOperation("cross_entropy_weighted", {{"label_smoothing", 0.1}});
  for (int subset = 1; subset < 8; ++subset) {
    std::vector<BatchDim> in_dims;
    Tensors in;
    for (size_t i = 0; i < 3; ++i) {
      const bool is_mapped = (subset >> i & 1) != 0;
      in_dims.push_back(is_mapped ? BatchDim(0) : std::nullopt);
      in.push_back(is_mapped ? mapped[i] : Select(mapped[i], 0, 0));
    }
    const Tensor came = Vmap(f, {.in_dims = in_dims})(in)[0];
    EXPECT_LT(Distance(came, Loop(f, in_dims, size, in)[0]), 1e-14) << subset;
  }
}

// A rule took its first operand for mapped although only the second was, under batches of one.
TEST(KnownFaults, B59NestedBatchesOfOneOverForwardAndReverse) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const TensorFn gradient = [&](const Tensors& a) -> Tensors {
      return {Pulled(BuildOperation("solve", {}), {a[0], in[1]})[0]};
    };
    return {Jvp(gradient, {in[0]}, {OnesLike(in[0])}).tangents[0]};
  };
  for (const auto& [outer, inner] : {std::pair<std::vector<BatchDim>, std::vector<BatchDim>>{
                                         {std::nullopt, 0}, {0, std::nullopt}},
                                     {{0, std::nullopt}, {std::nullopt, 0}}}) {
    const Tensors in = {Scattered({1, 3, 3}, 1), Scattered({1, 3, 2}, 2)};
    const Tensor came = Vmap(Vmap(f, {.in_dims = inner}), {.in_dims = outer})(in)[0];
    const Tensor plain = f({Select(in[0], 0, 0), Select(in[1], 0, 0)})[0];
    EXPECT_LT(Distance(Reshape(came, {3, 3}), plain), 1e-12);
  }
}

// A number in a rule made f32 into f64 under vmap, where the operand is 0-d in each slot.
TEST(KnownFaults, B118MappedScalarsKeepF32) {
  const Tensor x = Of({3}, {0.2, 0.5, 0.7}, DType::kF32), t = Of({3}, {0.1, 0.9, 0.3}, DType::kF32);
  for (const char* op : {"mse_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy",
                         "binary_cross_entropy_with_logits", "kl_div"}) {
    const Tensors gradients = Vmap(Grad(BuildOperation(op, {})))({x, t});
    EXPECT_EQ(gradients[0].dtype(), DType::kF32) << op;
    EXPECT_EQ(Vmap(BuildOperation(op, {}))({x, t})[0].dtype(), DType::kF32) << op;
  }
  const TensorFn dropout = BuildOperation("dropout", {{"seed", 7}});
  EXPECT_EQ(Vmap(dropout, {.randomness = Randomness::kDifferent})({x})[0].dtype(), DType::kF32);
}

// An integer argument got a tangent.
TEST(KnownFaults, B120IntegerTargetsHaveNoTangent) {
  const Tensors in = {Scattered({3, 4}, 1), Targets({3}, {0, 3, 1})};
  const JvpResult result = Jvp(BuildOperation("cross_entropy", {}), in, {Scattered({3, 4}, 2)});
  EXPECT_EQ(result.tangents.size(), 1u);
  EXPECT_EQ(Pulled(BuildOperation("cross_entropy", {}), in).size(), 1u);
}

// 0 times the infinite slope of the branch that is not taken.
TEST(KnownFaults, B133BranchesNotTakenLeakNothing) {
  const Tensor edge = Of({4}, {0, 1, 0, 1}), target = Of({4}, {0, 1, 1, 0});
  for (const Tensor& gradient : Pulled(BuildOperation("binary_cross_entropy", {}), {edge, target}))
    EXPECT_TRUE(AllFinite(gradient));
  EXPECT_EQ(ValuesOf(OutputsOf("binary_cross_entropy", {{"reduction", std::string("none")}},
                               {edge, target})[0]),
            (Values{0, 0, 100, 100}));
  for (const Tensor& gradient :
       Pulled(BuildOperation("kl_div", {}), {Of({2}, {-1, -2}), Of({2}, {0, 0.5})}))
    EXPECT_TRUE(AllFinite(gradient));
  for (const double p : {1.0, 2.0, 3.0}) {
    const Tensors x = {Of({2, 3}, {0, 0, 0, 1, 2, 2})};
    EXPECT_TRUE(AllFinite(Pulled(BuildOperation("normalize", {{"p", p}}), x)[0])) << p;
  }
  const Tensors pair = {Of({1, 3}, {0, 0, 0}), Of({1, 3}, {1, 2, 2})};
  for (const Tensor& gradient : Pulled(BuildOperation("cosine_similarity", {}), pair))
    EXPECT_TRUE(AllFinite(gradient));
}

// A huge or infinite value that is masked out gave NaN in the gradient.
TEST(KnownFaults, B137MaskedValuesHaveZeroGradient) {
  // A class of probability 0, plain and mapped.
  const Tensor logits = Of({2, 3}, {1, -HUGE_VAL, 2, 0.5, 1, -HUGE_VAL});
  const Tensor targets = Targets({2}, {0, 1});
  const TensorFn f = BuildOperation("cross_entropy", {});
  const Tensor gradient = Grad(f)({logits, targets})[0];
  EXPECT_TRUE(AllFinite(gradient));
  EXPECT_EQ(ValuesOf(gradient)[1], 0);
  const Tensor mapped = Vmap(Grad(f))({Reshape(logits, {2, 1, 3}), Reshape(targets, {2, 1})})[0];
  EXPECT_TRUE(AllFinite(mapped));
  // A row that is ignored, whatever is in it.
  const Tensor ignored = Of({2, 3}, {1, 0.5, 2, HUGE_VAL, 1, 3});
  const TensorFn nll = BuildOperation("nll_loss", {{"ignore_index", 0}});
  const Tensors row = {ignored, Targets({2}, {1, 0})};
  EXPECT_EQ(ValuesOf(nll(row)[0])[0], -0.5);
  EXPECT_EQ(ValuesOf(Grad(nll)(row)[0]), (Values{0, -1, 0, 0, 0, 0}));
  // An infinity that dropout drops, and padding that is never the largest.
  const TensorFn dropout = BuildOperation("dropout", {{"p", 1.0}, {"seed", 7}});
  EXPECT_EQ(ValuesOf(dropout({Of({2}, {HUGE_VAL, 1})})[0]), (Values{0, 0}));
  const TensorFn pool = BuildOperation("max_pool2d", {{"kernel_size", 3}, {"padding", 1}});
  EXPECT_TRUE(AllFinite(Pulled(pool, {Scattered({1, 1, 3, 4}, 1)})[0]));
}

// A composite drew from a global generator, below the transforms: the randomness was not obeyed.
TEST(KnownFaults, B144CompositesObeyTheRandomness) {
  const Tensor ones = Full({6, 40}, 1, DType::kF64);
  const TensorFn dropout = BuildOperation("dropout", {{"seed", 7}});
  const auto slots = [&](Randomness randomness) {
    const Tensor y = Vmap(Grad([&](const Tensors& in) -> Tensors { return {Sum(dropout(in)[0])}; }),
                          {.randomness = randomness})({ones})[0];
    std::vector<Values> result;
    for (int64_t slot = 0; slot < 6; ++slot) result.push_back(ValuesOf(Select(y, 0, slot)));
    return result;
  };
  const std::vector<Values> same = slots(Randomness::kSame);
  const std::vector<Values> different = slots(Randomness::kDifferent);
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_EQ(same[i], same[0]);
    EXPECT_NE(different[i], different[0]);
  }
  EXPECT_EQ(slots(Randomness::kDifferent), different);
  EXPECT_THROW(slots(Randomness::kError), Error);
}

// A dropout that is reached only in training: refused with advice there, allowed elsewhere.
TEST(KnownFaults, B146DropoutIsRandomOnlyInTraining) {
  const Tensor x = Scattered({3, 4}, 1);
  const TensorFn evaluation = BuildOperation("dropout", {{"training", false}, {"seed", 7}});
  EXPECT_EQ(ValuesOf(Vmap(evaluation)({x})[0]), ValuesOf(x));
  try {
    Vmap(BuildOperation("dropout", {{"seed", 7}}))({x});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::kFailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("[dropout]"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("`different`"), std::string::npos);
  }
}

}  // namespace
}  // namespace peelcheck
