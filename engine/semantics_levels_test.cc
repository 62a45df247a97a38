// Levels: perturbations that must not be confused, captured values, wrappers that outlive their
// level, pullbacks after exit.
#include <cmath>

#include "engine/ops.h"
#include "engine/testing.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

// d/dx [x * d/dy (x + y)] at x = 1 is 1: the inner derivative is a constant 1.
TEST(semantics_levels, NestedGradDoesNotConfusePerturbations) {
  const TensorFn outer = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0];
    const TensorFn inner = [x](const Tensors& y) -> Tensors { return {x + y[0]}; };
    return {x * Grad(inner)({Tensor::Scalar(1.0)})[0]};
  };
  EXPECT_EQ(Grad(outer)({Tensor::Scalar(1.0)})[0].item(), 1.0);
}

TEST(semantics_levels, NestedJvpDoesNotConfusePerturbations) {
  const TensorFn outer = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0];
    const TensorFn inner = [x](const Tensors& y) -> Tensors { return {x + y[0]}; };
    return {x * Jvp(inner, {Tensor::Scalar(1.0)}, {Tensor::Scalar(1.0)}).tangents[0]};
  };
  EXPECT_EQ(Jvp(outer, {Tensor::Scalar(1.0)}, {Tensor::Scalar(1.0)}).tangents[0].item(), 1.0);
}

// The outer function multiplies by its own inner derivative: d/dx [x * d/dx x^2] = 4x.
TEST(semantics_levels, InnerDerivativeIsNotAConstantForTheOuterLevel) {
  const TensorFn square = [](const Tensors& in) -> Tensors { return {in[0] * in[0]}; };
  const TensorFn outer = [&](const Tensors& in) -> Tensors {
    return {in[0] * Grad(square)(in)[0]};
  };
  EXPECT_EQ(Grad(outer)({Tensor::Scalar(3.0)})[0].item(), 12.0);
}

// A variable that is reassigned inside, differentiated twice: the second inner derivative must not
// see the first one's leftovers.
TEST(semantics_levels, SecondInnerTransformSeesNoLeftover) {
  const TensorFn outer = [](const Tensors& in) -> Tensors {
    Tensor captured = in[0];
    const TensorFn inner = [&captured](const Tensors& y) -> Tensors {
      captured = captured + y[0] * 0.0;
      return {captured * y[0]};
    };
    const Tensor first = Jvp(inner, {Tensor::Scalar(1.0)}, {Tensor::Scalar(1.0)}).tangents[0];
    const Tensor second = Jvp(inner, {Tensor::Scalar(1.0)}, {Tensor::Scalar(1.0)}).tangents[0];
    return {first * 0.0 + second};
  };
  EXPECT_EQ(outer({Tensor::Scalar(2.0)})[0].item(), 2.0);
}

TEST(semantics_levels, CapturedValueIsAConstant) {
  const Tensor captured = F64({3}, {1, 2, 3});
  const TensorFn f = [&](const Tensors& in) -> Tensors { return {Sum(captured * in[0])}; };
  EXPECT_EQ(Values(Grad(f)({F64({3}, {5, 5, 5})})[0]), (std::vector<double>{1, 2, 3}));
}

TEST(semantics_levels, GradWrapperThatOutlivesItsLevelIsItsValue) {
  Tensor leaked;
  const TensorFn f = [&](const Tensors& in) -> Tensors {
    leaked = in[0] * 2.0;
    return {Sum(leaked)};
  };
  Grad(f)({F64({3}, {1, 2, 3})});
  EXPECT_EQ(Values(leaked + 1.0), (std::vector<double>{3, 5, 7}));
}

TEST(semantics_levels, BatchedTensorThatOutlivesItsVmapIsRefused) {
  Tensor leaked;
  const TensorFn f = [&](const Tensors& in) -> Tensors {
    leaked = in[0] * 2.0;
    return {leaked};
  };
  Vmap(f)({F64({3}, {1, 2, 3})});
  ExpectThrows([&] { Add(leaked, leaked); }, ErrorClass::kFailedPrecondition,
               "[add] a batched tensor is used after its vmap has ended");
}

