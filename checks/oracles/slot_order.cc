// vmap: slots do not know of one another; a batch in reverse gives the results in reverse.
//
//   vmap f on {a, b, c} and on {c, b, a}   // the slots of the outputs change places, no value does
#include "checks/numerics.h"
#include "checks/oracle.h"
#include "checks/plain_call.h"

namespace peelcheck {
namespace {

bool HasSeveralSlots(const CheckedCase& c) {
  const std::vector<Transform>& stack = c.sample.program.stack;
  return !stack.empty() && stack.front().kind == TransformKind::kVmap &&
         BatchSizeOf(stack.front(), c.sample.inputs) > 1;
}

Array Reversed(const Array& array, int64_t dim) {
  std::vector<Array> slots;
  for (int64_t b = array.dim(dim); b-- > 0;) slots.push_back(array.Selected(dim, b));
  return StackArrays(slots, dim);
}

// `dims` of a vmap for array `i`, wrapped; nullopt where it is not mapped.
BatchDim DimAt(const std::vector<BatchDim>& dims, size_t i, const Array& array) {
  const BatchDim dim = dims.size() == 1 ? dims[0] : dims[i];
  if (!dim.has_value()) return dim;
  return *dim < 0 ? *dim + array.rank() : *dim;
}

Judgement SlotOrder(const CheckedCase& c) {
  const Transform& t = c.sample.program.stack.front();
  std::vector<Array> inputs = c.sample.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const BatchDim dim = DimAt(t.in_dims, i, inputs[i])) inputs[i] = Reversed(inputs[i], *dim);
  }
  Judgement judgement;
  absl::StatusOr<std::vector<Array>> reversed = c.engine.Run(c.sample.program, inputs);
  if (reversed.ok() && reversed->size() == c.outputs.size()) {
    for (size_t o = 0; o < reversed->size(); ++o) {
      Array& output = (*reversed)[o];
      if (output.shape() != c.outputs[o].shape()) continue;  // the comparison tells
      if (const BatchDim dim = DimAt(t.out_dims, o, output)) output = Reversed(output, *dim);
    }
  }
  CompareOutputs(c, "order of the slots", c.sample.program, reversed, judgement);
  judgement.any_nonzero = false;
  return judgement;
}

const LawRegistration kSlotOrder({"slot order", HasSeveralSlots, SlotOrder});

}  // namespace
}  // namespace peelcheck
