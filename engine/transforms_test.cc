// grad, vjp, jvp and vmap: arguments, results and errors. Nested in one another: the conformance
// cells.
#include "engine/transforms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/ops.h"

namespace peelcheck {
namespace {

Tensor F64(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
Tensor Ints(const Shape& shape, std::vector<int64_t> values) {
  return Tensor::FromArray(Array::FromInts(shape, values));
}

std::vector<double> Values(const Tensor& tensor) { return tensor.array().ToDoubles(); }

struct Failure {
  std::string description;
  std::function<void()> run;
  std::string message;
};

const TensorFn kMul = [](const Tensors& in) -> Tensors { return {in[0] * in[1]}; };
const TensorFn kSumMul = [](const Tensors& in) -> Tensors { return {Sum(in[0] * in[1])}; };
const TensorFn kIdentity = [](const Tensors& in) -> Tensors { return in; };

TEST(Grad, ArgnumsSelectAndOrderTheGradients) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor y = F64({3}, {4, 5, 6});
  const Tensors gradients = Grad(kSumMul, {.argnums = std::vector<int64_t>{-1, 0}})({x, y});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(Values(gradients[0]), Values(x));
  EXPECT_EQ(Values(gradients[1]), Values(y));
}

TEST(Vjp, InputThatTheOutputIgnoresGetsZerosOfItsShapeAndDtype) {
  const TensorFn first = [](const Tensors& in) -> Tensors { return {in[0]}; };
  const VjpResult vjp =
      Vjp(first, {Tensor::Scalar(1), Tensor::FromArray(Array::Zeros(DType::kF32, {3, 1}))});
  const Tensors gradients = vjp.pullback({Tensor::Scalar(2)});
  EXPECT_EQ(gradients[0].item(), 2);
  EXPECT_EQ(gradients[1].dtype(), DType::kF32);
  EXPECT_EQ(gradients[1].shape(), (Shape{3, 1}));
  EXPECT_EQ(Values(gradients[1]), (std::vector<double>{0, 0, 0}));
}

TEST(Vjp, IntegerOutputsHaveNoCotangent) {
  const TensorFn sort = [](const Tensors& in) -> Tensors {
    const SortResult sorted = Sort(in[0], 0);
    return {sorted.indices, sorted.values};
  };
  const VjpResult vjp = Vjp(sort, {F64({3}, {3, 1, 2})});
  EXPECT_EQ(Values(vjp.pullback({F64({3}, {10, 20, 30})})[0]), (std::vector<double>{30, 10, 20}));
}

TEST(Vjp, TheSameTensorPassedTwiceHasTwoGradients) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensors gradients = Vjp(kMul, {x, x}).pullback({F64({3}, {1, 1, 1})});
  EXPECT_EQ(Values(gradients[0]), Values(x));
  EXPECT_EQ(Values(gradients[1]), Values(x));
}

TEST(Jvp, UndefinedTangentIsZero) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor y = F64({3}, {4, 5, 6});
  const JvpResult jvp = Jvp(kMul, {x, y}, {Tensor(), F64({3}, {1, 1, 1})});
  EXPECT_EQ(Values(jvp.outputs[0]), (std::vector<double>{4, 10, 18}));
  EXPECT_EQ(Values(jvp.tangents[0]), Values(x));
}

TEST(Jvp, OutputIndependentOfTheInputsHasZeroTangent) {
  const TensorFn constant = [](const Tensors&) -> Tensors { return {F64({3}, {7, 8, 9})}; };
  const JvpResult jvp = Jvp(constant, {Tensor::Scalar(1)}, {Tensor::Scalar(1)});
  EXPECT_EQ(Values(jvp.tangents[0]), (std::vector<double>{0, 0, 0}));
}

TEST(Jvp, OfVjpGivesTheHessianVectorProduct) {
  const TensorFn cube = [](const Tensors& in) -> Tensors { return {Sum(in[0] * in[0] * in[0])}; };
  const JvpResult jvp = Jvp(Grad(cube), {F64({3}, {1, 2, 3})}, {F64({3}, {1, 0, -1})});
  EXPECT_EQ(Values(jvp.tangents[0]), (std::vector<double>{6, 0, -18}));
}

