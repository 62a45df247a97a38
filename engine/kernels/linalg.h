// engine/kernels/linalg.h: solves and decompositions of stacks of matrices. Internal to the engine
// and to the rules of opinfo_db/ops.
//
//   Array x = SolveArrays(a, b);              // [5, 1, n, n], [3, n, k] -> [5, 3, n, k]
//   QrArrays qr = QrOfArray(a);               // [.., m, n], m >= n -> [.., m, n], [.., n, n]
//
// All take floating arrays [B.., m, n] of any strides, and one dtype for all operands; f32 is
// computed in f64. Signs that
// mathematics leaves open are fixed, so that each result is a function of its input: see each.
#pragma once

#include "engine/array.h"

namespace peelcheck {

// A X = B by LU with partial pivoting; leading axes broadcast. Throws invalid_argument where a
// matrix is exactly singular.
Array SolveArrays(const Array& a, const Array& b);
// The same for a triangle of `a`, the rest of which is not read, nor its diagonal where that is
// taken for ones (`unit`). Throws invalid_argument on a zero of the diagonal.
Array SolveTriangularArrays(const Array& a, const Array& b, bool upper, bool unit);

// The lower L with L L^T = (a + a^T) / 2, its diagonal positive. Throws invalid_argument where that
// is not positive definite.
Array CholeskyOfArray(const Array& a);

struct DeterminantArrays {
  Array det, sign, logabsdet;  // [B..] each; of a 0 x 0 matrix 1, 1, 0
};
DeterminantArrays DeterminantOfArray(const Array& a);

struct QrArrays {
  Array q, r;  // m >= n: [B.., m, n] with orthonormal columns, [B.., n, n] with a diagonal >= 0
};
QrArrays QrOfArray(const Array& a);

struct EighArrays {
  Array values, vectors;  // of (a + a^T) / 2: [B.., n] ascending; [B.., n, n], a column each, whose
                          // component of largest size is positive
};
EighArrays EighOfArray(const Array& a);

struct SvdArrays {
  Array u, s, vh;  // m >= n: [B.., m, n], [B.., n] descending, [B.., n, n]; the component of
                   // largest size of each column of u is positive
};
SvdArrays SvdOfArray(const Array& a);

}  // namespace peelcheck
