// Decompositions and solves of matrices that are far from diagonal: row exchanges, negative
// determinants, signs, and gradients against differences. The generated checks use matrices with a
// large diagonal; here are the others.
#include <gtest/gtest.h>

#include "opinfo_db/ops/gradient_test_helpers.h"

namespace peelcheck {
namespace {

// LU must exchange rows: the first pivot is 0.
Tensor NeedsExchange() { return Of({3, 3}, {0, 2, 1, 3, 0, 1, 1, 1, 1}); }

// [n, n] with `value` on the diagonal.
Tensor DiagonalShift(int64_t n, double value) {
  Array array = Array::Zeros(DType::kF64, {n, n});
  for (int64_t i = 0; i < n; ++i) array.SetDouble(i * n + i, value);
  return Tensor::FromArray(array);
}

Tensor Mirrored(const Tensor& x) { return Transpose(x, -2, -1); }

double Distance(const Tensor& x, const Tensor& y) {
  double worst = 0;
  const Values a = ValuesOf(x), b = ValuesOf(y);
  EXPECT_EQ(x.shape(), y.shape());
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

constexpr double kExact = 1e-13, kGradient = 1e-8;

TEST(Det, RowExchangesTurnTheSign) {
  // By cofactors: 0 - 2 (3 - 1) + 1 (3 - 0) = -1.
  EXPECT_NEAR(ValuesOf(OutputsOf("det", {}, {NeedsExchange()})[0])[0], -1, kExact);
  const Tensors slogdet = OutputsOf("slogdet", {}, {NeedsExchange()});
  EXPECT_EQ(ValuesOf(slogdet[0])[0], -1);
  EXPECT_NEAR(ValuesOf(slogdet[1])[0], 0, kExact);
}

TEST(Det, OfASingularMatrixIsZero) {
  EXPECT_EQ(ValuesOf(OutputsOf("det", {}, {Of({3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 1})})[0])[0], 0);
  const Tensors slogdet = OutputsOf("slogdet", {}, {Of({1, 1}, {0})});
  EXPECT_EQ(ValuesOf(slogdet[0])[0], 0);
  EXPECT_EQ(ValuesOf(slogdet[1])[0], -HUGE_VAL);
}

TEST(Det, OfAnEmptyMatrixIsOne) {
  EXPECT_EQ(ValuesOf(OutputsOf("det", {}, {Of({0, 0}, {})})[0]), Values{1});
}

TEST(Solve, PivotsAndBroadcastsLeadingAxes) {
  const Tensor a = NeedsExchange(), b = Scattered({4, 3, 5}, 1);
  EXPECT_LT(Distance(MatMul(a, OutputsOf("solve", {}, {a, b})[0]), b), kExact);
  EXPECT_LT(GradientError("solve", {}, {a, b}), kGradient);
}

TEST(Solve, ASingularMatrixIsRefusedPlainAndMapped) {
  const Tensor a = Of({3, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1,  //
                                  1, 2, 3, 2, 4, 6, 1, 0, 1,  //
                                  1, 0, 0, 0, 1, 0, 0, 0, 1});
  const Tensor b = Scattered({3, 3, 1}, 1);
  for (const TensorFn& f : {BuildOperation("solve", {}), Vmap(BuildOperation("solve", {}))}) {
    try {
      f({a, b});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("[solve] matrix 1 of the stack is singular"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Inverse, GradientsOfMatricesThatNeedExchanges) {
  EXPECT_LT(GradientError("inverse", {}, {NeedsExchange()}), kGradient);
  EXPECT_LT(GradientError("det", {}, {NeedsExchange()}), kGradient);
  EXPECT_LT(GradientError("slogdet", {}, {NeedsExchange()}), kGradient);
}

TEST(SolveTriangular, ReadsOnlyItsTriangle) {
  const Tensor a = Scattered({4, 4}, 3) + 2.0, b = Scattered({4, 3}, 4);
  for (const bool upper : {false, true}) {
    for (const bool unit : {false, true}) {
      const Attributes attributes = {{"upper", upper}, {"unitriangular", unit}};
      const Tensor read = upper ? Triu(a, unit) : Tril(a, unit ? -1 : 0);
      const Tensor full = unit ? read + DiagonalShift(4, 1) : read;
      EXPECT_LT(Distance(MatMul(full, OutputsOf("solve_triangular", attributes, {a, b})[0]), b),
                1e-12);
      EXPECT_LT(GradientError("solve_triangular", attributes, {a, b}), kGradient);
    }
  }
}

TEST(Cholesky, ReadsTheSymmetricPart) {
  const Tensor x = Scattered({4, 4}, 5);
  const Tensor a = MatMul(x, Mirrored(x)) + Triu(Scattered({4, 4}, 6), 1) + DiagonalShift(4, 3);
  const Tensor l = OutputsOf("cholesky", {}, {a})[0];
  EXPECT_LT(Distance(MatMul(l, Mirrored(l)), (a + Mirrored(a)) * 0.5), kExact);
  EXPECT_EQ(ValuesOf(l), ValuesOf(Tril(l)));
  EXPECT_EQ(ValuesOf(OutputsOf("cholesky", {{"upper", true}}, {a})[0]), ValuesOf(Mirrored(l)));
  EXPECT_LT(GradientError("cholesky", {}, {a}), kGradient);
}

TEST(Cholesky, AnIndefiniteMatrixIsRefused) {
  EXPECT_THROW(OutputsOf("cholesky", {}, {Of({2, 2}, {1, 3, 3, 1})}), Error);
}

TEST(Qr, OfTallSquareAndWideMatrices) {
  for (const Shape& shape : {Shape{5, 3}, Shape{4, 4}, Shape{3, 5}, Shape{3, 4, 3}}) {
    const Tensor a = Scattered(shape, 7);
    const Tensors qr = OutputsOf("qr", {}, {a});
    EXPECT_LT(Distance(MatMul(qr[0], qr[1]), a), kExact);
    EXPECT_EQ(ValuesOf(qr[1]), ValuesOf(Triu(qr[1])));
    for (int64_t k = 0; k < qr[0].dim(qr[0].rank() - 1); ++k) {
      for (const double value : ValuesOf(Select(Select(qr[1], -1, k), -1, k))) EXPECT_GT(value, 0);
    }
    EXPECT_LT(GradientError("qr", {}, {a}), kGradient) << ShapeToString(shape);
  }
}

TEST(Eigh, DecomposesTheSymmetricPart) {
  const Tensor a = Scattered({4, 4}, 8);
  const Tensors e = OutputsOf("eigh", {}, {a});
  const Tensor scaled = e[1] * e[0];  // column k times value k
  EXPECT_LT(Distance(MatMul(scaled, Mirrored(e[1])), (a + Mirrored(a)) * 0.5), kExact);
  EXPECT_LT(GradientError("eigh", {}, {a}), kGradient);
}

TEST(Svd, OfTallSquareAndWideMatrices) {
  for (const Shape& shape : {Shape{5, 3}, Shape{4, 4}, Shape{3, 5}}) {
    const Tensor a = Scattered(shape, 9);
    const Tensors svd = OutputsOf("svd", {}, {a});
    EXPECT_LT(Distance(MatMul(svd[0] * svd[1], svd[2]), a), kExact);
    const Values s = ValuesOf(svd[1]);
    for (size_t k = 1; k < s.size(); ++k) EXPECT_GT(s[k - 1], s[k]);
    EXPECT_LT(GradientError("svd", {}, {a}), kGradient) << ShapeToString(shape);
  }
}

TEST(MatrixPower, OfZeroIsTheIdentityWhateverTheMatrix) {
  EXPECT_EQ(ValuesOf(OutputsOf("matrix_power", {{"n", 0}}, {Of({2, 2}, {1, 2, 2, 4})})[0]),
            (Values{1, 0, 0, 1}));
  EXPECT_LT(GradientError("matrix_power", {{"n", -2}}, {NeedsExchange()}), kGradient);
}

TEST(MatrixPower, OfOneIsANewTensor) {
  const Tensor a = NeedsExchange();
  const Tensor y = OutputsOf("matrix_power", {{"n", 1}}, {a})[0];
  EXPECT_FALSE(y.is(a));
  EXPECT_EQ(ValuesOf(y), ValuesOf(a));
}

}  // namespace
}  // namespace peelcheck
