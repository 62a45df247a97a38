// engine/rule_results.h: checks of what a function's rules return, before the engine uses it.
// Internal to the engine.
#pragma once

#include "engine/tape.h"

namespace peelcheck {

// "<Name>Generated": what a function is called in messages once a level differentiates it by its
// own rules.
std::string GeneratedName(const Function& function);

inline TensorSpec SpecOf(const Tensor& tensor) { return {tensor.dtype(), tensor.shape()}; }
Tensor ZerosOf(const TensorSpec& spec);

// Zeros for the undefined of `values` whose spec is floating.
void MaterializeZeros(std::span<const TensorSpec> specs, Tensors& values);

// A gradient must be floating, and have its input's shape and dtype; one that is larger only by
// broadcasting is summed down. Errors: invalid_argument that names the function and the input.
Tensor CheckedGradient(const Function& function, size_t input, const Tensor& gradient,
                       const TensorSpec& expected);
// A tangent must have exactly its output's shape and dtype.
void CheckTangent(const Function& function, size_t output, const Tensor& tangent,
                  const TensorSpec& expected);
// The function's jvp rule, its zeros materialised where it wants them and its results checked.
// Undefined tangents in and out are zeros.
Tensors RunJvp(const Function& function, Context& ctx, std::span<const TensorSpec> inputs,
               std::span<const TensorSpec> outputs, Tensors tangents);
// As many results as `expected`; `what` = "gradients", `per` = "input".
void CheckCount(const Function& function, const char* what, size_t came, size_t expected,
                const char* per);
// Every dirty tensor is an input and is returned.
void CheckDirty(const Function& function, const Context& ctx, TensorSpan inputs,
                TensorSpan outputs);

}  // namespace peelcheck
