// faults/functions/cube.cc: (x^3, 3x^2) by a generated batching rule, and how it goes wrong.
//
//   cube-second-cotangent-ignored: what PyTorch's own CubeGenVmap does
#include "engine/ops.h"
#include "faults/catalogue.h"
#include "faults/rules.h"

namespace peelcheck {
namespace {

// 3x^2 as a function of its own, whose derivative forgets that it depends on x.
Tensor DetachedSlope(const Tensor& x) {
  Rules rules{.name = "DetachedSlope"};
  rules.forward = [](TensorSpan in) -> Tensors { return {3.0 * Square(in[0])}; };
  rules.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({Detach(in[0])}); };
  rules.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
    return {6.0 * ct[0] * ctx.saved()[0]};
  };
  rules.jvp = rules.backward;
  return CallRules(rules, {x})[0];
}

Tensors Cube(const std::string& knob, const Tensor& input) {
  Rules rules{.name = "SeededCube"};
  rules.forward = [](TensorSpan in) -> Tensors {
    const Tensor square = Square(in[0]);
    return {square * in[0], 3.0 * square};
  };
  rules.setup = [knob](Context& ctx, TensorSpan in, TensorSpan out) {
    ctx.Save({in[0], knob == "intermediate-saved" ? Detach(3.0 * Square(in[0])) : out[1]});
  };
  rules.backward = [knob](Context& ctx, TensorSpan ct) -> Tensors {
    const Tensor& x = ctx.saved()[0];
    const Tensor slope = knob == "third-order-detached" ? DetachedSlope(x) : ctx.saved()[1];
    if (knob == "second-cotangent-ignored") return {ct[0] * slope};
    if (knob == "first-cotangent-ignored") return {6.0 * ct[1] * x};
    if (knob == "cotangents-swapped") return {ct[1] * slope + 6.0 * ct[0] * x};
    if (knob == "one-cotangent-for-both") return {ct[0] * slope + 6.0 * ct[0] * x};
    if (knob == "summand-without-cotangent") return {ct[0] * slope + 6.0 * x};
    if (knob == "off-by-1e-4") return {(ct[0] * slope + 6.0 * ct[1] * x) * 1.0001};
    if (knob == "one-element-off" && x.size() > 1) {
      const Tensor right = ct[0] * slope + 6.0 * ct[1] * x;
      const Tensor flat = Reshape(right, {-1});
      const Tensor most = Narrow(flat, 0, 0, flat.dim(0) - 1);
      const Tensor last = Narrow(flat, 0, flat.dim(0) - 1, 1) * 1.0001;
      return {Reshape(Cat(Tensors{most, last}, 0), Dims(x.shape().begin(), x.shape().end()))};
    }
    if (knob == "sign-of-second") return {ct[0] * slope - 6.0 * ct[1] * x};
    if (knob == "f32-only" && x.dtype() == DType::kF32) return {ct[0] * slope + 5.0 * ct[1] * x};
    if (knob == "zero") return {ZerosLike(x)};
    if (knob == "no-gradient") return {Tensor()};
    if (knob == "one-too-many") return {ct[0] * slope + 6.0 * ct[1] * x, ct[0]};
    if (knob == "both-rules") return {ct[0] * slope + 5.0 * ct[1] * x};
    if (knob == "absolute") return {Abs(ct[0] * slope) + 6.0 * ct[1] * x};
    if (knob == "cotangent-squared") return {ct[0] * ct[0] * slope + 6.0 * ct[1] * x};
    if (knob == "wrong-dtype") return {To(ct[0] * slope + 6.0 * ct[1] * x, DType::kF32)};
    return {ct[0] * slope + 6.0 * ct[1] * x};
  };
  rules.jvp = [knob](Context& ctx, TensorSpan t) -> Tensors {
    const Tensor &x = ctx.saved()[0], &slope = ctx.saved()[1];
    if (knob == "jvp-second-zero") return {t[0] * slope, ZerosLike(x)};
    if (knob == "jvp-outputs-swapped") return {6.0 * t[0] * x, t[0] * slope};
    if (knob == "jvp-tangent-lost") return {slope, 6.0 * t[0] * x};
    if (knob == "jvp-sign") return {t[0] * slope, -6.0 * t[0] * x};
    if (knob == "jvp-off-by-1e-4") return {t[0] * slope * 1.0001, 6.0 * t[0] * x};
    if (knob == "jvp-one-too-few") return {t[0] * slope};
    if (knob == "jvp-detached") return {t[0] * slope, 6.0 * t[0] * Detach(x)};
    if (knob == "both-rules") return {t[0] * slope, 5.0 * t[0] * x};
    return {t[0] * slope, 6.0 * t[0] * x};
  };
  return CallRules(rules, {input});
}

