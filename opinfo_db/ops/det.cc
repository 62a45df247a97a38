// opinfo_db/ops/det.cc: determinants of stacks of matrices, and their sign and logarithm.
//
//   BuildOperation("slogdet", {})({a})   // sign, ln |det a|: neither overflows for large matrices
#include "engine/kernels/linalg.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {
namespace {

// [..] -> [.., 1, 1]
Tensor AsMatrix(const Tensor& x) { return Unsqueeze(Unsqueeze(x, -1), -1); }
Tensor InnerProduct(const Tensor& x, const Tensor& y) { return Sum(x * y, Dims{-2, -1}); }

class DetFunction : public MatrixFunction {
 public:
  std::string name() const override { return "det"; }
  Tensors Forward(TensorSpan in) const override {
    return {Tensor::FromArray(DeterminantOfArray(in[0].array()).det)};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan out) const override {
    ctx.Save({in[0], out[0]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {AsMatrix(ct[0] * ctx.saved()[1]) * MT(Inverse(ctx.saved()[0]))};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {ctx.saved()[1] * InnerProduct(MT(Inverse(ctx.saved()[0])), tangents[0])};
  }
};

class SlogdetFunction : public MatrixFunction {
 public:
  std::string name() const override { return "slogdet"; }
  Tensors Forward(TensorSpan in) const override {
    const DeterminantArrays out = DeterminantOfArray(in[0].array());
    return {Tensor::FromArray(out.sign), Tensor::FromArray(out.logabsdet)};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[0]}); }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {AsMatrix(ct[1]) * MT(Inverse(ctx.saved()[0]))};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    const Tensor tangent = InnerProduct(MT(Inverse(ctx.saved()[0])), tangents[0]);
    return {ZerosLike(tangent), tangent};
  }
};

// Elimination with row exchanges: the pivots' product, or sign and logarithm of its parts.
std::vector<double> Pivots(MatrixRows a) {
  std::vector<double> pivots;
  for (size_t column = 0; column < a.size(); ++column) {
    size_t best = column;
    for (size_t i = column; i < a.size(); ++i)
      if (std::abs(a[i][column]) > std::abs(a[best][column])) best = i;
    std::swap(a[column], a[best]);
    pivots.push_back(best == column ? a[column][column] : -a[column][column]);
    for (size_t i = column + 1; i < a.size(); ++i) {
      const double factor = a[i][column] / a[column][column];
      for (size_t j = column; j < a.size(); ++j) a[i][j] -= factor * a[column][j];
    }
  }
  return pivots;
}

// By the definition on pivots: the exchange of two rows turns the sign of one pivot.
Array PerPivots(const Array& a, const std::function<double(const std::vector<double>&)>& f) {
  return FromVectors(a.dtype(), BatchOf(a), std::nullopt,
                     [&](int64_t b) { return std::vector<double>{f(Pivots(RowsOf(a, b)))}; });
}

double Product(const std::vector<double>& pivots) {
  double product = 1;
  for (const double pivot : pivots) product *= pivot;
  return product;
}

std::vector<Array> DetReference(std::span<const Array> in, const Attributes&) {
  return {PerPivots(in[0], Product)};
}

std::vector<Array> SlogdetReference(std::span<const Array> in, const Attributes&) {
  return {PerPivots(in[0], [](const auto& pivots) { return Product(pivots) < 0 ? -1.0 : 1.0; }),
          PerPivots(in[0], [](const auto& pivots) {
            double total = 0;
            for (const double pivot : pivots) total += std::log(std::abs(pivot));
            return total;
          })};
}

Registration Row(const std::string& name, const std::string& formula, const std::string& source,
                 const Ref<const Function>& function, Reference reference,
                 SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = source,
          .arguments = {{.name = "A",
                         .shape = "... n n",
                         .domain = {.low = -0.5, .high = 0.5, .diagonal = 3}}},
          .build = Plain(name, 1,
                         [name, function](const Tensors& in) {
                           RequireSquare(name, in[0]);
                           return Call(function, in);
                         }),
          .reference = std::move(reference),
          .error_cases = {{.description = "A is not square", .inputs = {{DType::kF64, {3, 4}}}},
                          {.description = "an integer matrix", .inputs = {{DType::kI64, {3, 3}}}}},
      },
      where);
}

// The derivative goes by the inverse, so it is refused at a singular matrix.
const Registration kRows[] = {
    Row("det", "y = det A; dy = y trace(A^-1 dA), gA = y gy A^-T", "Giles 2008, 2.2.4",
        MakeRef<DetFunction>(), DetReference),
    Row("slogdet", "s = sign det A, y = ln |det A|; ds = 0, dy = trace(A^-1 dA), gA = gy A^-T",
        "Giles 2008, 2.2.4; https://pytorch.org/docs/stable/generated/torch.linalg.slogdet.html",
        MakeRef<SlogdetFunction>(), SlogdetReference),
};

}  // namespace
}  // namespace peelcheck
