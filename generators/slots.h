// generators/slots.h: the samples of a batch, taken apart again. Internal to generators/.
//
//   std::vector<Array> slot = SlotOf(vmap, inputs, 1);       // in_dims (0, nullopt): row 1 of x,
//   all of y bool copies = SameSlot(vmap, SlotOf(vmap, inputs, 0), slot);
#pragma once

#include <vector>

#include "opinfo_db/program.h"

namespace peelcheck {

// Views of slot `slot` of the inputs that are batched; the others as they are.
std::vector<Array> SlotOf(const Transform& vmap, const std::vector<Array>& inputs, int64_t slot);

// Equal in all batched inputs. Slots without any element are not called the same: nothing could
// tell them apart.
bool SameSlot(const Transform& vmap, const std::vector<Array>& a, const std::vector<Array>& b);

}  // namespace peelcheck
