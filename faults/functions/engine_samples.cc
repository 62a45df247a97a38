// faults/functions/engine_samples.cc: right functions that show faults of engines for which the
// database has no entry: what a broken mechanism needs to be seen.
//
//   seeded-noise: a random function, which vmap must refuse unless it is told how to draw
#include "engine/ops.h"
#include "faults/catalogue.h"
#include "faults/rules.h"

namespace peelcheck {
namespace {

// x y + y of a vector against a matrix whose backward leaves the summing to the engine.
Entry MakeBroadcast(Knob) {
  return {.formula = "z = x y with gradients left over-broadcast",
          .arguments = {{.name = "x", .shape = "~"}, {.name = "y", .shape = "~"}},
          .build = Plain("seeded-broadcast", 2, [](const Tensors& in) {
            Rules rules{.name = "LeavesSumToEngine"};
            rules.forward = [](TensorSpan x) -> Tensors { return {x[0] * x[1]}; };
            rules.setup = [](Context& ctx, TensorSpan x, TensorSpan) { ctx.Save({x[0], x[1]}); };
            rules.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
              return {ct[0] * ctx.saved()[1], ct[0] * ctx.saved()[0]};
            };
            rules.jvp = [](Context& ctx, TensorSpan t) -> Tensors {
              return {t[0] * ctx.saved()[1] + ctx.saved()[0] * t[1]};
            };
            return CallRules(rules, in);
          })};
}

// (2x, x marked non-differentiable): the second output counts for nothing.
Entry MakeMarkedOutput(Knob) {
  return {.formula = "y = 2x, z = x^2 of which no derivative is taken",
          .arguments = {{.name = "x"}},
          .build = Plain("seeded-marked-output", 1,
                         [](const Tensors& in) {
                           Rules rules{.name = "MarkedOutput"};
                           rules.forward = [](TensorSpan x) -> Tensors {
                             return {2.0 * x[0], Square(x[0])};
                           };
                           rules.setup = [](Context& ctx, TensorSpan x, TensorSpan out) {
                             ctx.MarkNonDifferentiable(out[1]);
                             ctx.Save({x[0]});
                           };
                           rules.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
                             return {2.0 * ct[0] + 2.0 * ct[1] * ctx.saved()[0]};
                           };
                           rules.jvp = [](Context&, TensorSpan t) -> Tensors {
                             return {2.0 * t[0], Tensor()};
                           };
                           return CallRules(rules, in);
                         }),
          .surrogate = Plain("seeded-marked-output#surrogate", 1, [](const Tensors& in) -> Tensors {
            return {2.0 * in[0], ZerosLike(in[0])};
          })};
}

// Draws from a fixed stream: what counts is only that it is random to vmap, in backward too.
Tensors Noise(TensorSpan in) {
  Rules rules{.name = "Noise"};
  rules.forward = [](TensorSpan x) -> Tensors { return {1.5 * x[0]}; };
  rules.backward = [](Context&, TensorSpan ct) { return Noise(ct); };
  rules.once_differentiable = true;
  rules.vmap = [](const VmapInfo& info, const BatchDims& dims, TensorSpan x) -> VmapResult {
    if (info.randomness == Randomness::kError) {
      ThrowFailedPrecondition(
          "[Noise] is random and vmap was not told how to draw; pass randomness `same` or "
          "`different`");
    }
    return {{1.5 * x[0]}, {dims[0]}};
  };
  return CallRules(rules, in);
}

Entry MakeNoise(Knob) {
  return {.formula = "y = x u with random u",
          .arguments = {{.name = "x"}},
          .build = Plain("seeded-noise", 1, [](const Tensors& in) { return Noise(in); }),
          .composable = false};
}

// sin(x) + w cos(x): x and w change places between the lists for backward and for forward.
Entry MakeTwoSaves(Knob) {
  return {.formula = "y = w sin(x)",
          .arguments = {{.name = "x", .shape = "n m"}, {.name = "w", .shape = "n m"}},
          .build = Plain("seeded-two-saves", 2, [](const Tensors& in) {
            Rules rules{.name = "TwoSaves"};
            rules.forward = [](TensorSpan x) -> Tensors { return {x[1] * Sin(x[0])}; };
            rules.setup = [](Context& ctx, TensorSpan x, TensorSpan) {
              ctx.SaveForBackward({x[0], x[1]});
              ctx.SaveForForward({x[1], x[0]});
            };
            rules.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
              const Tensor &x = ctx.saved()[0], &w = ctx.saved()[1];
              return {ct[0] * w * Cos(x), ct[0] * Sin(x)};
            };
            rules.jvp = [](Context& ctx, TensorSpan t) -> Tensors {
              const Tensor &w = ctx.saved()[0], &x = ctx.saved()[1];
              return {t[0] * w * Cos(x) + t[1] * Sin(x)};
            };
            return CallRules(rules, in);
          })};
}

// (x w, w^2): where only x is batched the second output is shared by all slots.
Entry MakeSharedOutput(Knob) {
  return {.formula = "y = x w, z = w^2",
          .arguments = {{.name = "x"}, {.name = "w"}},
          .build = Plain("seeded-shared-output", 2, [](const Tensors& in) {
            Rules rules{.name = "SharedOutput"};
            rules.forward = [](TensorSpan x) -> Tensors { return {x[0] * x[1], Square(x[1])}; };
            rules.setup = [](Context& ctx, TensorSpan x, TensorSpan) { ctx.Save({x[0], x[1]}); };
            rules.backward = [](Context& ctx, TensorSpan ct) -> Tensors {
              const Tensor &x = ctx.saved()[0], &w = ctx.saved()[1];
              return {ct[0] * w, ct[0] * x + 2.0 * ct[1] * w};
            };
            rules.jvp = [](Context& ctx, TensorSpan t) -> Tensors {
              const Tensor &x = ctx.saved()[0], &w = ctx.saved()[1];
              // The second one of w alone: an output that is not batched has no batched tangent.
              return {t[0] * w + x * t[1], 2.0 * t[1] * w};
            };
            return CallRules(rules, in);
          })};
}

const FaultFamily kBroadcast("seeded-broadcast", MakeBroadcast, {});
const FaultFamily kMarked("seeded-marked-output", MakeMarkedOutput, {});
const FaultFamily kNoise("seeded-noise", MakeNoise, {});
const FaultFamily kTwoSaves("seeded-two-saves", MakeTwoSaves, {});
const FaultFamily kShared("seeded-shared-output", MakeSharedOutput, {});

}  // namespace
}  // namespace peelcheck
