// opinfo_db/functions/returns_input.cc: ReturnsInput and ReturnsInputGenVmap: (x as it is, x y).
//
// Pins down an output that is an input: it is not written, yet its cotangent goes through backward
// like any other and must be neither lost nor counted twice; and outputs of which only one is
// batched.
#include "engine/batching.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class ReturnsInputRules : public Function {
 public:
  Tensors Forward(TensorSpan in) const override {
    if (in[0].shape() != in[1].shape()) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] x has shape ", ShapeToString(in[0].shape()),
                                        " and y ", ShapeToString(in[1].shape()),
                                        "; expected the same shape"));
    }
    return {in[0], in[0] * in[1]};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[0], in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    return {ct[0] + ct[1] * y, ct[1] * x};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    return {tangents[0], tangents[0] * y + x * tangents[1]};
  }
};

class ReturnsInputFunction : public ReturnsInputRules {
 public:
  std::string name() const override { return "ReturnsInput"; }
  // The first output keeps x's axis, or has none; it must stay the tensor that came.
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensors out =
        Call(Ref<const Function>(this), {EnsureBatchAtFront(in[0], in_dims[0], info.batch_size),
                                         EnsureBatchAtFront(in[1], in_dims[1], info.batch_size)});
    return {{in[0], out[1]}, {in_dims[0], 0}};
  }
  bool has_vmap_rule() const override { return true; }
};

class ReturnsInputGenVmapFunction : public ReturnsInputRules {
 public:
  std::string name() const override { return "ReturnsInputGenVmap"; }
  bool generate_vmap_rule() const override { return true; }
};

Registration AsItIs(const std::string& name, const std::string& pins_down,
                    std::function<Tensors(const Tensors&)> call,
                    SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "u = x itself, v = x y; du = dx, dv = y dx + x dy",
       .pins_down = pins_down,
       .arguments = {{.name = "x"}, {.name = "y"}},
       .build = Plain(name, 2, std::move(call)),
       .reference = AllOutputs({ElementwiseReference([](double x, double) { return x; }),
                                ElementwiseReference([](double x, double y) { return x * y; })}),
       .custom_function = true,
       .error_cases = {{.description = "different shapes",
                        .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {4}}}}}},
      where);
}

const Registration kReturnsInput =
    AsItIs("ReturnsInput", "an input returned as it is by a written rule with mixed out_dims",
           [](const Tensors& in) { return Call(Shared<ReturnsInputFunction>(), in); });
const Registration kReturnsInputGenVmap =
    AsItIs("ReturnsInputGenVmap", "an input returned as it is, through a generated rule",
           [](const Tensors& in) { return ReturnsInputGenVmap(in[0], in[1]); });

}  // namespace

Tensors ReturnsInputGenVmap(const Tensor& x, const Tensor& y) {
  return Call(Shared<ReturnsInputGenVmapFunction>(), {x, y});
}

}  // namespace peelcheck
