// opinfo_db/ops/cholesky.cc: the Cholesky factor.
//
//   BuildOperation("cholesky", {{"upper", true}})({a})   // U with U^T U = (a + a^T) / 2
//
// A is read through its symmetric part, so that this is a function of all n^2 elements: each may be
// perturbed by itself, and the gradient is symmetric, as PyTorch's is.
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {
namespace {

// The lower triangle with half of the diagonal.
Tensor HalfLower(const Tensor& x) { return (Tril(x) + Tril(x, -1)) * 0.5; }

class CholeskyFunction : public MatrixFunction {
 public:
  std::string name() const override { return "cholesky"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(CholeskyOfArray(in[0].array()))};
  }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override { ctx.Save({out[0]}); }
  // gA = sym(L^-T half(L^T gL) L^-1)
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& l = ctx.saved()[0];
    const Tensor upper = MT(l);
    const Tensor left = SolveTriangular(upper, HalfLower(MatMul(upper, ct[0])), true);
    return {SymmetricPart(MT(SolveTriangular(upper, MT(left), true)))};
  }
  // dL = L half(L^-1 sym(dA) L^-T)
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor& l = ctx.saved()[0];
    const Tensor left = SolveTriangular(l, SymmetricPart(tangents[0]), false);
    return {MatMul(l, HalfLower(MT(SolveTriangular(l, MT(left), false))))};
  }
};

// Cholesky-Banachiewicz, row by row.
MatrixRows LowerFactor(const MatrixRows& a) {
  MatrixRows l = ZeroRows(a.size(), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double rest = a[i][j];
      for (size_t k = 0; k < j; ++k) rest -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(rest) : rest / l[j][j];
    }
  }
  return l;
}

std::vector<Array> CholeskyReference(std::span<const Array> in, const Attributes& attributes) {
  const bool upper = GetBool(attributes, "upper", false, "reference");
  const size_t n = RowCount(in[0]);
  return {FromMatrices(in[0].dtype(), BatchOf(in[0]), n, n, [&](int64_t b) {
    const MatrixRows l = LowerFactor(Symmetrised(RowsOf(in[0], b)));
    MatrixRows result = l;
    for (size_t i = 0; upper && i < n; ++i)
      for (size_t j = 0; j < n; ++j) result[i][j] = l[j][i];
    return result;
  })};
}

const Registration kCholesky({
    .name = "cholesky",
    .formula = "L L^T = (A + A^T) / 2; dL = L half(L^-1 sym(dA) L^-T), "
               "gA = sym(L^-T half(L^T gL) L^-1), half: lower triangle, diagonal halved",
    .source = "Murray 2016, Differentiation of the Cholesky decomposition, (8) and (10)",
    .arguments = {{.name = "A",
                   .shape = "... n n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 4}}},
    .attributes = {{.name = "upper", .choices = {false, true}}},
    .build = WithAttributes("cholesky", 1, {"upper"},
                            [](const Attributes& attributes) {
                              const bool upper = GetBool(attributes, "upper", false, "cholesky");
                              return [upper](const Tensors& in) -> Tensors {
                                static const Ref<const Function> function =
                                    MakeRef<CholeskyFunction>();
                                RequireSquare("cholesky", in[0]);
                                const Tensor l = Call(function, in)[0];
                                return {upper ? MT(l) : l};
                              };
                            }),
    .reference = CholeskyReference,
    .error_cases = {{.description = "A is not square", .inputs = {{DType::kF64, {3, 4}}}},
                    {.description = "an integer matrix", .inputs = {{DType::kI64, {3, 3}}}}},
});

}  // namespace
}  // namespace peelcheck
