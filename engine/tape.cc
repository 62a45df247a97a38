#include "engine/tape.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/ops.h"
#include "engine/rule_results.h"
#include "engine/trace.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

// The cotangents of a record's outputs; empty where all are undefined. They are taken out: nothing
// before the record needs them.
Tensors TakeCotangents(const TapeRecord& record, std::vector<Tensor>& by_slot) {
  Tensors cotangents;
  bool any = false;
  for (int64_t slot : record.output_slots) {
    cotangents.push_back(slot >= 0 ? std::move(by_slot[static_cast<size_t>(slot)]) : Tensor());
    if (slot >= 0) by_slot[static_cast<size_t>(slot)] = Tensor();
    any = any || cotangents.back().defined();
    if (Faulty(FaultPoint::kPartlyUsedSkipped) && !cotangents.back().defined()) return {};
  }
  if (Faulty(FaultPoint::kCotangentsSwapped)) std::reverse(cotangents.begin(), cotangents.end());
  return any ? cotangents : Tensors();
}

// False: all outputs are integers, or marked as not differentiable; there may be no rule then.
bool HasDerivative(const TapeRecord& record) {
  return std::any_of(record.output_slots.begin(), record.output_slots.end(),
                     [](int64_t slot) { return slot >= 0; });
}

void RefuseSecondDerivative(const TapeRecord& record, const Tensors& cotangents) {
  if (Faulty(FaultPoint::kOnceDifferentiatedOn)) return;
  bool tracked = record.inputs_tracked_below;
  for (const Tensor& cotangent : cotangents) {
    const TensorImpl* at = cotangent.impl();
    while (at != nullptr && at->kind == TensorKind::kBatched) at = at->inner.impl();
    tracked = tracked || (at != nullptr && at->kind != TensorKind::kPlain);
  }
  if (tracked) {
    ThrowFailedPrecondition(absl::StrCat(
        "[", GeneratedName(*record.function),
        "] is once differentiable, but its gradient is being differentiated; write its "
        "backward with engine operations to allow that"));
  }
}

Tensors RunBackward(const TapeRecord& record, Tensors cotangents) {
  const Function& function = *record.function;
  // A rule may ask saved() of the same record again and again: the pullback can be called several
  // times.
  auto& ctx = const_cast<Context&>(record.context);
  if (function.once_differentiable()) RefuseSecondDerivative(record, cotangents);
  if (!function.handles_undefined() && ContextAccess::MaterializeGrads(ctx)) {
    MaterializeZeros(record.outputs, cotangents);
  }
  std::optional<TraceIndent> indent;
  if (Tracing()) {
    TraceCall("backward of", function, cotangents);
    indent.emplace();
  }
  Tensors gradients = function.Backward(ctx, cotangents);
  CheckCount(function, "gradients", gradients.size(), record.input_slots.size(), "input");
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    gradients[i] = CheckedGradient(function, i, gradients[i], record.inputs[i]);
  }
  return gradients;
}

void Accumulate(Tensor& total, const Tensor& gradient) {
  if (Faulty(FaultPoint::kFanOutOverwritten)) total = Tensor();
  if (Faulty(FaultPoint::kFanOutFirstKept) && total.defined()) return;
  total = total.defined() ? Add(total, gradient) : gradient;
}

}  // namespace

void Tape::Finish() {
  for (TapeRecord& record : records_) {
    ContextAccess::SetSpecs(record.context, record.inputs, record.outputs);
  }
}

void Tape::ServeForward() {
  for (TapeRecord& record : records_) ContextAccess::SetForward(record.context, true);
}

Tensors Tape::Forward(std::span<const int64_t> input_slots, TensorSpan tangents,
                      std::span<const int64_t> output_slots) const {
  std::vector<Tensor> by_slot(static_cast<size_t>(slot_count_));
  for (size_t i = 0; i < input_slots.size(); ++i) {
    by_slot[static_cast<size_t>(input_slots[i])] = tangents[i];
  }
  for (const TapeRecord& record : records_) {
    if (!HasDerivative(record)) continue;
    Tensors incoming;
    bool any = false;
    for (const int64_t slot : record.input_slots) {
      incoming.push_back(slot >= 0 ? by_slot[static_cast<size_t>(slot)] : Tensor());
      any = any || incoming.back().defined();
    }
    if (!any) continue;
    auto& ctx = const_cast<Context&>(record.context);
    Tensors outgoing =
        RunJvp(*record.function, ctx, record.inputs, record.outputs, std::move(incoming));
    for (size_t o = 0; o < outgoing.size(); ++o) {
      const int64_t slot = record.output_slots[o];
      if (slot >= 0) by_slot[static_cast<size_t>(slot)] = std::move(outgoing[o]);
    }
  }
  Tensors result;
  for (const int64_t slot : output_slots) {
    result.push_back(slot >= 0 ? by_slot[static_cast<size_t>(slot)] : Tensor());
  }
  return result;
}

Tensors Tape::Backward(std::span<const int64_t> output_slots, TensorSpan cotangents,
                       std::span<const int64_t> input_slots) const {
  std::vector<Tensor> by_slot(static_cast<size_t>(slot_count_));
  for (size_t i = 0; i < output_slots.size(); ++i) {
    if (output_slots[i] >= 0 && cotangents[i].defined()) {
      Accumulate(by_slot[static_cast<size_t>(output_slots[i])], cotangents[i]);
    }
  }
  // The caller's own inputs are slots without a record; they are read at the end.
  for (size_t r = records_.size(); r-- > 0;) {
    if (Faulty(FaultPoint::kFirstRecordSkipped) && r == 0 && records_.size() > 1) break;
    const TapeRecord& record = records_[r];
    Tensors taken = TakeCotangents(record, by_slot);
    if (taken.empty()) continue;
    Tensors gradients = RunBackward(record, std::move(taken));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const int64_t slot = record.input_slots[i];
      if (slot >= 0 && gradients[i].defined())
        Accumulate(by_slot[static_cast<size_t>(slot)], gradients[i]);
    }
  }
  Tensors result;
  for (int64_t slot : input_slots) result.push_back(by_slot[static_cast<size_t>(slot)]);
  return result;
}

}  // namespace peelcheck
