// grad, vjp and jvp of functions over tensors. vmap: engine/vmap.cc.
#include "engine/transforms.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/ops.h"
#include "engine/rule_results.h"

namespace peelcheck {
namespace {

std::string Describe(const TensorSpec& spec) {
  return absl::StrCat(DTypeName(spec.dtype), ShapeToString(spec.shape));
}

// The differentiated inputs, wrapped to 0..n-1.
std::vector<size_t> ResolveArgnums(const DiffOptions& options, const Tensors& inputs,
                                   const std::string& tag) {
  std::vector<size_t> argnums;
  const auto count = static_cast<int64_t>(inputs.size());
  if (!options.argnums.has_value()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsFloating(inputs[i].dtype())) argnums.push_back(i);
    }
    if (argnums.empty()) {
      ThrowInvalidArgument(
          absl::StrCat("[", tag, "] none of the ", count,
                       " inputs is floating; expected at least one to differentiate"));
    }
    return argnums;
  }
  if (options.argnums->empty()) {
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] argnums is empty; name at least one of the ", count, " inputs"));
  }
  for (int64_t argnum : *options.argnums) {
    if (argnum < -count || argnum >= count) {
      ThrowInvalidArgument(absl::StrCat("[", tag, "] argnums has ", argnum, " for ", count,
                                        " inputs; expected ", -count, "..", count - 1));
    }
    const auto index = static_cast<size_t>(argnum < 0 ? argnum + count : argnum);
    if (std::find(argnums.begin(), argnums.end(), index) != argnums.end()) {
      ThrowInvalidArgument(
          absl::StrCat("[", tag, "] argnums names input ", index, " twice; name each once"));
    }
    if (!IsFloating(inputs[index].dtype())) {
      ThrowInvalidArgument(absl::StrCat("[", tag, "] argnums names input ", index, ", which is ",
                                        DTypeName(inputs[index].dtype()),
                                        "; only floating inputs have a derivative"));
    }
    argnums.push_back(index);
  }
  return argnums;
}

void CheckDefined(const Tensors& inputs, const std::string& tag) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined())
      ThrowInvalidArgument(absl::StrCat("[", tag, "] input ", i, " is an undefined tensor"));
  }
}

// Same number, shapes and dtypes; undefined values stand for zeros.
void CheckMatches(TensorSpan values, std::span<const TensorSpec> specs, const std::string& tag,
                  const char* what, const char* of) {
  if (values.size() != specs.size()) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] ", values.size(), " ", what, "s came; expected ",
                                      specs.size(), ", one per ", of));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) continue;
    const TensorSpec came = SpecOf(values[i]);
    if (came.dtype != specs[i].dtype || came.shape != specs[i].shape) {
      ThrowInvalidArgument(absl::StrCat("[", tag, "] ", what, " ", i, " is ", Describe(came),
                                        "; expected ", Describe(specs[i]), " as its ", of));
    }
  }
}

// What a pullback needs after its level has ended.
struct PullbackState {
  Ref<Tape> tape;
  std::vector<int64_t> input_slots, output_slots;  // floating outputs only
  std::vector<TensorSpec> inputs, outputs;
};

Tensors RunPullback(const PullbackState& state, TensorSpan cotangents) {
  CheckMatches(cotangents, state.outputs, "vjp", "cotangent", "floating output");
  Tensors used(cotangents.begin(), cotangents.end());
  if (Faulty(FaultPoint::kFirstCotangentOnly)) std::fill(used.begin() + 1, used.end(), Tensor());
  Tensors gradients = state.tape->Backward(state.output_slots, used, state.input_slots);
  MaterializeZeros(state.inputs, gradients);
  if (Faulty(FaultPoint::kGradientDetached)) {
    for (Tensor& gradient : gradients) gradient = Detach(gradient);
  }
  return gradients;
}

}  // namespace

VjpResult Vjp(const TensorFn& f, const Tensors& inputs, const DiffOptions& options) {
  CheckDefined(inputs, "vjp");
  std::vector<size_t> argnums = ResolveArgnums(options, inputs, "vjp");
  if (Faulty(FaultPoint::kArgnumsSorted)) std::sort(argnums.begin(), argnums.end());
  Level level(LevelKind::kGrad);
  auto state = std::make_shared<PullbackState>();
  state->tape = level.tape;
  Tensors wrapped = inputs;
  for (size_t argnum : argnums) {
    const int64_t slot = level.tape->NewSlot();
    wrapped[argnum] = WrapGrad(level, inputs[argnum], slot);
    state->input_slots.push_back(slot);
    state->inputs.push_back(SpecOf(inputs[argnum]));
  }
  VjpResult result;
  {
    LevelScope live(level);
    result.outputs = f(wrapped);
  }
  for (Tensor& output : result.outputs) {
    const bool ours = IsWrapperOf(output, level);
    const int64_t slot = ours ? output.impl()->slot : -1;
    if (ours) output = output.impl()->inner;
    if (!IsFloating(output.dtype())) continue;
    state->output_slots.push_back(slot);
    state->outputs.push_back(SpecOf(output));
  }
  result.pullback = [state = std::move(state)](const Tensors& cotangents) {
    return RunPullback(*state, cotangents);
  };
  return result;
}

TensorFn Grad(TensorFn f, DiffOptions options) {
  return [f = std::move(f), options = std::move(options)](const Tensors& inputs) {
    VjpResult vjp = Vjp(f, inputs, options);
    if (vjp.outputs.size() != 1 || vjp.outputs[0].rank() != 0 ||
        !IsFloating(vjp.outputs[0].dtype())) {
      std::string came = absl::StrCat(vjp.outputs.size(), " outputs");
      if (vjp.outputs.size() == 1) came = Describe(SpecOf(vjp.outputs[0]));
      ThrowInvalidArgument(
          absl::StrCat("[grad] the function returned ", came,
                       "; expected one 0-d floating output: sum it, or use vjp or jacrev"));
    }
    return vjp.pullback({OnesLike(vjp.outputs[0])});
  };
}

JvpResult Jvp(const TensorFn& f, const Tensors& inputs, const Tensors& tangents,
              const DiffOptions& options) {
  CheckDefined(inputs, "jvp");
  const std::vector<size_t> argnums = ResolveArgnums(options, inputs, "jvp");
  std::vector<TensorSpec> specs;
  for (size_t argnum : argnums) specs.push_back(SpecOf(inputs[argnum]));
  CheckMatches(tangents, specs, "jvp", "tangent", "primal");
  Level level(LevelKind::kJvp);
  Tensors wrapped = inputs;
  for (size_t i = 0; i < argnums.size(); ++i) {
    const size_t at = Faulty(FaultPoint::kTangentsFromLeft) ? i : argnums[i];
    wrapped[at] = WrapJvp(level, inputs[at], tangents[i]);
  }
  JvpResult result;
  {
    LevelScope live(level);
    result.outputs = f(wrapped);
  }
  for (Tensor& output : result.outputs) {
    Tensor tangent;
    if (IsWrapperOf(output, level)) {
      tangent = output.impl()->tangent;
      output = output.impl()->inner;
    }
    if (!IsFloating(output.dtype())) continue;
    result.tangents.push_back(tangent.defined() ? tangent : ZerosOf(SpecOf(output)));
    if (Faulty(FaultPoint::kTangentDetached)) {
      result.tangents.back() = Detach(result.tangents.back());
    }
  }
  return result;
}

}  // namespace peelcheck
