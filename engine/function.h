// engine/function.h: the one interface of everything that can be called: built-in operations and
// custom functions alike.
//
//   class Cube : public Function {           // y = x^3; a custom function in full
//    public:
//     std::string name() const override { return "Cube"; }
//     Tensors Forward(TensorSpan in) const override { return {in[0] * in[0] * in[0]}; }
//     void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
//     ctx.Save({in[0]}); } Tensors Backward(Context& ctx, TensorSpan ct) const override {
//       const Tensor& x = ctx.saved()[0];
//       return {ct[0] * 3.0 * x * x};
//     }
//     bool generate_vmap_rule() const override { return true; }
//   };
//   Tensors out = Call(MakeRef<Cube>(), {x});
//
// Attributes (a dim, a flag) are members of the object. A function has no state that a call
// changes.
#pragma once

#include <any>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace peelcheck {

// How a random function draws under vmap.
enum class Randomness {
  kError,      // refuse: the caller has not said what is meant
  kDifferent,  // each slot draws its own numbers
  kSame,       // all slots see one draw
};

struct VmapInfo {
  int64_t batch_size = 0;
  Randomness randomness = Randomness::kError;
};

struct VmapResult {
  Tensors outputs;
  BatchDims out_dims;  // one per output, or a single one for all outputs
};

// What a tensor looks like, without its values; shapes are the logical ones.
struct TensorSpec {
  DType dtype = DType::kF64;
  Shape shape;
};

class Function;

// What SetupContext leaves for Backward and Jvp. There is one for each live grad or jvp level of a
// call.
class Context {
 public:
  // Independent lists. Only inputs and outputs may be saved by a function that is to be composed
  // with other transforms: an intermediate has no history, so a second derivative would silently
  // lose its share.
  void SaveForBackward(Tensors tensors);
  void SaveForForward(Tensors tensors);
  // Both at once.
  void Save(Tensors tensors);

  // In Backward: what SaveForBackward got; in Jvp: what SaveForForward got. Throws
  // failed_precondition where one of them was written in place after it was saved.
  const Tensors& saved() const;

  // Attributes: any copyable values by name. Names that the context itself uses are refused
  // (invalid_argument): saved, needs_input_grad, dirty, non_differentiable, materialize_grads.
  template <typename T>
  void Set(const std::string& name, T value) {
    SetAny(name, std::any(std::move(value)));
  }
  template <typename T>
  const T& Get(const std::string& name) const {
    return std::any_cast<const T&>(GetAny(name));
  }

  // Whether input `i` is differentiated at this level; Backward may skip work for the others.
  bool needs_input_grad(size_t i) const { return needs_input_grad_[i]; }
  // In Backward and Jvp: shape and dtype of an input or output. The level keeps them anyway, so a
  // rule that needs no values (a sum down to an operand's shape) saves no tensor for them, and the
  // tensor may be written in place.
  const TensorSpec& input_spec(size_t i) const { return input_specs_[i]; }
  const TensorSpec& output_spec(size_t i) const { return output_specs_[i]; }
  // The input was written in place and is returned as an output.
  void MarkDirty(const Tensor& input);
  // The output has no derivative although it may be floating.
  void MarkNonDifferentiable(const Tensor& output);
  // False: an undefined cotangent or tangent reaches the rule as an undefined Tensor, not as zeros.
  void SetMaterializeGrads(bool materialize) { materialize_grads_ = materialize; }

 private:
  friend struct ContextAccess;  // engine/context_access.h: for the levels
  struct Saved {
    Tensors tensors;
    absl::InlinedVector<int64_t, 3> versions;
  };
  void SetAny(const std::string& name, std::any value);
  const std::any& GetAny(const std::string& name) const;

  Saved for_backward_;
  Saved for_forward_;
  bool shared_ = false;   // Save(): one list serves both
  bool forward_ = false;  // saved() is asked by Jvp
  bool materialize_grads_ = true;
  const Function* owner_ =
      nullptr;  // for messages; the record that owns the context keeps it alive
  absl::InlinedVector<bool, 4> needs_input_grad_;
  std::span<const TensorSpec> input_specs_;  // the level's, set before a rule runs
  std::span<const TensorSpec> output_specs_;
  Tensors dirty_;
  Tensors non_differentiable_;
  std::shared_ptr<std::map<std::string, std::any>> attributes_;
};

class Function : public RefCounted {
 public:
  // "OpaqueMul", "sum": what messages, tapes and reports call it.
  virtual std::string name() const = 0;

  // Computes the outputs. Called with plain tensors, or, for a generated vmap rule, under a fresh
  // vmap level.
  virtual Tensors Forward(TensorSpan inputs) const = 0;
  // Keeps what the rules need. Runs at the level below the transform, on unwrapped values.
  virtual void SetupContext(Context& ctx, TensorSpan inputs, TensorSpan outputs) const;
  // Gradients, one per input (undefined for "none"), from one cotangent per output. Default:
  // unimplemented.
  virtual Tensors Backward(Context& ctx, TensorSpan cotangents) const;
  // Tangents of the outputs, one per output, from one per input (undefined for "none"). Default:
  // unimplemented.
  virtual Tensors Jvp(Context& ctx, TensorSpan tangents) const;
  // Batching rule: unwrapped inputs and where their batch axes are. Never called with nothing
  // batched. Default: unimplemented.
  virtual VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan inputs) const;

  // True: the batching rule is derived by running Forward, SetupContext, Backward and Jvp each
  // under a fresh vmap level.
  virtual bool generate_vmap_rule() const { return false; }
  virtual bool has_vmap_rule() const { return false; }
  // No rule for vmap: a loop over the slots is allowed. Counted; see VmapOptions::fallback.
  virtual bool allow_vmap_fallback() const { return false; }
  // Backward may run once; what it returns has no derivative of its own (failed_precondition where
  // one is asked for).
  virtual bool once_differentiable() const { return false; }
  // Built-in operations take undefined tangents and cotangents as they are; zeros need not be made
  // for them.
  virtual bool handles_undefined() const { return false; }
  // Whether the engine knows what it writes: nothing, or what NewValue says. Functionalize refuses
  // any other function.
  virtual bool built_in() const { return handles_undefined(); }
  // In-place operations: what input 0 is overwritten with, computed without writing; otherwise
  // undefined.
  virtual Tensor NewValue(TensorSpan inputs) const;
};

// The one dispatch point: sends the call through the live levels. Inputs may be wrappers of any
// level.
Tensors Call(const Ref<const Function>& function, TensorSpan inputs);
inline Tensors Call(const Ref<const Function>& function, std::initializer_list<Tensor> inputs) {
  return Call(function, TensorSpan(inputs.begin(), inputs.size()));
}

}  // namespace peelcheck
