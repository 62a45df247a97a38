// Broadcasting and its transpose: what brings gradients back to the shape of an operand.
#include "engine/kernels/reduction.h"
#include "engine/ops/reduction_function.h"

namespace peelcheck {
namespace {

// [B, x..] -> [B, 1.., x..] with `rank` axes after the batch.
Tensor PadAfterBatch(const Tensor& x, int64_t rank) {
  if (x.rank() - 1 == rank) return x;
  Dims shape(x.shape().begin(), x.shape().end());
  shape.insert(shape.begin() + 1, static_cast<size_t>(rank - (x.rank() - 1)), 1);
  return Reshape(x, shape);
}

Shape WithBatch(int64_t batch_size, const Shape& shape) {
  Shape result = shape;
  result.insert(result.begin(), batch_size);
  return result;
}

// SumTo(x) is legal where `shape` broadcasts to x's.
void RequireSumsTo(const Shape& from, const Shape& shape) {
  const size_t lead = from.size() - shape.size();
  bool fits = shape.size() <= from.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = shape[i] == from[lead + i] || shape[i] == 1;
  if (fits) return;
  ThrowInvalidArgument(absl::StrCat("[sum_to] shape ", ShapeToString(from), " does not sum to ",
                                    ShapeToString(shape),
                                    "; expected a shape that broadcasts to it"));
}

class SumToFunction : public LinearFunction {
 public:
  explicit SumToFunction(Shape shape) : shape_(std::move(shape)) {}
  std::string name() const override { return "sum_to"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    RequireSumsTo(x.shape(), shape_);
    const size_t lead = x.shape().size() - shape_.size();
    std::vector<bool> reduced(x.shape().size(), false);
    std::vector<bool> dropped(x.shape().size(), false);
    for (size_t axis = 0; axis < reduced.size(); ++axis) {
      dropped[axis] = axis < lead;
      reduced[axis] = axis < lead || (shape_[axis - lead] == 1 && x.shape()[axis] != 1);
    }
    return {Tensor::FromArray(DropReduced(ReduceSum(x, reduced), dropped))};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    RequireSumsTo(Shape(x.shape().begin() + 1, x.shape().end()), shape_);
    // The leading axes that go stand behind the batch: they are summed by name.
    Dims leading;
    const int64_t lead = x.rank() - 1 - static_cast<int64_t>(shape_.size());
    for (int64_t i = 0; i < lead; ++i) leading.push_back(i + 1);
    const Tensor rest = leading.empty() ? x : Sum(x, leading);
    return {{SumTo(rest, WithBatch(info.batch_size, shape_))}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    return BroadcastTo(ct, input.shape);
  }

 private:
  Shape shape_;
};

class BroadcastToFunction : public LinearFunction {
 public:
  explicit BroadcastToFunction(Shape shape) : shape_(std::move(shape)) {}
  std::string name() const override { return "broadcast_to"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(in[0].array().Expanded(shape_))};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    if (LogicalRank(in[0], in_dims[0]) > static_cast<int64_t>(shape_.size())) {
      ThrowInvalidArgument(absl::StrCat(
          "[expand] an input of rank ", LogicalRank(in[0], in_dims[0]), " does not broadcast to ",
          ShapeToString(shape_), "; only axes of size 1 and new leading axes may grow"));
    }
    const Tensor x =
        PadAfterBatch(BatchToFront(in[0], in_dims[0]), static_cast<int64_t>(shape_.size()));
    return {{BroadcastTo(x, WithBatch(info.batch_size, shape_))}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    return SumTo(ct, input.shape);
  }

 private:
  Shape shape_;
};

}  // namespace

Tensor SumTo(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return Call(Ref<const Function>(MakeRef<SumToFunction>(shape)), {x})[0];
}

Tensor BroadcastTo(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return Call(Ref<const Function>(MakeRef<BroadcastToFunction>(shape)), {x})[0];
}

}  // namespace peelcheck
