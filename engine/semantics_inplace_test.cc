// In-place operations: on plain tensors and under each level, seen through views, and refused where
// the result would be wrong.
#include <cmath>

#include "engine/ops.h"
#include "engine/testing.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

struct InPlaceCase {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> in_place;
  std::function<Tensor(const Tensor&, const Tensor&)> out_of_place;
};

std::vector<InPlaceCase> Cases() {
  using T = const Tensor&;
  return {{"neg_", [](T x, T) { return NegInPlace(x); }, [](T x, T) { return -x; }},
          {"exp_", [](T x, T) { return ExpInPlace(x); }, [](T x, T) { return Exp(x); }},
          {"sqrt_", [](T x, T) { return SqrtInPlace(x); }, [](T x, T) { return Sqrt(x); }},
          {"reciprocal_", [](T x, T) { return ReciprocalInPlace(x); },
           [](T x, T) { return Reciprocal(x); }},
          {"tanh_", [](T x, T) { return TanhInPlace(x); }, [](T x, T) { return Tanh(x); }},
          {"sigmoid_", [](T x, T) { return SigmoidInPlace(x); }, [](T x, T) { return Sigmoid(x); }},
          {"relu_", [](T x, T) { return ReluInPlace(x); }, [](T x, T) { return Relu(x); }},
          {"add_", AddInPlace, [](T x, T y) { return x + y; }},
          {"sub_", SubInPlace, [](T x, T y) { return x - y; }},
          {"mul_", MulInPlace, [](T x, T y) { return x * y; }},
          {"div_", DivInPlace, [](T x, T y) { return x / y; }},
          {"copy_", CopyInPlace, [](T x, T y) { return BroadcastTo(y, x.shape()); }}};
}

// The in-place form on a clone equals its functional twin: value, both derivatives, the second one,
// and all of it mapped, with the batch axis of each operand at another place.
TEST(semantics_inplace, EachOperationEqualsItsTwinUnderEachLevel) {
  for (const InPlaceCase& one : Cases()) {
    SCOPED_TRACE(one.name);
    // The returned handle and the written one are the same tensor; the result uses both.
    const TensorFn written = [&](const Tensors& in) -> Tensors {
      const Tensor buffer = Clone(in[0]);
      const Tensor returned = one.in_place(buffer, in[1]);
      EXPECT_TRUE(returned.is(buffer));
      return {Sum(buffer * returned * 0.5)};
    };
    const TensorFn twin = [&](const Tensors& in) -> Tensors {
      const Tensor value = one.out_of_place(in[0], in[1]);
      return {Sum(value * value * 0.5)};
    };
    const Tensors inputs = {Ramp({3, 4}), Ramp({4}) + 0.3};
    const Tensors directions = {Ramp({3, 4}) - 1.0, Ramp({4}) * 2.0};
    const auto expect_same = [&](const TensorFn& a, const TensorFn& b, const Tensors& at) {
      const Tensors came = a(at), expected = b(at);
      ASSERT_EQ(came.size(), expected.size());
      for (size_t i = 0; i < came.size(); ++i) ExpectNear(came[i], expected[i], 1e-9);
    };
    const auto tangent = [&](const TensorFn& f) -> TensorFn {
      return [&, f](const Tensors& in) { return Jvp(f, in, directions).tangents; };
    };
    expect_same(written, twin, inputs);
    expect_same(Grad(written), Grad(twin), inputs);
    expect_same(tangent(written), tangent(twin), inputs);
    expect_same(tangent(Grad(written)), tangent(Grad(twin)), inputs);
    const Tensors batch = {Ramp({3, 5, 4}), Ramp({4, 5}) + 0.3};
    const VmapOptions dims = {.in_dims = {1, -1}};
    expect_same(Vmap(written, dims), Vmap(twin, dims), batch);
    expect_same(Vmap(Grad(written), dims), Vmap(Grad(twin), dims), batch);
    const auto total = [&](const TensorFn& f) -> TensorFn {
      return [&, f](const Tensors& in) -> Tensors { return {Sum(Vmap(f, dims)(in)[0])}; };
    };
    expect_same(Grad(total(written)), Grad(total(twin)), batch);
  }
}

