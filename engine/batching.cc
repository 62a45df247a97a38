#include "engine/batching.h"
#include "engine/fault_points.h"

#include <algorithm>

namespace peelcheck {

Tensor EnsureBatchAtFront(const Tensor& x, BatchDim dim, int64_t batch_size) {
  if (dim.has_value()) return BatchToFront(x, dim);
  Shape shape{batch_size};
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  if (Faulty(FaultPoint::kUnbatchedIsZero) && batch_size > 0) {
    return Pad(Unsqueeze(x, 0), 0, 0, batch_size - 1);
  }
  return BroadcastTo(x, shape);
}

Tensors AlignForBroadcast(TensorSpan inputs, const BatchDims& in_dims) {
  int64_t rank = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    rank = std::max(rank, LogicalRank(inputs[i], in_dims[i]));
  Tensors aligned;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor x = BatchToFront(inputs[i], in_dims[i]);
    const int64_t missing = rank - LogicalRank(inputs[i], in_dims[i]);
    if (in_dims[i].has_value() && missing > 0 && !Faulty(FaultPoint::kNoRankPadding)) {
      Dims shape(x.shape().begin(), x.shape().end());
      shape.insert(shape.begin() + 1, static_cast<size_t>(missing), 1);
      x = Reshape(x, shape);
    }
    aligned.push_back(std::move(x));
  }
  return aligned;
}

}  // namespace peelcheck
