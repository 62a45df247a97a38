// Custom functions: the contexts, the rules, identity, generated rules, and each mistake of an
// author.
#include <cmath>
#include <thread>

#include "engine/ops.h"
#include "engine/testing.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

// A function of which a test writes the parts that it is about; the rest is that of y = x0^2.
struct Parts {
  std::string name = "Square";
  std::function<Tensors(TensorSpan)> forward = [](TensorSpan in) -> Tensors {
    return {in[0] * in[0]};
  };
  std::function<void(Context&, TensorSpan, TensorSpan)> setup =
      [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0]}); };
  std::function<Tensors(Context&, TensorSpan)> backward =
      [](Context& ctx, TensorSpan ct) -> Tensors { return {ct[0] * ctx.saved()[0] * 2.0}; };
  std::function<Tensors(Context&, TensorSpan)> jvp = [](Context& ctx, TensorSpan t) -> Tensors {
    return {t[0] * ctx.saved()[0] * 2.0};
  };
  std::function<VmapResult(const VmapInfo&, const BatchDims&, TensorSpan)> vmap = nullptr;
  bool generate = true;
  bool once = false;
};

class Custom : public Function {
 public:
  explicit Custom(Parts parts) : parts_(std::move(parts)) {}
  std::string name() const override { return parts_.name; }
  Tensors Forward(TensorSpan in) const override { return parts_.forward(in); }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    parts_.setup(ctx, in, out);
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return parts_.backward ? parts_.backward(ctx, ct) : Function::Backward(ctx, ct);
  }
  Tensors Jvp(Context& ctx, TensorSpan t) const override {
    return parts_.jvp ? parts_.jvp(ctx, t) : Function::Jvp(ctx, t);
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& dims, TensorSpan in) const override {
    return parts_.vmap ? parts_.vmap(info, dims, in) : Function::Vmap(info, dims, in);
  }
  bool generate_vmap_rule() const override { return parts_.generate; }
  bool has_vmap_rule() const override { return parts_.vmap != nullptr; }
  bool once_differentiable() const override { return parts_.once; }

 private:
  Parts parts_;
};

TensorFn Make(Parts parts) {
  const Ref<const Function> function = MakeRef<Custom>(std::move(parts));
  return [function](const Tensors& in) { return Call(function, in); };
}

TensorFn Total(TensorFn f) {
  return [f](const Tensors& in) -> Tensors { return {Sum(f(in)[0])}; };
}

const Tensor kX = F64({3}, {1, 2, 3});

TEST(semantics_functions, SavesForBackwardAndForForwardAreIndependent) {
  Parts parts;
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan out) {
    ctx.SaveForBackward({in[0]});
    ctx.SaveForForward({out[0], in[0]});
  };
  size_t in_backward = 0, in_jvp = 0;
  parts.backward = [&](Context& ctx, TensorSpan ct) -> Tensors {
    in_backward = ctx.saved().size();
    return {ct[0] * ctx.saved()[0] * 2.0};
  };
  parts.jvp = [&](Context& ctx, TensorSpan t) -> Tensors {
    in_jvp = ctx.saved().size();
    return {t[0] * ctx.saved()[0] / ctx.saved()[1] * 2.0};
  };
  const TensorFn f = Make(parts);
  ExpectNear(Vmap(Grad(Total(f)))({Ramp({4, 3})})[0], Ramp({4, 3}) * 2.0);
  EXPECT_EQ(in_backward, 1u);
  ExpectNear(Jvp(f, {kX}, {kX}).tangents[0], kX * kX * 2.0);
  EXPECT_EQ(in_jvp, 2u);
}

TEST(semantics_functions, AttributesTravelAndReservedNamesAreRefused) {
  Parts parts;
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan) {
    ctx.Save({in[0]});
    ctx.Set("factor", 2.0);
    ctx.Set("shape", in[0].shape());
  };
  parts.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
    EXPECT_EQ(ctx.Get<Shape>("shape"), (Shape{3}));  // logical, under vmap too
    return {ct[0] * ctx.saved()[0] * ctx.Get<double>("factor")};
  };
  const TensorFn f = Make(parts);
  ExpectNear(Vmap(Grad(Total(f)))({Ramp({4, 3})})[0], Ramp({4, 3}) * 2.0);
  for (const char* reserved :
       {"saved", "needs_input_grad", "dirty", "non_differentiable", "materialize_grads"}) {
    parts.setup = [reserved](Context& ctx, TensorSpan, TensorSpan) { ctx.Set(reserved, 1); };
    ExpectThrows([&] { Grad(Total(Make(parts)))({kX}); }, ErrorClass::kInvalidArgument,
                 std::string("[Square] context attribute \"") + reserved + "\" is reserved");
  }
}

