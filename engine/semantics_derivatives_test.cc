// grad, vjp, jvp and vmap: arguments, results and errors. Nested in one another: the conformance
// cells.
#include "engine/transforms.h"

#include <cmath>

#include "engine/jacobian.h"
#include "engine/ops.h"
#include "engine/testing.h"

namespace peelcheck {
namespace {

struct Failure {
  std::string description;
  std::function<void()> run;
  std::string message;
};

const TensorFn kMul = [](const Tensors& in) -> Tensors { return {in[0] * in[1]}; };
const TensorFn kSumMul = [](const Tensors& in) -> Tensors { return {Sum(in[0] * in[1])}; };
const TensorFn kIdentity = [](const Tensors& in) -> Tensors { return in; };

TEST(semantics_derivatives, GradArgnumsSelectAndOrderTheGradients) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor y = F64({3}, {4, 5, 6});
  const Tensors gradients = Grad(kSumMul, {.argnums = std::vector<int64_t>{-1, 0}})({x, y});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(Values(gradients[0]), Values(x));
  EXPECT_EQ(Values(gradients[1]), Values(y));
}

TEST(semantics_derivatives, VjpInputThatTheOutputIgnoresGetsZerosOfItsShapeAndDtype) {
  const TensorFn first = [](const Tensors& in) -> Tensors { return {in[0]}; };
  const VjpResult vjp =
      Vjp(first, {Tensor::Scalar(1), Tensor::FromArray(Array::Zeros(DType::kF32, {3, 1}))});
  const Tensors gradients = vjp.pullback({Tensor::Scalar(2)});
  EXPECT_EQ(gradients[0].item(), 2);
  EXPECT_EQ(gradients[1].dtype(), DType::kF32);
  EXPECT_EQ(gradients[1].shape(), (Shape{3, 1}));
  EXPECT_EQ(Values(gradients[1]), (std::vector<double>{0, 0, 0}));
}

TEST(semantics_derivatives, VjpIntegerOutputsHaveNoCotangent) {
  const TensorFn sort = [](const Tensors& in) -> Tensors {
    const SortResult sorted = Sort(in[0], 0);
    return {sorted.indices, sorted.values};
  };
  const VjpResult vjp = Vjp(sort, {F64({3}, {3, 1, 2})});
  EXPECT_EQ(Values(vjp.pullback({F64({3}, {10, 20, 30})})[0]), (std::vector<double>{30, 10, 20}));
}

TEST(semantics_derivatives, VjpTheSameTensorPassedTwiceHasTwoGradients) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensors gradients = Vjp(kMul, {x, x}).pullback({F64({3}, {1, 1, 1})});
  EXPECT_EQ(Values(gradients[0]), Values(x));
  EXPECT_EQ(Values(gradients[1]), Values(x));
}

TEST(semantics_derivatives, JvpUndefinedTangentIsZero) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensor y = F64({3}, {4, 5, 6});
  const JvpResult jvp = Jvp(kMul, {x, y}, {Tensor(), F64({3}, {1, 1, 1})});
  EXPECT_EQ(Values(jvp.outputs[0]), (std::vector<double>{4, 10, 18}));
  EXPECT_EQ(Values(jvp.tangents[0]), Values(x));
}

TEST(semantics_derivatives, JvpOutputIndependentOfTheInputsHasZeroTangent) {
  const TensorFn constant = [](const Tensors&) -> Tensors { return {F64({3}, {7, 8, 9})}; };
  const JvpResult jvp = Jvp(constant, {Tensor::Scalar(1)}, {Tensor::Scalar(1)});
  EXPECT_EQ(Values(jvp.tangents[0]), (std::vector<double>{0, 0, 0}));
}

TEST(semantics_derivatives, JvpOfVjpGivesTheHessianVectorProduct) {
  const TensorFn cube = [](const Tensors& in) -> Tensors { return {Sum(in[0] * in[0] * in[0])}; };
  const JvpResult jvp = Jvp(Grad(cube), {F64({3}, {1, 2, 3})}, {F64({3}, {1, 0, -1})});
  EXPECT_EQ(Values(jvp.tangents[0]), (std::vector<double>{6, 0, -18}));
}

