// opinfo_db/ops/linalg.h: the linear algebra that rules and other operations of this folder are
// composed of; each stands in the file of its name.
//
//   Tensor x = Solve(a, b);               // [.., n, n], [.., n, k]: leading axes broadcast
//   Tensor gradient = MatMul(MT(v), g);   // MT: the matrices transposed
//
// Floating operands; errors: invalid_argument with the shape that came.
#pragma once

#include <absl/strings/str_cat.h>

#include <string>

#include "engine/batching.h"
#include "engine/function.h"
#include "engine/ops.h"

namespace peelcheck {

// A function of one stack of matrices: leading axes are a batch of its own, so a vmap only puts one
// more in front.
class MatrixFunction : public Function {
 public:
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), {BatchToFront(in[0], in_dims[0])}), {0}};
  }
  bool has_vmap_rule() const override { return true; }
};

Tensor Solve(const Tensor& a, const Tensor& b);  // X with A X = B
Tensor SolveTriangular(const Tensor& a, const Tensor& b, bool upper, bool unitriangular = false);
Tensor Inverse(const Tensor& a);

inline Tensor MT(const Tensor& x) { return Transpose(x, -2, -1); }
inline Tensor SymmetricPart(const Tensor& x) { return (x + MT(x)) * 0.5; }

// [n, n] of bool: the diagonal.
inline Tensor DiagonalMask(int64_t n) {
  Array mask = Array::Zeros(DType::kBool, {n, n});
  for (int64_t i = 0; i < n; ++i) mask.SetDouble(i * n + i, 1);
  return Tensor::FromArray(mask);
}
inline Tensor Eye(int64_t n, DType dtype) { return To(DiagonalMask(n), dtype); }
// [.., n] -> [.., n, n] and back.
inline Tensor DiagonalMatrix(const Tensor& d) {
  return Where(DiagonalMask(d.dim(d.rank() - 1)), Unsqueeze(d, -1), Full({}, 0, d.dtype()));
}
inline Tensor DiagonalOf(const Tensor& x) {
  return Sum(Where(DiagonalMask(x.dim(x.rank() - 1)), x, Full({}, 0, x.dtype())), Dims{-1});
}
// 1 / (v_j - v_i) off the diagonal, 0 on it: [.., n] -> [.., n, n].
inline Tensor InverseGaps(const Tensor& v) {
  const Tensor mask = DiagonalMask(v.dim(v.rank() - 1));
  const Tensor gaps = Unsqueeze(v, -2) - Unsqueeze(v, -1);
  const Tensor safe = Where(mask, Full({}, 1, v.dtype()), gaps);
  return Where(mask, Full({}, 0, v.dtype()), Reciprocal(safe));
}

inline void RequireFloatingOperand(const std::string& tag, const Tensor& x) {
  if (IsFloating(x.dtype())) return;
  ThrowInvalidArgument(
      absl::StrCat("[", tag, "] an operand is ", DTypeName(x.dtype()), "; expected f32 or f64"));
}
inline void RequireMatrix(const std::string& tag, const Tensor& x) {
  RequireFloatingOperand(tag, x);
  if (x.rank() >= 2) return;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] an operand has shape ", ShapeToString(x.shape()),
                                    "; expected [.., m, n]"));
}
inline void RequireSquare(const std::string& tag, const Tensor& x) {
  RequireMatrix(tag, x);
  if (x.dim(x.rank() - 1) == x.dim(x.rank() - 2)) return;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] an operand has shape ", ShapeToString(x.shape()),
                                    "; expected [.., n, n]"));
}

}  // namespace peelcheck