TEST(Vmap, InDimsAndOutDimsOverEveryAxis) {
  const Tensor x = F64({3, 1, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (int64_t in_dim = -3; in_dim < 3; ++in_dim) {
    for (int64_t out_dim = -3; out_dim < 3; ++out_dim) {
      const Tensor y = Vmap(kIdentity, {.in_dims = {in_dim}, .out_dims = {out_dim}})({x})[0];
      const Tensor expected = MoveDim(x, in_dim, out_dim);
      EXPECT_TRUE(y.array().BitEquals(expected.array())) << in_dim << " -> " << out_dim;
    }
  }
}

TEST(Vmap, OutputThatIsNotBatchedIsExpandedAtItsOutDim) {
  const Tensor constant = F64({3}, {1, 2, 3});
  const TensorFn f = [&](const Tensors&) -> Tensors { return {constant}; };
  EXPECT_EQ(Vmap(f, {.out_dims = {-1}})({F64({4}, {0, 0, 0, 0})})[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(Vmap(f, {.out_dims = {std::nullopt}})({F64({4}, {0, 0, 0, 0})})[0].shape(), (Shape{3}));
}

TEST(Vmap, BatchSizeZeroKeepsShapeAndDtype) {
  const TensorFn row_sum = [](const Tensors& in) -> Tensors { return {Sum(in[0]), in[0] * 2.0}; };
  const Tensors outputs = Vmap(row_sum)({Tensor::FromArray(Array::Zeros(DType::kF32, {0, 3}))});
  EXPECT_EQ(outputs[0].shape(), (Shape{0}));
  EXPECT_EQ(outputs[1].shape(), (Shape{0, 3}));
  EXPECT_EQ(outputs[1].dtype(), DType::kF32);
}

TEST(Vmap, ChunkedEqualsUnchunkedForEveryChunkSize) {
  const Tensor x = F64({5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  const TensorFn f = [](const Tensors& in) -> Tensors { return {Sum(in[0]), in[0] * in[0]}; };
  const Tensors whole = Vmap(f, {.out_dims = {0, -1}})({x});
  for (int64_t chunk = 1; chunk <= 6; ++chunk) {
    const Tensors chunked = Vmap(f, {.out_dims = {0, -1}, .chunk_size = chunk})({x});
    EXPECT_TRUE(chunked[0].array().BitEquals(whole[0].array())) << chunk;
    EXPECT_TRUE(chunked[1].array().BitEquals(whole[1].array())) << chunk;
  }
}

TEST(Vmap, ScalarConstantDoesNotPromote) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {in[0] * 0.1}; };
  EXPECT_EQ(Vmap(f)({Tensor::FromArray(Array::Zeros(DType::kF32, {3}))})[0].dtype(), DType::kF32);
}

TEST(Vmap, NestedOverDifferentArgumentsGivesTheOuterProduct) {
  const TensorFn inner = Vmap(kMul, {.in_dims = {std::nullopt, 0}});
  const Tensor outer = Vmap(inner, {.in_dims = {0, std::nullopt}})(
      {F64({3}, {1, 2, 3}), F64({4}, {1, 10, 100, 1000})})[0];
  EXPECT_EQ(outer.shape(), (Shape{3, 4}));
  EXPECT_EQ(Values(outer)[7], 2000);
}

// Each mistake of a caller: invalid_argument, with what came, what was expected.
TEST(Transforms, EachMistakeHasItsMessage) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor matrix = F64({3, 1}, {1, 2, 3});
  const auto vmap = [](VmapOptions options, Tensors inputs) {
    return [=] { Vmap([](const Tensors& in) -> Tensors { return {in[0]}; }, options)(inputs); };
  };
  const auto vjp = [=](std::vector<int64_t> argnums) {
    return [=] { Vjp(kMul, {x, x}, {.argnums = argnums}); };
  };
  const std::vector<Failure> failures = {
      {"no inputs", vmap({}, {}), "[vmap] the function got no inputs"},
      {"nothing batched", vmap({.in_dims = {std::nullopt}}, {x}), "maps no input"},
      {"wrong number of dims", vmap({.in_dims = {0, 0, 0}}, {x, x}),
       "in_dims=(0, 0, 0) for 2 inputs; expected 2 dims"},
      {"dim out of range", vmap({.in_dims = {2}}, {matrix}),
       "[vmap] in_dims=2 for input 0 of rank 2; expected -2..1"},
      {"dim of a 0-d input", vmap({}, {Tensor::Scalar(1)}), "rank 0"},
      {"sizes differ", vmap({}, {x, F64({1}, {1})}), "(input 0: 3, input 1: 1)"},
      {"wrong number of out_dims", vmap({.out_dims = {0, 0}}, {x}),
       "out_dims=(0, 0) for 1 outputs"},
      {"batched output, out_dim none", vmap({.out_dims = {std::nullopt}}, {x}),
       "out_dims is none for output 0"},
      {"out_dim out of range", vmap({.out_dims = {1}}, {x}), "[vmap] out_dims=1 for output 0"},
      {"negative chunk", vmap({.chunk_size = -1}, {x}), "chunk_size=-1"},
      {"argnum out of range", vjp({2}), "[vjp] argnums has 2 for 2 inputs; expected -2..1"},
      {"argnums empty", vjp({}), "argnums is empty"},
      {"argnum repeated", vjp({1, -1}), "names input 1 twice"},
      {"integer argnum",
       [] { Vjp(kIdentity, {Ints({1}, {1})}, {.argnums = std::vector<int64_t>{0}}); },
       "which is i64"},
      {"nothing floating", [] { Vjp(kIdentity, {Ints({1}, {1})}); },
       "none of the 1 inputs is floating"},
      {"grad of a vector",
       [=] {
         Grad(kMul)({x, x});
       },
       "use vjp or jacrev"},
      {"number of cotangents",
       [=] {
         Vjp(kMul, {x, x}).pullback({});
       },
       "0 cotangents came; expected 1"},
      {"cotangent shape",
       [=] {
         Vjp(kMul, {x, x}).pullback({matrix});
       },
       "cotangent 0 is f64[3, 1]; expected f64[3]"},
      {"number of tangents",
       [=] {
         Jvp(kMul, {x, x}, {x});
       },
       "1 tangents came; expected 2"},
      {"tangent dtype",
       [=] {
         Jvp(kMul, {x, x}, {x, To(x, DType::kF32)});
       },
       "tangent 1 is f32[3]; expected f64[3]"},
  };
  for (const Failure& failure : failures) {
    try {
      failure.run();
      ADD_FAILURE() << failure.description << ": nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument) << failure.description;
      EXPECT_NE(std::string(error.what()).find(failure.message), std::string::npos)
          << failure.description << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace peelcheck
