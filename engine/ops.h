// engine/ops.h: the built-in operations as C++ functions over tensors; names and meaning as in
// PyTorch.
//
//   Tensor loss = Sum(Square(MatMul(a, b) - y));
//
// Each works on plain tensors and under every transform. Elementwise binary operations broadcast
// ([3, 1] with [4] -> [3, 4]) and promote dtypes (bool < i64 < f32 < f64). A C++ scalar takes the
// dtype of a floating tensor; an integer or bool tensor gives i64 with a whole number and f32 with
// a fractional one. Errors: invalid_argument with the operation's name and both shapes.
//
// Here stand the operations that the engine's own rules need, with their rules in engine/ops/*.cc;
// every other operation of the database stands in opinfo_db/ops/.
#pragma once

#include <optional>
#include <vector>

#include "engine/function.h"
#include "engine/tensor.h"

namespace peelcheck {

using Dims = std::vector<int64_t>;

// -- elementwise, one operand: [..] -> [..]; i64 and bool are computed in f32, except neg, abs,
// sign, square, relu, floor: i64 -------------------
Tensor Neg(const Tensor& x);
Tensor Abs(const Tensor& x);   // derivative at 0 is 0
Tensor Sign(const Tensor& x);  // derivative is 0
Tensor Exp(const Tensor& x);
Tensor Expm1(const Tensor& x);
Tensor Log(const Tensor& x);
Tensor Log1p(const Tensor& x);
Tensor Sqrt(const Tensor& x);
Tensor Rsqrt(const Tensor& x);
Tensor Square(const Tensor& x);
Tensor Reciprocal(const Tensor& x);
Tensor Sin(const Tensor& x);
Tensor Cos(const Tensor& x);
Tensor Tan(const Tensor& x);
Tensor Atan(const Tensor& x);
Tensor Sinh(const Tensor& x);
Tensor Cosh(const Tensor& x);
Tensor Tanh(const Tensor& x);
Tensor Sigmoid(const Tensor& x);
Tensor Softplus(const Tensor& x);  // log(1 + exp(x))
Tensor Relu(const Tensor& x);      // derivative at 0 is 0
Tensor Erf(const Tensor& x);
Tensor Floor(const Tensor& x);  // derivative is 0

// -- elementwise, two operands: broadcast, promoted; bool counts as i64, but two bools stay bool
// in add (or), mul (and), maximum, minimum -----------
Tensor Add(const Tensor& x, const Tensor& y);
Tensor Sub(const Tensor& x, const Tensor& y);  // two bools are refused
Tensor Mul(const Tensor& x, const Tensor& y);
Tensor Div(const Tensor& x, const Tensor& y);      // true division: integers give f32
Tensor Pow(const Tensor& x, const Tensor& y);      // y's gradient at x = 0 is 0 where y >= 0
Tensor Maximum(const Tensor& x, const Tensor& y);  // at a tie each side gets half of the gradient
Tensor Minimum(const Tensor& x, const Tensor& y);
Tensor Atan2(const Tensor& y, const Tensor& x);  // no derivative at the origin: nan
// Comparisons -> bool, no derivative.
Tensor Eq(const Tensor& x, const Tensor& y);
Tensor Ne(const Tensor& x, const Tensor& y);
Tensor Lt(const Tensor& x, const Tensor& y);
Tensor Le(const Tensor& x, const Tensor& y);
Tensor Gt(const Tensor& x, const Tensor& y);
Tensor Ge(const Tensor& x, const Tensor& y);
// x * scale + shift with C++ scalars: keeps a floating dtype; integers: i64 where both are whole,
// else f32.
Tensor Affine(const Tensor& x, double scale, double shift);
// x^exponent with a C++ scalar: keeps a floating dtype; integers: i64 where the exponent is whole
// and not negative, else f32.
Tensor PowScalar(const Tensor& x, double exponent);

// -- elementwise, three operands
// -----------------------------------------------------------------------------------------------
// condition (bool) ? x : y, all broadcast. A gradient selects; it does not multiply, so an infinity
// in the branch not taken stays out.
Tensor Where(const Tensor& condition, const Tensor& x, const Tensor& y);

// -- casts and constants
// -------------------------------------------------------------------------------------------------------
Tensor To(const Tensor& x, DType dtype);
Tensor ZerosLike(const Tensor& x);  // shape and dtype of x; depends on no input
Tensor OnesLike(const Tensor& x);
Tensor Full(const Shape& shape, double value, DType dtype);
Tensor Clone(const Tensor& x);   // identity with new storage
Tensor Detach(const Tensor& x);  // identity without derivative

// -- reductions: dims absent = all; negative dims wrap
// --------------------------------------------------------------------------
Tensor Sum(const Tensor& x, const std::optional<Dims>& dims = std::nullopt, bool keepdim = false);
Tensor Mean(const Tensor& x, const std::optional<Dims>& dims = std::nullopt, bool keepdim = false);
// The largest (smallest) values; ties share the gradient evenly.
Tensor Amax(const Tensor& x, const std::optional<Dims>& dims = std::nullopt, bool keepdim = false);
Tensor Amin(const Tensor& x, const std::optional<Dims>& dims = std::nullopt, bool keepdim = false);
Tensor Prod(const Tensor& x, std::optional<int64_t> dim = std::nullopt, bool keepdim = false);
Tensor CumSum(const Tensor& x, int64_t dim);
Tensor LogSumExp(const Tensor& x, const Dims& dims, bool keepdim = false);
Tensor Softmax(const Tensor& x, int64_t dim);
Tensor LogSoftmax(const Tensor& x, int64_t dim);

// -- shape: views where possible
// ------------------------------------------------------------------------------------------------
Tensor Reshape(const Tensor& x, const Dims& shape);  // one size may be -1
Tensor Expand(const Tensor& x, const Dims& shape);   // -1 keeps a size; new leading axes allowed
Tensor Permute(const Tensor& x, const Dims& dims);
Tensor Transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor MoveDim(const Tensor& x, int64_t from, int64_t to);
Tensor Unsqueeze(const Tensor& x, int64_t dim);
Tensor Squeeze(const Tensor& x,
               int64_t dim);  // a size-1 axis is dropped; any other size: unchanged
Tensor Flip(const Tensor& x, const Dims& dims);
Tensor Narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor Slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step);  // step >= 1
Tensor Select(const Tensor& x, int64_t dim, int64_t index);
Tensor Pad(const Tensor& x, int64_t dim, int64_t before, int64_t after);  // zeros
Tensor Cat(TensorSpan xs, int64_t dim);
Tensor Stack(TensorSpan xs, int64_t dim);
Tensor Tril(const Tensor& x, int64_t diagonal = 0);  // [.., n, m]
Tensor Triu(const Tensor& x, int64_t diagonal = 0);
// Sums x down to `shape`, the inverse of broadcasting `shape` up to x's; x itself where they are
// equal.
Tensor SumTo(const Tensor& x, const Shape& shape);
// Broadcasts x up to `shape`; x itself where they are equal.
Tensor BroadcastTo(const Tensor& x, const Shape& shape);

