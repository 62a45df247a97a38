// engine/tape.h: the linear record of a grad level: which functions were called, with what
// contexts. Internal to the engine.
//
// Values are numbered by slot. Insertion order is a topological order, so the reverse pass is one
// loop from the end: no recursion, time linear in the number of records.
#pragma once

#include <memory>
#include <vector>

#include "engine/context_access.h"
#include "engine/function.h"
#include "engine/tensor.h"

namespace peelcheck {

struct TapeRecord {
  Ref<const Function> function;
  Context context;
  absl::InlinedVector<int64_t, 3> input_slots;  // -1: not differentiated
  absl::InlinedVector<TensorSpec, 2> inputs;
  absl::InlinedVector<int64_t, 2> output_slots;  // -1: no derivative
  absl::InlinedVector<TensorSpec, 2> outputs;
  bool inputs_tracked_below = false;  // a level below differentiates the inputs too
};

class Tape : public RefCounted {
 public:
  int64_t NewSlot() { return slot_count_++; }
  // Once the function has run: contexts learn the shapes of their call. From here on the tape does
  // not change, so that several threads may use it.
  void Finish();
  void Append(TapeRecord record) { records_.push_back(std::move(record)); }
  const std::vector<TapeRecord>& records() const { return records_; }

  // Gradients of the input slots, from cotangents of the output slots (undefined = zero). Runs at
  // the current level, so it may itself be differentiated and batched. Undefined = the outputs do
  // not depend on that input.
  Tensors Backward(std::span<const int64_t> output_slots, TensorSpan cotangents,
                   std::span<const int64_t> input_slots) const;
  // Tangents of the output slots, from tangents of the input slots: the same the other way round,
  // by the functions' jvp rules. Once ServeForward() was called; the tape then has no Backward.
  Tensors Forward(std::span<const int64_t> input_slots, TensorSpan tangents,
                  std::span<const int64_t> output_slots) const;
  void ServeForward();

 private:
  std::vector<TapeRecord> records_;
  int64_t slot_count_ = 0;
};

}  // namespace peelcheck
