// What a grad level does with a call: record it, with a context of its own, on the level's tape.
//
// The user's forward runs below; its backward is the rule of the one record, whatever forward calls
// inside.
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

struct Unwrapped {
  Tensors values;
  absl::InlinedVector<int64_t, 3> slots;
};

Unwrapped Unwrap(const Level& level, const Function& function, TensorSpan inputs) {
  Unwrapped result;
  for (const Tensor& input : inputs) {
    const bool ours = IsWrapperOf(input, level);
    result.values.push_back(ours ? ValueOf(input, function) : input);
    result.slots.push_back(ours ? input.impl()->slot : -1);
  }
  return result;
}

bool TrackedBelow(const Tensors& values) {
  return std::any_of(values.begin(), values.end(), [](const Tensor& value) {
    const TensorImpl* at = value.impl();
    while (at->kind == TensorKind::kBatched) at = at->inner.impl();
    return at->kind != TensorKind::kPlain && FindLiveLevel(at->level_id) != nullptr;
  });
}

// Index of the input that `output` is, or -1.
int64_t IdentityIndex(const Tensors& values, const Tensor& output) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is(output)) return static_cast<int64_t>(i);
  }
  return -1;
}

// Results as they are, but for those that are the caller's own tensors. Under no_grad a write into
// one of them leaves its derivative as it was.
Tensors KeepIdentity(const Level& level, TensorSpan inputs, const Tensors& values,
                     Tensors outputs) {
  for (Tensor& output : outputs) {
    const int64_t same = IdentityIndex(values, output);
    if (same < 0) continue;
    output = inputs[static_cast<size_t>(same)];
    if (IsWrapperOf(output, level)) output.impl()->version = output.version();
  }
  return outputs;
}

}  // namespace

Tensors CallAtGrad(Level& level, const Ref<const Function>& function, TensorSpan inputs) {
  Unwrapped in = Unwrap(level, *function, inputs);
  if (level.id <= NoGradBoundary()) {
    LowerScope lower(level);
    return KeepIdentity(level, inputs, in.values, Call(function, in.values));
  }
  TapeRecord record;
  record.function = function;
  Context& ctx = record.context;
  ContextAccess::SetOwner(ctx, *function);
  for (int64_t slot : in.slots) ContextAccess::NeedsInputGrad(ctx).push_back(slot >= 0);
  if (Faulty(FaultPoint::kNeedsGradShifted)) {
    auto& needed = ContextAccess::NeedsInputGrad(ctx);
    std::rotate(needed.begin(), needed.begin() + 1, needed.end());
  }
  Tensors outputs;
  {
    LowerScope lower(level);
    record.inputs_tracked_below = function->once_differentiable() && TrackedBelow(in.values);
    outputs = Call(function, in.values);
    function->SetupContext(ctx, in.values, outputs);
  }
  const Tensors& dirty = ContextAccess::Dirty(ctx);
  if (!dirty.empty()) CheckDirty(*function, ctx, in.values, outputs);
  for (const Tensor& value : in.values) record.inputs.push_back(SpecOf(value));
  for (Tensor& output : outputs) {
    record.outputs.push_back(SpecOf(output));
    if (!IsFloating(output.dtype()) ||
        (ContextAccess::Contains(ContextAccess::NonDifferentiable(ctx), output) &&
         !Faulty(FaultPoint::kNonDiffIgnored))) {
      record.output_slots.push_back(-1);
      continue;
    }
    const int64_t slot = level.tape->NewSlot();
    record.output_slots.push_back(slot);
    if (ContextAccess::Contains(dirty, output)) {
      const Tensor& caller = inputs[static_cast<size_t>(IdentityIndex(in.values, output))];
      const bool keeps_slot = Faulty(FaultPoint::kGradDirtyLost) && IsWrapperOf(caller, level);
      RebindWritten(level, *function, caller, output);
      if (!keeps_slot) caller.impl()->slot = slot;
      output = caller;
    } else {
      output = WrapGrad(level, output, slot);
    }
  }
  record.input_slots = std::move(in.slots);
  level.tape->Append(std::move(record));
  return outputs;
}

}  // namespace peelcheck
