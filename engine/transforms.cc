// grad, vjp, jvp and linearize of functions over tensors. vmap: engine/vmap.cc.
#include "engine/transforms.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/argnums.h"
#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/ops.h"
#include "engine/rule_results.h"
#include "engine/trace.h"

namespace peelcheck {
namespace {

std::string Describe(const TensorSpec& spec) {
  return absl::StrCat(DTypeName(spec.dtype), ShapeToString(spec.shape));
}

void CheckDefined(const Tensors& tensors, const std::string& tag, const char* what = "input") {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].defined()) continue;
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] ", what, " ", i, " is an undefined tensor; use zeros instead"));
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

// The function's last output, taken off where the options say that it is auxiliary.
Tensor TakeAux(const Level& level, const DiffOptions& options, Tensors& outputs,
               const std::string& tag) {
  if (!options.has_aux) return Tensor();
  if (outputs.size() < 2) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] has_aux, but the function returned ",
                                      outputs.size(),
                                      " outputs; expected the differentiated ones, then one more"));
  }
  Tensor aux = outputs.back();
  outputs.pop_back();
  return IsWrapperOf(aux, level) ? aux.impl()->inner : aux;
}

// A function that has run under a grad level of its own: what linear maps need after the level has
// ended.
struct Recorded {
  Ref<Tape> tape;
  std::vector<int64_t> input_slots, output_slots;  // floating outputs only
  std::vector<TensorSpec> inputs, outputs;
};

struct Recording {
  Tensors outputs;
  Tensor aux;
  std::shared_ptr<const Recorded> record;
};

Recording Record(const TensorFn& f, const Tensors& inputs, const DiffOptions& options,
                 const std::string& tag) {
  CheckDefined(inputs, tag);
  std::vector<size_t> argnums = ResolveArgnums(options.argnums, inputs, tag);
  if (Faulty(FaultPoint::kArgnumsSorted)) std::sort(argnums.begin(), argnums.end());
  Level level(LevelKind::kGrad);
  auto record = std::make_shared<Recorded>();
  record->tape = level.tape;
  Tensors wrapped = inputs;
  for (size_t argnum : argnums) {
    const int64_t slot = level.tape->NewSlot();
    wrapped[argnum] = WrapGrad(level, inputs[argnum], slot);
    record->input_slots.push_back(slot);
    record->inputs.push_back(SpecOf(inputs[argnum]));
  }
  Recording result;
  {
    LevelScope live(level);
    result.outputs = f(wrapped);
    if (Tracing()) TraceTape(TraceName(level), *level.tape);
  }
  level.tape->Finish();
  CheckDefined(result.outputs, tag, "output");
  result.aux = TakeAux(level, options, result.outputs, tag);
  for (Tensor& output : result.outputs) {
    const bool ours = IsWrapperOf(output, level);
    const int64_t slot = ours ? output.impl()->slot : -1;
    if (ours) output = ValueOf(output, tag);
    if (!IsFloating(output.dtype())) continue;
    record->output_slots.push_back(slot);
    record->outputs.push_back(SpecOf(output));
  }
  if (record->outputs.empty()) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] none of the ", result.outputs.size(),
                                      " outputs is floating; expected at least one"));
  }
  result.record = std::move(record);
  return result;
}

TensorFn GradLike(TensorFn f, DiffOptions options, bool with_value) {
  return [f = std::move(f), options = std::move(options), with_value](const Tensors& inputs) {
    const VjpResult vjp = Vjp(f, inputs, options);
    if (vjp.outputs.size() != 1 || vjp.outputs[0].rank() != 0 ||
        !IsFloating(vjp.outputs[0].dtype())) {
      std::string came = absl::StrCat(vjp.outputs.size(), " outputs");
      if (vjp.outputs.size() == 1) came = Describe(SpecOf(vjp.outputs[0]));
      ThrowInvalidArgument(absl::StrCat("[grad] the function returned ", came,
                                        options.has_aux ? " before the auxiliary one" : "",
                                        "; expected one 0-d floating output: sum it, or use vjp or "
                                        "jacrev"));
    }
    Tensors results = vjp.pullback({OnesLike(vjp.outputs[0])});
    if (with_value) results.push_back(vjp.outputs[0]);
    if (options.has_aux) results.push_back(vjp.aux);
    return results;
  };
}

