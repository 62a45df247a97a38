// engine/context_access.h: the levels' side of a Context. Internal to the engine.
#pragma once

#include <string>

#include "engine/function.h"

namespace peelcheck {

struct ContextAccess {
  static void SetOwner(Context& ctx, const Function& function) { ctx.owner_ = &function; }
  static auto& NeedsInputGrad(Context& ctx) { return ctx.needs_input_grad_; }
  // Whose saved() is asked next: Backward's or Jvp's.
  static void SetForward(Context& ctx, bool forward) { ctx.forward_ = forward; }
  // For input_spec() and output_spec() of the rule that runs next; they must outlive it.
  static void SetSpecs(Context& ctx, std::span<const TensorSpec> inputs,
                       std::span<const TensorSpec> outputs) {
    ctx.input_specs_ = inputs;
    ctx.output_specs_ = outputs;
  }
  static bool MaterializeGrads(const Context& ctx) { return ctx.materialize_grads_; }
  static const Tensors& Dirty(const Context& ctx) { return ctx.dirty_; }
  static const Tensors& NonDifferentiable(const Context& ctx) { return ctx.non_differentiable_; }
  static const Tensors& SavedForBackward(const Context& ctx) { return ctx.for_backward_.tensors; }
  static const Tensors& SavedForForward(const Context& ctx) {
    return ctx.shared_ ? ctx.for_backward_.tensors : ctx.for_forward_.tensors;
  }
  // A context with the attributes and flags of `ctx` and other saved tensors.
  static Context WithSaved(const Context& ctx, Tensors for_backward, Tensors for_forward);
  static bool Contains(const Tensors& list, const Tensor& tensor) {
    for (const Tensor& candidate : list) {
      if (candidate.is(tensor)) return true;
    }
    return false;
  }
};

}  // namespace peelcheck
