// Programs: printing, signatures, attributes, and ApplyStack's arithmetic of flat inputs, on
// functions whose derivatives are known.
#include "opinfo_db/program.h"

#include <gtest/gtest.h>

#include "engine/ops.h"

namespace peelcheck {
namespace {

constexpr TransformKind kGrad = TransformKind::kGrad, kVjp = TransformKind::kVjp,
                        kJvp = TransformKind::kJvp, kVmap = TransformKind::kVmap;

Tensor Values(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
Tensor Integers(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kI64, shape, values));
}

std::vector<Transform> Stack(std::initializer_list<TransformKind> kinds) {
  std::vector<Transform> stack;
  for (const TransformKind kind : kinds) stack.push_back({.kind = kind, .batch_size = -1});
  return stack;
}

// z = x y.
TensorFn MulFn() {
  return NamedOperation{.name = "mul", .arity = 2, .call = [](const Tensors& in) -> Tensors {
                          return {in[0] * in[1]};
                        }};
}
// x^3 and 3 x^2 with an integer output between them.
TensorFn CubeFn() {
  return NamedOperation{.name = "cube", .arity = 1, .call = [](const Tensors& in) -> Tensors {
                          const Tensor square = in[0] * in[0];
                          return {square * in[0], Argsort(in[0], 0), square * 3.0};
                        }};
}
// x[index]: an integer input in front.
TensorFn TakeFn() {
  return NamedOperation{.name = "take", .arity = 2, .call = [](const Tensors& in) -> Tensors {
                          return {IndexSelect(in[1], 0, in[0])};
                        }};
}

void ExpectValues(const Tensor& tensor, const std::vector<double>& expected) {
  EXPECT_EQ(tensor.array().ToDoubles(), expected);
}

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ProgramToString, ShowsWhatIsNotTheDefault) {
  Program program{.op = "mul",
                  .stack = {{.kind = kVmap, .in_dims = {0, std::nullopt}}, {.kind = kVjp}}};
  EXPECT_EQ(ProgramToString(program), "vmap(0,_) vjp mul");
  EXPECT_EQ(StackWord(program), "vmapvjp");
  program.stack[0].out_dims = {1};
  program.stack[0].randomness = Randomness::kSame;
  program.stack[1].argnums = {{0, -1}};
  program.attributes = {{"alpha", 2.0}, {"dims", std::vector<int64_t>{1, 2}}};
  EXPECT_EQ(ProgramToString(program), "vmap(0,_ -> 1; same) vjp[0,-1] mul(alpha=2.0, dims=[1, 2])");
  program.stack[0].out_dims = {0, 0};
  EXPECT_EQ(ProgramToString(program).find("->"), std::string::npos);
}

TEST(ProgramToString, EmptyStackIsTheOperation) {
  EXPECT_EQ(ProgramToString({.op = "sin"}), "sin");
  EXPECT_EQ(StackWord({.op = "sin"}), "value");
}

TEST(Peeled, DropsTheOutermostTransform) {
  const Program program{.op = "sin", .stack = Stack({kVmap, kJvp})};
  EXPECT_EQ(StackWord(Peeled(program)), "jvp");
  EXPECT_EQ(ErrorOf([] { Peeled({.op = "sin"}); }),
            "[peel] `sin` has no transform left; peel a program with one");
}

TEST(TransformName, ReadsBack) {
  for (const TransformKind kind : {kGrad, kVjp, kJvp, kVmap}) {
    EXPECT_EQ(TransformFromName(TransformName(kind)), kind);
  }
  EXPECT_EQ(TransformFromName("vmaps"), std::nullopt);
}

