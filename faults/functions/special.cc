// faults/functions/special.cc: smooth functions written in pieces, at the exact values where the
// pieces meet; and a function that remembers.
//
//   logaddexp-tie-counts-twice: right wherever x and y differ
#include <map>
#include <utility>

#include "engine/ops.h"
#include "faults/catalogue.h"
#include "faults/rules.h"

namespace peelcheck {
namespace {

// Values from a grid of 0.01 between -0.05 and 0.05: zeros and ties are common.
constexpr Domain kNearZero = {.low = -0.05, .high = 0.05};

Tensor Share(const Tensor& x, const Tensor& y) { return Sigmoid(x - y); }

Tensors LogAddExp(const std::string& knob, TensorSpan in) {
  Rules rules{.name = "SeededLogAddExp"};
  rules.forward = [](TensorSpan x) -> Tensors { return {x[1] + Softplus(x[0] - x[1])}; };
  rules.setup = [](Context& ctx, TensorSpan x, TensorSpan) { ctx.Save({x[0], x[1]}); };
  rules.backward = [knob](Context& ctx, TensorSpan ct) -> Tensors {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    Tensor to_x = ct[0] * Share(x, y), to_y = ct[0] * Share(y, x);
    if (knob == "tie-counts-twice") to_x = Where(Eq(x, y), ct[0], to_x);
    if (knob == "tie-counts-twice") to_y = Where(Eq(x, y), ct[0], to_y);
    if (knob == "tie-to-first") to_x = Where(Eq(x, y), ct[0], to_x);
    if (knob == "tie-to-first") to_y = Where(Eq(x, y), ZerosLike(x), to_y);
    if (knob == "tie-is-nan") to_x = to_x * (x - y) / (x - y);
    return {to_x, to_y};
  };
  rules.jvp = [knob](Context& ctx, TensorSpan t) -> Tensors {
    const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
    const Tensor sum = t[0] * Share(x, y) + t[1] * Share(y, x);
    if (knob == "jvp-tie-is-first") return {Where(Eq(x, y), t[0], sum)};
    return {sum};
  };
  return CallRules(rules, in);
}

Entry MakeLogAddExp(Knob knob) {
  return {.formula = "z = log(e^x + e^y)",
          .arguments = {{.name = "x", .domain = kNearZero}, {.name = "y", .domain = kNearZero}},
          .build = Plain("logaddexp", 2, [knob = std::string(knob)](const Tensors& in) {
            return LogAddExp(knob, in);
          })};
}

// 1 + x + x^2 / 2: smooth, with first and second derivative 1 at 0.
Tensors Smooth(const std::string& knob, const Tensor& input) {
  Rules rules{.name = "SeededSmooth"};
  rules.forward = [](TensorSpan in) -> Tensors { return {1.0 + in[0] + 0.5 * Square(in[0])}; };
  rules.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0]}); };
  rules.backward = [knob](Context& ctx, TensorSpan ct) -> Tensors {
    const Tensor& x = ctx.saved()[0];
    const Tensor zero = Eq(x, ZerosLike(x));
    const Tensor slope = 1.0 + x;
    if (knob == "zero-at-0") return {ct[0] * Where(zero, ZerosLike(x), slope)};
    if (knob == "second-zero-at-0") return {ct[0] * Where(zero, OnesLike(x), slope)};
    if (knob == "quotient-at-0") return {ct[0] * (x + Square(x)) / x};
    if (knob == "mask-multiplies") {  // 1/x of the branch that is never taken
      const Tensor taken = To(Gt(x, OnesLike(x)), x.dtype());
      return {ct[0] * (taken * Reciprocal(x) + slope)};
    }
    if (knob == "sign-at-0") return {ct[0] * slope * (1.0 - 2.0 * To(zero, x.dtype()))};
    if (knob == "negative-only") {
      return {ct[0] * Where(Lt(x, ZerosLike(x)), 0.9 * slope, slope)};
    }
    return {ct[0] * slope};
  };
  rules.jvp = [knob](Context& ctx, TensorSpan t) -> Tensors {
    const Tensor& x = ctx.saved()[0];
    if (knob == "jvp-zero-at-0") {
      return {t[0] * Where(Eq(x, ZerosLike(x)), ZerosLike(x), 1.0 + x)};
    }
    return {t[0] * (1.0 + x)};
  };
  return CallRules(rules, {input});
}

