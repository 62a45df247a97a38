// matmul against the triple loop: shapes, layouts, dtypes, gradients, vmap with every combination
// of batched operands. Values are small integers, so results are exact and compared for equality.
//
//   EXPECT_EQ(ValuesOf(MatMul(x, y)), Loop(x, y))
#include <gtest/gtest.h>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

using Values = std::vector<double>;

Values ValuesOf(const Tensor& x) { return x.array().ToDoubles(); }

Tensor Filled(const Shape& shape, int64_t seed, DType dtype = DType::kF64) {
  Values values;
  for (int64_t i = 0; i < ElementCount(shape); ++i)
    values.push_back(static_cast<double>((i * 7 + seed * 5 + i * i) % 11 - 5));
  return Tensor::FromArray(Array::FromValues(dtype, shape, values));
}

// The same elements with rows and columns exchanged in memory.
Tensor ColumnMajor(const Tensor& x) {
  return Transpose(Tensor::FromArray(Transpose(x, -2, -1).array().Copy()), -2, -1);
}
// The same elements with a gap between them along both axes: no matrix of a linear algebra library.
Tensor Gapped(const Tensor& x) {
  Shape shape = x.shape();
  shape.push_back(3);
  return Select(Tensor::FromArray(x.array()
                                      .Strided(
                                          shape,
                                          [&] {
                                            Shape strides = x.array().strides();
                                            strides.push_back(0);
                                            return strides;
                                          }(),
                                          x.array().offset())
                                      .Copy()),
                -1, 1);
}

Values Loop(const Tensor& x, const Tensor& y) {  // [m, k] x [k, n]
  Values z;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    for (int64_t j = 0; j < y.dim(1); ++j) {
      double sum = 0;
      for (int64_t l = 0; l < x.dim(1); ++l)
        sum += x.array().DoubleAt(i * x.dim(1) + l) * y.array().DoubleAt(l * y.dim(1) + j);
      z.push_back(sum);
    }
  }
  return z;
}

const TensorFn kMatMul = [](const Tensors& in) -> Tensors { return {MatMul(in[0], in[1])}; };

TEST(MatMul, IsTheTripleLoopForEveryLayoutAndDtypeBelowAndAboveTheSizeWhereTheKernelChanges) {
  for (const Shape& mkn : {Shape{3, 4, 5}, Shape{17, 19, 23}, Shape{1, 40, 40}, Shape{40, 1, 40},
                           Shape{40, 40, 1}, Shape{1, 1, 1}}) {
    for (DType dtype : {DType::kI64, DType::kF32, DType::kF64}) {
      const Tensor x = Filled({mkn[0], mkn[1]}, 1, dtype);
      const Tensor y = Filled({mkn[1], mkn[2]}, 2, dtype);
      const Values expected = Loop(x, y);
      for (const Tensor& a : {x, ColumnMajor(x), Gapped(x)}) {
        for (const Tensor& b : {y, ColumnMajor(y), Gapped(y)}) {
          const Tensor z = MatMul(a, b);
          EXPECT_EQ(z.dtype(), dtype);
          EXPECT_EQ(ValuesOf(z), expected) << ShapeToString(mkn) << DTypeName(dtype);
        }
      }
    }
  }
}

TEST(MatMul, ReversedAndExpandedOperands) {
  const Tensor x = Filled({20, 20}, 1);
  const Tensor y = Filled({20, 20}, 2);
  const Array& plain = x.array();
  const Tensor reversed =
      Tensor::FromArray(plain.Strided({20, 20}, {-20, 1}, plain.offset() + 19 * 20));
  EXPECT_EQ(ValuesOf(MatMul(reversed, y)), Loop(Flip(x, {0}), y));
  EXPECT_EQ(ValuesOf(MatMul(y, reversed)), Loop(y, Flip(x, {0})));
  const Tensor row = Expand(Filled({1, 20}, 3), {20, 20});
  EXPECT_EQ(ValuesOf(MatMul(row, y)), Loop(row, y));
  EXPECT_EQ(ValuesOf(MatMul(y, Transpose(row, 0, 1))), Loop(y, Transpose(row, 0, 1)));
}