Entry MakeCube(Knob knob) {
  return {
      .formula = "y = x^3, s = 3x^2",
      .arguments = {{.name = "x"}},
      .build = Plain("cube", 1,
                     [knob = std::string(knob)](const Tensors& in) { return Cube(knob, in[0]); }),
      .reference = [](std::span<const Array> in, const Attributes& a) {
        std::vector<Array> y = ElementwiseReference([](double x) { return x * x * x; })(in, a);
        y.push_back(ElementwiseReference([](double x) { return 3 * x * x; })(in, a)[0]);
        return y;
      }};
}

const FaultFamily kCube(
    "cube", MakeCube,
    {{"second-cotangent-ignored", FaultKind::kVjp,
      "backward drops the cotangent of the second output",
      "PyTorch autograd_function_db: CubeGenVmapAutogradFunction"},
     {"first-cotangent-ignored", FaultKind::kVjp, "backward drops the first cotangent"},
     {"cotangents-swapped", FaultKind::kVjp, "backward takes each cotangent for the other"},
     {"one-cotangent-for-both", FaultKind::kVjp, "the first cotangent stands for both"},
     {"summand-without-cotangent", FaultKind::kVjp,
      "only one of two summands is multiplied by its cotangent; right where it is 1", "B15"},
     {"off-by-1e-4", FaultKind::kVjp, "the gradient is 1e-4 too large"},
     {"one-element-off", FaultKind::kVjp, "the last element of the gradient is 1e-4 too large",
      "B155"},
     {"sign-of-second", FaultKind::kVjp, "a term has the wrong sign", "B1"},
     {"f32-only", FaultKind::kVjp, "a wrong factor, for f32 alone"},
     {"zero", FaultKind::kVjp, "a silent gradient of zeros", "B7"},
     {"no-gradient", FaultKind::kVjp, "backward returns nothing, which stands for zeros", "B7"},
     {"one-too-many", FaultKind::kVjp, "backward returns two gradients for one input"},
     {"both-rules", FaultKind::kVjp, "backward and jvp agree on a wrong factor", "B1, B45"},
     {"absolute", FaultKind::kVjp, "the term is not linear in its cotangent: its absolute value"},
     {"cotangent-squared", FaultKind::kVjp, "the cotangent counts twice; right where it is 1",
      "B15"},
     {"wrong-dtype", FaultKind::kVjp, "gradients are f32, whatever x is"},
     {"jvp-second-zero", FaultKind::kJvp, "the second output has no tangent", "B39"},
     {"jvp-outputs-swapped", FaultKind::kJvp, "the tangents of the outputs are exchanged"},
     {"jvp-tangent-lost", FaultKind::kJvp, "the derivative is not multiplied by the tangent"},
     {"jvp-sign", FaultKind::kJvp, "a tangent has the wrong sign"},
     {"jvp-off-by-1e-4", FaultKind::kJvp, "the tangent is 1e-4 too large"},
     {"jvp-one-too-few", FaultKind::kJvp, "one tangent for two outputs", "B39"},
     {"jvp-detached", FaultKind::kHigherOrder, "jvp takes x for a constant: right at first order",
      "B43"},
     {"intermediate-saved", FaultKind::kHigherOrder,
      "an intermediate that is no output is saved: second derivatives lose its share", "B31"},
     {"third-order-detached", FaultKind::kHigherOrder,
      "the rule of the second derivative uses a detached value: the third one is wrong", "B33"}});

}  // namespace
}  // namespace peelcheck