TEST(semantics_inplace, WritesAreSeenThroughViews) {
  const Tensor base = F64({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor column = Select(base, 1, 0);
  MulInPlace(column, Tensor::Scalar(10.0));
  EXPECT_EQ(Values(base), (std::vector<double>{10, 2, 3, 40, 5, 6, 70, 8, 9}));
  AddInPlace(base, Tensor::Scalar(1.0));
  EXPECT_EQ(Values(column), (std::vector<double>{11, 41, 71}));
}

TEST(semantics_inplace, OperandThatSharesTheMemoryIsReadBeforeItIsWritten) {
  const Tensor x = F64({3}, {1, 2, 3});
  MulInPlace(x, x);
  EXPECT_EQ(Values(x), (std::vector<double>{1, 4, 9}));
  const Tensor shifted = F64({4}, {1, 2, 3, 4});
  CopyInPlace(Narrow(shifted, 0, 1, 3), Narrow(shifted, 0, 0, 3));
  EXPECT_EQ(Values(shifted), (std::vector<double>{1, 1, 2, 3}));
  const TensorFn square = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(in[0]);
    return {Sum(MulInPlace(buffer, buffer))};
  };
  EXPECT_EQ(Values(Grad(square)({F64({3}, {1, 2, 3})})[0]), (std::vector<double>{2, 4, 6}));
}

TEST(semantics_inplace, RefusedWithAReasonWhereTheResultWouldBeWrong) {
  const Tensor x = F64({3}, {1, 2, 3});
  const auto expect = [](const std::function<void()>& body, ErrorClass error_class,
                         const std::string& text) { ExpectThrows(body, error_class, text); };
  expect(
      [&] {
        AddInPlace(Expand(x, {4, 3}), x);
      },
      ErrorClass::kFailedPrecondition, "[add_] the tensor is expanded along axis 0");
  expect([&] { AddInPlace(x, Ramp({4, 3})); }, ErrorClass::kInvalidArgument, "out-of-place");
  expect([&] { AddInPlace(To(x, DType::kF32), x); }, ErrorClass::kInvalidArgument,
         "the result is f64[3] but the tensor written is f32[3]");
  expect(
      [&] {
        ExpInPlace(Ints({3}, {1, 2, 3}));
      },
      ErrorClass::kInvalidArgument, "[exp_] x is i64");
  const TensorFn unbatched = [&](const Tensors& in) -> Tensors {
    return {AddInPlace(Clone(x), in[0])};
  };
  expect(
      [&] {
        Vmap(unbatched)({Ramp({4, 3})});
      },
      ErrorClass::kFailedPrecondition, "has no room for one value per slot");
}

// The value of a view is another one after its base was written: its derivative is of the old one.
TEST(semantics_inplace, AliasOfAWrittenTensorIsRefusedUnderGradAndJvp) {
  const TensorFn view_used_later = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(in[0]);
    const Tensor view = Select(buffer, 0, 0);
    ExpInPlace(buffer);
    return {Sum(view)};
  };
  const TensorFn base_used_later = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(in[0]);
    ExpInPlace(Select(buffer, 0, 0));
    return {Sum(buffer)};
  };
  const Tensor x = F64({3}, {1, 2, 3});
  for (const TensorFn& f : {view_used_later, base_used_later}) {
    ExpectThrows([&] { Grad(f)({x}); }, ErrorClass::kFailedPrecondition,
                 "written in place through another tensor that shares its memory");
    ExpectThrows([&] { Jvp(f, {x}, {x}); }, ErrorClass::kFailedPrecondition,
                 "written in place through another tensor that shares its memory");
    EXPECT_NO_THROW(f({x}));
  }
  // Also where the alias is what is returned.
  const TensorFn returned = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(in[0]);
    ExpInPlace(Select(buffer, 0, 0));
    return {buffer};
  };
  ExpectThrows([&] { Vjp(returned, {x}); }, ErrorClass::kFailedPrecondition, "[vjp]");
  // The same array passed twice: a write into one is a write into the other.
  const TensorFn twice = [](const Tensors& in) -> Tensors {
    ExpInPlace(in[0]);
    return {Sum(in[1])};
  };
  const Tensor same = Clone(x);
  ExpectThrows(
      [&] {
        Grad(twice)({same, same});
      },
      ErrorClass::kFailedPrecondition, "the same array passed twice");
}

TEST(semantics_inplace, WriteUnderNoGradLeavesTheDerivativeAsItWas) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor y = in[0] * 3.0;
    {
      NoGradGuard guard;
      AddInPlace(y, Tensor::Scalar(1.0));
    }
    return {Sum(y)};
  };
  EXPECT_EQ(Values(Grad(f)({F64({3}, {1, 2, 3})})[0]), (std::vector<double>{3, 3, 3}));
}

