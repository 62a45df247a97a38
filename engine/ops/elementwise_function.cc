#include "engine/ops/elementwise_function.h"

namespace peelcheck {
namespace {

const Tensor& Undefined() {
  static const Tensor undefined;
  return undefined;
}

// The rules of all arities; what differs is the forward.
class ElementwiseFunction : public Function {
 public:
  ElementwiseFunction(std::string name, const Parameters& parameters,
                      absl::InlinedVector<Partial, 3> partials)
      : parameters_(parameters), name_(std::move(name)), partials_(std::move(partials)) {}
  std::string name() const override { return name_; }

  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    const uint8_t reads = Reads(ctx);
    if (reads == 0) return;
    Tensors saved;
    for (size_t i = 0; i < in.size(); ++i) {
      if ((reads >> i & 1) != 0) saved.push_back(in[i]);
    }
    if ((reads & kReadsOutput) != 0) saved.push_back(out[0]);
    ctx.Save(std::move(saved));
  }

  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Values values(*this, ctx);
    Tensors gradients(partials_.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!Wanted(ctx, i)) continue;
      gradients[i] = Apply(i, ct[0], values);
      const TensorSpec& operand = ctx.input_spec(i);
      gradients[i] = To(SumTo(gradients[i], operand.shape), operand.dtype);
    }
    return gradients;
  }

  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Values values(*this, ctx);
    const TensorSpec& result = ctx.output_spec(0);
    Tensor total;
    for (size_t i = 0; i < partials_.size(); ++i) {
      if (!tangents[i].defined() || !Wanted(ctx, i)) continue;
      const Tensor share = Apply(i, To(tangents[i], result.dtype), values);
      total = total.defined() ? total + share : share;
    }
    if (!total.defined()) return {total};
    return {BroadcastTo(total, result.shape)};
  }

  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Ref<const Function> self(this);
    bool aligned = in_dims[0].has_value();
    for (size_t i = 1; i < in.size(); ++i) {
      aligned = aligned && in_dims[i] == in_dims[0] && in[i].rank() == in[0].rank();
    }
    if (aligned) return {Call(self, in), {in_dims[0]}};
    return {Call(self, AlignForBroadcast(in, in_dims)), {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 protected:
  const Parameters parameters_;
  const std::string name_;

 private:
  bool Wanted(const Context& ctx, size_t i) const {
    return ctx.needs_input_grad(i) && partials_[i].map != nullptr;
  }
  uint8_t Reads(const Context& ctx) const {
    uint8_t reads = 0;
    for (size_t i = 0; i < partials_.size(); ++i) {
      if (Wanted(ctx, i)) reads = static_cast<uint8_t>(reads | partials_[i].reads);
    }
    return reads;
  }

  // What was saved, each at its place again, in the dtype of the result.
  struct Values {
    Values(const ElementwiseFunction& function, const Context& ctx) {
      at.fill(&Undefined());
      const uint8_t reads = function.Reads(ctx);
      if (reads == 0) return;
      const Tensors& saved = ctx.saved();
      size_t next = 0;
      for (size_t place = 0; place < 4; ++place) {
        if ((reads >> place & 1) == 0) continue;
        const Tensor& value = saved[next++];
        at[place] = &value;
        if (value.dtype() == ctx.output_spec(0).dtype) continue;
        cast[place] = To(value, ctx.output_spec(0).dtype);
        at[place] = &cast[place];
      }
    }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    std::array<const Tensor*, 4> at;  // the operands, and the result in the last place
    std::array<Tensor, 4> cast;
  };
  Tensor Apply(size_t i, const Tensor& t, const Values& values) const {
    const auto& at = values.at;
    return partials_[i].map(t, *at[0], *at[1], *at[2], *at[3], parameters_.a, parameters_.b);
  }

  const absl::InlinedVector<Partial, 3> partials_;
};

class UnaryFunction : public ElementwiseFunction {
 public:
  UnaryFunction(const UnaryRow& row, const Parameters& parameters)
      : ElementwiseFunction(row.name, parameters, {row.partial}), kernel_(row.kernel) {}
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(kernel_(in[0].array(), parameters_))};
  }

 private:
  decltype(UnaryRow::kernel) kernel_;
};

class BinaryFunction : public ElementwiseFunction {
 public:
  explicit BinaryFunction(const BinaryRow& row)
      : ElementwiseFunction(row.name, {}, {row.by_x, row.by_y}), kernel_(row.kernel) {}
  Tensors Forward(TensorSpan in) const override {
    const Array &x = in[0].array(), &y = in[1].array();
    if (x.shape() == y.shape()) return {Tensor::FromArray(kernel_(x, y, x.shape()))};
    return {Tensor::FromArray(kernel_(x, y, BroadcastShapes(x.shape(), y.shape(), name_)))};
  }

 private:
  decltype(BinaryRow::kernel) kernel_;
};

class TernaryFunction : public ElementwiseFunction {
 public:
  TernaryFunction(const TernaryRow& row, const Parameters& parameters)
      : ElementwiseFunction(row.name, parameters, {row.by_x, row.by_y, row.by_w}),
        kernel_(row.kernel) {}
  Tensors Forward(TensorSpan in) const override {
    const Array &x = in[0].array(), &y = in[1].array(), &w = in[2].array();
    const Shape shape =
        BroadcastShapes(x.shape(), BroadcastShapes(y.shape(), w.shape(), name_), name_);
    return {Tensor::FromArray(kernel_(x, y, w, shape, parameters_))};
  }

 private:
  decltype(TernaryRow::kernel) kernel_;
};

}  // namespace

UnaryOp::UnaryOp(const UnaryRow& row, const Parameters& parameters)
    : function_(MakeRef<UnaryFunction>(row, parameters)) {}
Tensor UnaryOp::operator()(const Tensor& x) const { return Call(function_, {x})[0]; }

BinaryOp::BinaryOp(const BinaryRow& row) : function_(MakeRef<BinaryFunction>(row)) {}
Tensor BinaryOp::operator()(const Tensor& x, const Tensor& y) const {
  return Call(function_, {x, y})[0];
}

TernaryOp::TernaryOp(const TernaryRow& row, const Parameters& parameters)
    : function_(MakeRef<TernaryFunction>(row, parameters)) {}
Tensor TernaryOp::operator()(const Tensor& x, const Tensor& y, const Tensor& w) const {
  return Call(function_, {x, y, w})[0];
}

}  // namespace peelcheck