Entry MakeSmooth(Knob knob) {
  return {.formula = "y = 1 + x + x^2/2",
          .arguments = {{.name = "x", .domain = kNearZero}},
          .build = Plain("smooth", 1, [knob = std::string(knob)](const Tensors& in) {
            return Smooth(knob, in[0]);
          })};
}

// How often this thread has asked for a derivative, and the slopes that it has seen.
thread_local int64_t calls = 0;
thread_local std::map<std::pair<std::string, int>, Array> first_slopes;

Tensor Remembered(const std::string& knob, const Tensor& slope) {
  if (knob == "second-call" && ++calls % 2 == 0) return slope * 1.01;
  if (knob == "drifting") return slope * (1.0 + 1e-6 * static_cast<double>(++calls % 1000));
  if (knob == "cache-by-shape") {
    try {
      const Array& now = slope.array();
      const auto key = std::pair(ShapeToString(now.shape()), static_cast<int>(now.dtype()));
      return Tensor::FromArray(first_slopes.try_emplace(key, now.Copy()).first->second);
    } catch (const Error&) {
      return slope;  // not plain: nothing is kept
    }
  }
  return slope;
}

Entry MakeSine(Knob knob) {
  return {.formula = "y = sin x",
          .arguments = {{.name = "x"}},
          .build = Plain("remembering", 1, [knob = std::string(knob)](const Tensors& in) {
            Rules rules{.name = "SeededSine"};
            rules.forward = [](TensorSpan x) -> Tensors { return {Sin(x[0])}; };
            rules.setup = [](Context& ctx, TensorSpan x, TensorSpan) { ctx.Save({x[0]}); };
            rules.backward = [knob](Context& ctx, TensorSpan ct) -> Tensors {
              const Tensor& x = ctx.saved()[0];
              if (knob == "difference-for-derivative") {
                return {ct[0] * (Sin(x + 1e-4) - Sin(x)) * 1e4};
              }
              return {ct[0] * Remembered(knob, Cos(x))};
            };
            rules.jvp = [](Context& ctx, TensorSpan t) -> Tensors {
              return {t[0] * Cos(ctx.saved()[0])};
            };
            return CallRules(rules, in);
          })};
}

constexpr FaultKind kSpecial = FaultKind::kSpecial, kContext = FaultKind::kContext;

const FaultFamily kTies(
    "logaddexp", MakeLogAddExp,
    {{"tie-counts-twice", kSpecial, "at a tie each operand gets the whole cotangent", "B132"},
     {"tie-to-first", kSpecial, "at a tie the first operand gets all of it", "B132"},
     {"tie-is-nan", kSpecial, "at a tie a gradient is nan", "B126"},
     {"jvp-tie-is-first", kSpecial, "at a tie jvp follows the first operand", "B126"}});

const FaultFamily kPieces(
    "smooth", MakeSmooth,
    {{"zero-at-0", kSpecial, "the derivative is 0 at exactly 0", "B124, B128"},
     {"second-zero-at-0", FaultKind::kHigherOrder,
      "the derivative is a constant at exactly 0: the second one is lost there", "B130"},
     {"quotient-at-0", kSpecial, "nan at a removable singularity", "B130"},
     {"mask-multiplies", kSpecial, "an infinity in the branch not taken times 0 is nan",
      "B133, B137"},
     {"sign-at-0", kSpecial, "the sign is wrong at exactly 0"},
     {"negative-only", kSpecial, "a wrong factor for negative values alone"},
     {"jvp-zero-at-0", kSpecial, "the tangent is 0 at exactly 0", "B124"}});

const FaultFamily kMemory(
    "remembering", MakeSine,
    {{"second-call", kContext, "every second call of backward is 1% off", "B19, B106"},
     {"drifting", kContext, "backward reads and updates a hidden buffer", "B112"},
     {"cache-by-shape", kContext, "the first slope of a shape is kept for all later calls",
      "B19, B110"},
     {"difference-for-derivative", FaultKind::kVjp,
      "backward is a forward difference with a step of 1e-4", "B37"}});

}  // namespace
}  // namespace peelcheck