// buffer = zeros; a view of it := x; sum(buffer): the base is a constant to the level, so its
// derivative would be lost. The view itself is tracked.
TEST(semantics_inplace, B82BaseOfAWrittenViewIsRefusedNotSilentlyConstant) {
  const TensorFn through_base = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Full({3, 3}, 0.0, DType::kF64);
    CopyInPlace(Select(buffer, 1, 0), in[0]);
    return {Sum(buffer * buffer)};
  };
  const TensorFn through_view = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(Full({3, 3}, 0.0, DType::kF64));
    const Tensor view = Select(buffer, 1, 0);
    CopyInPlace(view, in[0]);
    return {Sum(view * view)};
  };
  const Tensor x = F64({3}, {1, 2, 3});
  ExpectThrows([&] { Grad(through_base)({x}); }, ErrorClass::kFailedPrecondition,
               "shares memory with a tensor into which grad wrote in place");
  ExpectThrows([&] { Jvp(through_base, {x}, {x}); }, ErrorClass::kFailedPrecondition,
               "shares memory with a tensor into which jvp wrote in place");
  EXPECT_EQ(Values(Grad(through_view)({x})[0]), (std::vector<double>{2, 4, 6}));
}

// The derivative is with respect to what came in, not to what the function made of it.
TEST(semantics_inplace, B84MutatedInputIsDifferentiatedAtItsOldValue) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {Sum(ExpInPlace(in[0]))}; };
  EXPECT_EQ(Grad(f)({F64({1}, {0.5})})[0].item(), std::exp(0.5));
}

// Either the returned handle or the written one, whichever the caller goes on with.
TEST(semantics_inplace, B86ReturnedAndWrittenHandlesAreOne) {
  for (const bool use_returned : {true, false}) {
    const TensorFn f = [&](const Tensors& in) -> Tensors {
      const Tensor buffer = in[0] * 1.0;
      const Tensor returned = ExpInPlace(buffer);
      return {Sum(use_returned ? returned : buffer)};
    };
    EXPECT_EQ(Grad(f)({F64({1}, {0.5})})[0].item(), std::exp(0.5));
  }
}

// An in-place operation on the view that another function returned keeps that function's
// derivative.
TEST(semantics_inplace, B90InPlaceOnAViewOutputKeepsItsSource) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor view = Transpose(in[0] * 2.0, 0, 1);
    return {Sum(ExpInPlace(view))};
  };
  const Tensor x = Ramp({3, 4});
  ExpectNear(Grad(f)({x})[0], Exp(x * 2.0) * 2.0);
}

// vmap of jvp with a write into a slice, the batch axis at each place.
TEST(semantics_inplace, B92WriteUnderVmapOfJvpAtEveryBatchAxis) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor view = Transpose(Clone(in[0]), 0, 1);
    return {MulInPlace(view, in[1])};
  };
  const TensorFn tangent = [&](const Tensors& in) { return Jvp(f, in, in).tangents; };
  const Tensor x = Ramp({3, 4}), y = Ramp({3});
  const Tensor expected = tangent({x, y})[0];
  for (int64_t axis = 0; axis < 3; ++axis) {
    const Tensor batch = MoveDim(Stack({{x, x * 2.0, x - 1.0}}, 0), 0, axis);
    const Tensor came = Vmap(tangent, {.in_dims = {axis, std::nullopt}})({batch, y})[0];
    ExpectNear(Select(came, 0, 0), expected);
    ExpectNear(Select(came, 0, 1), tangent({x * 2.0, y * 1.0})[0]);
    ExpectNear(Select(came, 0, 2), tangent({x - 1.0, y})[0]);
  }
}

// A value that is stored and then overwritten has no derivative left.
TEST(semantics_inplace, B94OverwrittenStoreHasNoGradient) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(Full({}, 0.0, DType::kF64));
    CopyInPlace(buffer, in[0]);
    CopyInPlace(buffer, in[0] * in[0]);
    return {buffer};
  };
  EXPECT_EQ(Grad(f)({Tensor::Scalar(3.0)})[0].item(), 6.0);
  EXPECT_EQ(Jvp(f, {Tensor::Scalar(3.0)}, {Tensor::Scalar(1.0)}).tangents[0].item(), 6.0);
}