// f(x) = sum(x^2), aux = x + 1
const TensorFn kSquaresWithAux = [](const Tensors& in) -> Tensors {
  return {Sum(in[0] * in[0]), in[0] + 1.0};
};

TEST(semantics_derivatives, GradAndValueReturnsTheValueAndAuxUntouched) {
  const Tensor x = F64({3}, {1, 2, 3});
  const Tensors both = GradAndValue(kSquaresWithAux, {.has_aux = true})({x});
  ASSERT_EQ(both.size(), 3u);
  ExpectNear(both[0], F64({3}, {2, 4, 6}));
  EXPECT_EQ(both[1].item(), 14.0);
  ExpectNear(both[2], F64({3}, {2, 3, 4}));
  const Tensors rows = Vmap(GradAndValue(kSquaresWithAux, {.has_aux = true}))({Ramp({4, 3})});
  EXPECT_EQ(rows[0].shape(), (Shape{4, 3}));
  EXPECT_EQ(rows[1].shape(), (Shape{4}));
}

TEST(semantics_derivatives, HasAuxHandsBackTheLastOutputOfEachTransform) {
  const Tensor captured = Ints({3}, {7, 8, 9});
  const TensorFn f = [&](const Tensors& in) -> Tensors { return {in[0] * in[0], captured}; };
  const Tensor x = F64({3}, {1, 2, 3});
  const DiffOptions options = {.has_aux = true};
  EXPECT_TRUE(Vjp(f, {x}, options).aux.is(captured));
  EXPECT_TRUE(Jvp(f, {x}, {x}, options).aux.is(captured));
  EXPECT_TRUE(Linearize(f, {x}, options).aux.is(captured));
  EXPECT_TRUE(JacRev(f, {.has_aux = true})({x})[1].is(captured));
  EXPECT_TRUE(JacFwd(f, {.has_aux = true})({x})[1].is(captured));
  const TensorFn only = [](const Tensors& in) -> Tensors { return {in[0]}; };
  ExpectThrows([&] { Vjp(only, {x}, options); }, ErrorClass::kInvalidArgument,
               "[vjp] has_aux, but the function returned 1 outputs");
}

TEST(semantics_derivatives, JvpStrictRefusesAnIndependentOutput) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {in[0] * 2.0, F64({}, {7})}; };
  const Tensor x = Tensor::Scalar(1.0);
  ExpectThrows([&] { Jvp(f, {x}, {x}, {.strict = true}); }, ErrorClass::kFailedPrecondition,
               "[jvp] strict: output 1 does not depend");
  // A zero tangent is no independence.
  const TensorFn twice = [](const Tensors& in) -> Tensors { return {in[0] * 2.0}; };
  EXPECT_EQ(Jvp(twice, {x}, {Tensor()}, {.strict = true}).tangents[0].item(), 0.0);
}

TEST(semantics_derivatives, JacobiansHaveOutputShapeThenInputShapeAndAgree) {
  // [3], [4] -> [4, 3], []
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return {Unsqueeze(Exp(in[1]), 1) * Sin(in[0]), Sum(in[0]) * Sum(in[1] * in[1])};
  };
  const Tensors inputs = {Ramp({3}), Ramp({4})};
  const Tensors reverse = JacRev(f)(inputs), forward = JacFwd(f)(inputs);
  const std::vector<Shape> shapes = {{4, 3, 3}, {4, 3, 4}, {3}, {4}};
  ASSERT_EQ(reverse.size(), 4u);
  ASSERT_EQ(forward.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(reverse[i].shape(), shapes[i]);
    ExpectNear(forward[i], reverse[i]);
  }
  EXPECT_NEAR(Values(reverse[0])[0], std::exp(0.5) * std::cos(0.5), 1e-15);
  EXPECT_EQ(Values(reverse[0])[1], 0.0);
  for (int64_t chunk : {1, 2, 5, 100}) {
    const JacobianOptions chunked = {.argnums = std::vector<int64_t>{-1}, .chunk_size = chunk};
    ExpectNear(JacRev(f, chunked)(inputs)[0], reverse[1]);
    ExpectNear(JacFwd(f, chunked)(inputs)[0], reverse[1]);
  }
  ExpectThrows([&] { JacRev(f, {.chunk_size = 0})(inputs); }, ErrorClass::kInvalidArgument,
               "[jacrev] chunk_size=0");
  ExpectThrows([&] { JacFwd(f, {.argnums = std::vector<int64_t>{2}})(inputs); },
               ErrorClass::kInvalidArgument, "[jacfwd] argnums has 2 for 2 inputs");
}

