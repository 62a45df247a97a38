// engine/kernels/matmul.h: batched matrix products. Internal to the engine.
//
//   Array z = MatMulArrays(x, y.MovedDim(0, 1));  // a transposed operand is not copied
#pragma once

#include "engine/array.h"

namespace peelcheck {

// [B.., m, k] x [B.., k, n] -> [B.., m, n]; batch axes broadcast. Both of one dtype; any strides.
Array MatMulArrays(const Array& x, const Array& y);

}  // namespace peelcheck
