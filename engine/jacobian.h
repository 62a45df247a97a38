// engine/jacobian.h: whole Jacobians and Hessians, as maps of pullbacks and tangents over a basis.
//
//   Tensors j = JacRev(f)({x});            // f: [n] -> [m]; j[0]: [m, n]
//   Tensors h = Hessian(g)({x});           // g: [n] -> []; h[0]: [n, n]
//
// They compose with every other transform, and with one another.
#pragma once

#include "engine/transforms.h"

namespace peelcheck {

struct JacobianOptions {
  // As in DiffOptions.
  std::optional<std::vector<int64_t>> argnums = std::nullopt;
  bool has_aux = false;
  bool strict = false;  // jacfwd
  // Rows (jacrev) or columns (jacfwd) at once: memory against time. Absent = all; less than 1:
  // invalid_argument.
  std::optional<int64_t> chunk_size = std::nullopt;
};

// Jacobians by reverse mode: vmap of the pullback over the standard basis of each output. One per
// (floating output, argnum), the output's first: shape = output shape + input shape, dtype of the
// input. With has_aux then the auxiliary output. Best where the outputs have fewer elements.
TensorFn JacRev(TensorFn f, JacobianOptions options = {});

// The same by forward mode: vmap of jvp over the standard basis of each input; dtype of the output.
// Best where the inputs have fewer elements.
TensorFn JacFwd(TensorFn f, JacobianOptions options = {});

// JacFwd of JacRev: one per (floating output, argnum, argnum): output shape + first input's shape +
// second input's shape. f may have any outputs; for a 0-d one it is the matrix that bears the name.
TensorFn Hessian(TensorFn f, JacobianOptions options = {});

}  // namespace peelcheck
