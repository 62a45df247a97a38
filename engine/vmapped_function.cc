#include "engine/vmapped_function.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/batching.h"
#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

constexpr const char* kStateName = "vmapped state";

// What the fresh level of a rule needs to know of the call: kept with the outer context.
struct State {
  Context inner;  // the user's own, without its tensors
  BatchDims backward_dims;
  BatchDims forward_dims;
  absl::InlinedVector<TensorSpec, 3> inputs;   // logical
  absl::InlinedVector<TensorSpec, 3> outputs;  // logical
};

class FreshVmap {
 public:
  explicit FreshVmap(const VmapInfo& info) : level(LevelKind::kVmap), scope_(level) {
    level.vmap = info;
  }
  Level level;

  Tensor Wrap(const Tensor& tensor, BatchDim dim) const {
    return tensor.defined() && dim.has_value() ? WrapBatched(level, tensor, *dim) : tensor;
  }
  Tensors Wrap(TensorSpan tensors, const BatchDims& dims) const {
    Tensors wrapped;
    for (size_t i = 0; i < tensors.size(); ++i) wrapped.push_back(Wrap(tensors[i], dims[i]));
    return wrapped;
  }
  // Splits a wrapper of this level in its value and its batch axis.
  Tensor Unwrap(const Tensor& tensor, BatchDim* dim) const {
    *dim = std::nullopt;
    if (!IsWrapperOf(tensor, level)) return tensor;
    *dim = tensor.impl()->batch_dim;
    return tensor.impl()->inner;
  }
  Tensors Unwrap(const Tensors& tensors, BatchDims* dims) const {
    Tensors values;
    for (const Tensor& tensor : tensors) {
      BatchDim dim;
      values.push_back(Unwrap(tensor, &dim));
      dims->push_back(dim);
    }
    return values;
  }

 private:
  LevelScope scope_;
};

// Index of the tensor of `list` that `tensor` is, or the list's size.
size_t IndexOf(TensorSpan list, const Tensor& tensor) {
  size_t i = 0;
  while (i < list.size() && !list[i].is(tensor)) ++i;
  return i;
}

// A gradient as it came out of the fresh level, brought to the input's physical shape: summed over
// the batch for an input that is not batched, expanded for one that is, the batch axis at the
// input's place.
Tensor ToInputDims(const Tensor& gradient, BatchDim gradient_dim, BatchDim input_dim,
                   int64_t batch_size) {
  if (!input_dim.has_value()) {
    if (Faulty(FaultPoint::kGenNotSummed) && gradient_dim.has_value() && batch_size > 0) {
      return Select(gradient, *gradient_dim, 0);
    }
    if (Faulty(FaultPoint::kGenSummedTwice) && gradient_dim.has_value()) {
      return Sum(gradient, Dims{*gradient_dim}) * static_cast<double>(batch_size);
    }
    return gradient_dim.has_value() ? Sum(gradient, Dims{*gradient_dim}) : gradient;
  }
  if (Faulty(FaultPoint::kGenGradientDim)) input_dim = 0;
  return MoveDim(EnsureBatchAtFront(gradient, gradient_dim, batch_size), 0, *input_dim);
}

// The cotangent of an output that all slots share: it belongs to them together, so one slot gets it
// and the others zeros. Given to each, it would be counted once per slot when the gradients are
// summed over the batch.
Tensor InFirstSlot(const Tensor& cotangent, int64_t batch_size) {
  if (!cotangent.defined() || batch_size == 0) return Tensor();
  return Pad(Unsqueeze(cotangent, 0), 0, 0, batch_size - 1);
}

}  // namespace

VmappedFunction::VmappedFunction(Ref<const Function> function, const VmapInfo& info,
                                 BatchDims in_dims)
    : function_(std::move(function)), info_(info), in_dims_(std::move(in_dims)) {}

Tensors VmappedFunction::Forward(TensorSpan inputs) const {
  FreshVmap fresh(info_);
  const Tensors wrapped = fresh.Wrap(inputs, in_dims_);
  BatchDims dims;
  Tensors outputs = fresh.Unwrap(function_->Forward(wrapped), &dims);
  out_dims_ = std::move(dims);
  return outputs;
}

