// opinfo_db/functions/functions.h: the custom functions that others call: rules of other functions,
// tests and examples.
//
//   Tensors out = OpaqueCube(x);                       // x^3, 3x^2
//   Tensor y = OpaqueTake(x, order, inverse, -1);      // x in that order along the last axis
//
// `Opaque..` leaves the engine in forward and composes by its written rules only; `..GenVmap` has a
// generated batching rule. Each throws invalid_argument on a shape, dtype or dim that does not fit.
#pragma once

#include "engine/function.h"

namespace peelcheck {

// x^3 and 3x^2, both differentiable.
Tensors OpaqueCube(const Tensor& x);
Tensors CubeGenVmap(const Tensor& x);
// x^3 that refuses vmap, jvp and a second derivative.
Tensor OpaqueCubeNotComposable(const Tensor& x);

// x * y, broadcast and promoted.
Tensor OpaqueMul(const Tensor& x, const Tensor& y);
Tensor MulGenVmap(const Tensor& x, const Tensor& y);

// e^x, written over x; returns x itself.
Tensor OpaqueExpInPlace(const Tensor& x);
Tensor ExpInPlaceGenVmap(const Tensor& x);

// The values in ascending order along `dim`, their indices (i64), and the inverse of that
// permutation.
Tensors OpaqueSort(const Tensor& x, int64_t dim);
Tensors SortGenVmap(const Tensor& x, int64_t dim);

// x gathered by `ind` along `dim`; `ind` holds permutations along it and `ind_inv` their inverses,
// i64 of x's shape.
Tensor OpaqueTake(const Tensor& x, const Tensor& ind, const Tensor& ind_inv, int64_t dim);
Tensor TakeGenVmap(const Tensor& x, const Tensor& ind, const Tensor& ind_inv, int64_t dim);

// x + y and x - y; undefined cotangents and tangents reach its rules as they are.
Tensors SumDiffNoMaterialize(const Tensor& x, const Tensor& y);

// x as it is, and x * y.
Tensors ReturnsInputGenVmap(const Tensor& x, const Tensor& y);

}  // namespace peelcheck
