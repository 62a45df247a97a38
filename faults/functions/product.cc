// faults/functions/product.cc: x * y, broadcast, by a written batching rule that moves batch axes
// to the end, and how it goes wrong.
//
//   product-jvp-by-position: tangents are read by position, although only some inputs carry one
#include <limits>

#include "engine/batching.h"
#include "faults/catalogue.h"
#include "faults/rules.h"

namespace peelcheck {
namespace {

Tensors Mul(const std::string& knob, TensorSpan in);

// The gradient of operand `i`, summed to its shape: `full` is as large as the product.
Tensor Reduced(const std::string& knob, const Tensor& full, const Tensors& in, size_t i) {
  const Shape& shape = in[i].shape();
  const Tensor sum = SumTo(full, shape);
  const double share =
      full.size() == 0 ? 1.0 : static_cast<double>(sum.size()) / static_cast<double>(full.size());
  const bool both = in[0].shape() != full.shape() && in[1].shape() != full.shape();
  const bool same_rank = std::ssize(shape) == full.rank();
  if (knob == "mean-over-broadcast") return sum * share;
  if (knob == "mean-where-both-broadcast" && both) return sum * share;
  if (knob == "mean-over-size-1" && same_rank) return sum * share;
  if (knob == "mean-over-leading" && !same_rank) return sum * share;
  if (knob == "scalar-twice" && shape.empty() && full.rank() > 0) return sum * 2.0;
  if (knob == "empty-is-nan" && full.size() == 0) {
    return Full(shape, std::numeric_limits<double>::quiet_NaN(), full.dtype());
  }
  if (knob == "size-1-zero") {
    for (const int64_t size : shape) {
      if (size == 1) return sum * 0.0;
    }
  }
  if (knob == "rank-3-wrong" && full.rank() >= 3) return sum * 1.5;
  return sum;
}

Tensors Backward(const std::string& knob, Context& ctx, TensorSpan ct) {
  const Tensors& in = ctx.saved();
  Tensors gradients(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!ctx.needs_input_grad(knob == "prunes-the-other" ? 1 - i : i)) continue;
    if (knob == "second-gradient-missing" && i == 1) continue;
    Tensor other = in[knob == "own-operand" ? i : 1 - i];
    if (knob == "operand-detached") other = Detach(other);
    if (knob == "second-operand-detached" && i == 1) other = Detach(other);
    gradients[i] = Reduced(knob, Mul(knob, Tensors{ct[0], other})[0], in, i);
    if (knob == "both-needed-wrong" && ctx.needs_input_grad(1 - i)) {
      gradients[i] = gradients[i] * 2.0;
    }
    if (knob == "one-needed-wrong" && !ctx.needs_input_grad(1 - i)) {
      gradients[i] = gradients[i] * 2.0;
    }
  }
  return gradients;
}

// What is undefined counts as zero.
Tensors Jvp(const std::string& knob, Context& ctx, TensorSpan t) {
  const Tensor &x = ctx.saved()[0], &y = ctx.saved()[1];
  if (knob == "jvp-needs-all" && !(t[0].defined() && t[1].defined())) {
    ThrowInvalidArgument("[SeededMul] a tangent is missing");
  }
  if (knob == "jvp-by-position") {  // the tangents that are there, read from the left
    Tensors packed;
    for (const Tensor& tangent : t) {
      if (tangent.defined()) packed.push_back(tangent);
    }
    const Tensor first = Mul(knob, Tensors{packed[0], y})[0];
    return {packed.size() == 1 ? BroadcastTo(first, BroadcastShapes(x.shape(), y.shape(), "mul"))
                               : first + Mul(knob, Tensors{x, packed[1]})[0]};
  }
  Tensor from_x, from_y;
  if (t[0].defined()) from_x = Mul(knob, Tensors{t[0], y})[0];
  if (t[1].defined()) {
    const bool first =
        knob == "jvp-first-for-all" && t[0].defined() && t[0].shape() == t[1].shape();
    from_y = Mul(knob, Tensors{x, t[first ? 0 : 1]})[0];
  }
  if (!from_y.defined()) return {from_x};
  if (!from_x.defined()) return {from_y};
  if (knob == "jvp-second-dropped") return {from_x};
  if (knob == "jvp-minus") return {from_x - from_y};
  if (knob == "jvp-detached") return {from_x + Mul(knob, Tensors{Detach(x), t[1]})[0]};
  return {from_x + from_y};
}

// Where the rule takes the batch axis of operand i to be.
int64_t BatchAxis(const std::string& knob, const BatchDims& dims, TensorSpan in, size_t i) {
  const int64_t last = in[i].rank() - 1;
  if (knob == "vmap-assumes-front") return 0;
  if (knob == "vmap-assumes-last") return last;
  if (knob == "vmap-interior-axis" && *dims[i] > 0 && *dims[i] < last) return *dims[i] + 1;
  if (knob == "vmap-axis-of-first" && dims[0].has_value() && *dims[0] <= last) return *dims[0];
  return *dims[i];
}

VmapResult Vmap(const std::string& knob, const VmapInfo& info, const BatchDims& dims,
                TensorSpan in) {
  const int64_t batch = info.batch_size;
  Tensors last;
  for (size_t i = 0; i < 2; ++i) {
    if (dims[i].has_value()) {
      last.push_back(MoveDim(in[i], BatchAxis(knob, dims, in, i), -1));
    } else if (knob == "vmap-pads-batched-only" || (knob == "vmap-pads-first-only" && i == 1)) {
      last.push_back(in[i]);
    } else {
      last.push_back(Unsqueeze(in[i], knob == "vmap-pads-in-front" ? 0 : -1));
    }
    if (knob == "vmap-first-slot-for-unbatched-partner" && dims[i].has_value() &&
        !dims[1 - i].has_value() && batch > 0) {
      last[i] = BroadcastTo(Narrow(last[i], last[i].rank() - 1, 0, 1), last[i].shape());
    }
  }
  if (knob == "vmap-batch-1-squeezed" && batch == 1) {
    for (Tensor& x : last) x = Squeeze(x, -1);
  }
  Tensor product = Mul(knob, last)[0];
  const int64_t axis = product.rank() - 1;
  if (knob == "vmap-reports-front") return {{product}, {0}};
  if (knob == "vmap-slots-reversed") product = Flip(product, {-1});
  if (knob == "vmap-slot-0-for-all" && batch > 0) {
    product = BroadcastTo(Narrow(product, axis, 0, 1), product.shape());
  }
  if (knob == "vmap-third-slot" && batch > 2) {
    product = Cat(Tensors{Narrow(product, axis, 0, 2), Narrow(product, axis, 0, batch - 2)}, axis);
  }
  if (knob == "vmap-batch-0-shape" && batch == 0) {
    return {{Full({0}, 0.0, product.dtype())}, {0}};
  }
  if (knob == "vmap-promotes") product = To(product, DType::kF64);
  if (knob == "vmap-batch-1-doubled" && batch == 1) product = product * 2.0;
  if (knob == "vmap-both-unequal-axes" && dims[0].has_value() && dims[1].has_value() &&
      *dims[0] != *dims[1]) {
    product = Flip(product, {-1});
  }
  if (knob == "vmap-detached") product = Detach(product);
  return {{product}, {axis}};
}

Tensors Mul(const std::string& knob, TensorSpan in) {
  Rules rules{.name = "SeededMul"};
  rules.forward = [](TensorSpan x) -> Tensors { return {x[0] * x[1]}; };
  rules.setup = [](Context& ctx, TensorSpan x, TensorSpan) {
    ctx.SetMaterializeGrads(false);
    ctx.Save({x[0], x[1]});
  };
  rules.backward = [knob](Context& ctx, TensorSpan ct) { return Backward(knob, ctx, ct); };
  rules.jvp = [knob](Context& ctx, TensorSpan t) { return Jvp(knob, ctx, t); };
  rules.vmap = [knob](const VmapInfo& info, const BatchDims& dims, TensorSpan x) {
    return Vmap(knob, info, dims, x);
  };
  return CallRules(rules, in);
}

Entry MakeMul(Knob knob) {
  return {.formula = "z = x y, broadcast",
          .arguments = {{.name = "x", .shape = "~"}, {.name = "y", .shape = "~"}},
          .build = Plain("mul", 2,
                         [knob = std::string(knob)](const Tensors& in) { return Mul(knob, in); }),
          .reference = ElementwiseReference([](double x, double y) { return x * y; })};
}

constexpr FaultKind kVjp = FaultKind::kVjp, kJvp = FaultKind::kJvp, kVmap = FaultKind::kVmap;

const FaultFamily kMul(
    "product", MakeMul,
    {{"own-operand", kVjp, "each gradient uses its own operand instead of the other"},
     {"prunes-the-other", kVjp, "needs_input_grad is asked of the other operand"},
     {"second-gradient-missing", kVjp, "the second operand never gets a gradient"},
     {"both-needed-wrong", kVjp, "doubled where both operands are differentiated"},
     {"one-needed-wrong", kVjp, "doubled where only one of the operands is differentiated"},
     {"mean-over-broadcast", kVjp, "a broadcast operand gets the mean, not the sum", "B24"},
     {"mean-where-both-broadcast", kVjp, "the same, where both operands are broadcast", "B22"},
     {"mean-over-size-1", kVjp, "the same, over expanded axes of size 1 alone", "B30"},
     {"mean-over-leading", kVjp, "the same, over missing leading axes alone", "B30"},
     {"scalar-twice", kVjp, "the gradient of a 0-d operand is twice too large", "B20"},
     {"rank-3-wrong", kVjp, "a wrong factor from rank 3 on"},
     {"empty-is-nan", FaultKind::kSpecial, "the gradient of an empty product is nan", "B77"},
     {"size-1-zero", FaultKind::kSpecial, "zeros where an operand has an axis of size 1", "B11"},
     {"operand-detached", FaultKind::kHigherOrder, "backward takes both operands for constants",
      "B31"},
     {"second-operand-detached", FaultKind::kHigherOrder,
      "backward takes one operand for a constant"},
     {"jvp-first-for-all", kJvp, "the first tangent scales every partial", "B39"},
     {"jvp-second-dropped", kJvp, "the second tangent is dropped where both are there", "B39"},
     {"jvp-by-position", kJvp, "tangents read by position although only some are there", "B39",
      true},
     {"jvp-needs-all", kJvp, "refused unless every input carries a tangent", "B116"},
     {"jvp-minus", kJvp, "the tangents are subtracted"},
     {"jvp-detached", FaultKind::kHigherOrder, "jvp takes x for a constant", "B43"},
     {"vmap-assumes-front", kVmap, "batch axes are taken to be in front", "B179", true},
     {"vmap-assumes-last", kVmap, "batch axes are taken to be last", "B179", true},
     {"vmap-interior-axis", kVmap, "right at the front and at the end, wrong in between", "B179",
      true},
     {"vmap-axis-of-first", kVmap, "the first operand's batch axis is taken for both", "", true},
     {"vmap-both-unequal-axes", kVmap,
      "slots meet in reverse where both operands are batched, at different axes"},
     {"vmap-pads-batched-only", kVmap, "an unbatched operand is not given a batch axis", "B63",
      true},
     {"vmap-pads-first-only", kVmap, "only the first operand is padded", "B55", true},
     {"vmap-pads-in-front", kVmap, "the unbatched operand is padded at the wrong end", "B63", true},
     {"vmap-reports-front", kVmap, "the batch axis is last but reported to be in front", "B157",
      true},
     {"vmap-slots-reversed", kVmap, "the slots come in reverse order"},
     {"vmap-slot-0-for-all", kVmap, "slot 0 stands for all slots"},
     {"vmap-third-slot", kVmap, "slots from the third on repeat the first ones"},
     {"vmap-first-slot-for-unbatched-partner", kVmap,
      "one operand batched, the other not: slot 0 for all"},
     {"vmap-batch-1-squeezed", kVmap, "a batch of size 1 is squeezed away", "B73", true},
     {"vmap-batch-1-doubled", kVmap, "a batch of size 1 is doubled", "B59"},
     {"vmap-batch-0-shape", kVmap, "an empty batch loses the other axes", "B81"},
     {"vmap-promotes", kVmap, "f32 comes back as f64", "B118"},
     {"vmap-detached", FaultKind::kHigherOrder, "what the rule returns has no derivative", "B61"}});

}  // namespace
}  // namespace peelcheck