TEST(MatMul, VectorsLoseTheirExtraAxis) {
  const Tensor v = Filled({4}, 1);
  const Tensor m = Filled({4, 3}, 2);
  EXPECT_EQ(MatMul(v, v).shape(), (Shape{}));
  EXPECT_EQ(ValuesOf(MatMul(v, v)), Loop(Reshape(v, {1, 4}), Reshape(v, {4, 1})));
  EXPECT_EQ(MatMul(v, m).shape(), (Shape{3}));
  EXPECT_EQ(ValuesOf(MatMul(v, m)), Loop(Reshape(v, {1, 4}), m));
  EXPECT_EQ(MatMul(Transpose(m, 0, 1), v).shape(), (Shape{3}));
  EXPECT_EQ(ValuesOf(MatMul(Transpose(m, 0, 1), v)), Loop(Transpose(m, 0, 1), Reshape(v, {4, 1})));
  EXPECT_EQ(MatMul(Filled({5, 1, 4}, 3), v).shape(), (Shape{5, 1}));
  EXPECT_EQ(MatMul(v, Filled({5, 4, 1}, 3)).shape(), (Shape{5, 1}));
}

TEST(MatMul, BatchAxesBroadcast) {
  const Tensor x = Filled({5, 1, 3, 4}, 1);
  const Tensor y = Filled({7, 4, 3}, 2);
  const Tensor z = MatMul(x, y);
  ASSERT_EQ(z.shape(), (Shape{5, 7, 3, 3}));
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 7; ++j) {
      EXPECT_EQ(ValuesOf(Select(Select(z, 0, i), 0, j)),
                Loop(Select(Select(x, 0, i), 0, 0), Select(y, 0, j)));
    }
  }
}

TEST(MatMul, EmptyAxes) {
  EXPECT_EQ(ValuesOf(MatMul(Filled({3, 0}, 1), Filled({0, 1}, 1))), (Values{0, 0, 0}));
  EXPECT_EQ(MatMul(Filled({0, 4}, 1), Filled({4, 3}, 1)).shape(), (Shape{0, 3}));
  EXPECT_EQ(MatMul(Filled({0, 3, 4}, 1), Filled({4, 5}, 1)).shape(), (Shape{0, 3, 5}));
  EXPECT_EQ(ValuesOf(MatMul(Filled({0}, 1), Filled({0}, 1))), (Values{0}));
}

TEST(MatMul, GradientsAreProductsWithTheTransposes) {
  const Tensor x = Filled({3, 4}, 1);
  const Tensor y = Filled({4, 5}, 2);
  const Tensor ct = Filled({3, 5}, 3);
  const Tensors gradients = Vjp(kMatMul, {x, y}).pullback({ct});
  EXPECT_EQ(ValuesOf(gradients[0]), Loop(ct, Transpose(y, 0, 1)));
  EXPECT_EQ(ValuesOf(gradients[1]), Loop(Transpose(x, 0, 1), ct));
}

// The adjoint identity, exact for integers: <ct, jvp(t)> = <vjp(ct), t>, for one operand at a time.
TEST(MatMul, TangentAndGradientAreAdjointForVectorsAndBroadcastBatches) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{4}, {4}},          {{4}, {4, 3}},          {{3, 4}, {4}},
      {{5, 3, 4}, {4}},    {{4}, {5, 4, 3}},       {{5, 1, 3, 4}, {7, 4, 1}},
      {{3, 4}, {5, 4, 3}}, {{1, 3, 4}, {5, 4, 1}}, {{3, 0}, {0, 1}}};
  for (const auto& [xs, ys] : shapes) {
    SCOPED_TRACE(ShapeToString(xs) + " x " + ShapeToString(ys));
    const Tensors primals = {Filled(xs, 1), Filled(ys, 2)};
    const Tensor ct = Filled(MatMul(primals[0], primals[1]).shape(), 3);
    const Tensors gradients = Vjp(kMatMul, primals).pullback({ct});
    for (size_t i = 0; i < 2; ++i) {
      const Tensor t = Filled(primals[i].shape(), 4);
      Tensors tangents(2);
      tangents[i] = t;
      ASSERT_EQ(gradients[i].shape(), t.shape());
      Tensors moved = primals;
      moved[i] = t;  // bilinear: the tangent is the product with t in place of the primal
      const Tensor tangent = Jvp(kMatMul, primals, tangents).tangents[0];
      EXPECT_EQ(ValuesOf(tangent), ValuesOf(MatMul(moved[0], moved[1])));
      EXPECT_EQ(Sum(ct * tangent).item(), Sum(gradients[i] * t).item());
    }
  }
}

