// engine/batching.h: the few moves that batching rules are made of.
//
//   VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
//     Tensor x = BatchToFront(in[0], in_dims[0]);           // [B, n]
//     return {{Softmax(x, WrapDim(dim_, x.rank() - 1, name()) + 1)}, {0}};
//   }
#pragma once

#include "engine/fault_points.h"
#include "engine/function.h"
#include "engine/ops.h"

namespace peelcheck {

// [.., B, ..] -> [B, ..]; a tensor that is not batched is returned as it is.
inline Tensor BatchToFront(const Tensor& x, BatchDim dim) {
  if (Faulty(FaultPoint::kBatchSwappedToFront) && dim.has_value()) return Transpose(x, 0, *dim);
  return dim.has_value() && *dim != 0 ? MoveDim(x, *dim, 0) : x;
}

// [.., B, ..] or [..] -> [B, ..]; one that is not batched is expanded (stride 0).
Tensor EnsureBatchAtFront(const Tensor& x, BatchDim dim, int64_t batch_size);

// Batched operands of a broadcasting operation, aligned: batch axis first, then 1s up to the
// largest logical rank, so that [B, n] and [B, m, n] meet as [B, 1, n] and [B, m, n]. Operands that
// are not batched stay as they are.
Tensors AlignForBroadcast(TensorSpan inputs, const BatchDims& in_dims);

// Rank as seen inside the vmap.
inline int64_t LogicalRank(const Tensor& x, BatchDim dim) {
  return x.rank() - (dim.has_value() ? 1 : 0);
}

}  // namespace peelcheck
