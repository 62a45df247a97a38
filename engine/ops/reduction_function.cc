#include "engine/ops/reduction_function.h"

namespace peelcheck {

std::vector<bool> ReducedAxes(const std::optional<Dims>& dims, int64_t rank,
                              const std::string& tag) {
  // Of a 0-d input, dim 0 and -1 are legal and mean the only value.
  std::vector<bool> reduced(static_cast<size_t>(rank), !dims.has_value());
  if (!dims.has_value()) return reduced;
  std::vector<bool> seen(static_cast<size_t>(std::max<int64_t>(rank, 1)), false);
  for (int64_t dim : *dims) {
    const auto axis = static_cast<size_t>(WrapDim(dim, rank, tag));
    if (seen[axis]) {
      ThrowInvalidArgument(
          absl::StrCat("[", tag, "] dim ", axis, " came twice; name each dim once"));
    }
    seen[axis] = true;
    if (rank > 0) reduced[axis] = true;
  }
  return reduced;
}

Array DropReduced(const Array& array, const std::vector<bool>& reduced) {
  Shape shape;
  Shape strides;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis]) continue;
    shape.push_back(array.shape()[axis]);
    strides.push_back(array.strides()[axis]);
  }
  return array.Strided(std::move(shape), std::move(strides), array.offset());
}

Shape KeepdimShape(const Shape& shape, const std::vector<bool>& reduced) {
  Shape kept = shape;
  for (size_t axis = 0; axis < kept.size(); ++axis) {
    if (reduced[axis]) kept[axis] = 1;
  }
  return kept;
}

Tensor RestoreReduced(const Tensor& t, const Shape& input, const std::vector<bool>& reduced) {
  const Shape kept = KeepdimShape(input, reduced);
  return t.shape() == kept ? t : Reshape(t, Dims(kept.begin(), kept.end()));
}

Dims PhysicalDims(const std::optional<Dims>& dims, int64_t logical_rank, const std::string& tag) {
  Dims physical;
  const std::vector<bool> reduced = ReducedAxes(dims, logical_rank, tag);
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis]) physical.push_back(static_cast<int64_t>(axis) + 1);
  }
  return physical;
}

}  // namespace peelcheck
