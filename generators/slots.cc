#include "generators/slots.h"

namespace peelcheck {

std::vector<Array> SlotOf(const Transform& vmap, const std::vector<Array>& inputs, int64_t slot) {
  std::vector<Array> result = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!vmap.in_dims[i].has_value()) continue;
    const int64_t dim = *vmap.in_dims[i];
    result[i] = inputs[i].Selected(dim < 0 ? dim + inputs[i].rank() : dim, slot);
  }
  return result;
}

bool SameSlot(const Transform& vmap, const std::vector<Array>& a, const std::vector<Array>& b) {
  bool has_elements = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!vmap.in_dims[i].has_value()) continue;
    has_elements = has_elements || a[i].size() > 0;
    if (!a[i].BitEquals(b[i])) return false;
  }
  return has_elements;
}

}  // namespace peelcheck
