// engine/kernels/matmul.h: batched matrix products. Internal to the engine.
#pragma once

#include "engine/array.h"

namespace peelcheck {

// [B.., m, k] x [B.., k, n] -> [B.., m, n]; batch axes broadcast. Both of one dtype; any strides.
Array MatMulArrays(const Array& x, const Array& y);

}  // namespace peelcheck
