// opinfo_db/ops/qr.cc: the reduced QR decomposition, the diagonal of R positive.
//
//   BuildOperation("qr", {})({a})   // [.., m, n] -> [.., m, k], [.., k, n], k = min(m, n)
//
// That sign makes Q and R unique where A has full rank; LAPACK, and so PyTorch, leaves it open. A
// wide matrix is [A1 A2] with A1 square: A1 = Q R1, and the rest of R is Q^T A2; a composition.
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {
namespace {

// X R^-1
Tensor TimesInverse(const Tensor& x, const Tensor& r) {
  return MT(SolveTriangular(MT(r), MT(x), false));
}

class QrFunction : public MatrixFunction {
 public:
  std::string name() const override { return "qr"; }
  Tensors Forward(TensorSpan in) const override {
    const QrArrays out = QrOfArray(in[0].array());
    return {Tensor::FromArray(out.q), Tensor::FromArray(out.r)};
  }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override {
    ctx.Save({out[0], out[1]});
  }
  // gA = (gQ + Q copyltu(M)) R^-T, M = R triu(gR)^T - gQ^T Q, copyltu: lower triangle, mirrored
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &q = ctx.saved()[0], &r = ctx.saved()[1];
    const Tensor m = MatMul(r, MT(Triu(ct[1]))) - MatMul(MT(ct[0]), q);
    const Tensor mirrored = Tril(m) + MT(Tril(m, -1));
    return {MT(SolveTriangular(r, MT(ct[0] + MatMul(q, mirrored)), true))};
  }
  // X = dA R^-1, P = Q^T X, W = skew of the lower triangle of P:
  // dQ = X - Q (P - W), dR = (P - W) R
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &q = ctx.saved()[0], &r = ctx.saved()[1];
    const Tensor x = TimesInverse(tangents[0], r);
    const Tensor p = MatMul(MT(q), x);
    const Tensor upper = p - Tril(p, -1) + MT(Tril(p, -1));
    return {x - MatMul(q, upper), Triu(MatMul(upper, r))};
  }
};

Tensors Qr(const Tensor& a) {
  static const Ref<const Function> function = MakeRef<QrFunction>();
  RequireMatrix("qr", a);
  const int64_t m = a.dim(a.rank() - 2), n = a.dim(a.rank() - 1);
  if (m >= n) return Call(function, {a});
  const Tensors square = Call(function, {Narrow(a, -1, 0, m)});
  const Tensor rest = MatMul(MT(square[0]), Narrow(a, -1, m, n - m));
  const Tensor pieces[] = {square[1], rest};
  return {square[0], Cat(pieces, -1)};
}

// Modified Gram-Schmidt: the lengths that it divides by are positive.
std::vector<Array> QrReference(std::span<const Array> in, const Attributes&) {
  const Array& a = in[0];
  const size_t m = RowCount(a), n = ColumnCount(a), k = std::min(m, n);
  const auto decomposed = [&](int64_t b) {
    MatrixRows q = RowsOf(a, b), r = ZeroRows(k, n);
    for (size_t i = 0; i < k; ++i) {
      for (size_t row = 0; row < m; ++row) r[i][i] += q[row][i] * q[row][i];
      r[i][i] = std::sqrt(r[i][i]);
      for (size_t row = 0; row < m; ++row) q[row][i] /= r[i][i];
      for (size_t j = i + 1; j < n; ++j) {
        for (size_t row = 0; row < m; ++row) r[i][j] += q[row][i] * q[row][j];
        for (size_t row = 0; row < m; ++row) q[row][j] -= r[i][j] * q[row][i];
      }
    }
    for (auto& row : q) row.resize(k);
    return std::pair(q, r);
  };
  return {
      FromMatrices(a.dtype(), BatchOf(a), m, k, [&](int64_t b) { return decomposed(b).first; }),
      FromMatrices(a.dtype(), BatchOf(a), k, n, [&](int64_t b) { return decomposed(b).second; })};
}

const Registration kQr({
    .name = "qr",
    .formula = "A = Q R; with X = dA R^-1, P = Q^T X, U = P - L + L^T, L below the diagonal of P; "
               "dQ = X - Q U, dR = U R; gA = (gQ + Q copyltu(R gR^T - gQ^T Q)) R^-T",
    .source = "Walter & Lehmann 2012, Algorithmic differentiation of linear algebra functions; "
              "Seeger et al. 2017, arXiv:1710.08717, 4.1",
    .arguments = {{.name = "A",
                   .shape = "... m n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 3}}},
    .build = Plain("qr", 1, [](const Tensors& in) { return Qr(in[0]); }),
    .reference = QrReference,
    .error_cases = {{.description = "a vector", .inputs = {{DType::kF64, {3}}}},
                    {.description = "an integer matrix", .inputs = {{DType::kI64, {4, 3}}}}},
});

}  // namespace
}  // namespace peelcheck
