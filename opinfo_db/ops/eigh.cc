// opinfo_db/ops/eigh.cc: eigenvalues, ascending, and eigenvectors of symmetric matrices.
//
//   BuildOperation("eigh", {})({a})   // of (a + a^T) / 2: values [.., n], vectors [.., n, n]
//
// A is read through its symmetric part, so that each element may be perturbed by itself. Each
// eigenvector has one sign left open: the component of largest size is made positive. That choice
// is locally constant, so it does not enter the derivative. The derivative exists where the
// eigenvalues differ.
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"
#include "opinfo_db/ops/symmetric_eigen_reference.h"

namespace peelcheck {
namespace {

class EighFunction : public MatrixFunction {
 public:
  std::string name() const override { return "eigh"; }
  Tensors Forward(TensorSpan in) const override {
    const EighArrays out = EighOfArray(in[0].array());
    return {Tensor::FromArray(out.values), Tensor::FromArray(out.vectors)};
  }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override {
    ctx.Save({out[0], out[1]});
  }
  // gA = V (diag(gw) + F o V^T gV) V^T, F_ij = 1 / (w_j - w_i)
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &w = ctx.saved()[0], &v = ctx.saved()[1];
    const Tensor inner = DiagonalMatrix(ct[0]) + InverseGaps(w) * MatMul(MT(v), ct[1]);
    return {SymmetricPart(MatMul(v, MatMul(inner, MT(v))))};
  }
  // dw = diag(P), dV = V (F o P), P = V^T sym(dA) V
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &w = ctx.saved()[0], &v = ctx.saved()[1];
    const Tensor p = MatMul(MT(v), MatMul(SymmetricPart(tangents[0]), v));
    return {DiagonalOf(p), MatMul(v, InverseGaps(w) * p)};
  }
};

std::vector<Array> EighReference(std::span<const Array> in, const Attributes&) {
  const Array& a = in[0];
  const size_t n = RowCount(a);
  const auto eigen = [&](int64_t b) { return JacobiEigen(Symmetrised(RowsOf(a, b))); };
  return {FromVectors(a.dtype(), BatchOf(a), n, [&](int64_t b) { return eigen(b).values; }),
          FromMatrices(a.dtype(), BatchOf(a), n, n, [&](int64_t b) {
            MatrixRows vectors = eigen(b).vectors;
            for (size_t k = 0; k < n; ++k) {
              double largest = 0;
              for (size_t i = 0; i < n; ++i)
                if (std::abs(vectors[i][k]) > std::abs(largest)) largest = vectors[i][k];
              for (size_t i = 0; i < n && largest < 0; ++i) vectors[i][k] = -vectors[i][k];
            }
            return vectors;
          })};
}

const Registration kEigh({
    .name = "eigh",
    .formula = "(A + A^T) / 2 = V diag(w) V^T; dw = diag(P), dV = V (F o P) with P = V^T sym(dA) "
               "V, F_ij = 1 / (w_j - w_i), F_ii = 0; gA = sym(V (diag(gw) + F o V^T gV) V^T)",
    .source = "Giles 2008, 3.1",
    .arguments = {{.name = "A",
                   .shape = "... n n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 3}}},
    .build = Plain("eigh", 1,
                   [](const Tensors& in) {
                     static const Ref<const Function> function = MakeRef<EighFunction>();
                     RequireSquare("eigh", in[0]);
                     return Call(function, in);
                   }),
    .reference = EighReference,
    .error_cases = {{.description = "A is not square", .inputs = {{DType::kF64, {3, 4}}}},
                    {.description = "an integer matrix", .inputs = {{DType::kI64, {3, 3}}}}},
});

}  // namespace
}  // namespace peelcheck
