// What a jvp level does with a call: the primals below, then the function's jvp rule on the
// tangents, also below.
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

bool IsDifferentiable(const Context& ctx, const Tensor& output) {
  return IsFloating(output.dtype()) &&
         !ContextAccess::Contains(ContextAccess::NonDifferentiable(ctx), output);
}

bool HasDifferentiableOutput(const Context& ctx, const Tensors& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Tensor& o) { return IsDifferentiable(ctx, o); });
}

absl::InlinedVector<TensorSpec, 3> SpecsOf(const Tensors& tensors) {
  absl::InlinedVector<TensorSpec, 3> specs;
  for (const Tensor& tensor : tensors) specs.push_back(SpecOf(tensor));
  return specs;
}

}  // namespace

Tensors CallAtJvp(Level& level, const Ref<const Function>& function, TensorSpan inputs) {
  Tensors primals;
  Tensors tangents;
  bool any = false;
  for (const Tensor& input : inputs) {
    const bool ours = IsWrapperOf(input, level);
    primals.push_back(ours ? ValueOf(input, *function) : input);
    tangents.push_back(ours ? input.impl()->tangent : Tensor());
    any = any || tangents.back().defined();
  }
  Context ctx;
  ContextAccess::SetOwner(ctx, *function);
  ContextAccess::SetForward(ctx, true);
  if (Faulty(FaultPoint::kFirstTangentOnly))
    std::fill(tangents.begin() + 1, tangents.end(), Tensor());
  if (Faulty(FaultPoint::kTangentsSwapped)) std::reverse(tangents.begin(), tangents.end());
  for (const Tensor& tangent : tangents)
    ContextAccess::NeedsInputGrad(ctx).push_back(tangent.defined());
  Tensors outputs;
  Tensors output_tangents;
  {
    LowerScope lower(level);
    outputs = Call(function, primals);
    function->SetupContext(ctx, primals, outputs);
    if (any && HasDifferentiableOutput(ctx, outputs)) {
      const auto input_specs = SpecsOf(primals);
      const auto output_specs = SpecsOf(outputs);
      ContextAccess::SetSpecs(ctx, input_specs, output_specs);
      output_tangents = RunJvp(*function, ctx, input_specs, output_specs, std::move(tangents));
    } else {
      output_tangents.resize(outputs.size());
    }
  }
  const Tensors& dirty = ContextAccess::Dirty(ctx);
  if (!dirty.empty()) CheckDirty(*function, ctx, primals, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor& output = outputs[i];
    Tensor& tangent = output_tangents[i];
    if (!IsDifferentiable(ctx, output)) continue;
    if (Faulty(FaultPoint::kFirstOutputTangent) && i > 0) continue;
    if (ContextAccess::Contains(dirty, output)) {
      const auto source = std::find_if(primals.begin(), primals.end(),
                                       [&](const Tensor& p) { return p.is(output); });
      const Tensor& caller = inputs[static_cast<size_t>(source - primals.begin())];
      if (tangent.defined() || IsWrapperOf(caller, level)) {
        const bool keeps_tangent = Faulty(FaultPoint::kJvpDirtyLost) && IsWrapperOf(caller, level);
        RebindWritten(level, *function, caller, output);
        if (!keeps_tangent) caller.impl()->tangent = tangent;
      }
      output = caller;
    } else if (tangent.defined()) {
      output = WrapJvp(level, output, tangent);
    }
  }
  return outputs;
}

}  // namespace peelcheck