void RefuseIndependent(size_t output, const std::string& tag) {
  ThrowFailedPrecondition(absl::StrCat(
      "[", tag, "] strict: output ", output,
      " does not depend on the differentiated inputs; drop it, or switch strict off to get zeros"));
}

}  // namespace

VjpResult Vjp(const TensorFn& f, const Tensors& inputs, const DiffOptions& options) {
  Recording recording = Record(f, inputs, options, "vjp");
  VjpResult result;
  result.outputs = std::move(recording.outputs);
  result.aux = std::move(recording.aux);
  result.pullback = [record = std::move(recording.record)](const Tensors& cotangents) {
    CheckMatches(cotangents, record->outputs, "vjp", "cotangent", "floating output");
    Tensors used = cotangents;
    if (Faulty(FaultPoint::kFirstCotangentOnly)) std::fill(used.begin() + 1, used.end(), Tensor());
    Tensors gradients = record->tape->Backward(record->output_slots, used, record->input_slots);
    MaterializeZeros(record->inputs, gradients);
    if (Faulty(FaultPoint::kGradientDetached)) {
      for (Tensor& gradient : gradients) gradient = Detach(gradient);
    }
    return gradients;
  };
  return result;
}

TensorFn Grad(TensorFn f, DiffOptions options) {
  return GradLike(std::move(f), std::move(options), false);
}

TensorFn GradAndValue(TensorFn f, DiffOptions options) {
  return GradLike(std::move(f), std::move(options), true);
}

LinearizeResult Linearize(const TensorFn& f, const Tensors& inputs, const DiffOptions& options) {
  Recording recording = Record(f, inputs, options, "linearize");
  recording.record->tape->ServeForward();
  LinearizeResult result;
  result.outputs = std::move(recording.outputs);
  result.aux = std::move(recording.aux);
  result.pushforward = [record = std::move(recording.record)](const Tensors& tangents) {
    CheckMatches(tangents, record->inputs, "linearize", "tangent", "primal");
    Tensors results = record->tape->Forward(record->input_slots, tangents, record->output_slots);
    MaterializeZeros(record->outputs, results);
    return results;
  };
  return result;
}

JvpResult Jvp(const TensorFn& f, const Tensors& inputs, const Tensors& tangents,
              const DiffOptions& options) {
  CheckDefined(inputs, "jvp");
  const std::vector<size_t> argnums = ResolveArgnums(options.argnums, inputs, "jvp");
  std::vector<TensorSpec> specs;
  for (size_t argnum : argnums) specs.push_back(SpecOf(inputs[argnum]));
  CheckMatches(tangents, specs, "jvp", "tangent", "primal");
  Level level(LevelKind::kJvp);
  Tensors wrapped = inputs;
  for (size_t i = 0; i < argnums.size(); ++i) {
    // strict has to tell a zero tangent from none.
    const bool zeros = options.strict && !tangents[i].defined();
    const size_t at = Faulty(FaultPoint::kTangentsFromLeft) ? i : argnums[i];
    wrapped[at] = WrapJvp(level, inputs[at], zeros ? ZerosOf(specs[i]) : tangents[i]);
  }
  JvpResult result;
  {
    LevelScope live(level);
    result.outputs = f(wrapped);
  }
  CheckDefined(result.outputs, "jvp", "output");
  result.aux = TakeAux(level, options, result.outputs, "jvp");
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    Tensor& output = result.outputs[i];
    Tensor tangent;
    if (IsWrapperOf(output, level)) {
      tangent = output.impl()->tangent;
      output = ValueOf(output, "jvp");
    }
    if (!IsFloating(output.dtype())) continue;
    if (options.strict && !tangent.defined()) RefuseIndependent(i, "jvp");
    result.tangents.push_back(tangent.defined() ? tangent : ZerosOf(SpecOf(output)));
    if (Faulty(FaultPoint::kTangentDetached)) {
      result.tangents.back() = Detach(result.tangents.back());
    }
  }
  return result;
}

}  // namespace peelcheck
