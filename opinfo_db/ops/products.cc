// opinfo_db/ops/products.cc: products composed of the elementwise one: outer, cross, kron.
//
//   BuildOperation("kron", {})({a, b})   // [m, n], [p, q] -> [m p, n q]
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

[[noreturn]] void Refuse(const std::string& tag, const Tensors& in, const std::string& expected) {
  ThrowInvalidArgument(absl::StrCat("[", tag, "] shapes ", ShapeToString(in[0].shape()), " and ",
                                    ShapeToString(in[1].shape()), "; expected ", expected));
}

Tensors Outer(const Tensors& in) {
  if (in[0].rank() != 1 || in[1].rank() != 1) Refuse("outer", in, "two vectors");
  return {Unsqueeze(in[0], 1) * in[1]};
}

// x_1, x_2, x_0 for shift 1.
Tensor Rolled(const Tensor& x, int64_t dim, int64_t shift) {
  const Tensor pieces[] = {Narrow(x, dim, shift, 3 - shift), Narrow(x, dim, 0, shift)};
  return Cat(pieces, dim);
}

Tensors Cross(const Tensors& in, int64_t dim) {
  for (const Tensor& x : in) {
    const int64_t wrapped = WrapDim(dim, x.rank(), "cross");
    if (x.rank() == 0 || x.dim(wrapped) != 3)
      Refuse("cross", in, absl::StrCat("size 3 along dim ", dim));
  }
  if (in[0].rank() != in[1].rank()) Refuse("cross", in, "the same rank");
  return {Rolled(in[0], dim, 1) * Rolled(in[1], dim, 2) -
          Rolled(in[0], dim, 2) * Rolled(in[1], dim, 1)};
}

// Axis i of the result runs over axis i of x, then over that of y; the shorter shape has 1s in
// front.
Tensors Kron(const Tensors& in) {
  const int64_t rank = std::max(in[0].rank(), in[1].rank());
  Dims x_shape, y_shape, shape;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t x_axis = i - (rank - in[0].rank()), y_axis = i - (rank - in[1].rank());
    const int64_t p = x_axis < 0 ? 1 : in[0].dim(x_axis), q = y_axis < 0 ? 1 : in[1].dim(y_axis);
    x_shape.insert(x_shape.end(), {p, 1});
    y_shape.insert(y_shape.end(), {1, q});
    shape.push_back(p * q);
  }
  return {Reshape(Reshape(in[0], x_shape) * Reshape(in[1], y_shape), shape)};
}

std::vector<Array> OuterReference(std::span<const Array> in, const Attributes&) {
  return {FromIndices(in[0].dtype(), {in[0].dim(0), in[1].dim(0)},
                      [&](const Index& i) { return At(in[0], {i[0]}) * At(in[1], {i[1]}); })};
}

std::vector<Array> CrossReference(std::span<const Array> in, const Attributes& attributes) {
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", -1, "reference"), in[0]);
  return {FromIndices(in[0].dtype(), in[0].shape(), [&](const Index& i) {
    const auto k = static_cast<size_t>(i[dim]), next = (k + 1) % 3, last = (k + 2) % 3;
    const std::vector<double> x = Line(in[0], i, dim), y = Line(in[1], i, dim);
    return x[next] * y[last] - x[last] * y[next];
  })};
}

// Of matrices.
std::vector<Array> KronReference(std::span<const Array> in, const Attributes&) {
  const int64_t p = in[1].dim(0), q = in[1].dim(1);
  return {FromIndices(in[0].dtype(), {in[0].dim(0) * p, in[0].dim(1) * q}, [&](const Index& i) {
    return At(in[0], {i[0] / p, i[1] / q}) * At(in[1], {i[0] % p, i[1] % q});
  })};
}

const Registration kOuter({
    .name = "outer",
    .formula = "z_ij = x_i y_j; dz = dx y + x dy",
    .source = "https://pytorch.org/docs/stable/generated/torch.outer.html",
    .arguments = {{.name = "x", .shape = "m"}, {.name = "y", .shape = "n"}},
    .build = Plain("outer", 2, Outer),
    .reference = OuterReference,
    .error_cases = {{.description = "a matrix",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3}}}},
                    {.description = "a 0-d operand",
                     .inputs = {{DType::kF64, {}}, {DType::kF64, {3}}}}},
});

const Registration kCross({
    .name = "cross",
    .formula = "z_i = x_j y_k - x_k y_j, (i j k) cyclic; dz = dx x y + x x dy",
    .source = "https://pytorch.org/docs/stable/generated/torch.linalg.cross.html",
    .arguments = {{.name = "x", .shape = "m 3 n"}, {.name = "y", .shape = "m 3 n"}},
    .attributes = {{.name = "dim", .choices = {1, -2}}},
    .build = WithAttributes("cross", 2, {"dim"},
                            [](const Attributes& attributes) {
                              const int64_t dim = GetInt(attributes, "dim", -1, "cross");
                              return [dim](const Tensors& in) { return Cross(in, dim); };
                            }),
    .reference = CrossReference,
    .error_cases = {{.description = "an axis that is not 3 long",
                     .inputs = {{DType::kF64, {4}}, {DType::kF64, {4}}}},
                    {.description = "dim past the end",
                     .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}},
                     .attributes = {{"dim", 1}}}},
});

const Registration kKron({
    .name = "kron",
    .formula = "z_(i p + k)(j q + l) = x_ij y_kl for y of [p, q]; dz = dx y + x dy",
    .source = "https://pytorch.org/docs/stable/generated/torch.kron.html",
    .arguments = {{.name = "x", .shape = "m n"}, {.name = "y", .shape = "p q"}},
    .build = Plain("kron", 2, Kron),
    .reference = KronReference,
});

}  // namespace
}  // namespace peelcheck