TEST(Attributes, WrongTypesSayWhatCame) {
  const Attributes attributes = {{"dim", std::string("last")}, {"keepdim", 1}, {"none", {}}};
  EXPECT_EQ(ErrorOf([&] { GetInt(attributes, "dim", 0, "sum"); }),
            "[sum] attribute dim is \"last\"; expected an integer");
  EXPECT_EQ(ErrorOf([&] { GetBool(attributes, "keepdim", false, "sum"); }),
            "[sum] attribute keepdim is 1; expected true or false");
  EXPECT_EQ(ErrorOf([&] { RequireInt(attributes, "none", "sum"); }),
            "[sum] attribute none is missing; expected an integer");
  EXPECT_EQ(ErrorOf([&] { RefuseUnknownAttributes(attributes, {}, "sum"); }),
            "[sum] unknown attribute dim=\"last\"; expected no attributes");
  EXPECT_EQ(GetInt(attributes, "none", 7, "sum"), 7);
  EXPECT_EQ(GetDouble(attributes, "keepdim", 0, "sum"), 1.0);
  EXPECT_EQ(GetOptionalInts(attributes, "keepdim", "sum"), std::vector<int64_t>{1});
}

TEST(ProgramSignature, FollowsEveryTransform) {
  const Signature mul = {{{DType::kF64, {3}}, {DType::kF32, {4, 3}}}, {{DType::kF64, {4, 3}}}};
  Program program{.op = "mul", .stack = Stack({kVmap, kVjp, kJvp})};
  program.stack[0].batch_size = 5;
  program.stack[0].in_dims = {0, 1, -1, std::nullopt, 0, 0};
  const Signature signature = ProgramSignature(program, mul);
  ASSERT_EQ(signature.inputs.size(), 6u);   // 2 primals, 2 tangents, 2 cotangents
  ASSERT_EQ(signature.outputs.size(), 4u);  // a gradient per primal and tangent
  EXPECT_EQ(signature.inputs[0].shape, (Shape{5, 3}));
  EXPECT_EQ(signature.inputs[1].shape, (Shape{4, 5, 3}));
  EXPECT_EQ(signature.inputs[2].shape, (Shape{3, 5}));
  EXPECT_EQ(signature.inputs[3].shape, (Shape{4, 3}));
  EXPECT_EQ(signature.inputs[3].dtype, DType::kF32);
  EXPECT_EQ(signature.inputs[5].shape, (Shape{5, 4, 3}));
  EXPECT_EQ(signature.outputs[1].shape, (Shape{5, 4, 3}));
  EXPECT_EQ(signature.outputs[1].dtype, DType::kF32);
}

TEST(ProgramSignature, IntegersHaveNoSlots) {
  const Signature take = {{{DType::kI64, {4}}, {DType::kF64, {3}}}, {{DType::kF64, {4}}}};
  const Signature signature = ProgramSignature({.op = "take", .stack = Stack({kJvp})}, take);
  EXPECT_EQ(signature.inputs.size(), 3u);
  EXPECT_EQ(ErrorOf([&] {
              ProgramSignature({.op = "take", .stack = {{.kind = kGrad, .argnums = {{-2}}}}}, take);
            }),
            "[grad] argnum -2 is i64; only floating inputs have a derivative");
  EXPECT_EQ(ErrorOf([&] {
              ProgramSignature({.op = "take", .stack = {{.kind = kVmap, .in_dims = {0, 2}}}}, take);
            }),
            "[vmap] in_dims=2 for a tensor of rank 2; expected -2..1");
}

TEST(ApplyStack, EmptyStackIsTheOperation) {
  ExpectValues(ApplyStack(MulFn(), {})({Values({2}, {2, 3}), Values({2}, {5, 7})})[0], {10, 21});
  EXPECT_EQ(ErrorOf([] { ApplyStack(MulFn(), {})({Values({}, {1})}); }),
            "[mul] 1 input for `mul` came; expected 2 inputs");
}

TEST(ApplyStack, JvpTakesTangentsAndAppendsThem) {
  const Tensors out = ApplyStack(MulFn(), Stack({kJvp}))(
      {Values({}, {2}), Values({}, {5}), Values({}, {1}), Values({}, {10})});
  ASSERT_EQ(out.size(), 2u);
  ExpectValues(out[0], {10});
  ExpectValues(out[1], {25});
}

