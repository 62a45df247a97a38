// faults/functions/centre.cc: x - mean(x) along a dim, by a written batching rule, and how it goes
// wrong: the faults of everything that has a dim.
//
//   centre-vmap-negative-dim: a dim that counts from the end is moved as if it counted from the
//   front
#include "engine/batching.h"
#include "faults/catalogue.h"
#include "faults/rules.h"
#include "opinfo_db/ops/build.h"

namespace peelcheck {
namespace {

Tensors Centre(const std::string& knob, int64_t dim, const Tensor& input) {
  const auto mean_of = [knob](const Tensor& x, int64_t axis) {
    if (x.rank() == 0) return x;
    return Mean(x, Dims{axis}, true);
  };
  Rules rules{.name = "SeededCentre"};
  rules.forward = [=](TensorSpan in) -> Tensors {
    if (knob == "mean-over-all") return {in[0] - Mean(in[0])};
    if (knob == "keepdim-lost" && in[0].rank() > 0) return {in[0] - Mean(in[0], Dims{dim})};
    return {in[0] - mean_of(in[0], dim)};
  };
  rules.backward = [=](Context&, TensorSpan ct) -> Tensors {
    const int64_t rank = ct[0].rank();
    if (knob == "vjp-mean-dropped") return {Clone(ct[0])};
    if (knob == "vjp-sum-for-mean" && rank > 0) return {ct[0] - Sum(ct[0], Dims{dim}, true)};
    if (knob == "vjp-axis-0" && rank > 0) return {ct[0] - mean_of(ct[0], 0)};
    if (knob == "vjp-last-axis" && rank > 0) return {ct[0] - mean_of(ct[0], -1)};
    if (knob == "vjp-keepdim-lost" && rank > 0) return {ct[0] - Mean(ct[0], Dims{dim})};
    if (knob == "vjp-negative-dim" && rank > 0 && dim < 0) return {ct[0] - mean_of(ct[0], 0)};
    if (knob == "vjp-size-1" && rank > 0 && ct[0].dim(WrapDim(dim, rank, "centre")) == 1) {
      return {Clone(ct[0])};
    }
    if (knob == "vjp-0-d" && rank == 0) return {Clone(ct[0])};
    return {ct[0] - mean_of(ct[0], dim)};
  };
  rules.jvp = [=](Context&, TensorSpan t) -> Tensors {
    if (knob == "jvp-mean-dropped") return {Clone(t[0])};
    if (knob == "jvp-axis-0" && t[0].rank() > 0) return {t[0] - mean_of(t[0], 0)};
    return {t[0] - mean_of(t[0], dim)};
  };
  rules.vmap = [=](const VmapInfo& info, const BatchDims& dims, TensorSpan in) -> VmapResult {
    const int64_t rank = LogicalRank(in[0], dims[0]);
    const Tensor x = BatchToFront(in[0], dims[0]);
    if (rank == 0) {
      if (knob == "vmap-0-d-means-over-batch") return {Centre(knob, 0, x), {0}};
      return {{x - x}, {0}};
    }
    int64_t axis = WrapDim(dim, rank, "centre") + 1;
    if (knob == "vmap-dim-not-moved" && dim >= 0) axis = dim;
    if (knob == "vmap-negative-dim" && dim < 0) axis = dim + 1;
    if (knob == "vmap-over-batch-too") return {{x - Mean(x, Dims{0, axis}, true)}, {0}};
    if (knob == "vmap-batch-1" && info.batch_size == 1) return {{Clone(x)}, {0}};
    if (knob == "vmap-moves-back-wrong") {
      return {{MoveDim(Centre(knob, axis, x)[0], 0, -1)}, {0}};
    }
    if (knob == "vmap-swaps-axes" && rank > 1) {
      return {Centre(knob, axis, Transpose(in[0], 0, *dims[0])), {0}};
    }
    return {Centre(knob, axis, x), {0}};
  };
  return CallRules(rules, {input});
}

Entry MakeCentre(Knob knob) {
  return {.formula = "y = (x - mean(x) along dim)^2",
          .arguments = {{.name = "x"}},
          .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
          .allows_empty = false,
          .build = WithAttributes(
              "centre", 1, {"dim"}, [knob = std::string(knob)](const Attributes& attributes) {
                const int64_t dim = RequireInt(attributes, "dim", "centre");
                return
                    [=](const Tensors& in) { return Tensors{Square(Centre(knob, dim, in[0])[0])}; };
              })};
}

constexpr FaultKind kVjp = FaultKind::kVjp, kJvp = FaultKind::kJvp, kVmap = FaultKind::kVmap;

const FaultFamily kCentre(
    "centre", MakeCentre,
    {{"mean-over-all", FaultKind::kVjp, "the mean is taken over all axes; the rules are right"},
     {"keepdim-lost", FaultKind::kVjp, "forward lines the mean up with the last axis", "", true},
     {"vjp-mean-dropped", kVjp, "backward forgets that the mean depends on x", "B5"},
     {"vjp-sum-for-mean", kVjp, "backward sums where it must average"},
     {"vjp-axis-0", kVjp, "backward averages over axis 0, whatever dim is", "B3", true},
     {"vjp-last-axis", kVjp, "backward averages over the last axis, whatever dim is", "B3", true},
     {"vjp-keepdim-lost", kVjp, "backward lines the mean up with the last axis", "", true},
     {"vjp-negative-dim", kVjp, "backward takes a negative dim for 0", "", true},
     {"vjp-size-1", FaultKind::kSpecial, "the cotangent is passed on where the axis has size 1",
      "B73"},
     {"vjp-0-d", FaultKind::kSpecial, "the cotangent is passed on for a 0-d input", "B75"},
     {"jvp-mean-dropped", kJvp, "jvp forgets that the mean depends on x", "B5"},
     {"jvp-axis-0", kJvp, "jvp averages over axis 0, whatever dim is", "B3", true},
     {"vmap-dim-not-moved", kVmap, "dim is not moved past the batch axis", "", true},
     {"vmap-negative-dim", kVmap, "a negative dim is moved as if it were none", "B67", true},
     {"vmap-over-batch-too", kVmap, "the batch is averaged over as well", "", true},
     {"vmap-0-d-means-over-batch", kVmap,
      "0-d: the only axis that is left is averaged over, the "
      "batch",
      "B73", true},
     {"vmap-batch-1", kVmap, "a batch of size 1 is passed on", "B73"},
     {"vmap-moves-back-wrong", kVmap, "the batch axis is moved to the end and reported in front",
      "B157", true},
     {"vmap-swaps-axes", kVmap, "the batch axis changes places with axis 0", "", true}});

}  // namespace
}  // namespace peelcheck
