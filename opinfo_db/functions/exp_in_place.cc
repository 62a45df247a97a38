// opinfo_db/functions/exp_in_place.cc: OpaqueExpInPlace and ExpInPlaceGenVmap: e^x, written over x.
//
// Pins down mark_dirty and identity: what comes back is the caller's own tensor, through every
// level; and that an output may be saved, for it is what the input has become.
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class ExpInPlaceRules : public Function {
 public:
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.MarkDirty(in[0]);
    ctx.Save({out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override { return {ct[0] * ctx.saved()[0]}; }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {tangents[0] * ctx.saved()[0]};
  }
};

class OpaqueExpInPlaceFunction : public ExpInPlaceRules {
 public:
  std::string name() const override { return "OpaqueExpInPlace"; }
  Tensors Forward(TensorSpan in) const override {
    const Array values = OpaqueMap(name(), in[0], [](auto x) { return std::exp(x); }).array();
    Array x = in[0].array();  // the same storage
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (x.size() > 0 && x.dim(axis) > 1 && x.strides()[static_cast<size_t>(axis)] == 0) {
        ThrowFailedPrecondition(absl::StrCat("[", name(), "] x is expanded along axis ", axis,
                                             ": several elements share one place; clone it first"));
      }
    }
    for (int64_t i = 0; i < x.size(); ++i) x.SetDouble(i, values.DoubleAt(i));
    return {in[0]};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), in_dims};
  }
  bool has_vmap_rule() const override { return true; }
};

class ExpInPlaceGenVmapFunction : public ExpInPlaceRules {
 public:
  std::string name() const override { return "ExpInPlaceGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    return {ExpInPlace(in[0])};
  }
  bool generate_vmap_rule() const override { return true; }
};

Registration InPlace(const std::string& name, const std::string& source,
                     const std::string& pins_down, Tensor (*call)(const Tensor&),
                     SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "y = e^x, written over a clone of x; dy = y dx",
       .source = source,
       .pins_down = pins_down,
       .arguments = {{.name = "x"}},
       // The caller's inputs are not to be changed; hence the clone.
       .build = Plain(name, 1,
                      [call](const Tensors& in) -> Tensors {
                        const Tensor x = Clone(in[0]);
                        call(x);
                        return {x};  // what was written, not the handle that came back
                      }),
       .reference = ElementwiseReference([](double x) { return std::exp(x); }),
       .custom_function = true,
       .error_cases = {IntegerInput()}},
      where);
}

const Registration kOpaqueExpInPlace =
    InPlace("OpaqueExpInPlace", "PyTorch autograd_function_db: NumpyExpMarkDirtyAutogradFunction",
            "mark_dirty, identity, saving the output", OpaqueExpInPlace);
const Registration kExpInPlaceGenVmap =
    InPlace("ExpInPlaceGenVmap", "", "mark_dirty through a generated rule", ExpInPlaceGenVmap);

}  // namespace

Tensor OpaqueExpInPlace(const Tensor& x) {
  return Call(Shared<OpaqueExpInPlaceFunction>(), {x})[0];
}
Tensor ExpInPlaceGenVmap(const Tensor& x) {
  return Call(Shared<ExpInPlaceGenVmapFunction>(), {x})[0];
}

}  // namespace peelcheck
