// engine/map_over.h: vmap after its arguments are known: what Vmap and VmapTree share. Internal to
// the engine.
#pragma once

#include <string>
#include <vector>

#include "engine/transforms.h"

namespace peelcheck {

// Where the outputs' batch axes go, and what inputs and outputs are called in messages.
class MapLayout {
 public:
  virtual ~MapLayout() = default;
  // One dim per output; asked once the function has run. Throws invalid_argument.
  virtual std::vector<BatchDim> OutDims(size_t outputs) const = 0;
  virtual std::string InputName(size_t i) const { return "input " + std::to_string(i); }
  virtual std::string OutputName(size_t i) const { return "output " + std::to_string(i); }
};

// f over the batch axes `in_dims` (one per input) of the inputs; negative dims wrap. Of the
// options, the dims are not read. Throws invalid_argument as Vmap says.
Tensors MapOver(const TensorFn& f, const Tensors& inputs, std::vector<BatchDim> in_dims,
                const MapLayout& layout, const VmapOptions& options);

// invalid_argument for less than 1.
void CheckChunkSize(const std::optional<int64_t>& chunk_size, const std::string& tag);

}  // namespace peelcheck
