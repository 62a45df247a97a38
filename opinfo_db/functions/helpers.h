// opinfo_db/functions/helpers.h: what the custom functions of this folder are written with.
//
//   Tensors Forward(TensorSpan in) const override {
//     return {OpaqueMap(name(), in[0], [](auto x) { return x * x * x; })};
//   }
#pragma once

#include <absl/strings/str_cat.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/function.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

// The one object of a function without attributes.
template <typename F>
const Ref<const Function>& Shared() {
  static const Ref<const Function> function = MakeRef<F>();
  return function;
}

inline void RequireFloating(const Tensor& x, const std::string& tag) {
  if (IsFloating(x.dtype())) return;
  ThrowInvalidArgument(
      absl::StrCat("[", tag, "] x is ", DTypeName(x.dtype()), "; expected f32 or f64"));
}

// f of each element, outside of the engine: on the plain array, in its dtype. A wrapper is refused.
template <typename F>
Tensor OpaqueMap(const std::string& tag, const Tensor& x, F f) {
  RequireFloating(x, tag);
  const Array from = x.array().Contiguous();
  Array result = Array::Empty(from.dtype(), from.shape());
  VisitFloating(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* values = from.data<T>();
    T* out = result.fresh_data<T>();
    for (int64_t i = 0; i < from.size(); ++i) out[i] = static_cast<T>(f(values[i]));
  });
  return Tensor::FromArray(result);
}

// The outputs of several references, in order.
inline Reference AllOutputs(std::vector<Reference> references) {
  return [references = std::move(references)](std::span<const Array> inputs,
                                              const Attributes& attributes) {
    std::vector<Array> outputs;
    for (const Reference& reference : references) {
      for (Array& output : reference(inputs, attributes)) outputs.push_back(std::move(output));
    }
    return outputs;
  };
}

// An integer where a floating value belongs.
inline ErrorCase IntegerInput() {
  return {.description = "an integer input", .inputs = {{DType::kI64, {3}}}};
}

}  // namespace peelcheck