// x^T A x: the Hessian is A + A^T, also in each slot of a vmap.
TEST(semantics_derivatives, HessianIsForwardOverReverse) {
  const Tensor a = F64({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const TensorFn f = [&](const Tensors& in) -> Tensors { return {Sum(in[0] * MatMul(a, in[0]))}; };
  const Tensor expected = a + Transpose(a, 0, 1);
  ExpectNear(Hessian(f)({Ramp({3})})[0], expected);
  const Tensor rows = Vmap(Hessian(f))({Ramp({4, 3})})[0];
  for (int64_t i = 0; i < 4; ++i) ExpectNear(Select(rows, 0, i), expected);
  // Mixed blocks of two arguments: d2/dxdy of x y is 1.
  const Tensors blocks = Hessian(kMul)({Tensor::Scalar(2.0), Tensor::Scalar(3.0)});
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].item(), 0.0);
  EXPECT_EQ(blocks[1].item(), 1.0);
  EXPECT_EQ(blocks[2].item(), 1.0);
  EXPECT_EQ(blocks[3].item(), 0.0);
}

TEST(semantics_derivatives, LinearizeRunsTheFunctionOnceAndEqualsJvp) {
  int runs = 0;
  const TensorFn f = [&](const Tensors& in) -> Tensors {
    ++runs;
    const SortResult sorted = Sort(in[0] * in[1], 0);
    return {Exp(sorted.values), sorted.indices, Sum(in[1])};
  };
  const Tensors primals = {F64({3}, {3, 1, 2}), F64({3}, {1, 2, 0.5})};
  const LinearizeResult linear = Linearize(f, primals);
  const std::vector<Tensors> directions = {{Ramp({3}), Ramp({3})}, {Tensor(), Ramp({3})}};
  for (const Tensors& tangents : directions) {
    const Tensors came = linear.pushforward(tangents);
    ASSERT_EQ(came.size(), 2u);
    EXPECT_EQ(runs, 1);
    const Tensors expected = Jvp(f, primals, tangents).tangents;
    runs = 1;
    ExpectNear(came[0], expected[0]);
    ExpectNear(came[1], expected[1]);
  }
  // Linear: mapped over a basis it is the Jacobian; differentiated, the second derivative.
  const TensorFn slope = [](const Tensors& in) {
    const TensorFn cube = [](const Tensors& x) -> Tensors { return {x[0] * x[0] * x[0]}; };
    return Linearize(cube, in).pushforward({OnesLike(in[0])});
  };
  EXPECT_EQ(Grad(slope)({Tensor::Scalar(2.0)})[0].item(), 12.0);
}

TEST(semantics_derivatives, IntegerAndBooleanValuesHaveNoTangentAndNoCotangent) {
  const Tensor x = F64({3}, {3, 1, 2});
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return {Argsort(in[0], 0), Gt(in[0], in[1]), in[0] * in[2]};
  };
  const Tensor index = Ints({3}, {1, 1, 1});
  const JvpResult jvp = Jvp(f, {x, index, x}, {x, x});  // two floating inputs
  EXPECT_EQ(jvp.outputs.size(), 3u);
  EXPECT_EQ(jvp.tangents.size(), 1u);
  const VjpResult vjp = Vjp(f, {x, index, x});
  EXPECT_EQ(vjp.pullback({x}).size(), 2u);
  const TensorFn nothing = [](const Tensors& in) -> Tensors { return {Argsort(in[0], 0)}; };
  ExpectThrows([&] { Vjp(nothing, {x}); }, ErrorClass::kInvalidArgument,
               "[vjp] none of the 1 outputs is floating");
}