void VmappedFunction::SetupContext(Context& ctx, TensorSpan inputs, TensorSpan outputs) const {
  auto state = std::make_shared<State>();
  Context inner = ContextAccess::WithSaved(ctx, {}, {});
  ContextAccess::SetOwner(inner, *function_);
  Tensors for_backward;
  Tensors for_forward;
  {
    FreshVmap fresh(info_);
    const Tensors wrapped = fresh.Wrap(inputs, in_dims_);
    Tensors wrapped_outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      // An output that is an input stays one inside, or mark_dirty could not name it.
      const size_t same = IndexOf(inputs, outputs[i]);
      wrapped_outputs.push_back(same < inputs.size() ? wrapped[same]
                                                     : fresh.Wrap(outputs[i], out_dims_[i]));
    }
    for (const Tensor& input : wrapped) state->inputs.push_back(SpecOf(input));
    for (const Tensor& output : wrapped_outputs) state->outputs.push_back(SpecOf(output));
    if (Faulty(FaultPoint::kGenSetupOutside)) {
      // The attributes of a call on values with their batch axes; the tensors are saved as before.
      Context outside = ContextAccess::WithSaved(inner, {}, {});
      function_->SetupContext(outside, inputs, outputs);
      function_->SetupContext(inner, wrapped, wrapped_outputs);
      inner = ContextAccess::WithSaved(outside, ContextAccess::SavedForBackward(inner),
                                       ContextAccess::SavedForForward(inner));
    } else {
      function_->SetupContext(inner, wrapped, wrapped_outputs);
    }
    for_backward = fresh.Unwrap(ContextAccess::SavedForBackward(inner), &state->backward_dims);
    for_forward = fresh.Unwrap(ContextAccess::SavedForForward(inner), &state->forward_dims);
    BatchDim ignored;
    for (const Tensor& dirty : ContextAccess::Dirty(inner)) {
      if (!Faulty(FaultPoint::kGenDirtyLost)) ctx.MarkDirty(fresh.Unwrap(dirty, &ignored));
    }
    for (const Tensor& output : ContextAccess::NonDifferentiable(inner)) {
      if (Faulty(FaultPoint::kGenNonDiffLost)) break;
      ctx.MarkNonDifferentiable(outputs[IndexOf(wrapped_outputs, output)]);
    }
  }
  if (Faulty(FaultPoint::kGenOneDimsRecord) &&
      state->backward_dims.size() == state->forward_dims.size() &&
      std::count(state->backward_dims.begin(), state->backward_dims.end(), std::nullopt) == 0) {
    state->backward_dims = state->forward_dims;
  }
  state->inner = ContextAccess::WithSaved(inner, {}, {});
  ctx.SaveForBackward(std::move(for_backward));
  ctx.SaveForForward(std::move(for_forward));
  ctx.Set(kStateName, std::move(state));
}

Tensors VmappedFunction::Backward(Context& ctx, TensorSpan cotangents) const {
  const State& state = *ctx.Get<std::shared_ptr<State>>(kStateName);
  BatchDims gradient_dims;
  Tensors gradients;
  {
    FreshVmap fresh(info_);
    Context inner =
        ContextAccess::WithSaved(state.inner, fresh.Wrap(ctx.saved(), state.backward_dims), {});
    ContextAccess::SetSpecs(inner, state.inputs, state.outputs);
    Tensors wrapped;
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (Faulty(FaultPoint::kGenSharedPerSlot) && !out_dims_[i].has_value()) {
        wrapped.push_back(cotangents[i]);
        continue;
      }
      const BatchDim dim = Faulty(FaultPoint::kGenCotangentDim) ? BatchDim(0) : out_dims_[i];
      wrapped.push_back(out_dims_[i].has_value()
                            ? fresh.Wrap(cotangents[i], dim)
                            : fresh.Wrap(InFirstSlot(cotangents[i], info_.batch_size), 0));
    }
    if (!function_->handles_undefined() && ContextAccess::MaterializeGrads(inner)) {
      MaterializeZeros(state.outputs, wrapped);
    }
    Tensors inside = function_->Backward(inner, wrapped);
    CheckCount(*function_, "gradients", inside.size(), in_dims_.size(), "input");
    for (size_t i = 0; i < inside.size(); ++i) {
      if (Faulty(FaultPoint::kGenGradientUnreduced)) continue;
      if (Faulty(FaultPoint::kGenFirstGradient) && i > 0) inside[i] = Tensor();
      if (inside[i].defined())
        inside[i] = CheckedGradient(*function_, i, inside[i], state.inputs[i]);
    }
    gradients = fresh.Unwrap(inside, &gradient_dims);
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    gradients[i] = ToInputDims(gradients[i], gradient_dims[i], in_dims_[i], info_.batch_size);
  }
  return gradients;
}

Tensors VmappedFunction::Jvp(Context& ctx, TensorSpan tangents) const {
  const State& state = *ctx.Get<std::shared_ptr<State>>(kStateName);
  BatchDims tangent_dims;
  Tensors results;
  {
    FreshVmap fresh(info_);
    Context inner =
        ContextAccess::WithSaved(state.inner, {}, fresh.Wrap(ctx.saved(), state.forward_dims));
    ContextAccess::SetSpecs(inner, state.inputs, state.outputs);
    Tensors wrapped = fresh.Wrap(tangents, in_dims_);
    if (!function_->handles_undefined() && ContextAccess::MaterializeGrads(inner)) {
      MaterializeZeros(state.inputs, wrapped);
    }
    Tensors inside = function_->Jvp(inner, wrapped);
    CheckCount(*function_, "tangents", inside.size(), out_dims_.size(), "output");
    for (size_t i = 0; i < inside.size(); ++i) {
      if (inside[i].defined()) CheckTangent(*function_, i, inside[i], state.outputs[i]);
    }
    results = fresh.Unwrap(inside, &tangent_dims);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    if (!out_dims_[i].has_value() && tangent_dims[i].has_value()) {
      // The output does not vary over the batch but its tangent does; the level above cannot pair
      // them.
      ThrowFailedPrecondition(absl::StrCat(
          "[", name(), "] output ", i,
          " is not batched but its tangent is; let forward compute it from the batched input"));
    }
    if (out_dims_[i].has_value()) {
      const int64_t to = Faulty(FaultPoint::kGenTangentDim) ? 0 : *out_dims_[i];
      results[i] =
          MoveDim(EnsureBatchAtFront(results[i], tangent_dims[i], info_.batch_size), 0, to);
    }
  }
  return results;
}

}  // namespace peelcheck
