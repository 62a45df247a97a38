// engine/ops/linear_function.h: operations that are linear in one operand: the tangent goes through
// the operation itself, and the cotangent through its transpose. Internal to engine/ops.
#pragma once

#include <absl/strings/str_cat.h>

#include "engine/batching.h"
#include "engine/rule_results.h"

namespace peelcheck {

class LinearFunction : public Function {
 public:
  // What Backward needs of the input: its shape and dtype; the input itself is not kept alive.
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Set("input", SpecOf(in[0]));
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {Transpose(ct[0], ctx.Get<TensorSpec>("input"))};
  }
  Tensors Jvp(Context&, TensorSpan tangents) const override {
    return Call(Ref<const Function>(this), tangents);
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 protected:
  // The gradient of the input: shape and dtype as `input` says.
  virtual Tensor Transpose(const Tensor& ct, const TensorSpec& input) const = 0;
};

}  // namespace peelcheck
