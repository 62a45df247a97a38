// faults/rules.h: a function put together from its rules, so that a family of twins fits on a page.
//
//   Rules rules{.name = "Scale", .forward = .., .backward = .., .jvp = ..};   // no vmap: generated
//   return CallRules(rules, {x, y});
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/function.h"

namespace peelcheck {

struct Rules {
  std::string name;
  std::function<Tensors(TensorSpan in)> forward;
  std::function<void(Context& ctx, TensorSpan in, TensorSpan out)> setup;
  std::function<Tensors(Context& ctx, TensorSpan cotangents)> backward;
  std::function<Tensors(Context& ctx, TensorSpan tangents)> jvp;
  std::function<VmapResult(const VmapInfo&, const BatchDims&, TensorSpan)> vmap;
  bool once_differentiable = false;
};

class RulesFunction : public Function {
 public:
  explicit RulesFunction(Rules rules) : rules_(std::move(rules)) {}
  std::string name() const override { return rules_.name; }
  Tensors Forward(TensorSpan in) const override { return rules_.forward(in); }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    if (rules_.setup) rules_.setup(ctx, in, out);
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return rules_.backward ? rules_.backward(ctx, ct) : Function::Backward(ctx, ct);
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return rules_.jvp ? rules_.jvp(ctx, tangents) : Function::Jvp(ctx, tangents);
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& dims, TensorSpan in) const override {
    return rules_.vmap(info, dims, in);
  }
  bool has_vmap_rule() const override { return rules_.vmap != nullptr; }
  bool generate_vmap_rule() const override { return rules_.vmap == nullptr; }
  bool once_differentiable() const override { return rules_.once_differentiable; }

 private:
  Rules rules_;
};

inline Tensors CallRules(Rules rules, TensorSpan in) {
  return Call(Ref<const Function>(MakeRef<RulesFunction>(std::move(rules))), in);
}
inline Tensors CallRules(Rules rules, std::initializer_list<Tensor> in) {
  return CallRules(std::move(rules), TensorSpan(in.begin(), in.size()));
}

}  // namespace peelcheck
