// opinfo_db/ops/solve_triangular.cc: A X = B for a triangle of A; the rest of A is not read.
//
//   BuildOperation("solve_triangular", {{"upper", true}, {"unitriangular", true}})({a, b})
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {
namespace {

class SolveTriangularFunction : public Function {
 public:
  SolveTriangularFunction(bool upper, bool unit) : upper_(upper), unit_(unit) {}
  std::string name() const override { return "solve_triangular"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(SolveTriangularArrays(in[0].array(), in[1].array(), upper_, unit_))};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Set("b", in[1].shape());
    ctx.Save({in[0], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor &a = ctx.saved()[0], &x = ctx.saved()[1];
    const Tensor b_gradient = SolveTriangular(MT(a), ct[0], !upper_, unit_);
    Tensors gradients(2);
    if (ctx.needs_input_grad(0))
      gradients[0] = SumTo(-TrianglePart(MatMul(b_gradient, MT(x))), a.shape());
    if (ctx.needs_input_grad(1)) gradients[1] = SumTo(b_gradient, ctx.Get<Shape>("b"));
    return gradients;
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor &a = ctx.saved()[0], &x = ctx.saved()[1];
    const Tensor right = tangents[1] - MatMul(TrianglePart(tangents[0]), x);
    return {SolveTriangular(a, right, upper_, unit_)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), AlignForBroadcast(in, in_dims)), {0}};
  }
  bool has_vmap_rule() const override { return true; }

 private:
  // What of A is read.
  Tensor TrianglePart(const Tensor& a) const {
    return upper_ ? Triu(a, unit_ ? 1 : 0) : Tril(a, unit_ ? -1 : 0);
  }
  bool upper_, unit_;
};

std::vector<Array> SolveTriangularReference(std::span<const Array> in,
                                            const Attributes& attributes) {
  const Array &a = in[0], &b = in[1];
  const bool upper = GetBool(attributes, "upper", false, "reference");
  const bool unit = GetBool(attributes, "unitriangular", false, "reference");
  return {FromMatrices(b.dtype(), BatchOf(b), RowCount(b), ColumnCount(b), [&](int64_t batch) {
    const MatrixRows rows = RowsOf(a, batch);
    MatrixRows x = RowsOf(b, batch);
    const size_t n = rows.size();
    for (size_t step = 0; step < n; ++step) {
      const size_t i = upper ? n - 1 - step : step;
      for (size_t j = 0; j < x[i].size(); ++j) {
        for (size_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
          x[i][j] -= rows[i][k] * x[k][j];
        if (!unit) x[i][j] /= rows[i][i];
      }
    }
    return x;
  })};
}

const Registration kSolveTriangular({
    .name = "solve_triangular",
    .formula = "X = tri(A)^-1 B; dX = tri(A)^-1 (dB - tri(dA) X), gB = tri(A)^-T gX, "
               "gA = -tri(gB X^T)",
    .source = "Giles 2008, 2.2.2, with A restricted to what is read of it",
    .arguments = {{.name = "A",
                   .shape = "... n n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 1}},
                  {.name = "B", .shape = "... n k"}},
    .attributes = {{.name = "upper", .choices = {false, true}},
                   {.name = "unitriangular", .choices = {false, true}}},
    .build = WithAttributes("solve_triangular", 2, {"upper", "unitriangular"},
                            [](const Attributes& attributes) {
                              const bool upper =
                                  GetBool(attributes, "upper", false, "solve_triangular");
                              const bool unit =
                                  GetBool(attributes, "unitriangular", false, "solve_triangular");
                              return [=](const Tensors& in) -> Tensors {
                                return {SolveTriangular(in[0], in[1], upper, unit)};
                              };
                            }),
    .reference = SolveTriangularReference,
    .error_cases = {{.description = "A is not square",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3, 5}}}},
                    {.description = "rows of B",
                     .inputs = {{DType::kF64, {3, 3}}, {DType::kF64, {4, 5}}}}},
});

}  // namespace

Tensor SolveTriangular(const Tensor& a, const Tensor& b, bool upper, bool unitriangular) {
  RequireSquare("solve_triangular", a);
  RequireMatrix("solve_triangular", b);
  if (b.dim(b.rank() - 2) != a.dim(a.rank() - 1)) {
    ThrowInvalidArgument(absl::StrCat("[solve_triangular] A has shape ", ShapeToString(a.shape()),
                                      ", B ", ShapeToString(b.shape()),
                                      "; expected [.., n, n] and [.., n, k]"));
  }
  const DType dtype = PromoteTypes(a.dtype(), b.dtype());
  return Call(MakeRef<SolveTriangularFunction>(upper, unitriangular),
              {To(a, dtype), To(b, dtype)})[0];
}

}  // namespace peelcheck
