// opinfo_db/ops/svd.cc: the reduced singular value decomposition.
//
//   BuildOperation("svd", {})({a})   // [.., m, n] -> U [.., m, k], S [.., k], Vh [.., k, n]
//
// A pair of singular vectors has one sign left open. The component of largest size of the longer
// one (U's column where m >= n, else Vh's row) is made positive; the choice is locally constant, so
// it does not enter the derivative. The derivative exists where the singular values differ, and,
// for m != n, are not 0. A wide matrix is decomposed by its transpose.
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"
#include "opinfo_db/ops/symmetric_eigen_reference.h"

namespace peelcheck {
namespace {

Tensor TimesColumns(const Tensor& x, const Tensor& s) { return x * Unsqueeze(s, -2); }
Tensor TimesRows(const Tensor& s, const Tensor& x) { return Unsqueeze(s, -1) * x; }

// m >= n: U [.., m, n], S [.., n], Vh [.., n, n].
class SvdFunction : public MatrixFunction {
 public:
  std::string name() const override { return "svd"; }
  Tensors Forward(TensorSpan in) const override {
    const SvdArrays out = SvdOfArray(in[0].array());
    return {Tensor::FromArray(out.u), Tensor::FromArray(out.s), Tensor::FromArray(out.vh)};
  }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override {
    ctx.Save({out[0], out[1], out[2]});
  }
  // gA = (U [(F o skew(U^T gU)) S + S (F o skew(V^T gV)) + diag(gS)] + (I - U U^T) gU S^-1) V^T
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &u = ctx.saved()[0], &s = ctx.saved()[1], &vh = ctx.saved()[2];
    const Tensor gaps = InverseGaps(Square(s));
    const Tensor utgu = MatMul(MT(u), ct[0]), vtgv = MatMul(vh, MT(ct[2]));
    const Tensor inner = TimesColumns(gaps * (utgu - MT(utgu)), s) +
                         TimesRows(s, gaps * (vtgv - MT(vtgv))) + DiagonalMatrix(ct[1]);
    Tensor left = MatMul(u, inner);
    if (IsTall(u)) left = left + TimesColumns(ct[0] - MatMul(u, utgu), Reciprocal(s));
    return {MatMul(left, vh)};
  }
  // P = U^T dA V; dS = diag(P), dU = U (F o (P S + S P^T)) + (I - U U^T) dA V S^-1,
  // dV = V (F o (S P + P^T S))
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &u = ctx.saved()[0], &s = ctx.saved()[1], &vh = ctx.saved()[2];
    const Tensor gaps = InverseGaps(Square(s));
    const Tensor dav = MatMul(tangents[0], MT(vh));
    const Tensor p = MatMul(MT(u), dav), ps = TimesColumns(p, s), sp = TimesRows(s, p);
    Tensor du = MatMul(u, gaps * (ps + MT(ps)));
    if (IsTall(u)) du = du + TimesColumns(dav - MatMul(u, p), Reciprocal(s));
    return {du, DiagonalOf(p), MatMul(MT(gaps * (sp + MT(sp))), vh)};
  }

 private:
  static bool IsTall(const Tensor& u) { return u.dim(u.rank() - 2) > u.dim(u.rank() - 1); }
};

Tensors Svd(const Tensor& a) {
  static const Ref<const Function> function = MakeRef<SvdFunction>();
  RequireMatrix("svd", a);
  if (a.dim(a.rank() - 2) >= a.dim(a.rank() - 1)) return Call(function, {a});
  const Tensors out = Call(function, {MT(a)});
  return {MT(out[2]), out[1], MT(out[0])};
}

struct SvdRows {
  MatrixRows u, vh;
  std::vector<double> s;
};

// The eigenvectors of A^T A, then U = A V / s.
SvdRows TallSvd(const MatrixRows& a, size_t n) {
  SvdRows out{ZeroRows(a.size(), n), ZeroRows(n, n), {}};
  MatrixRows gram = ZeroRows(n, n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      for (const auto& row : a) gram[i][j] += row[i] * row[j];
  const EigenReference eigen = JacobiEigen(gram);
  for (size_t k = 0; k < n; ++k) {
    const size_t from = n - 1 - k;
    const double s = std::sqrt(eigen.values[from]);
    double largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t j = 0; j < n; ++j) out.u[i][k] += a[i][j] * eigen.vectors[j][from] / s;
      if (std::abs(out.u[i][k]) > std::abs(largest)) largest = out.u[i][k];
    }
    const double sign = largest < 0 ? -1 : 1;
    for (auto& row : out.u) row[k] *= sign;
    for (size_t j = 0; j < n; ++j) out.vh[k][j] = sign * eigen.vectors[j][from];
    out.s.push_back(s);
  }
  return out;
}

MatrixRows Transposed(const MatrixRows& a, size_t columns) {
  MatrixRows t = ZeroRows(columns, a.size());
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < columns; ++j) t[j][i] = a[i][j];
  return t;
}

std::vector<Array> SvdReference(std::span<const Array> in, const Attributes&) {
  const Array& a = in[0];
  const size_t m = RowCount(a), n = ColumnCount(a), k = std::min(m, n);
  const auto decomposed = [&](int64_t b) {
    if (m >= n) return TallSvd(RowsOf(a, b), n);
    const SvdRows out = TallSvd(Transposed(RowsOf(a, b), n), m);
    return SvdRows{Transposed(out.vh, m), Transposed(out.u, m), out.s};
  };
  return {FromMatrices(a.dtype(), BatchOf(a), m, k, [&](int64_t b) { return decomposed(b).u; }),
          FromVectors(a.dtype(), BatchOf(a), k, [&](int64_t b) { return decomposed(b).s; }),
          FromMatrices(a.dtype(), BatchOf(a), k, n, [&](int64_t b) { return decomposed(b).vh; })};
}

const Registration kSvd({
    .name = "svd",
    .formula = "A = U diag(S) Vh; with P = U^T dA V, F_ij = 1 / (s_j^2 - s_i^2), F_ii = 0; "
               "dS = diag(P), dU = U (F o (P S + S P^T)) + (I - U U^T) dA V S^-1, "
               "dV = V (F o (S P + P^T S))",
    .source = "Townsend 2016, Differentiating the singular value decomposition, (16) to (18), (32)",
    .arguments = {{.name = "A",
                   .shape = "... m n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 3}}},
    .build = Plain("svd", 1, [](const Tensors& in) { return Svd(in[0]); }),
    .reference = SvdReference,
    .error_cases = {{.description = "a vector", .inputs = {{DType::kF64, {3}}}},
                    {.description = "an integer matrix", .inputs = {{DType::kI64, {4, 3}}}}},
});

}  // namespace
}  // namespace peelcheck
