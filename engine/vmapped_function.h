// engine/vmapped_function.h: the generated batching rule: `Vmapped<Name>`, a function that runs
// another one's forward, setup_context, backward and jvp each under a fresh vmap level. It nests in
// itself. Internal to the engine.
#pragma once

#include <mutex>

#include "engine/function.h"
#include "engine/tape.h"

namespace peelcheck {

class VmappedFunction : public Function {
 public:
  VmappedFunction(Ref<const Function> function, const VmapInfo& info, BatchDims in_dims);

  std::string name() const override { return "Vmapped" + function_->name(); }
  Tensors Forward(TensorSpan inputs) const override;
  void SetupContext(Context& ctx, TensorSpan inputs, TensorSpan outputs) const override;
  Tensors Backward(Context& ctx, TensorSpan cotangents) const override;
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override;
  bool generate_vmap_rule() const override { return true; }
  bool once_differentiable() const override { return function_->once_differentiable(); }
  bool handles_undefined() const override { return true; }

  // Where the outputs' batch axes are; known once Forward has run.
  const BatchDims& out_dims() const { return out_dims_; }

 private:
  Ref<const Function> function_;
  VmapInfo info_;
  BatchDims in_dims_;
  // One object serves one call, whose forward runs first and in one thread.
  mutable BatchDims out_dims_;
};

}  // namespace peelcheck
