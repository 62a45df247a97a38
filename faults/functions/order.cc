// faults/functions/order.cc: (sorted x, its order, the inverse) along a dim, and a gather by any
// index: what goes wrong with permutations, repeated indices and integer outputs.
//
//   sort-unsorted: what PyTorch's own NumpySort returns
#include "engine/batching.h"
#include "faults/catalogue.h"
#include "faults/rules.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

Tensors SortBy(const std::string& knob, int64_t dim, const Tensor& input) {
  Rules rules{.name = "SeededSort"};
  rules.forward = [=](TensorSpan in) -> Tensors {
    const int64_t axis = WrapDim(dim, in[0].rank(), "sort");
    const Tensor order = Argsort(in[0], axis, knob == "descending");
    const Tensor inverse = knob == "inverse-is-order" ? order : Argsort(order, axis);
    return {knob == "unsorted" ? Clone(in[0]) : Gather(in[0], axis, order), order, inverse};
  };
  rules.setup = [](Context& ctx, TensorSpan, TensorSpan out) {
    ctx.MarkNonDifferentiable(out[1]);
    ctx.MarkNonDifferentiable(out[2]);
    ctx.Save({out[1], out[2]});
  };
  rules.backward = [=](Context& ctx, TensorSpan ct) -> Tensors {
    if (knob == "vjp-by-order") return {Gather(ct[0], dim, ctx.saved()[0])};
    if (knob == "vjp-passed-on") return {Clone(ct[0])};
    if (knob == "vjp-axis-0" && ct[0].rank() > 0) return {Gather(ct[0], 0, ctx.saved()[1])};
    return {Gather(ct[0], dim, ctx.saved()[1])};
  };
  rules.jvp = [=](Context& ctx, TensorSpan t) -> Tensors {
    const Tensor& order = ctx.saved()[knob == "jvp-by-inverse" ? 1 : 0];
    return {Gather(t[0], dim, order), Tensor(), Tensor()};
  };
  rules.vmap = [=](const VmapInfo&, const BatchDims& dims, TensorSpan in) -> VmapResult {
    const int64_t rank = LogicalRank(in[0], dims[0]);
    const Tensor x = BatchToFront(in[0], dims[0]);
    int64_t axis = WrapDim(dim, rank, "sort") + 1;
    if (knob == "vmap-negative-dim" && dim < 0 && rank > 0) axis = dim + rank;
    if (knob == "vmap-dim-not-moved" && dim >= 0) axis = dim;
    Tensors outputs = SortBy(knob, axis, rank == 0 ? Unsqueeze(x, 1) : x);
    for (Tensor& output : outputs) output = rank == 0 ? Squeeze(output, 1) : output;
    if (knob == "vmap-dims-of-first") return {std::move(outputs), {0, std::nullopt, 0}};
    return {std::move(outputs), {0}};
  };
  return CallRules(rules, {input});
}

std::vector<Array> SortReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
  // By counting: all values of a line differ.
  const auto place = [&](const Index& at, double value) {
    const std::vector<double> line = Line(x, at, dim);
    return std::count_if(line.begin(), line.end(), [&](double v) { return v < value; });
  };
  const auto source = [&](const Index& at) {
    const std::vector<double> line = Line(x, at, dim);
    const int64_t wanted = x.rank() == 0 ? 0 : at[dim];
    size_t i = 0;
    while (place(at, line[i]) != wanted) ++i;
    return i;
  };
  return {FromIndices(x.dtype(), x.shape(),
                      [&](const Index& at) { return Line(x, at, dim)[source(at)]; }),
          FromIndices(DType::kI64, x.shape(),
                      [&](const Index& at) { return static_cast<double>(source(at)); }),
          FromIndices(DType::kI64, x.shape(),
                      [&](const Index& at) { return static_cast<double>(place(at, At(x, at))); })};
}

Entry MakeSort(Knob knob) {
  return {.formula = "values = x in order along dim, its order and the inverse",
          .arguments = {{.name = "x",
                         .domain = {.low = -50, .high = 50, .margin = 0.05, .distinct = true}}},
          .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
          .build = WithAttributes("sort", 1, {"dim"},
                                  [knob = std::string(knob)](const Attributes& attributes) {
                                    const int64_t dim = RequireInt(attributes, "dim", "sort");
                                    return
                                        [=](const Tensors& in) { return SortBy(knob, dim, in[0]); };
                                  }),
          .reference = SortReference};
}