// A reshape of a chain of 10,000 operations: see also bench/transforms_bench.cc for the times.
TEST(semantics_derivatives, LongChainNeedsNoDeepRecursion) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 10000; ++i) x = x * 1.0001;
    return {x};
  };
  EXPECT_NEAR(Grad(f)({Tensor::Scalar(1.0)})[0].item(), std::pow(1.0001, 10000), 1e-9);
  EXPECT_NEAR(Linearize(f, {Tensor::Scalar(1.0)}).pushforward({Tensor::Scalar(1.0)})[0].item(),
              std::pow(1.0001, 10000), 1e-9);
}

// A scalar broadcast against an empty axis: the gradient is zeros of the operand's shape.
TEST(semantics_derivatives, B77EmptyBroadcastAxisGivesZeros) {
  const TensorFn add = [](const Tensors& in) -> Tensors { return {in[0] + in[1]}; };
  const VjpResult vjp = Vjp(add, {Ramp({4, 0}), Ramp({4, 1})});
  const Tensors gradients = vjp.pullback({Ramp({4, 0})});
  EXPECT_EQ(gradients[0].shape(), (Shape{4, 0}));
  ExpectNear(gradients[1], Full({4, 1}, 0.0, DType::kF64));
}

// The output is empty because of an attribute: zeros of the input's shape, tangents of the
// output's.
TEST(semantics_derivatives, B79AndB81EmptyOutputOfANonEmptyInput) {
  const TensorFn none = [](const Tensors& in) -> Tensors { return {Narrow(in[0], 0, 1, 0)}; };
  const Tensor x = Ramp({3, 4});
  ExpectNear(Vjp(none, {x}).pullback({Ramp({0, 4})})[0], Full({3, 4}, 0.0, DType::kF64));
  EXPECT_EQ(Jvp(none, {x}, {x}).tangents[0].shape(), (Shape{0, 4}));
}

// Reading a value in the middle of a function does not detach it.
TEST(semantics_derivatives, B108ReadingAValueDetachesNothing) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor y = in[0] * in[0];
    return {y.item() > 1.0 ? y * in[0] : y};
  };
  EXPECT_EQ(Grad(f)({Tensor::Scalar(2.0)})[0].item(), 12.0);
  EXPECT_EQ(Jvp(f, {Tensor::Scalar(2.0)}, {Tensor::Scalar(1.0)}).tangents[0].item(), 12.0);
}

// A pullback twice, with the first result kept and dropped; identical bits.
TEST(semantics_derivatives, B106AndB112PullbackTwiceIsTheSameBits) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {Softmax(Exp(in[0]), 0)}; };
  const VjpResult vjp = Vjp(f, {Ramp({3, 4})});
  { vjp.pullback({Ramp({3, 4})}); }
  const Tensor first = vjp.pullback({Ramp({3, 4})})[0];
  vjp.pullback({F64({3, 4}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2})});
  EXPECT_TRUE(first.array().BitEquals(vjp.pullback({Ramp({3, 4})})[0].array()));
}

// One side of a two-output function has no cotangent; each subset gives the sum of its parts.
TEST(semantics_derivatives, B114EachSubsetOfCotangentsUndefined) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const SortResult sorted = Sort(in[0], 0);
    return {sorted.values * 2.0, Exp(in[0])};
  };
  const Tensor x = F64({3}, {3, 1, 2});
  const VjpResult vjp = Vjp(f, {x});
  const Tensor both = vjp.pullback({Ramp({3}), Ramp({3})})[0];
  const Tensor left = vjp.pullback({Ramp({3}), Tensor()})[0];
  const Tensor right = vjp.pullback({Tensor(), Ramp({3})})[0];
  ExpectNear(left + right, both);
  ExpectNear(vjp.pullback({Tensor(), Tensor()})[0], Full({3}, 0.0, DType::kF64));
}