TEST(semantics_functions, NeedsInputGradSaysWhichInputsAreDifferentiated) {
  Parts parts;
  std::vector<bool> asked;
  parts.forward = [](TensorSpan in) -> Tensors { return {in[0] * in[1]}; };
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0], in[1]}); };
  parts.backward = [&](Context& ctx, TensorSpan ct) -> Tensors {
    asked = {ctx.needs_input_grad(0), ctx.needs_input_grad(1)};
    return {ct[0] * ctx.saved()[1], Tensor()};
  };
  const TensorFn f = Total(Make(parts));
  Grad(f, {.argnums = std::vector<int64_t>{0}})({kX, kX});
  EXPECT_EQ(asked, (std::vector<bool>{true, false}));
}

TEST(semantics_functions, MaterializeGradsOffHandsUndefinedOnesToTheRules) {
  for (const bool materialize : {true, false}) {
    Parts parts;
    parts.forward = [](TensorSpan in) -> Tensors { return {in[0] * 2.0, in[0] * 3.0}; };
    parts.setup = [&](Context& ctx, TensorSpan, TensorSpan) {
      ctx.SetMaterializeGrads(materialize);
    };
    parts.backward = [&](Context&, TensorSpan ct) -> Tensors {
      EXPECT_EQ(ct[1].defined(), materialize);
      return {ct[0] * 2.0};
    };
    parts.jvp = [&](Context&, TensorSpan t) -> Tensors {
      EXPECT_EQ(t[0].defined(), true);
      return {t[0] * 2.0, Tensor()};
    };
    const TensorFn f = Make(parts);
    ExpectNear(Grad(Total(f))({kX})[0], F64({3}, {2, 2, 2}));
    ExpectNear(Vmap(Grad(Total(f)))({Ramp({4, 3})})[0], Full({4, 3}, 2.0, DType::kF64));
    EXPECT_EQ(Values(Jvp(f, {kX}, {kX}).tangents[1]), (std::vector<double>{0, 0, 0}));
  }
}

// Each live grad or jvp level makes its own record: the rule runs at the level below it.
TEST(semantics_functions, OneRecordPerLiveLevelAndRulesRunBelow) {
  int setups = 0;
  Parts parts;
  parts.setup = [&](Context& ctx, TensorSpan in, TensorSpan) {
    ++setups;
    ctx.Save({in[0]});
  };
  const TensorFn f = Total(Make(parts));
  const TensorFn inner = [&](const Tensors& in) -> Tensors { return {Sum(Grad(f)(in)[0])}; };
  ExpectNear(Grad(inner)({kX})[0], F64({3}, {2, 2, 2}));
  EXPECT_EQ(setups, 2);
}

TEST(semantics_functions, LevelWithoutABatchedInputIsSkippedAndTheRuleNotCalled) {
  int calls = 0;
  Parts parts;
  parts.generate = false;
  parts.vmap = [&](const VmapInfo& info, const BatchDims& dims, TensorSpan in) -> VmapResult {
    ++calls;
    EXPECT_EQ(info.batch_size, 4);
    EXPECT_EQ(info.randomness, Randomness::kSame);
    return {{in[0] * in[0]}, {dims[0]}};
  };
  const TensorFn f = Make(parts);
  const TensorFn captured = [&](const Tensors& in) -> Tensors { return {f({kX})[0] + in[0]}; };
  Vmap(captured)({Ramp({4, 3})});
  EXPECT_EQ(calls, 0);
  const VmapOptions same = {.randomness = Randomness::kSame};
  ExpectNear(Vmap(Vmap(f, same), {.in_dims = {1}, .out_dims = {1}})({Ramp({4, 5, 3})})[0],
             Ramp({4, 5, 3}) * Ramp({4, 5, 3}));
  EXPECT_EQ(calls, 1);  // the outer level sees the rule's own operations
}

