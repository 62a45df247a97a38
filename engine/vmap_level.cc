// What a vmap level does with a call: the function's batching rule on unwrapped inputs, below;
// written, generated, or, where the function allows it, a counted loop over the slots.
#include <absl/strings/str_cat.h>

#include "engine/batching.h"
#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/vmapped_function.h"

namespace peelcheck {
namespace {

thread_local int64_t fallback_count = 0;

VmapResult LoopOverSlots(const Level& level, const Ref<const Function>& function,
                         const BatchDims& in_dims, TensorSpan inputs) {
  if (level.fallback_is_error) {
    ThrowUnimplemented(absl::StrCat(
        "[vmap] `", function->name(),
        "` has no batching rule and the loop over slots is switched off (fallback_is_error)"));
  }
  if (level.vmap.batch_size == 0) {
    ThrowUnimplemented(absl::StrCat(
        "[vmap] `", function->name(),
        "` has no batching rule, and a loop over 0 slots cannot tell its outputs' shapes"));
  }
  ++fallback_count;
  std::vector<Tensors> by_output;
  for (int64_t slot = 0; slot < level.vmap.batch_size; ++slot) {
    Tensors one;
    for (size_t i = 0; i < inputs.size(); ++i) {
      one.push_back(in_dims[i].has_value() ? Select(inputs[i], *in_dims[i], slot) : inputs[i]);
    }
    Tensors outputs = Call(function, one);
    by_output.resize(outputs.size());
    for (size_t o = 0; o < outputs.size(); ++o) by_output[o].push_back(outputs[o]);
  }
  VmapResult result;
  for (const Tensors& slots : by_output) result.outputs.push_back(Stack(slots, 0));
  result.out_dims = {0};
  return result;
}

VmapResult ApplyRule(const Level& level, const Ref<const Function>& function,
                     const BatchDims& in_dims, TensorSpan inputs) {
  if (function->generate_vmap_rule()) {
    if (function->has_vmap_rule()) {
      ThrowInvalidArgument(
          absl::StrCat("[", function->name(),
                       "] has both a vmap rule and generate_vmap_rule; keep one of them"));
    }
    auto vmapped = MakeRef<VmappedFunction>(function, level.vmap, in_dims);
    VmapResult result;
    result.outputs = Call(Ref<const Function>(vmapped), inputs);
    result.out_dims = vmapped->out_dims();
    return result;
  }
  if (!function->has_vmap_rule() && function->allow_vmap_fallback()) {
    return LoopOverSlots(level, function, in_dims, inputs);
  }
  if (Faulty(FaultPoint::kRuleInDimsReversed)) {
    return function->Vmap(level.vmap, BatchDims(in_dims.rbegin(), in_dims.rend()), inputs);
  }
  return function->Vmap(level.vmap, in_dims, inputs);
}

// One dim per output, each in range and of the batch's size.
BatchDims CheckedOutDims(const Level& level, const Function& function, const VmapResult& result) {
  BatchDims dims = result.out_dims;
  if (Faulty(FaultPoint::kRuleOutDimsIgnored)) {
    for (BatchDim& dim : dims) dim = dim.has_value() ? BatchDim(0) : dim;
  }
  if (dims.size() == 1) dims.resize(result.outputs.size(), dims[0]);
  if (dims.size() != result.outputs.size()) {
    ThrowInvalidArgument(absl::StrCat("[", function.name(), "] vmap rule returned ",
                                      result.outputs.size(), " outputs and ", dims.size(),
                                      " out_dims; expected one dim per output, or one for all"));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].has_value()) continue;
    const Tensor& output = result.outputs[i];
    if (*dims[i] < 0 || *dims[i] >= output.rank() ||
        output.dim(*dims[i]) != level.vmap.batch_size) {
      ThrowInvalidArgument(
          absl::StrCat("[", function.name(), "] vmap rule returned output ", i, " of shape ",
                       ShapeToString(output.shape()), " with out_dim ", *dims[i],
                       "; expected an axis of the batch size ", level.vmap.batch_size));
    }
  }
  return dims;
}

}  // namespace

int64_t VmapFallbackCount() { return fallback_count; }

Tensors CallAtVmap(Level& level, const Ref<const Function>& function, TensorSpan inputs) {
  Tensors values;
  BatchDims in_dims;
  for (const Tensor& input : inputs) {
    const bool ours = IsWrapperOf(input, level);
    values.push_back(ours ? input.impl()->inner : input);
    in_dims.push_back(ours ? BatchDim(input.impl()->batch_dim) : std::nullopt);
  }
  VmapResult result;
  {
    LowerScope lower(level);
    result = ApplyRule(level, function, in_dims, values);
  }
  const BatchDims out_dims = CheckedOutDims(level, *function, result);
  for (size_t o = 0; o < out_dims.size(); ++o) {
    Tensor& output = result.outputs[o];
    bool mapped_back = false;
    for (size_t i = 0; i < values.size() && !mapped_back; ++i) {
      if (Faulty(FaultPoint::kIdentityLost)) break;
      if (!output.is(values[i]) || out_dims[o] != in_dims[i]) continue;
      output = inputs[i];
      mapped_back = true;
    }
    if (!mapped_back && out_dims[o].has_value()) output = WrapBatched(level, output, *out_dims[o]);
  }
  return std::move(result.outputs);
}

}  // namespace peelcheck
