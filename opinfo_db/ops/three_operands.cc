// opinfo_db/ops/three_operands.cc: elementwise operations of three operands that broadcast, one row
// each, and lerp with a number for its weight.
#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"
#include "opinfo_db/ops/build.h"

namespace peelcheck {
namespace {

const Domain kPlain = {.low = -2, .high = 2};
const Domain kOffZero = {.low = -3, .high = 3, .kinks = {0}, .margin = 0.3};
const NumberAttribute kValue = {"value", {std::monostate(), 2.5, -0.5}, 1.0};

// From the nearer end, so that weight 0 and weight 1 give the ends exactly.
template <typename V>
V LerpOf(V start, V end, V weight) {
  return std::abs(weight) < V(0.5) ? start + weight * (end - start)
                                   : end - (end - start) * (1 - weight);
}

const TernaryEntry::Rule kLerp = {FLOATING_3(LerpOf(u, v, w)), BY_W(t*(1.0 - w)), BY_W(t* w),
                                  BY_XY(t*(y - x))};

const Registration kRows[] = {
    // clang-format off
    Row({"lerp", kLerp, "z = start + weight (end - start); dz = (1 - weight) dstart + weight dend + (end - start) dweight", kPlain, kPlain, kPlain, [](double x, double y, double w, Parameters) { return (1 - w) * x + w * y; }, {.operands = {"start", "end", "weight"}}}),
    Row({"addcmul", {FLOATING_3(u + a * v * w), BY_T(t), BY_W(t * w * a), BY_Y(t * y * a)}, "z = input + value tensor1 tensor2; dz = dinput + value (tensor2 dtensor1 + tensor1 dtensor2)", kPlain, kPlain, kPlain, [](double x, double y, double w, Parameters p) { return w * y * p.a + x; }, {.parameters = {kValue}, .operands = {"input", "tensor1", "tensor2"}}}),
    Row({"addcdiv", {FLOATING_3(u + a * (v / w)), BY_T(t), BY_W(t / w * a), BY_YW(-(t * (y / w / w) * a))}, "z = input + value tensor1 / tensor2; dz = dinput + value (dtensor1 - tensor1 / tensor2 dtensor2) / tensor2", kPlain, kPlain, kOffZero, [](double x, double y, double w, Parameters p) { return x - y * (1 / w) * -p.a; }, {.parameters = {kValue}, .operands = {"input", "tensor1", "tensor2"}}}),
    // clang-format on
};

double WeightOf(const Attributes& attributes) {
  if (!attributes.contains("weight")) {
    ThrowInvalidArgument("[lerp_scalar] attribute weight is missing; expected a number");
  }
  return GetDouble(attributes, "weight", 0, "lerp_scalar");
}

const Registration kLerpScalar({
    .name = "lerp_scalar",
    .formula = "z = start + weight (end - start); dz = (1 - weight) dstart + weight dend",
    .source = "https://pytorch.org/docs/stable/generated/torch.lerp.html",
    .arguments = {{.name = "start", .shape = "~"}, {.name = "end", .shape = "~"}},
    .attributes = {{.name = "weight", .choices = {0.25, 0.75, -1.5, 2.0}}},
    .build = WithAttributes("lerp_scalar", 2, {"weight"},
                            [](const Attributes& attributes) {
                              static const TernaryOp lerp({"lerp_scalar", kLerp.kernel, kLerp.by_x,
                                                           kLerp.by_y, kLerp.by_w});
                              const double weight = WeightOf(attributes);
                              return [weight](const Tensors& in) -> Tensors {
                                const DType dtype = PromoteTypes(in[0].dtype(), in[1].dtype());
                                return {lerp(in[0], in[1],
                                             Full({}, weight, PromoteTypes(dtype, DType::kF32)))};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const double weight = WeightOf(attributes);
          return ElementwiseReference(
              [weight](double x, double y) { return (1 - weight) * x + weight * y; })(inputs, {});
        },
    .error_cases = {{.description = "sizes 3 and 4 in the last axis",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}},
                     .attributes = {{"weight", 0.5}}},
                    {.description = "no weight",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}}}},
});

}  // namespace
}  // namespace peelcheck
