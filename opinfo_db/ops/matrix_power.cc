// opinfo_db/ops/matrix_power.cc: A multiplied with itself n times; n = 0 gives the identity, n < 0
// powers of the inverse.
//
//   BuildOperation("matrix_power", {{"n", -2}})({a})   // [.., m, m] -> [.., m, m]
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/linalg.h"
#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {
namespace {

// By repeated squaring: a composition, so derivatives of any order are those of the products.
Tensor MatrixPower(const Tensor& a, int64_t n) {
  RequireSquare("matrix_power", a);
  if (n == 0) return BroadcastTo(Eye(a.dim(a.rank() - 1), a.dtype()), a.shape());
  Tensor square = n < 0 ? Inverse(a) : a;
  Tensor power;
  for (uint64_t bits = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); bits != 0;) {
    if (bits & 1) power = power.defined() ? MatMul(power, square) : square;
    bits >>= 1;
    if (bits != 0) square = MatMul(square, square);
  }
  // n = 1: a new tensor, not the caller's own.
  return power.is(a) ? Clone(a) : power;
}

// One product after the other.
std::vector<Array> MatrixPowerReference(std::span<const Array> in, const Attributes& attributes) {
  const int64_t n = RequireInt(attributes, "n", "reference");
  const size_t size = RowCount(in[0]);
  return {FromMatrices(in[0].dtype(), BatchOf(in[0]), size, size, [&](int64_t b) {
    const MatrixRows a = RowsOf(in[0], b);
    const MatrixRows factor = n < 0 ? Eliminated(a, IdentityRows(size)) : a;
    MatrixRows power = IdentityRows(size);
    for (int64_t i = 0; i < std::abs(n); ++i) power = Multiplied(power, factor);
    return power;
  })};
}

const Registration kMatrixPower({
    .name = "matrix_power",
    .formula = "Y = A^n; dY = sum over k of A^k dA A^(n-1-k), for n < 0 of the inverse",
    .source = "https://pytorch.org/docs/stable/generated/torch.linalg.matrix_power.html",
    .arguments = {{.name = "A",
                   .shape = "... n n",
                   .domain = {.low = -0.5, .high = 0.5, .diagonal = 1}}},
    .attributes = {{.name = "n", .choices = {2, 3, 1, 5, 0, -1, -3}}},
    .build = WithAttributes("matrix_power", 1, {"n"},
                            [](const Attributes& attributes) {
                              const int64_t n = RequireInt(attributes, "n", "matrix_power");
                              return [n](const Tensors& in) -> Tensors {
                                return {MatrixPower(in[0], n)};
                              };
                            }),
    .reference = MatrixPowerReference,
    .error_cases = {{.description = "A is not square",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"n", 2}}},
                    {.description = "no power", .inputs = {{DType::kF64, {3, 3}}}}},
});

}  // namespace
}  // namespace peelcheck