TEST(semantics_levels, PullbackWorksAfterItsLevelHasEndedAndMoreThanOnce) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {Exp(in[0])}; };
  const VjpResult vjp = Vjp(f, {F64({3}, {0, 0, 0})});
  EXPECT_EQ(Values(vjp.pullback({F64({3}, {1, 2, 3})})[0]), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Values(vjp.pullback({F64({3}, {2, 2, 2})})[0]), (std::vector<double>{2, 2, 2}));
  const TensorFn pull_row = [&](const Tensors& ct) { return vjp.pullback(ct); };
  const Tensor rows = Vmap(pull_row)({F64({1, 3}, {4, 5, 6})})[0];
  EXPECT_EQ(rows.shape(), (Shape{1, 3}));
  EXPECT_EQ(Values(rows), (std::vector<double>{4, 5, 6}));
}

TEST(semantics_levels, NoGradInsideIsObeyedAndOutsideIsIgnored) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    Tensor constant;
    {
      NoGradGuard guard;
      constant = in[0] * in[0];
    }
    return {constant * in[0]};
  };
  EXPECT_EQ(Grad(f)({Tensor::Scalar(3.0)})[0].item(), 9.0);
  NoGradGuard outside;
  const TensorFn cube = [](const Tensors& in) -> Tensors { return {in[0] * in[0] * in[0]}; };
  EXPECT_EQ(Grad(cube)({Tensor::Scalar(3.0)})[0].item(), 27.0);
}

TEST(semantics_levels, SavedTensorWrittenInPlaceIsRefused) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor doubled = in[0] * 2.0;
    const Tensor y = doubled * doubled;  // saves `doubled`
    ExpInPlace(doubled);
    return {Sum(y)};
  };
  ExpectThrows(
      [&] {
        Grad(f)({F64({3}, {1, 2, 3})});
      },
      ErrorClass::kFailedPrecondition, "[mul] saved tensor");
}

TEST(semantics_levels, InPlaceResultIsTheCallersOwnTensorThroughEveryLevel) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    Tensor x = in[0] * 1.0;
    const Tensor y = ExpInPlace(x);
    EXPECT_TRUE(y.is(x));
    return {Sum(x)};  // the mutated argument, not the returned handle
  };
  const Tensor x = F64({3}, {0, 1, 2});
  const std::vector<double> expected = {std::exp(0.0), std::exp(1.0), std::exp(2.0)};
  EXPECT_EQ(Values(Grad(f)({x})[0]), expected);
  const TensorFn rows = Grad(f);
  EXPECT_EQ(Values(Vmap(rows)({F64({1, 3}, {0, 1, 2})})[0]), expected);
  EXPECT_EQ(Values(Jvp(f, {x}, {F64({3}, {1, 0, 0})}).tangents[0])[0], expected[0]);
}

// d/dx of buffer := 0; buffer += x; buffer *= buffer is 2x, although the buffer itself was a
// constant when it was made.
TEST(semantics_levels, FreshBufferThatIsWrittenConnectsToTheInput) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Full({3}, 0.0, DType::kF64);
    AddInPlace(buffer, in[0]);
    return {Sum(buffer * buffer)};
  };
  EXPECT_EQ(Values(Grad(f)({F64({3}, {1, 2, 3})})[0]), (std::vector<double>{2, 4, 6}));
}

TEST(semantics_levels, InPlaceOnACapturedTensorIsRefused) {
  const Tensor captured = F64({3}, {1, 2, 3});
  const TensorFn f = [&](const Tensors& in) -> Tensors {
    return {Sum(AddInPlace(captured, in[0]))};
  };
  ExpectThrows(
      [&] {
        Grad(f)({F64({3}, {1, 1, 1})});
      },
      ErrorClass::kFailedPrecondition, "captured from outside the grad level");
  const TensorFn forward = [&](const Tensors& in) { return Jvp(f, in, in).tangents; };
  ExpectThrows(
      [&] {
        forward({F64({3}, {1, 1, 1})});
      },
      ErrorClass::kFailedPrecondition, "captured from outside the jvp level");
}

TEST(semantics_levels, LongChainDifferentiatesWithoutDeepRecursion) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 20000; ++i) x = x + 1.0;
    return {x};
  };
  EXPECT_EQ(Grad(f)({Tensor::Scalar(0.0)})[0].item(), 1.0);
}

TEST(semantics_levels, ItemOfABatchedTensorIsRefusedWithAdvice) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return in[0].item() > 0 ? Tensors{in[0]} : Tensors{-in[0]};
  };
  EXPECT_EQ(Grad(f)({Tensor::Scalar(-3.0)})[0].item(), -1.0);
  ExpectThrows(
      [&] {
        Vmap(f)({F64({3}, {1, 2, 3})});
      },
      ErrorClass::kFailedPrecondition, "use where(condition, x, y)");
}

}  // namespace
}  // namespace peelcheck