TEST(ApplyStack, ArgnumsAreCountedAndWrap) {
  const Tensors out = ApplyStack(MulFn(), {{.kind = kJvp, .argnums = {{-1}}}})(
      {Values({}, {2}), Values({}, {5}), Values({}, {10})});
  ExpectValues(out[1], {20});
  const Tensors gradient = ApplyStack(MulFn(), {{.kind = kVjp, .argnums = {{-1}}}})(
      {Values({}, {2}), Values({}, {5}), Values({}, {10})});
  ASSERT_EQ(gradient.size(), 1u);
  ExpectValues(gradient[0], {20});
}

TEST(ApplyStack, IntegerInputsAndOutputsHaveNoSlots) {
  const Tensors out = ApplyStack(TakeFn(), Stack({kVjp}))(
      {Integers({3}, {1, 0, 1}), Values({2}, {3, 4}), Values({3}, {1, 10, 100})});
  ASSERT_EQ(out.size(), 1u);
  ExpectValues(out[0], {10, 101});
  // d(x^3 ct0 + 3 x^2 ct1) = 3 x^2 ct0 + 6 x ct1, at x = 2.
  ExpectValues(ApplyStack(CubeFn(), Stack({kVjp}))(
                   {Values({1}, {2}), Values({1}, {1}), Values({1}, {10})})[0],
               {132});
}

TEST(ApplyStack, GradIsVjpOfTheSumOfAllFloatingOutputs) {
  ExpectValues(ApplyStack(CubeFn(), Stack({kGrad}))({Values({2}, {2, 1})})[0], {24, 9});
}

TEST(ApplyStack, GradOfGradIsTheSecondDerivative) {
  ExpectValues(ApplyStack(CubeFn(), Stack({kGrad, kGrad}))({Values({1}, {2})})[0], {18});
}

TEST(ApplyStack, NestedVjpsSplitFromTheInside) {
  // g(x, y, ct) = (y ct, x ct); its vjp with (a, b) is (b ct, a ct, a y + b x).
  const Tensors out = ApplyStack(MulFn(), Stack({kVjp, kVjp}))(
      {Values({}, {2}), Values({}, {3}), Values({}, {5}), Values({}, {7}), Values({}, {11})});
  ASSERT_EQ(out.size(), 3u);
  ExpectValues(out[0], {55});
  ExpectValues(out[1], {35});
  ExpectValues(out[2], {43});
}

TEST(ApplyStack, AnyNestingTakesWhatItsSignatureSays) {
  const Signature mul = {{{DType::kF64, {3}}, {DType::kF64, {3}}}, {{DType::kF64, {3}}}};
  const Signature cube = {{{DType::kF64, {3}}},
                          {{DType::kF64, {3}}, {DType::kI64, {3}}, {DType::kF64, {3}}}};
  const std::vector<TransformKind> kinds = {kGrad, kVjp, kJvp, kVmap};
  int64_t programs = 0;
  for (int code = 0; code < 64; ++code) {
    Program program;
    for (int depth = 0; depth < 3; ++depth) {
      const size_t kind = static_cast<size_t>(code >> (2 * depth)) % 4;
      program.stack.push_back({.kind = kinds[kind], .batch_size = 4 + depth});
    }
    for (const bool is_mul : {true, false}) {
      SCOPED_TRACE(ProgramToString(program));
      const Signature signature = ProgramSignature(program, is_mul ? mul : cube);
      Tensors inputs;
      for (const ArraySpec& spec : signature.inputs) {
        inputs.push_back(Tensor::FromArray(Array::Full(spec.dtype, spec.shape, 0.5)));
      }
      const Tensors outputs = ApplyStack(is_mul ? MulFn() : CubeFn(), program.stack)(inputs);
      ASSERT_EQ(outputs.size(), signature.outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(outputs[i].shape(), signature.outputs[i].shape) << "output " << i;
        EXPECT_EQ(outputs[i].dtype(), signature.outputs[i].dtype) << "output " << i;
      }
      inputs.push_back(Values({3}, {1, 2, 3}));
      EXPECT_THROW(ApplyStack(is_mul ? MulFn() : CubeFn(), program.stack)(inputs), Error);
      ++programs;
    }
  }
  EXPECT_EQ(programs, 128);
}

