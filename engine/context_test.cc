// Context: shapes and dtypes without saved tensors, in Backward and Jvp, at every level.
#include <gtest/gtest.h>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

// z = sum of x + y broadcast, whose rules need the operands' shapes and nothing else.
class SpecSum : public Function {
 public:
  std::string name() const override { return "SpecSum"; }
  Tensors Forward(TensorSpan in) const override { return {in[0] + in[1]}; }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    Tensors gradients;
    for (size_t i = 0; i < 2; ++i) {
      gradients.push_back(To(SumTo(ct[0], ctx.input_spec(i).shape), ctx.input_spec(i).dtype));
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const TensorSpec& result = ctx.output_spec(0);
    return {BroadcastTo(To(tangents[0] + tangents[1], result.dtype), result.shape)};
  }
  bool generate_vmap_rule() const override { return true; }
};

Tensor Ones(DType dtype, const Shape& shape) {
  return Tensor::FromArray(Array::Full(dtype, shape, 1));
}

const TensorFn kSum = [](const Tensors& in) -> Tensors {
  return {Call(Ref<const Function>(MakeRef<SpecSum>()), in)[0]};
};

TEST(Context, RulesSeeShapesAndDtypesOfWhatIsNotSaved) {
  const Tensors in = {Ones(DType::kF32, {3}), Ones(DType::kF64, {4, 1})};
  const Tensors gradients = Vjp(kSum, in).pullback({Ones(DType::kF64, {4, 3})});
  EXPECT_EQ(gradients[0].shape(), (Shape{3}));
  EXPECT_EQ(gradients[0].dtype(), DType::kF32);
  EXPECT_EQ(gradients[0].array().DoubleAt(0), 4);
  EXPECT_EQ(gradients[1].shape(), (Shape{4, 1}));
  EXPECT_EQ(gradients[1].array().DoubleAt(0), 3);
  const Tensor tangent = Jvp(kSum, in, in).tangents[0];
  EXPECT_EQ(tangent.shape(), (Shape{4, 3}));
  EXPECT_EQ(tangent.dtype(), DType::kF64);
}

// Under a generated rule the shapes are those of one slot.
TEST(Context, ShapesUnderAGeneratedRuleAreLogical) {
  const Tensors in = {Ones(DType::kF32, {5, 3}), Ones(DType::kF64, {4, 1})};
  const VmapOptions options{.in_dims = {0, std::nullopt}};
  const TensorFn mapped = Vmap(kSum, options);
  const Tensors gradients = Vjp(mapped, in).pullback({Ones(DType::kF64, {5, 4, 3})});
  EXPECT_EQ(gradients[0].shape(), (Shape{5, 3}));
  EXPECT_EQ(gradients[0].array().DoubleAt(0), 4);
  EXPECT_EQ(gradients[1].shape(), (Shape{4, 1}));
  EXPECT_EQ(gradients[1].array().DoubleAt(0), 15);
  EXPECT_EQ(Jvp(mapped, in, in).tangents[0].shape(), (Shape{5, 4, 3}));
}

}  // namespace
}  // namespace peelcheck
