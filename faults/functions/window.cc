// faults/functions/window.cc: x[start::step] along axis 0 and a split in two pieces: where
// cotangents land.
//
//   window-vjp-contiguous: backward writes one run of rows, right where step is 1
#include "engine/batching.h"
#include "faults/catalogue.h"
#include "faults/rules.h"
#include "opinfo_db/ops/build.h"

namespace peelcheck {
namespace {

constexpr int64_t kRows = 7;

Tensors Window(const std::string& knob, int64_t start, int64_t step, const Tensor& input) {
  Rules rules{.name = "SeededWindow"};
  rules.forward = [=](TensorSpan in) -> Tensors { return {Slice(in[0], 0, start, kRows, step)}; };
  rules.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Set("shape", in[0].shape()); };
  rules.backward = [=](Context& ctx, TensorSpan ct) -> Tensors {
    Shape shape = ctx.Get<Shape>("shape");
    const int64_t rows = ct[0].dim(0);
    if (knob == "vjp-contiguous") return {Pad(ct[0], 0, start, kRows - start - rows)};
    Tensors pieces;
    shape[0] = 1;
    const Tensor zero = Full(shape, 0.0, ct[0].dtype());
    for (int64_t row = 0; row < kRows; ++row) {
      const bool read = row >= start && (row - start) % step == 0;
      const int64_t from = (row - start) / step;
      const int64_t taken = knob == "vjp-reversed" ? rows - 1 - from : from;
      pieces.push_back(read ? Narrow(ct[0], 0, taken, 1) : zero);
    }
    const Tensor gradient = Cat(pieces, 0);
    if (knob == "vjp-off-by-one") {
      return {Cat(Tensors{Narrow(gradient, 0, 1, kRows - 1), Narrow(gradient, 0, 0, 1)}, 0)};
    }
    if (knob == "vjp-step-3" && step == 3) return {gradient * 0.0};
    if (knob == "vjp-one-row" && rows == 1) return {gradient * 0.0};
    return {gradient};
  };
  rules.jvp = [=](Context&, TensorSpan t) -> Tensors {
    if (knob == "jvp-step-ignored") {
      const int64_t rows = (kRows - start + step - 1) / step;
      return {Narrow(t[0], 0, start, rows)};
    }
    return {Slice(t[0], 0, start, kRows, step)};
  };
  return CallRules(rules, {input});
}

Entry MakeWindow(Knob knob) {
  return {.formula = "y = x[start::step]",
          .arguments = {{.name = "x", .shape = "7 ..."}},
          .attributes = {{.name = "start", .choices = {0, 1, 4}},
                         {.name = "step", .choices = {1, 2, 3}}},
          .build = WithAttributes("window", 1, {"start", "step"},
                                  [knob = std::string(knob)](const Attributes& attributes) {
                                    const int64_t start = RequireInt(attributes, "start", "window");
                                    const int64_t step = RequireInt(attributes, "step", "window");
                                    return [=](const Tensors& in) {
                                      return Window(knob, start, step, in[0]);
                                    };
                                  })};
}

Tensors Split(const std::string& knob, const Tensor& input) {
  Rules rules{.name = "SeededSplit"};
  rules.forward = [](TensorSpan in) -> Tensors {
    return {Narrow(in[0], 0, 0, 3), Narrow(in[0], 0, 3, 4)};
  };
  rules.setup = [knob](Context& ctx, TensorSpan, TensorSpan) {
    if (knob == "undefined-as-defined") ctx.SetMaterializeGrads(false);
  };
  rules.backward = [knob](Context&, TensorSpan ct) -> Tensors {
    if (knob == "vjp-pieces-swapped") return {Cat(Tensors{ct[1], ct[0]}, 0)};
    if (knob == "vjp-second-lost") return {Pad(ct[0], 0, 0, 4)};
    return {Cat(ct, 0)};
  };
  rules.jvp = [knob](Context&, TensorSpan t) -> Tensors {
    if (knob == "jvp-same-start") return {Narrow(t[0], 0, 0, 3), Narrow(t[0], 0, 0, 4)};
    return {Narrow(t[0], 0, 0, 3), Narrow(t[0], 0, 3, 4)};
  };
  return CallRules(rules, {input});
}

// The first piece alone and both: an unused output has an undefined cotangent.
Entry MakeSplit(Knob knob) {
  return {.formula = "(a, b) = x[:3], x[3:], and the first piece of x^2 alone",
          .arguments = {{.name = "x", .shape = "7 ..."}},
          .build = Plain("split", 1, [knob = std::string(knob)](const Tensors& in) -> Tensors {
            const Tensors both = Split(knob, in[0]);
            return {both[0], both[1], Split(knob, Square(in[0]))[0]};
          })};
}

constexpr FaultKind kVjp = FaultKind::kVjp, kJvp = FaultKind::kJvp;

const FaultFamily kWindow(
    "window", MakeWindow,
    {{"vjp-contiguous", kVjp, "the cotangent is written to one run of rows; right for step 1",
      "B51"},
     {"vjp-reversed", kVjp, "the rows of the cotangent are written in reverse"},
     {"vjp-off-by-one", kVjp, "the gradient is one row too far up"},
     {"vjp-step-3", kVjp, "zeros for one value of an attribute alone", "B13"},
     {"vjp-one-row", FaultKind::kSpecial, "zeros where one row is read", "B51"},
     {"jvp-step-ignored", kJvp, "jvp reads neighbouring rows, whatever step is", "B143"}});

const FaultFamily kSplit(
    "pieces", MakeSplit,
    {{"vjp-pieces-swapped", kVjp, "the cotangents of two outputs are put together in reverse"},
     {"vjp-second-lost", kVjp, "the cotangent of the second output is not used"},
     {"undefined-as-defined", FaultKind::kContext, "backward reads a cotangent that is not there",
      "B114"},
     {"jvp-same-start", kJvp, "the second tangent starts where the first one does"}});

}  // namespace
}  // namespace peelcheck
