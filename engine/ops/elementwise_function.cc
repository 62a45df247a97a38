#include "engine/ops/elementwise_function.h"

namespace peelcheck {
namespace {

class UnaryFunction : public Function {
 public:
  explicit UnaryFunction(const UnaryRow& row) : row_(row) {}
  std::string name() const override { return row_.name; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(row_.kernel(in[0].array()))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    if (row_.derivative != nullptr) ctx.Save({in[0], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override { return {Apply(ctx, ct[0])}; }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Apply(ctx, tangents[0])};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), {in_dims[0]}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  Tensor Apply(const Context& ctx, const Tensor& t) const {
    if (row_.derivative == nullptr) return Tensor();
    const Tensors& saved = ctx.saved();
    return t * row_.derivative(saved[0], saved[1]);
  }
  UnaryRow row_;
};

class BinaryFunction : public Function {
 public:
  explicit BinaryFunction(const BinaryRow& row) : row_(row) {}
  std::string name() const override { return row_.name; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(row_.kernel(in[0].array(), in[1].array()))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    if (row_.by_x != nullptr) ctx.Save({in[0], in[1], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensors& saved = ctx.saved();
    const BinaryRow::Map maps[] = {row_.by_x, row_.by_y};
    Tensors gradients(2);
    for (size_t i = 0; i < 2; ++i) {
      if (!ctx.needs_input_grad(i)) continue;
      const Tensor gradient = maps[i](ct[0], saved[0], saved[1], saved[2]);
      gradients[i] = To(SumTo(gradient, saved[i].shape()), saved[i].dtype());
    }
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensors& saved = ctx.saved();
    const BinaryRow::Map maps[] = {row_.by_x, row_.by_y};
    Tensor total;
    for (size_t i = 0; i < 2; ++i) {
      if (!tangents[i].defined()) continue;
      const Tensor share = maps[i](To(tangents[i], saved[2].dtype()), saved[0], saved[1], saved[2]);
      total = total.defined() ? total + share : share;
    }
    return {BroadcastTo(total, saved[2].shape())};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Ref<const Function> self(this);
    const bool aligned =
        in_dims[0].has_value() && in_dims[0] == in_dims[1] && in[0].rank() == in[1].rank();
    if (aligned) return {Call(self, in), {in_dims[0]}};
    return {Call(self, AlignForBroadcast(in, in_dims)), {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  BinaryRow row_;
};

}  // namespace

UnaryOp::UnaryOp(const UnaryRow& row) : function_(MakeRef<UnaryFunction>(row)) {}
Tensor UnaryOp::operator()(const Tensor& x) const { return Call(function_, {x})[0]; }

BinaryOp::BinaryOp(const BinaryRow& row) : function_(MakeRef<BinaryFunction>(row)) {}
Tensor BinaryOp::operator()(const Tensor& x, const Tensor& y) const {
  return Call(function_, {x, y})[0];
}

}  // namespace peelcheck