TEST(MatMul, SecondDerivativeIsTheOtherTangent) {
  // d/ds of vjp_x(ct) along a tangent of y is ct t_y^T.
  const Tensor x = Filled({3, 4}, 1);
  const Tensor ct = Filled({3, 5}, 3);
  const Tensor t = Filled({4, 5}, 4);
  const TensorFn gradient_of_x = [&](const Tensors& in) -> Tensors {
    const Tensor y = in[0];
    const TensorFn f = [y](const Tensors& a) -> Tensors { return {MatMul(a[0], y)}; };
    return Vjp(f, {x}).pullback({ct});
  };
  EXPECT_EQ(ValuesOf(Jvp(gradient_of_x, {Filled({4, 5}, 2)}, {t}).tangents[0]),
            Loop(ct, Transpose(t, 0, 1)));
}

TEST(MatMul, MixedDtypesGiveEachOperandAGradientOfItsOwn) {
  const Tensors gradients = Vjp(kMatMul, {Filled({3, 4}, 1, DType::kF32), Filled({4, 5}, 2)})
                                .pullback({Filled({3, 5}, 3)});
  EXPECT_EQ(gradients[0].dtype(), DType::kF32);
  EXPECT_EQ(gradients[1].dtype(), DType::kF64);
}

TEST(MatMul, ResultMayBeWrittenInPlaceBeforeTheGradient) {
  const TensorFn f = [](const Tensors& in) -> Tensors {
    return {MulInPlace(MatMul(in[0], in[1]), Tensor::Scalar(3))};
  };
  const Tensor y = Filled({4, 5}, 2);
  const Tensor ct = Filled({3, 5}, 3);
  const Tensors gradients = Vjp(f, {Filled({3, 4}, 1), y}).pullback({ct});
  EXPECT_EQ(ValuesOf(gradients[0]), ValuesOf(MatMul(ct, Transpose(y, 0, 1)) * 3.0));
}

TEST(MatMul, VmapOfValuesAndGradientsIsTheLoopForAllCombinations) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{4}, {4}},          {{4}, {4, 3}},       {{3, 4}, {4}},    {{3, 4}, {4, 5}},
      {{3, 4}, {7, 4, 5}}, {{7, 3, 4}, {4, 5}}, {{4}, {7, 4, 5}}, {{5, 1, 3, 4}, {7, 4, 1}}};
  const TensorFn both = [](const Tensors& in) -> Tensors {
    const VjpResult vjp = Vjp(kMatMul, in);
    const Tensors gradients = vjp.pullback({Square(vjp.outputs[0])});
    return {vjp.outputs[0], gradients[0], gradients[1]};
  };
  for (const auto& [xs, ys] : shapes) {
    for (int combination = 1; combination < 4; ++combination) {
      for (bool last : {false, true}) {
        SCOPED_TRACE(ShapeToString(xs) + " x " + ShapeToString(ys) + ", batched " +
                     std::to_string(combination) +
                     (last ? " at the last axis" : " at the first axis"));
        Tensors inputs;
        std::vector<BatchDim> in_dims;
        for (size_t i = 0; i < 2; ++i) {
          Shape shape = i == 0 ? xs : ys;
          const bool batched = (combination >> i & 1) != 0;
          in_dims.push_back(batched ? BatchDim(last ? static_cast<int64_t>(shape.size()) : 0)
                                    : std::nullopt);
          if (batched) shape.insert(last ? shape.end() : shape.begin(), 2);
          inputs.push_back(Filled(shape, static_cast<int64_t>(i)));
        }
        const Tensors mapped = Vmap(both, {.in_dims = in_dims})(inputs);
        for (int64_t slot = 0; slot < 2; ++slot) {
          Tensors one;
          for (size_t i = 0; i < 2; ++i)
            one.push_back(in_dims[i] ? Select(inputs[i], *in_dims[i], slot) : inputs[i]);
          const Tensors expected = both(one);
          for (size_t o = 0; o < 3; ++o) {
            const Array result = mapped[o].array().Selected(0, slot);
            EXPECT_TRUE(result.BitEquals(expected[o].array()))
                << "output " << o << ", slot " << slot;
          }
        }
      }
    }
  }
}

TEST(MatMul, ShapesThatDoNotMultiplyAreRefused) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3, 4}, {3, 4}}, {{4}, {3}}, {{}, {4}}, {{4}, {}}, {{3, 4}, {3}}, {{5, 3, 4}, {7, 4, 3}}};
  for (const auto& [xs, ys] : shapes) {
    try {
      MatMul(Filled(xs, 1), Filled(ys, 2));
      ADD_FAILURE() << "accepted " << ShapeToString(xs) << " x " << ShapeToString(ys);
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument);
      EXPECT_EQ(std::string(error.what()).rfind("[matmul] ", 0), 0u) << error.what();
    }
  }
}

}  // namespace
}  // namespace peelcheck