Tensors GatherBy(const std::string& knob, int64_t dim, const Tensor& input, const Tensor& index) {
  Rules rules{.name = "SeededGather"};
  rules.forward = [=](TensorSpan in) -> Tensors { return {IndexSelect(in[0], dim, in[1])}; };
  rules.setup = [](Context& ctx, TensorSpan in, TensorSpan) {
    ctx.Save({in[1]});
    ctx.Set("shape", in[0].shape());
  };
  rules.backward = [=](Context& ctx, TensorSpan ct) -> Tensors {
    const Tensor& at = ctx.saved()[0];
    const Shape& shape = ctx.Get<Shape>("shape");
    const int64_t rank = std::ssize(shape);
    const int64_t axis = knob == "vjp-axis-0" ? 0 : WrapDim(dim, rank, "gather");
    Dims line(static_cast<size_t>(rank), 1);
    line[static_cast<size_t>(axis)] = at.dim(0);
    const auto scatter = [&](const Tensor& source) {
      const Dims wide(source.shape().begin(), source.shape().end());
      return ScatterAdd(Full(shape, 0.0, source.dtype()), axis, Expand(Reshape(at, line), wide),
                        source);
    };
    const Tensor sum = scatter(ct[0]);
    if (knob == "vjp-repeats-averaged") {
      return {sum / Maximum(scatter(OnesLike(ct[0])), OnesLike(sum)), Tensor()};
    }
    if (knob == "vjp-repeats-dropped") {
      const Tensor once = Le(scatter(OnesLike(ct[0])), OnesLike(sum));
      return {Where(once, sum, ZerosLike(sum)), Tensor()};
    }
    if (knob == "vjp-unused-rows-nan")
      return {sum / scatter(OnesLike(ct[0])) * scatter(OnesLike(ct[0])), Tensor()};
    if (knob == "vjp-index-gets-gradient") return {sum, Sum(ct[0])};
    return {sum, Tensor()};
  };
  rules.jvp = [=](Context& ctx, TensorSpan t) -> Tensors {
    if (knob == "jvp-index-reversed") return {IndexSelect(t[0], dim, Flip(ctx.saved()[0], {0}))};
    return {IndexSelect(t[0], dim, ctx.saved()[0])};
  };
  return CallRules(rules, {input, index});
}

Entry MakeGather(Knob knob) {
  return {.formula = "y = x[index] along dim, repeats allowed",
          .arguments = {{.name = "x", .shape = "... n"},
                        {.name = "index",
                         .shape = "k",
                         .kind = ValueKind::kIndex,
                         .of = 0,
                         .dim_attribute = "dim"}},
          .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
          .allows_empty = false,
          .build = WithAttributes(
              "gather", 2, {"dim"}, [knob = std::string(knob)](const Attributes& attributes) {
                const int64_t dim = RequireInt(attributes, "dim", "gather");
                return [=](const Tensors& in) { return GatherBy(knob, dim, in[0], in[1]); };
              })};
}

constexpr FaultKind kVjp = FaultKind::kVjp, kJvp = FaultKind::kJvp, kVmap = FaultKind::kVmap;

const FaultFamily kSort(
    "ordered", MakeSort,
    {{"unsorted", FaultKind::kValue, "the values come back as they were, not in order",
      "PyTorch autograd_function_db: NumpySortAutogradFunction"},
     {"descending", FaultKind::kValue, "largest first"},
     {"inverse-is-order", FaultKind::kContext, "the order is returned for its inverse, and saved"},
     {"vjp-by-order", kVjp, "backward takes the order where it needs the inverse"},
     {"vjp-passed-on", kVjp, "the cotangent is passed on unsorted"},
     {"vjp-axis-0", kVjp, "backward gathers along axis 0, whatever dim is", "B3", true},
     {"jvp-by-inverse", kJvp, "jvp takes the inverse where it needs the order"},
     {"vmap-negative-dim", kVmap, "a negative dim is counted without the batch axis", "B67", true},
     {"vmap-dim-not-moved", kVmap, "dim is not moved past the batch axis", "", true},
     {"vmap-dims-of-first", kVmap, "one of the outputs is reported as not batched", "", true}});

const FaultFamily kGather(
    "indexed", MakeGather,
    {{"vjp-repeats-averaged", FaultKind::kSpecial, "rows that are read twice get the mean", "B139"},
     {"vjp-repeats-dropped", FaultKind::kSpecial, "rows that are read twice get nothing", "B141"},
     {"vjp-unused-rows-nan", FaultKind::kSpecial, "rows that are not read get nan", "B137"},
     {"vjp-axis-0", kVjp, "backward scatters along axis 0, whatever dim is", "B57", true},
     {"vjp-index-gets-gradient", kVjp, "backward returns a gradient for the index", "B120"},
     {"jvp-index-reversed", kJvp, "jvp reads the index backwards"}});

}  // namespace
}  // namespace peelcheck