TEST(ApplyStack, VariadicOperationsCountFromOneOutput) {
  const TensorFn cat = NamedOperation{
      .name = "cat", .floating_outputs = 1, .call = [](const Tensors& in) -> Tensors {
        return {Cat(in, 0)};
      }};
  const Tensors out = ApplyStack(cat, Stack({kVjp}))(
      {Values({1}, {0}), Values({2}, {0, 0}), Values({1}, {0}), Values({4}, {1, 2, 3, 4})});
  ASSERT_EQ(out.size(), 3u);
  ExpectValues(out[1], {2, 3});
  const Tensors bare =
      ApplyStack([](const Tensors& in) -> Tensors { return {in[0] * in[1]}; },
                 Stack({kJvp, kVjp}))({Values({}, {2}), Values({}, {3}), Values({}, {5}),
                                       Values({}, {1}), Values({}, {0}), Values({}, {0})});
  ASSERT_EQ(bare.size(), 4u);
  ExpectValues(bare[3], {5});
}

TEST(ApplyStack, WrongNumbersOfInputsSayWhatWasExpected) {
  const Tensor one = Values({}, {1});
  const auto error = [&](std::initializer_list<TransformKind> kinds, size_t count) {
    return ErrorOf([&] { ApplyStack(MulFn(), Stack(kinds))(Tensors(count, one)); });
  };
  EXPECT_EQ(error({kVjp}, 2), "[vjp] 2 inputs for `mul` came; expected 2 primals and 1 cotangent");
  EXPECT_EQ(error({kVjp}, 4), "[vjp] 4 inputs for `mul` came; expected 2 primals and 1 cotangent");
  EXPECT_EQ(error({kJvp}, 3), "[jvp] 3 inputs for `mul` came; expected 2 primals and 2 tangents");
  EXPECT_EQ(error({kGrad}, 3), "[grad] 3 inputs for `mul` came; expected 2 inputs");
  EXPECT_EQ(error({kVjp, kJvp}, 5),
            "[vjp jvp] 5 inputs for `mul` came; expected 2 primals, 2 tangents and 2 cotangents");
  EXPECT_EQ(error({kVjp}, 0), "[vjp] 0 inputs for `mul` came; expected 2 primals and 1 cotangent");
  EXPECT_EQ(error({kVjp, kVjp}, 6),
            "[vjp] 4 inputs for `mul` came; expected 2 primals and 1 cotangent");
}

TEST(ApplyStack, BatchSizeIsCheckedAgainstTheInputs) {
  const Transform vmap{.kind = kVmap, .in_dims = {-1, std::nullopt}, .batch_size = 3};
  EXPECT_EQ(ErrorOf([&] {
              ApplyStack(MulFn(), {vmap})({Values({1, 2}, {1, 2}), Values({}, {1})});
            }),
            "[vmap] batch_size=3, but input 0 has size 2 at dim -1 of its shape [1, 2]; expected "
            "the same (or no batch_size)");
}

TEST(ApplyStack, CotangentsAndTangentsOfAnotherShapeAreRefused) {
  const Tensor x = Values({2}, {1, 2});
  const std::string cotangent = ErrorOf([&] {
    ApplyStack(MulFn(), Stack({kVjp}))({x, x, Values({1}, {1})});
  });
  EXPECT_NE(cotangent.find("f64[1]"), std::string::npos) << cotangent;
  EXPECT_NE(cotangent.find("f64[2]"), std::string::npos) << cotangent;
  const std::string tangent = ErrorOf([&] {
    ApplyStack(MulFn(), Stack({kJvp}))({x, x, x, Integers({2}, {1, 1})});
  });
  EXPECT_NE(tangent.find("i64[2]"), std::string::npos) << tangent;
}

}  // namespace
}  // namespace peelcheck