TEST(semantics_functions, OutDimsOnceForAllOrOncePerOutput) {
  Parts parts;
  parts.generate = false;
  parts.forward = [](TensorSpan in) -> Tensors { return {in[0] * 2.0, in[0] * 3.0}; };
  const auto with = [&](BatchDims dims) {
    parts.vmap = [dims](const VmapInfo&, const BatchDims&, TensorSpan in) -> VmapResult {
      return {{in[0] * 2.0, in[0] * 3.0}, dims};
    };
    return Vmap(Make(parts));
  };
  EXPECT_EQ(with({0})({Ramp({4, 3})})[1].shape(), (Shape{4, 3}));
  EXPECT_EQ(with({0, 0})({Ramp({4, 3})})[1].shape(), (Shape{4, 3}));
  EXPECT_EQ(with({std::nullopt})({Ramp({4, 3})})[1].shape(), (Shape{4, 4, 3}));  // expanded
  ExpectThrows(
      [&] {
        with({0, 0, 0})({Ramp({4, 3})});
      },
      ErrorClass::kInvalidArgument, "[Square] vmap rule returned 2 outputs and 3 out_dims");
  ExpectThrows(
      [&] {
        with({1})({Ramp({4, 3})});
      },
      ErrorClass::kInvalidArgument, "expected an axis of the batch size 4");
}

TEST(semantics_functions, EachMistakeOfAnAuthorHasItsMessage) {
  const auto expect = [](const Parts& parts, const std::function<void(const TensorFn&)>& use,
                         ErrorClass error_class, const std::string& text) {
    ExpectThrows([&] { use(Make(parts)); }, error_class, text);
  };
  const auto grad = [](const TensorFn& f) { Grad(Total(f))({kX}); };
  const auto jvp = [](const TensorFn& f) { Jvp(f, {kX}, {kX}); };
  const auto vmap = [](const TensorFn& f) { Vmap(f)({Ramp({4, 3})}); };
  const ErrorClass invalid = ErrorClass::kInvalidArgument;
  Parts parts;
  parts.vmap = [](const VmapInfo&, const BatchDims& dims, TensorSpan in) -> VmapResult {
    return {{in[0]}, {dims[0]}};
  };
  expect(parts, vmap, invalid, "[Square] has both a vmap rule and generate_vmap_rule");
  parts.vmap = nullptr;
  parts.generate = false;
  expect(parts, vmap, ErrorClass::kUnimplemented,
         "[Square] has no vmap rule; write Function::Vmap (and has_vmap_rule), or let "
         "generate_vmap_rule return true");
  parts = {};
  parts.backward = nullptr;
  expect(parts, grad, ErrorClass::kUnimplemented, "[Square] has no backward");
  parts.jvp = nullptr;
  expect(parts, jvp, ErrorClass::kUnimplemented, "[Square] has no jvp");
  parts.backward = [](Context&, TensorSpan ct) -> Tensors { return {ct[0], ct[0]}; };
  expect(parts, grad, invalid, "[SquareGenerated] returned 2 gradients; expected 1, one per input");
  parts.jvp = [](Context&, TensorSpan) -> Tensors { return {}; };
  expect(parts, jvp, invalid, "[SquareGenerated] returned 0 tangents; expected 1, one per output");
  parts.backward = [](Context&, TensorSpan) -> Tensors { return {Ramp({4})}; };
  expect(parts, grad, invalid,
         "backward returned f64[4] as the gradient of input 0; expected f64[3]");
  parts.jvp = [](Context&, TensorSpan t) -> Tensors { return {To(t[0], DType::kF32)}; };
  expect(parts, jvp, invalid, "jvp returned f32[3] as the tangent of output 0; expected f64[3]");

  parts = {};
  parts.forward = [](TensorSpan in) -> Tensors { return {in[0] * To(in[1], DType::kF64)}; };
  parts.backward = [](Context& ctx, TensorSpan ct) -> Tensors { return {ct[0], ctx.saved()[0]}; };
  expect(
      parts,
      [](const TensorFn& f) {
        Grad(Total(f))({kX, Ints({3}, {1, 2, 3})});
      },
      invalid, "returned a gradient for input 1, which is i64 and has none");

  parts = {};
  parts.setup = [](Context& ctx, TensorSpan, TensorSpan out) { ctx.MarkDirty(out[0]); };
  expect(parts, grad, invalid, "marked a tensor dirty that is not an input");
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.MarkDirty(in[0]); };
  expect(parts, grad, invalid, "marked an input dirty that it does not return");

  parts = {};
  parts.once = true;
  EXPECT_NO_THROW(grad(Make(parts)));
  expect(
      parts,
      [](const TensorFn& f) {
        Grad([&](const Tensors& in) -> Tensors { return {Sum(Grad(Total(f))(in)[0])}; })({kX});
      },
      ErrorClass::kFailedPrecondition, "[SquareGenerated] is once differentiable");
}

