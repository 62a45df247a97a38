// vmap: a loop over the batch. The engine runs the rest of the stack slot by slot; the results are
// stacked at the out_dims.
//
//   vmap(0,_ -> 1) vjp mul   // stack({vjp mul on slot 0, vjp mul on slot 1}, dim 1)
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "checks/numerics.h"
#include "checks/oracle.h"
#include "checks/plain_call.h"

namespace peelcheck {
namespace {

constexpr const char* kOracle = "loop over the batch";

int64_t OutDim(const Transform& t, size_t output, int64_t rank_with_batch) {
  const BatchDim dim = t.out_dims.size() == 1 ? t.out_dims[0] : t.out_dims[output];
  const int64_t value = dim.value_or(0);
  return value < 0 ? value + rank_with_batch : value;
}

// Slots that differ in shape or dtype cannot be stacked; an engine that returns such is wrong.
bool Alike(const std::vector<Array>& slots) {
  return std::all_of(slots.begin(), slots.end(), [&](const Array& slot) {
    return slot.shape() == slots[0].shape() && slot.dtype() == slots[0].dtype();
  });
}

// The engine's results by output, then by slot; empty where a run failed or they do not match.
std::vector<std::vector<Array>> LoopOverSlots(const CheckedCase& c, const Program& peeled,
                                              int64_t batch_size, Judgement& judgement) {
  std::vector<std::vector<Array>> by_output;
  for (int64_t slot = 0; slot < batch_size; ++slot) {
    absl::StatusOr<std::vector<Array>> outputs =
        c.engine.Run(peeled, SlotInputs(c.sample.program.stack[0], c.sample.inputs, slot));
    if (!outputs.ok()) {
      judgement.NotePeeledError(kOracle, peeled, outputs.status());
      return {};
    }
    if (!judgement.CheckCount(c, kOracle, outputs->size())) return {};
    by_output.resize(outputs->size());
    for (size_t o = 0; o < outputs->size(); ++o) by_output[o].push_back((*outputs)[o]);
  }
  return by_output;
}

}  // namespace

Judgement AgainstLoop(const CheckedCase& c) {
  Judgement judgement;
  const Transform& t = c.sample.program.stack.front();
  const Program peeled = Peeled(c.sample.program);
  // An empty batch has no slot: that it ran, and gave the shapes of the signature, is all there is.
  const std::vector<std::vector<Array>> by_output =
      LoopOverSlots(c, peeled, BatchSizeOf(t, c.sample.inputs), judgement);
  for (size_t o = 0; o < by_output.size(); ++o) {
    if (!Alike(by_output[o])) {
      judgement.finding =
          Finding{.oracle = kOracle,
                  .summary = absl::StrCat("the slots of output ", o, " of `",
                                          ProgramToString(peeled), "` differ in shape or dtype")};
      return judgement;
    }
    const Array expected = StackArrays(by_output[o], OutDim(t, o, by_output[o][0].rank() + 1));
    judgement.Compare(c, kOracle, o, expected, UniformBounds(expected, kReorderUnits, c.dtype));
  }
  return judgement;
}

}  // namespace peelcheck
