// opinfo_db/functions/sum_diff.cc: SumDiffNoMaterialize: (x + y, x - y), whose rules see undefined
// cotangents and tangents.
//
// Pins down set_materialize_grads(false): what is not there reaches the rule as an undefined
// tensor, also through a generated rule, and may come back as one.
#include "engine/ops.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

// a + sign * b, where what is undefined counts as zero; nothing from nothing.
Tensor Combine(const Tensor& a, const Tensor& b, double sign) {
  if (!b.defined()) return a;
  if (!a.defined()) return b * sign;
  return a + b * sign;
}

class SumDiffFunction : public Function {
 public:
  std::string name() const override { return "SumDiffNoMaterialize"; }
  Tensors Forward(TensorSpan in) const override {
    if (in[0].shape() != in[1].shape()) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] x has shape ", ShapeToString(in[0].shape()),
                                        " and y ", ShapeToString(in[1].shape()),
                                        "; expected the same shape"));
    }
    return {in[0] + in[1], in[0] - in[1]};
  }
  void SetupContext(Context& ctx, TensorSpan, TensorSpan) const override {
    ctx.SetMaterializeGrads(false);
  }
  Tensors Backward(Context&, TensorSpan ct) const override {
    return {Combine(ct[0], ct[1], 1), Combine(ct[0], ct[1], -1)};
  }
  Tensors Jvp(Context&, TensorSpan tangents) const override {
    return {Combine(tangents[0], tangents[1], 1), Combine(tangents[0], tangents[1], -1)};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kSumDiffNoMaterialize({
    .name = "SumDiffNoMaterialize",
    .formula = "s = x + y, d = x - y; ds = dx + dy, dd = dx - dy",
    .pins_down = "set_materialize_grads(false) with two outputs, through a generated rule",
    .arguments = {{.name = "x"}, {.name = "y"}},
    .build = Plain("SumDiffNoMaterialize", 2,
                   [](const Tensors& in) { return SumDiffNoMaterialize(in[0], in[1]); }),
    .reference = AllOutputs({ElementwiseReference([](double x, double y) { return x + y; }),
                             ElementwiseReference([](double x, double y) { return x - y; })}),
    .custom_function = true,
    .error_cases = {{.description = "different shapes",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {4}}}}},
});

}  // namespace

Tensors SumDiffNoMaterialize(const Tensor& x, const Tensor& y) {
  return Call(Shared<SumDiffFunction>(), {x, y});
}

}  // namespace peelcheck