// Each single argument with a tangent, the others without; they add up.
TEST(semantics_derivatives, B39AndB116EachSubsetOfTangents) {
  const std::vector<TensorFn> functions = {
      [](const Tensors& in) -> Tensors { return {Pow(in[0], in[1])}; },
      [](const Tensors& in) -> Tensors { return {MatMul(in[0], in[1])}; },
      [](const Tensors& in) -> Tensors { return {Cat(in, 0)}; },
      [](const Tensors& in) -> Tensors {
        return {ScatterAdd(in[0], 0, Ints({3, 3}, {0, 1, 2, 2, 1, 0, 0, 0, 1}), in[1])};
      },
      [](const Tensors& in) -> Tensors {
        const Tensor buffer = Clone(in[0]);
        return {MulInPlace(buffer, in[1])};
      }};
  const Tensor x = Ramp({3, 3}), y = Ramp({3, 3}) + 0.1;
  const Tensor u = Ramp({3, 3}) * 3.0, v = Ramp({3, 3}) - 1.0;
  for (size_t i = 0; i < functions.size(); ++i) {
    SCOPED_TRACE(i);
    const Tensor both = Jvp(functions[i], {x, y}, {u, v}).tangents[0];
    const Tensor first = Jvp(functions[i], {x, y}, {u, Tensor()}).tangents[0];
    const Tensor second = Jvp(functions[i], {x, y}, {Tensor(), v}).tangents[0];
    ExpectNear(first + second, both, 1e-10);
  }
}

// Forward mode through a comparison: the tangent has the output's dtype, the call twice the same.
TEST(semantics_derivatives, B41TangentDtypeIsTheOutputs) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return {Where(Gt(in[0], Tensor::Scalar(0.6)), in[0], Full({}, 0.0, DType::kF64))};
  };
  for (int i = 0; i < 2; ++i) {
    const JvpResult jvp = Jvp(f, {Ramp({3})}, {Ramp({3})});
    EXPECT_EQ(jvp.tangents[0].dtype(), DType::kF64);
    ExpectNear(jvp.tangents[0], F64({3}, {0, 0.75, 1}));
  }
}

// Every operand and the cotangent transposed, sliced with a step, expanded: the same gradient as of
// copies.
TEST(semantics_derivatives, B147AndB149OperandsOfAnyLayout) {
  const std::vector<std::function<Tensor(const Tensor&)>> layouts = {
      [](const Tensor& x) { return Transpose(Clone(Transpose(x, 0, 1)), 0, 1); },
      [](const Tensor& x) {
        return Slice(Clone(Cat({{x, x}}, 0)), 0, 3, 6, 1);
      },
      [](const Tensor& x) {
        return Slice(Reshape(Clone(Stack({{x, x}}, 2)), {3, 6}), 1, 0, 6, 2);
      },
      [](const Tensor& x) {
        return Expand(Clone(Narrow(x, 0, 1, 1)), {3, 3});
      }};
  const std::vector<TensorFn> functions = {
      [](const Tensors& in) -> Tensors { return {in[0] * Exp(in[1])}; },
      [](const Tensors& in) -> Tensors { return {MatMul(in[0], in[1])}; },
      [](const Tensors& in) -> Tensors { return {CumSum(in[0], 1) + Softmax(in[1], 0)}; },
      [](const Tensors& in) -> Tensors {
        return {ScatterAdd(in[0], 1, Ints({3, 3}, {0, 1, 2, 2, 1, 0, 0, 0, 1}), in[1])};
      }};
  for (const TensorFn& f : functions) {
    for (const auto& layout : layouts) {
      const Tensors odd = {layout(Ramp({3, 3})), layout(Ramp({3, 3}) - 1.0)};
      const Tensor ct = layout(Ramp({3, 3}) * 2.0);
      const Tensors came = Vjp(f, odd).pullback({ct});
      const Tensors expected = Vjp(f, {Clone(odd[0]), Clone(odd[1])}).pullback({Clone(ct)});
      for (size_t i = 0; i < 2; ++i) ExpectNear(came[i], expected[i]);
    }
  }
}

// Each mistake of a caller: invalid_argument, with what came, what was expected.
TEST(semantics_derivatives, EachMistakeHasItsMessage) {
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
      {"nothing batched", vmap({.in_dims = {std::nullopt}}, {x}),
       "in_dims is none for every input"},
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
      {"chunk_size 0", vmap({.chunk_size = 0}, {x}), "[vmap] chunk_size=0; expected 1 or more"},
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