// Saving an intermediate loses its share of the second derivative, silently: the documented hazard.
// As an output it has a history.
TEST(semantics_functions, B31IntermediateMustBeAnOutputToBeSaved) {
  Parts hidden;
  auto slope = std::make_shared<Tensor>();
  hidden.forward = [slope](TensorSpan in) -> Tensors {
    *slope = in[0] * 2.0;
    return {in[0] * in[0]};
  };
  hidden.setup = [slope](Context& ctx, TensorSpan, TensorSpan) { ctx.Save({*slope}); };
  hidden.backward = [](Context& ctx, TensorSpan ct) -> Tensors { return {ct[0] * ctx.saved()[0]}; };
  Parts shown;
  shown.forward = [](TensorSpan in) -> Tensors { return {in[0] * in[0], in[0] * 2.0}; };
  shown.setup = [](Context& ctx, TensorSpan, TensorSpan out) { ctx.Save({out[1]}); };
  shown.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
    return {ct[0] * ctx.saved()[0] + ct[1] * 2.0};
  };
  const auto second = [](const TensorFn& f) {
    const TensorFn inner = [f](const Tensors& in) -> Tensors {
      return {Sum(Grad(Total(f))(in)[0])};
    };
    return Grad(inner)({kX})[0];
  };
  ExpectNear(second(Make(shown)), F64({3}, {2, 2, 2}));
  ExpectNear(second(Make(hidden)), F64({3}, {0, 0, 0}));  // wrong, and why the rule stands
}

// An output that is an input maps back to the caller's own tensor, through every level.
TEST(semantics_functions, OutputThatIsAnInputIsTheCallersTensor) {
  Parts parts;
  parts.forward = [](TensorSpan in) -> Tensors { return {in[0], in[0] * 2.0}; };
  parts.setup = [](Context&, TensorSpan, TensorSpan) {};
  parts.backward = [](Context&, TensorSpan ct) -> Tensors { return {ct[0] + ct[1] * 2.0}; };
  parts.jvp = [](Context&, TensorSpan t) -> Tensors { return {t[0], t[0] * 2.0}; };
  const TensorFn f = Make(parts);
  EXPECT_TRUE(f({kX})[0].is(kX));
  const TensorFn check = [&](const Tensors& in) -> Tensors {
    const Tensors out = f(in);
    return {out[0] + out[1]};
  };
  ExpectNear(Grad(Total(check))({kX})[0], F64({3}, {3, 3, 3}));
  ExpectNear(Vmap(Grad(Total(check)))({Ramp({4, 3})})[0], Full({4, 3}, 3.0, DType::kF64));
  ExpectNear(Jvp(check, {kX}, {kX}).tangents[0], kX * 3.0);
  Vmap([&](const Tensors& in) -> Tensors {
    EXPECT_TRUE(f(in)[0].is(in[0]));
    return {in[0]};
  })({Ramp({4, 3})});
}

