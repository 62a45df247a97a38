// functionalize: in-place operations become out-of-place ones. The transform, and what its level
// does with a call.
#include <absl/strings/str_cat.h>

#include "engine/level.h"
#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

// A handle's value changes by being replaced, so memory that it has left is out of date for every
// other handle.
void RefuseOutdated(const Level& level, const Tensor& value, const std::string& reader) {
  if (StorageOf(value).tracked_level() != level.id) return;
  ThrowFailedPrecondition(absl::StrCat(
      "[functionalize] ", reader,
      " reads a tensor whose memory was written in place through another view of it; clone the "
      "view before the in-place operation"));
}

Tensor Replace(const Level& level, const Function& function, const Tensor& caller,
               const Tensor& old_value, Tensor new_value) {
  TensorImpl* impl = caller.impl();
  if (!IsWrapperOf(caller, level)) {
    if (impl->birth < level.id) {
      ThrowFailedPrecondition(absl::StrCat(
          "[functionalize] `", function.name(),
          "` wrote into a tensor that was captured from outside; pass it as an input"));
    }
    impl->kind = TensorKind::kFunctional;
    impl->level_id = level.id;
    impl->array = Array();
  }
  StorageOf(old_value).SetTrackedLevel(level.id);
  impl->inner = std::move(new_value);
  return caller;
}

}  // namespace

Tensors CallAtFunctionalize(Level& level, const Ref<const Function>& function, TensorSpan inputs) {
  if (!function->built_in()) {
    ThrowUnimplemented(absl::StrCat(
        "[functionalize] `", function->name(),
        "` is a custom function: the engine cannot know what it writes in place; functionalize the "
        "code around it, or write the function with engine operations"));
  }
  Tensors values;
  for (const Tensor& input : inputs) {
    const bool ours = IsWrapperOf(input, level);
    values.push_back(ours ? input.impl()->inner : input);
    if (ours) RefuseOutdated(level, values.back(), function->name());
  }
  LowerScope lower(level);
  if (const Tensor value = function->NewValue(values); value.defined()) {
    // The old value keeps its memory, which a plain handle is about to give up.
    const Tensor old_value =
        IsWrapperOf(inputs[0], level) ? values[0] : Tensor(MakeRef<TensorImpl>(*values[0].impl()));
    return {Replace(level, *function, inputs[0], old_value, value)};
  }
  Tensors outputs = Call(function, values);
  for (Tensor& output : outputs) output = WrapFunctional(level, output);
  return outputs;
}

TensorFn Functionalize(TensorFn f) {
  return [f = std::move(f)](const Tensors& inputs) {
    Level level(LevelKind::kFunctionalize);
    Tensors wrapped;
    for (const Tensor& input : inputs) wrapped.push_back(WrapFunctional(level, input));
    Tensors outputs;
    {
      LevelScope live(level);
      outputs = f(wrapped);
    }
    for (Tensor& output : outputs) {
      if (!IsWrapperOf(output, level)) continue;
      const Tensor value = output.impl()->inner;
      RefuseOutdated(level, value, "the result");
      output = value;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& value = wrapped[i].impl()->inner;
      if (!value.is(inputs[i])) CopyInPlace(inputs[i], value);
    }
    return outputs;
  };
}

}  // namespace peelcheck
