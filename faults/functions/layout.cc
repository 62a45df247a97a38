// faults/functions/layout.cc: an opaque function that reads memory itself, on transposed, sliced
// and expanded operands, and one that writes in place.
//
//   layout-strides-ignored: elements are read in the order in which they lie in memory
#include <algorithm>
#include <cmath>

#include "engine/batching.h"
#include "faults/catalogue.h"
#include "faults/rules.h"

namespace peelcheck {
namespace {

// The elements in row-major order, as the knob thinks that they lie. Reads stay in the storage.
Array Read(const std::string& knob, const Array& x) {
  if (x.size() == 0) return x.Contiguous();
  const int64_t stored = x.storage()->bytes() / ItemSize(x.dtype());
  const bool expanded = std::find(x.strides().begin(), x.strides().end(), 0) != x.strides().end();
  Array result = x.Copy();
  const auto from = [&](int64_t offset) {
    const Array all = x.Strided({stored}, {1}, -x.offset());
    for (int64_t i = 0; i < x.size(); ++i) {
      result.SetDouble(i, all.DoubleAt((offset + i) % stored));
    }
  };
  if (knob == "strides-ignored" && !expanded) from(x.offset());
  if (knob == "expanded-as-dense" && expanded) from(x.offset());
  if (knob == "offset-ignored") {
    const Array moved = x.Strided(x.shape(), x.strides(), -x.offset());
    return moved.Copy();
  }
  if (knob == "rank-3-strides" && x.rank() >= 3) from(x.offset());
  if (knob == "rows-of-other-stride" && !x.is_contiguous() && x.rank() > 1) {
    for (int64_t i = x.size() / x.dim(0); i < x.size(); ++i) result.SetDouble(i, x.DoubleAt(0));
  }
  return result;
}

Tensor Opaque(const std::string& knob, const Tensor& x, double (*f)(double)) {
  const Array from = Read(knob, x.array());
  Array to = Array::Empty(from.dtype(), from.shape());
  for (int64_t i = 0; i < from.size(); ++i) to.SetDouble(i, f(from.DoubleAt(i)));
  return Tensor::FromArray(to);
}

// f of x, whose derivative is opaque too: sin, cos, -sin, ..
Tensors Opaque(const std::string& knob, int order, const Tensor& input) {
  static constexpr double (*kWaves[])(double) = {
      [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); },
      [](double x) { return -std::sin(x); }, [](double x) { return -std::cos(x); }};
  Rules rules{.name = "SeededOpaque"};
  rules.forward = [=](TensorSpan in) -> Tensors {
    return {Opaque(knob, in[0], kWaves[order % 4])};
  };
  rules.setup = [](Context& ctx, TensorSpan in, TensorSpan) { ctx.Save({in[0]}); };
  rules.backward = [=](Context& ctx, TensorSpan ct) -> Tensors {
    return {ct[0] * Opaque(knob, order + 1, ctx.saved()[0])[0]};
  };
  rules.jvp = [=](Context& ctx, TensorSpan t) -> Tensors {
    return {t[0] * Opaque(knob, order + 1, ctx.saved()[0])[0]};
  };
  rules.vmap = [=](const VmapInfo&, const BatchDims& dims, TensorSpan in) -> VmapResult {
    return {Opaque(knob, order, in[0]), {dims[0]}};
  };
  return CallRules(rules, {input});
}

Entry MakeLayout(Knob knob) {
  return {.formula = "sin of a transposed slice of x, and of x expanded",
          .arguments = {{.name = "x", .shape = "n m"}, {.name = "w", .shape = "m"}},
          .allows_empty = false,
          .build = Plain("layout", 2, [knob = std::string(knob)](const Tensors& in) -> Tensors {
            const Tensor& x = in[0];
            const Tensor part = x.dim(0) > 1 ? Narrow(x, 0, 1, x.dim(0) - 1) : x;
            const Tensor wide = Expand(in[1], {3, in[1].dim(0)});
            const Tensor cube = Permute(Reshape(x, {x.dim(0), x.dim(1), 1}), {2, 1, 0});
            return {Opaque(knob, 0, Transpose(part, 0, 1))[0], Opaque(knob, 0, wide)[0],
                    Opaque(knob, 0, cube)[0]};
          })};
}

Tensors ExpOver(const std::string& knob, const Tensor& input) {
  Rules rules{.name = "SeededExpInPlace"};
  rules.forward = [knob](TensorSpan in) -> Tensors {
    if (knob == "writes-a-copy") return {Exp(in[0])};
    if (knob == "first-row-only" && in[0].rank() > 0 && in[0].dim(0) > 1) {
      ExpInPlace(Narrow(in[0], 0, 0, 1));
      return {in[0]};
    }
    return {ExpInPlace(in[0])};
  };
  rules.setup = [knob](Context& ctx, TensorSpan in, TensorSpan out) {
    if (knob != "not-marked" && knob != "writes-a-copy") ctx.MarkDirty(in[0]);
    ctx.Save({out[0]});
  };
  rules.backward = [knob](Context& ctx, TensorSpan ct) -> Tensors {
    if (knob == "exp-of-what-was-written") return {ct[0] * Exp(ctx.saved()[0])};
    return {ct[0] * ctx.saved()[0]};
  };
  rules.jvp = [knob](Context& ctx, TensorSpan t) -> Tensors {
    if (knob == "jvp-tangent-kept") return {Clone(t[0])};
    return {t[0] * ctx.saved()[0]};
  };
  return CallRules(rules, {input});
}

Entry MakeExpOver(Knob knob) {
  return {.formula = "y = e^x written over a clone of x",
          .arguments = {{.name = "x"}},
          .build = Plain("over", 1,
                         [knob = std::string(knob)](const Tensors& in) -> Tensors {
                           const Tensor x = Clone(in[0]);
                           ExpOver(knob, x);
                           return {x};
                         }),
          .reference = ElementwiseReference([](double x) { return std::exp(x); })};
}

constexpr FaultKind kLayout = FaultKind::kLayout, kInPlace = FaultKind::kInPlace;

const FaultFamily kReads(
    "layout", MakeLayout,
    {{"strides-ignored", kLayout, "a transposed operand is read as if it were contiguous", "B147"},
     {"offset-ignored", kLayout, "a slice is read from the start of its storage"},
     {"expanded-as-dense", kLayout, "a stride-0 operand is read as if it were dense", "B88"},
     {"rank-3-strides", kLayout, "strides are obeyed up to rank 2 alone"},
     {"rows-of-other-stride", kLayout, "row 0 is right, the others use a wrong stride", "B149"}});

const FaultFamily kWrites("over", MakeExpOver,
                          {{"not-marked", kInPlace, "mark_dirty is forgotten", "B90"},
                           {"writes-a-copy", kInPlace, "the caller's tensor is not written", "B86"},
                           {"first-row-only", kInPlace, "one row of a view is written", "B82"},
                           {"exp-of-what-was-written", kInPlace,
                            "backward reads the input after it was overwritten", "B84"},
                           {"jvp-tangent-kept", kInPlace, "the tangent of the old value is kept",
                            "B94"}});

}  // namespace
}  // namespace peelcheck