// A buffer rebuilt from its own components, again and again, equals the functional loop.
TEST(semantics_inplace, B96IteratedUpdateEqualsTheUnrolledForm) {
  const Tensor rotate = F64({3, 3}, {0.6, -0.8, 0, 0.8, 0.6, 0, 0, 0, 1.1});
  const TensorFn written = [&](const Tensors& in) -> Tensors {
    const Tensor state = Clone(in[0]);
    for (int i = 0; i < 5; ++i) {
      const Tensor old = Clone(state);  // what a rule saves must not be overwritten
      CopyInPlace(state, MatMul(rotate, old * old));
      MulInPlace(state, Tensor::Scalar(0.5));
    }
    return {Sum(state)};
  };
  const TensorFn unrolled = [&](const Tensors& in) -> Tensors {
    Tensor state = in[0];
    for (int i = 0; i < 5; ++i) state = MatMul(rotate, state * state) * 0.5;
    return {Sum(state)};
  };
  ExpectNear(Grad(written)({Ramp({3})})[0], Grad(unrolled)({Ramp({3})})[0]);
}

// Gradients of a gather are collected in a buffer of their own, not in an expanded one.
TEST(semantics_inplace, B88GatherUnderVmapGradIsNotMultipliedByTheBatch) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return {Sum(IndexSelect(in[0], 0, Ints({3}, {0, 2, 2})))};
  };
  const Tensor came = Vmap(Grad(f))({Ramp({4, 3})})[0];
  for (int64_t i = 0; i < 4; ++i) ExpectNear(Select(came, 0, i), F64({3}, {1, 0, 2}));
}

// The same results, nothing written before the end, inputs updated as by f itself; under grad, jvp
// and vmap.
TEST(semantics_inplace, FunctionalizeEqualsTheFunctionAndUpdatesItsInputs) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Full({3}, 1.0, DType::kF64);
    AddInPlace(buffer, in[0]);
    MulInPlace(buffer, in[1]);
    ExpInPlace(in[1]);
    return {Sum(buffer * in[1]), buffer};
  };
  const auto inputs = [] { return Tensors{F64({3}, {1, 2, 3}), F64({3}, {0.5, 0.25, 1})}; };
  const Tensors direct = inputs(), functional = inputs();
  const Tensors expected = f(direct), came = Functionalize(f)(functional);
  for (size_t i = 0; i < 2; ++i) ExpectNear(came[i], expected[i]);
  ExpectNear(functional[1], direct[1]);  // exp of what came in
  const TensorFn total = Functionalize([](const Tensors& in) -> Tensors {
    const Tensor buffer = Full({3}, 1.0, DType::kF64);
    AddInPlace(buffer, in[0]);
    return {Sum(MulInPlace(buffer, Exp(in[1])))};
  });
  const TensorFn twin = [](const Tensors& in) -> Tensors {
    return {Sum((in[0] + 1.0) * Exp(in[1]))};
  };
  const Tensors a = Grad(total)(inputs()), b = Grad(twin)(inputs());
  for (size_t i = 0; i < 2; ++i) ExpectNear(a[i], b[i]);
  ExpectNear(Grad(Functionalize(twin))(inputs())[1], b[1]);
  const TensorFn square =
      Functionalize([](const Tensors& in) -> Tensors { return {MulInPlace(Clone(in[0]), in[0])}; });
  ExpectNear(Vmap(square)({Ramp({4, 3})})[0], Ramp({4, 3}) * Ramp({4, 3}));
  ExpectNear(Functionalize(Vmap(square))({Ramp({4, 3})})[0], Ramp({4, 3}) * Ramp({4, 3}));
}

class Opaque : public Function {
 public:
  std::string name() const override { return "OpaqueThing"; }
  Tensors Forward(TensorSpan in) const override { return {in[0] * 2.0}; }
};

TEST(semantics_inplace, FunctionalizeRefusesCustomFunctionsByNameAndOutdatedViews) {
  const TensorFn custom = [](const Tensors& in) { return Call(MakeRef<Opaque>(), {in[0]}); };
  ExpectThrows([&] { Functionalize(custom)({Ramp({3})}); }, ErrorClass::kUnimplemented,
               "[functionalize] `OpaqueThing` is a custom function");
  const TensorFn view = [](const Tensors& in) -> Tensors {
    const Tensor buffer = Clone(in[0]);
    const Tensor row = Select(buffer, 0, 0);
    ExpInPlace(buffer);
    return {Sum(row)};
  };
  ExpectThrows(
      [&] {
        Functionalize(view)({Ramp({3, 4})});
      },
      ErrorClass::kFailedPrecondition,
      "[functionalize] sum reads a tensor whose memory was written in place");
}

}  // namespace
}  // namespace peelcheck
