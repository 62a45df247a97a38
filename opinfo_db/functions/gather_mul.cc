// opinfo_db/functions/gather_mul.cc: GatherMulInt: x[idx] y along the last axis, the integer in the
// middle.
//
// Pins down an integer input between floating ones: its undefined tangent and gradient must not
// shift its neighbours'. Indices may repeat, so the gradient adds up.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

class GatherMulInt : public Function {
 public:
  std::string name() const override { return "GatherMulInt"; }
  Tensors Forward(TensorSpan in) const override {
    if (in[0].rank() == 0 || in[1].shape() != in[2].shape()) {
      ThrowInvalidArgument(
          absl::StrCat("[", name(), "] x, idx, y have shapes ", ShapeToString(in[0].shape()), ", ",
                       ShapeToString(in[1].shape()), ", ", ShapeToString(in[2].shape()),
                       "; expected [.., n], [.., k], [.., k]"));
    }
    return {Gather(in[0], -1, in[1]) * in[2]};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[0], in[1], in[2]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &x = ctx.saved()[0], &idx = ctx.saved()[1], &y = ctx.saved()[2];
    return {ScatterAdd(ZerosLike(x), -1, idx, ct[0] * y), Tensor(), ct[0] * Gather(x, -1, idx)};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &x = ctx.saved()[0], &idx = ctx.saved()[1], &y = ctx.saved()[2];
    return {Gather(tangents[0], -1, idx) * y + Gather(x, -1, idx) * tangents[2]};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kGatherMulInt({
    .name = "GatherMulInt",
    .formula = "z = x[idx] y along the last axis; dz = y dx[idx] + x[idx] dy",
    .pins_down = "an integer input among floating ones",
    .arguments = {{.name = "x", .shape = "... n"},
                  {.name = "idx", .shape = "... k", .kind = ValueKind::kIndex, .of = 0, .dim = -1},
                  {.name = "y", .shape = "... k"}},
    .allows_empty = false,
    .build = Plain("GatherMulInt", 3,
                   [](const Tensors& in) { return Call(Shared<GatherMulInt>(), in); }),
    .reference =
        [](std::span<const Array> in, const Attributes&) {
          return std::vector<Array>{FromIndices(in[0].dtype(), in[2].shape(), [&](const Index& at) {
            Index from = at;
            from.back() = static_cast<int64_t>(At(in[1], at));
            return At(in[0], from) * At(in[2], at);
          })};
        },
    .custom_function = true,
    .error_cases = {{.description = "a floating index",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}, {DType::kF64, {4}}}},
                    {.description = "idx and y of different shapes",
                     .inputs = {{DType::kF64, {3}}, {DType::kI64, {4}}, {DType::kF64, {5}}}}},
});

}  // namespace
}  // namespace peelcheck
