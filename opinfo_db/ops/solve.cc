// opinfo_db/ops/solve.cc: A X = B for general A, and the inverse, which is the solution for B = I.
//
//   BuildOperation("solve", {})({a, b})   // [.., n, n], [.., n, k] -> [.., n, k]
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {
namespace {

// Leading axes broadcast, as those of matmul do.
class SolveFunction : public Function {
 public:
  std::string name() const override { return "solve"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(SolveArrays(in[0].array(), in[1].array()))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Set("b", in[1].shape());
    ctx.Save({in[0], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &a = ctx.saved()[0], &x = ctx.saved()[1];
    const Tensor b_gradient = Solve(MT(a), ct[0]);
    Tensors gradients(2);
    if (ctx.needs_input_grad(0)) gradients[0] = SumTo(-MatMul(b_gradient, MT(x)), a.shape());
    if (ctx.needs_input_grad(1)) gradients[1] = SumTo(b_gradient, ctx.Get<Shape>("b"));
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &a = ctx.saved()[0], &x = ctx.saved()[1];
    return {Solve(a, tangents[1] - MatMul(tangents[0], x))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), AlignForBroadcast(in, in_dims)), {0}};
  }
  bool has_vmap_rule() const override { return true; }
};

std::vector<Array> SolveReference(std::span<const Array> in, const Attributes&) {
  const Array &a = in[0], &b = in[1];
  return {FromMatrices(b.dtype(), BatchOf(b), RowCount(b), ColumnCount(b),
                       [&](int64_t i) { return Eliminated(RowsOf(a, i), RowsOf(b, i)); })};
}

std::vector<Array> InverseReference(std::span<const Array> in, const Attributes&) {
  const Array& a = in[0];
  return {FromMatrices(a.dtype(), BatchOf(a), RowCount(a), RowCount(a), [&](int64_t i) {
    return Eliminated(RowsOf(a, i), IdentityRows(RowCount(a)));
  })};
}

const Registration kSolve({
    .name = "solve",
    .formula = "X = A^-1 B; dX = A^-1 (dB - dA X), gB = A^-T gX, gA = -gB X^T",
    .source = "Giles 2008, Collected matrix derivative results, 2.2.2 and 2.2.3",
    .arguments = {{.name = "A",
                   .shape = "... n n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 3}},
                  {.name = "B", .shape = "... n k"}},
    .build = Plain("solve", 2, [](const Tensors& in) -> Tensors { return {Solve(in[0], in[1])}; }),
    .reference = SolveReference,
    .error_cases = {{.description = "A is not square",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3, 5}}}},
                    {.description = "rows of B",
                     .inputs = {{DType::kF64, {3, 3}}, {DType::kF64, {4, 5}}}},
                    {.description = "B is a vector",
                     .inputs = {{DType::kF64, {3, 3}}, {DType::kF64, {3}}}}},
});

const Registration kInverse({
    .name = "inverse",
    .formula = "Y = A^-1; dY = -Y dA Y, gA = -Y^T gY Y^T",
    .source = "Giles 2008, Collected matrix derivative results, 2.2.3",
    .arguments = {{.name = "A",
                   .shape = "... n n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 3}}},
    .build = Plain("inverse", 1, [](const Tensors& in) -> Tensors { return {Inverse(in[0])}; }),
    .reference = InverseReference,
    .error_cases = {{.description = "A is not square", .inputs = {{DType::kF64, {3, 4}}}},
                    {.description = "a vector", .inputs = {{DType::kF64, {3}}}}},
});

}  // namespace

Tensor Solve(const Tensor& a, const Tensor& b) {
  static const Ref<const Function> function = MakeRef<SolveFunction>();
  RequireSquare("solve", a);
  RequireMatrix("solve", b);
  if (b.dim(b.rank() - 2) != a.dim(a.rank() - 1)) {
    ThrowInvalidArgument(absl::StrCat("[solve] A has shape ", ShapeToString(a.shape()), ", B ",
                                      ShapeToString(b.shape()),
                                      "; expected [.., n, n] and [.., n, k]"));
  }
  const DType dtype = PromoteTypes(a.dtype(), b.dtype());
  return Call(function, {To(a, dtype), To(b, dtype)})[0];
}

Tensor Inverse(const Tensor& a) {
  RequireSquare("inverse", a);
  return Solve(a, Eye(a.dim(a.rank() - 1), a.dtype()));
}

}  // namespace peelcheck
