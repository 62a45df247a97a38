// What a jvp level does with a call: the primals below, then the function's jvp rule on the
// tangents, also below.
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

// The caller's tensor, whose primal was overwritten, with its new tangent.
Tensor RebindDirty(const Level& level, const Function& function, const Tensor& caller,
                   const Tensor& output, const Tensor& tangent) {
  TensorImpl* impl = caller.impl();
  if (IsWrapperOf(caller, level)) {
    if (!Faulty(FaultPoint::kJvpDirtyLost)) impl->tangent = tangent;
    return caller;
  }
  if (!tangent.defined()) return caller;
  if (impl->birth < level.id) {
    ThrowFailedPrecondition(
        absl::StrCat("[", function.name(),
                     "] wrote in place into a tensor that was captured from outside the jvp level: "
                     "its tangent would be lost; pass it as an input of the function"));
  }
  auto inner = MakeRef<TensorImpl>(*output.impl());
  impl->kind = TensorKind::kJvp;
  impl->level_id = level.id;
  impl->inner = Tensor(std::move(inner));
  impl->array = Array();
  impl->tangent = tangent;
  return caller;
}

bool IsDifferentiable(const Context& ctx, const Tensor& output) {
  return IsFloating(output.dtype()) &&
         !ContextAccess::Contains(ContextAccess::NonDifferentiable(ctx), output);
}

bool HasDifferentiableOutput(const Context& ctx, const Tensors& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Tensor& o) { return IsDifferentiable(ctx, o); });
}

Tensors RunJvp(const Function& function, Context& ctx, const Tensors& primals, Tensors tangents) {
  if (!function.handles_undefined() && ContextAccess::MaterializeGrads(ctx)) {
    absl::InlinedVector<TensorSpec, 3> specs;
    for (const Tensor& primal : primals) specs.push_back(SpecOf(primal));
    MaterializeZeros(specs, tangents);
  }
  return function.Jvp(ctx, tangents);
}

}  // namespace

Tensors CallAtJvp(Level& level, const Ref<const Function>& function, TensorSpan inputs) {
  Tensors primals;
  Tensors tangents;
  bool any = false;
  for (const Tensor& input : inputs) {
    const bool ours = IsWrapperOf(input, level);
    primals.push_back(ours ? input.impl()->inner : input);
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
      output_tangents = RunJvp(*function, ctx, primals, std::move(tangents));
      CheckCount(*function, "tangents", output_tangents.size(), outputs.size(), "output");
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
    if (tangent.defined()) CheckTangent(*function, i, tangent, SpecOf(output));
    if (ContextAccess::Contains(dirty, output)) {
      const auto source =
          static_cast<size_t>(std::find_if(primals.begin(), primals.end(),
                                           [&](const Tensor& p) { return p.is(output); }) -
                              primals.begin());
      output = RebindDirty(level, *function, inputs[source], output, tangent);
    } else if (tangent.defined()) {
      output = WrapJvp(level, output, tangent);
    }
  }
  return outputs;
}

}  // namespace peelcheck