// -- indexing and ordering: i64 indices, -n..n-1 refused outside 0..n-1
// -----------------------------------------------------------
Tensor Gather(const Tensor& x, int64_t dim, const Tensor& index);  // index: rank of x
Tensor ScatterAdd(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
Tensor IndexSelect(const Tensor& x, int64_t dim, const Tensor& index);  // index [k]
Tensor Argsort(const Tensor& x, int64_t dim,
               bool descending = false);  // stable; i64, no derivative
struct SortResult {
  Tensor values;
  Tensor indices;  // i64
};
SortResult Sort(const Tensor& x, int64_t dim, bool descending = false);  // stable

// -- linear algebra
// --------------------------------------------------------------------------------------------------------------
// torch.matmul: [m, k] x [k, n], vectors, and broadcast batches [.., m, k] x [.., k, n].
Tensor MatMul(const Tensor& x, const Tensor& y);

// -- in place: x is written and returned
// ------------------------------------------------------------------------------------------
// Refused (failed_precondition): a tensor captured from outside of a differentiating level, one
// that is expanded, one without room for each slot of a vmap; later, any use of a differentiated
// tensor that shared the memory, and any rule that saved the old value.
Tensor NegInPlace(const Tensor& x);
Tensor ExpInPlace(const Tensor& x);
Tensor SqrtInPlace(const Tensor& x);
Tensor ReciprocalInPlace(const Tensor& x);
Tensor TanhInPlace(const Tensor& x);
Tensor SigmoidInPlace(const Tensor& x);
Tensor ReluInPlace(const Tensor& x);
// y broadcasts to x's shape.
Tensor AddInPlace(const Tensor& x, const Tensor& y);
Tensor SubInPlace(const Tensor& x, const Tensor& y);
Tensor MulInPlace(const Tensor& x, const Tensor& y);
Tensor DivInPlace(const Tensor& x, const Tensor& y);
Tensor CopyInPlace(const Tensor& x, const Tensor& y);  // x = y, cast to x's dtype

inline Tensor operator+(const Tensor& x, const Tensor& y) { return Add(x, y); }
inline Tensor operator-(const Tensor& x, const Tensor& y) { return Sub(x, y); }
inline Tensor operator*(const Tensor& x, const Tensor& y) { return Mul(x, y); }
inline Tensor operator/(const Tensor& x, const Tensor& y) { return Div(x, y); }
inline Tensor operator-(const Tensor& x) { return Neg(x); }
inline Tensor operator+(const Tensor& x, double s) { return Affine(x, 1, s); }
inline Tensor operator+(double s, const Tensor& x) { return Affine(x, 1, s); }
inline Tensor operator-(const Tensor& x, double s) { return Affine(x, 1, -s); }
inline Tensor operator-(double s, const Tensor& x) { return Affine(x, -1, s); }
inline Tensor operator*(const Tensor& x, double s) { return Affine(x, s, 0); }
inline Tensor operator*(double s, const Tensor& x) { return Affine(x, s, 0); }
// True division: integers give f32.
inline Tensor operator/(const Tensor& x, double s) {
  return Affine(IsFloating(x.dtype()) ? x : To(x, DType::kF32), 1 / s, 0);
}

}  // namespace peelcheck