// y = x w with w unbatched: summed over the batch for w; a gradient that is too large is reduced,
// an unbatched one for a batched input expanded.
TEST(semantics_functions, GeneratedRuleBringsGradientsBackToEachInput) {
  Parts parts;
  parts.forward = [](TensorSpan in) -> Tensors { return {in[0] * in[1]}; };
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0], in[1]}); };
  parts.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
    return {ct[0] * ctx.saved()[1], ct[0] * ctx.saved()[0]};  // not reduced to [1]
  };
  const TensorFn f = Make(parts);
  const Tensor xs = Ramp({4, 3}), w = F64({1}, {2});
  const TensorFn mapped = Vmap(f, {.in_dims = {0, std::nullopt}});
  const Tensors gradients = Vjp(mapped, {xs, w}).pullback({OnesLike(xs)});
  ExpectNear(gradients[0], Full({4, 3}, 2.0, DType::kF64));
  ExpectNear(gradients[1], Reshape(Sum(xs), {1}));
  Parts constant;  // y = x, gradient a captured constant
  constant.forward = [](TensorSpan in) -> Tensors { return {in[0] * 1.0}; };
  constant.setup = [](Context&, TensorSpan, TensorSpan) {};
  constant.backward = [](Context&, TensorSpan) -> Tensors { return {kX}; };
  ExpectNear(Vjp(Vmap(Make(constant)), {xs}).pullback({OnesLike(xs)})[0], Expand(kX, {4, 3}));
}

// Generated in generated: two maps, each with its own dims, over every derivative.
TEST(semantics_functions, GeneratedRuleNestsInItself) {
  Parts parts;
  parts.forward = [](TensorSpan in) -> Tensors { return {Sin(in[0]) * Sum(in[1])}; };
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0], in[1]}); };
  parts.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    return {ct[0] * Cos(x) * Sum(y), Expand(Sum(ct[0] * Sin(x)), {y.dim(0)})};
  };
  parts.jvp = [](Context& ctx, TensorSpan t) -> Tensors {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    return {t[0] * Cos(x) * Sum(y) + Sin(x) * Sum(t[1])};
  };
  const TensorFn custom = Make(parts);
  const TensorFn plain = [](const Tensors& in) -> Tensors { return {Sin(in[0]) * Sum(in[1])}; };
  const auto twice = [](const TensorFn& f) {
    return Vmap(Vmap(f, {.in_dims = {1, std::nullopt}}), {.in_dims = {0, 0}, .out_dims = {-1}});
  };
  const Tensors inputs = {Ramp({3, 4, 5}), Ramp({3, 7})};
  const auto same = [&](const TensorFn& a, const TensorFn& b) {
    const Tensors came = a(inputs), expected = b(inputs);
    for (size_t i = 0; i < came.size(); ++i) ExpectNear(came[i], expected[i], 1e-10);
  };
  same(twice(custom), twice(plain));
  same(twice(Grad(Total(custom))), twice(Grad(Total(plain))));
  same(Grad(Total(twice(custom))), Grad(Total(twice(plain))));
  const auto second = [&](const TensorFn& f) -> TensorFn {
    return Grad([f](const Tensors& in) -> Tensors {
      const Tensors g = Grad(Total(f))(in);
      return {Sum(g[0]) + Sum(g[1])};
    });
  };
  same(second(twice(custom)), second(twice(plain)));
  const auto tangent = [&](const TensorFn& f) -> TensorFn {
    return [f](const Tensors& in) { return Jvp(f, in, in).tangents; };
  };
  same(tangent(twice(custom)), tangent(twice(plain)));
  same(twice(tangent(custom)), twice(tangent(plain)));
}

// A rule whose coefficient is unbatched inside the map: the gradient of the unbatched argument is
// the sum over the batch.
TEST(semantics_functions, B28CotangentOfAnUnbatchedArgumentIsTheSumOverTheBatch) {
  Parts parts;
  parts.forward = [](TensorSpan in) -> Tensors { return {in[0] * in[1]}; };
  parts.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0], in[1]}); };
  parts.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
    return {ct[0] * ctx.saved()[1], ct[0] * ctx.saved()[0]};
  };
  const TensorFn mapped = Vmap(Make(parts), {.in_dims = {0, std::nullopt}});
  const Tensors g = Vjp(mapped, {kX, Tensor::Scalar(5.0)}).pullback({F64({3}, {1, 10, 100})});
  ExpectNear(g[0], F64({3}, {5, 50, 500}));
  EXPECT_EQ(g[1].item(), 321.0);
}

