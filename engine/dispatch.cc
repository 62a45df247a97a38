// Call(): sends a call to the innermost live level that owns one of its inputs; with none, runs the
// function's forward.
#include <absl/strings/str_cat.h>

#include "engine/level.h"
#include "engine/trace.h"

namespace peelcheck {
namespace {

// The value of a wrapper whose level is not live here: a dead grad or jvp wrapper is its value; a
// batched one has escaped.
Tensor UnwrapDead(const Tensor& tensor, const Function& function) {
  if (tensor.impl()->kind == TensorKind::kBatched) ThrowEscapedBatched(function.name());
  return tensor.impl()->inner;
}

Tensors CallAtLevel(Level& level, const Ref<const Function>& function, TensorSpan inputs) {
  switch (level.kind) {
    case LevelKind::kGrad: return CallAtGrad(level, function, inputs);
    case LevelKind::kJvp: return CallAtJvp(level, function, inputs);
    case LevelKind::kFunctionalize: return CallAtFunctionalize(level, function, inputs);
    case LevelKind::kVmap: break;
  }
  return CallAtVmap(level, function, inputs);
}

Tensors TracedCall(Level* level, const Ref<const Function>& function, TensorSpan inputs) {
  TraceCall(level != nullptr ? TraceName(*level) : "plain", *function, inputs);
  TraceIndent indent;
  return level != nullptr ? CallAtLevel(*level, function, inputs) : function->Forward(inputs);
}

}  // namespace

Tensors Call(const Ref<const Function>& function, TensorSpan inputs) {
  int64_t newest = 0;
  for (const Tensor& input : inputs) {
    if (!input.defined()) {
      ThrowInvalidArgument(absl::StrCat("[", function->name(),
                                        "] an input is an undefined tensor; pass zeros instead"));
    }
    if (input.impl()->kind != TensorKind::kPlain) newest = std::max(newest, input.impl()->level_id);
    if (StorageOf(input).tracked_level() != 0) RefuseUntrackedAlias(input, *function);
  }
  if (newest == 0) {
    return Tracing() ? TracedCall(nullptr, function, inputs) : function->Forward(inputs);
  }
  Level* level = FindLiveLevel(newest);
  if (level == nullptr) {
    Tensors alive(inputs.begin(), inputs.end());
    for (Tensor& input : alive) {
      if (input.impl()->kind != TensorKind::kPlain && input.impl()->level_id == newest) {
        input = UnwrapDead(input, *function);
      }
    }
    return Call(function, alive);
  }
  return Tracing() ? TracedCall(level, function, inputs) : CallAtLevel(*level, function, inputs);
}

}  // namespace peelcheck