// vmap over jvp of a function whose forward closes over an array.
TEST(semantics_functions, B69ClosedOverArraysAreNotCountedAsInputs) {
  const Tensor table = Ramp({3});
  Parts parts;
  parts.forward = [table](TensorSpan in) -> Tensors { return {in[0] * in[0] * table}; };
  parts.jvp = [table](Context& ctx, TensorSpan t) -> Tensors {
    return {t[0] * ctx.saved()[0] * 2.0 * table};
  };
  const TensorFn f = Make(parts);
  const TensorFn tangent = [&](const Tensors& in) { return Jvp(f, in, in).tangents; };
  const Tensor xs = Ramp({4, 3});
  ExpectNear(Vmap(tangent)({xs})[0], xs * xs * 2.0 * table);
}

// A function that saves its own output and reads hidden state of nothing: A, B, A is A.
TEST(semantics_functions, B19AndB110ResultsDoNotDependOnTheCallsBefore) {
  Parts parts;
  parts.forward = [](TensorSpan in) -> Tensors { return {Exp(in[0])}; };
  parts.setup = [](Context& ctx, TensorSpan, TensorSpan out) { ctx.Save({out[0]}); };
  parts.backward = [](Context& ctx, TensorSpan ct) -> Tensors { return {ct[0] * ctx.saved()[0]}; };
  const TensorFn f = Grad(Total(Make(parts)));
  const Tensor first = f({kX})[0];
  f({Ramp({5})});
  EXPECT_TRUE(f({kX})[0].array().BitEquals(first.array()));
}

// A tensor built from tracked scalars has no dead wrapper inside.
TEST(semantics_functions, B103RepackedScalarsKeepTheirDerivatives) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    Tensors parts;
    for (int64_t i = 0; i < 3; ++i) parts.push_back(Select(in[0], 0, i) * static_cast<double>(i));
    return {Stack(parts, 0)};
  };
  const Tensor out = Vjp(f, {kX}).outputs[0];
  EXPECT_NO_THROW(out.array());
  ExpectNear(Grad(Total(f))({kX})[0], F64({3}, {0, 1, 2}));
}

TEST(semantics_functions, DtypesPromoteAndScalarsDoNot) {
  const Tensor f32 = F32({3}, {1, 2, 3}), ints = Ints({3}, {1, 2, 3});
  EXPECT_EQ((f32 * 0.1).dtype(), DType::kF32);
  EXPECT_EQ((f32 * kX).dtype(), DType::kF64);
  EXPECT_EQ((f32 * ints).dtype(), DType::kF32);
  EXPECT_EQ((ints * Gt(kX, f32)).dtype(), DType::kI64);
  const TensorFn scaled = [](const Tensors& in) -> Tensors { return {in[0] * 0.1}; };
  EXPECT_EQ(Vmap(scaled)({f32})[0].dtype(), DType::kF32);
  EXPECT_EQ(Grad(Total(scaled))({f32})[0].dtype(), DType::kF32);
}

// 0-d, size-0 and size-1 tensors through every transform.
TEST(semantics_functions, ScalarsEmptiesAndSingletons) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{3, 0}, Shape{1, 1}}) {
    SCOPED_TRACE(ShapeToString(shape));
    const TensorFn f = Make({});
    const Tensor x = Ramp(shape);
    ExpectNear(Grad(Total(f))({x})[0], x * 2.0);
    ExpectNear(Jvp(f, {x}, {x}).tangents[0], x * x * 2.0);
    Shape batched = shape;
    batched.insert(batched.begin(), 3);
    const Tensor xs = Ramp(batched);
    ExpectNear(Vmap(f)({xs})[0], xs * xs);
    ExpectNear(Vmap(Grad(Total(f)))({xs})[0], xs * 2.0);
    batched[0] = 0;
    EXPECT_EQ(Vmap(Grad(Total(f)))({Ramp(batched)})[0].shape(), batched);
  }
}

TEST(semantics_functions, ThreadsTransformAtTheSameTimeAndAPullbackRunsOnAnother) {
  const TensorFn f = Total(Make({}));
  const VjpResult here = Vjp(Make({}), {kX});
  std::vector<std::thread> threads;
  std::vector<Tensor> results(4);
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        results[i] = i == 0 ? here.pullback({kX})[0] : Vmap(Grad(f))({Ramp({4, 3})})[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectNear(results[0], kX * kX * 2.0);
  for (size_t i = 1; i < results.size(); ++i) ExpectNear(results[i], Ramp({4, 3}) * 2.0);
}

}  // namespace
}  // namespace peelcheck
