// opinfo_db/ops/similarity.cc: normalize and cosine_similarity, which divide by a norm, and glu.
//
//   BuildOperation("normalize", {{"p", 2.0}, {"dim", -1}})({x})
//
// A norm is held above eps before a root is taken of it: the gradient at a vector of zeros is that
// of the constant, not 0 times infinity.
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

Tensor AtLeast(const Tensor& x, double least) {
  const Tensor bound = Full({}, least, x.dtype());
  return Where(Gt(x, bound), x, bound);
}

// 1 / max(norm of x along dim, eps), for norms that are roots of sums.
Tensor InverseNorm(const Tensor& x, double p, int64_t dim, double eps) {
  if (p == 2) return Rsqrt(AtLeast(Sum(Square(x), Dims{dim}, true), eps * eps));
  const Tensor powers = p == 1 ? Abs(x) : PowScalar(Abs(x), p);
  return PowScalar(AtLeast(Sum(powers, Dims{dim}, true), std::pow(eps, p)), -1 / p);
}

TensorFn MakeNormalize(const Attributes& attributes) {
  const double p = GetDouble(attributes, "p", 2, "normalize");
  const double eps = GetDouble(attributes, "eps", 1e-12, "normalize");
  const int64_t dim = GetInt(attributes, "dim", 1, "normalize");
  if (p < 1) ThrowInvalidArgument(absl::StrCat("[normalize] p=", p, "; expected p >= 1"));
  return [=](const Tensors& in) -> Tensors { return {in[0] * InverseNorm(in[0], p, dim, eps)}; };
}

TensorFn MakeCosine(const Attributes& attributes) {
  const double eps = GetDouble(attributes, "eps", 1e-8, "cosine_similarity");
  const int64_t dim = GetInt(attributes, "dim", 1, "cosine_similarity");
  return [=](const Tensors& in) -> Tensors {
    const Shape shape = BroadcastShapes(in[0].shape(), in[1].shape(), "cosine_similarity");
    const int64_t axis = WrapDim(dim, static_cast<int64_t>(shape.size()), "cosine_similarity");
    const auto unit = [&](const Tensor& x) {
      const Tensor full = BroadcastTo(x, shape);
      return full * InverseNorm(full, 2, axis, eps);
    };
    return {Sum(unit(in[0]) * unit(in[1]), Dims{axis})};
  };
}

TensorFn MakeGlu(const Attributes& attributes) {
  const int64_t dim = GetInt(attributes, "dim", -1, "glu");
  return [=](const Tensors& in) -> Tensors {
    const int64_t axis = WrapDim(dim, in[0].rank(), "glu");
    if (in[0].rank() == 0 || in[0].dim(axis) % 2 != 0) {
      ThrowInvalidArgument(absl::StrCat("[glu] x has shape ", ShapeToString(in[0].shape()),
                                        "; expected an even size along dim ", dim));
    }
    const int64_t half = in[0].dim(axis) / 2;
    return {Narrow(in[0], axis, 0, half) * Sigmoid(Narrow(in[0], axis, half, half))};
  };
}

double Norm(const std::vector<double>& line, double p) {
  double sum = 0;
  for (const double value : line) sum += std::pow(std::abs(value), p);
  return std::pow(sum, 1 / p);
}

std::vector<Array> NormalizeReference(std::span<const Array> in, const Attributes& attributes) {
  const double p = GetDouble(attributes, "p", 2, "reference");
  const double eps = GetDouble(attributes, "eps", 1e-12, "reference");
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", 1, "reference"), in[0]);
  return {FromIndices(in[0].dtype(), in[0].shape(), [&](const Index& i) {
    return At(in[0], i) / std::max(Norm(Line(in[0], i, dim), p), eps);
  })};
}

// Of operands of one shape.
std::vector<Array> CosineReference(std::span<const Array> in, const Attributes& attributes) {
  const double eps = GetDouble(attributes, "eps", 1e-8, "reference");
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", 1, "reference"), in[0]);
  Shape shape = in[0].shape();
  if (!shape.empty()) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return {FromIndices(in[0].dtype(), shape, [&](Index i) {
    if (in[0].rank() > 0) i.insert(i.begin() + static_cast<std::ptrdiff_t>(dim), 0);
    const std::vector<double> x = Line(in[0], i, dim), y = Line(in[1], i, dim);
    double dot = 0;
    for (size_t k = 0; k < x.size(); ++k) dot += x[k] * y[k];
    return dot / (std::max(Norm(x, 2), eps) * std::max(Norm(y, 2), eps));
  })};
}

std::vector<Array> GluReference(std::span<const Array> in, const Attributes& attributes) {
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", -1, "reference"), in[0]);
  Shape shape = in[0].shape();
  shape[dim] /= 2;
  return {FromIndices(in[0].dtype(), shape, [&](Index i) {
    const double a = At(in[0], i);
    i[dim] += shape[dim];
    return a / (1 + std::exp(-At(in[0], i)));
  })};
}

// Clear of 0, where |x| has a kink and a norm of one element jumps.
Domain ClearOfZero() { return {.kinks = {0}, .margin = 0.3}; }

ErrorCase DimPastTheEnd(size_t operands) {
  return {.description = "dim past the end",
          .inputs = std::vector<ArraySpec>(operands, {DType::kF64, {4, 4}}),
          .attributes = {{"dim", 2}}};
}

const Registration kNormalize({
    .name = "normalize",
    .formula = "y = x / n, n = max(|x|_p, eps) along dim; dy = (dx - y dn) / n",
    .source = "https://pytorch.org/docs/stable/generated/torch.nn.functional.normalize.html",
    .arguments = {{.name = "x", .domain = ClearOfZero()}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim},
                   {.name = "p", .choices = {2.0, 1.0, 3.0}},
                   {.name = "eps", .choices = {1e-12, 0.01}}},
    .min_rank = 1,
    .build = WithAttributes("normalize", 1, {"dim", "p", "eps"}, MakeNormalize),
    .reference = NormalizeReference,
    .error_cases = {DimPastTheEnd(1),
                    {.description = "p below 1",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"p", 0.5}}}},
});

const Registration kCosineSimilarity({
    .name = "cosine_similarity",
    .formula = "z = x . y / (|x| |y|) along dim, norms at least eps; dz = (y / |y| - z x / |x|) dx "
               "/ |x| + .."
               " likewise in y",
    .source =
        "https://pytorch.org/docs/stable/generated/torch.nn.functional.cosine_similarity.html",
    .arguments = {{.name = "x", .domain = ClearOfZero()}, {.name = "y", .domain = ClearOfZero()}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim},
                   {.name = "eps", .choices = {1e-8, 0.01}}},
    .min_rank = 1,
    .build = WithAttributes("cosine_similarity", 2, {"dim", "eps"}, MakeCosine),
    .reference = CosineReference,
    .error_cases = {DimPastTheEnd(2),
                    {.description = "shapes do not broadcast",
                     .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {3, 5}}}}},
});

const Registration kGlu({
    .name = "glu",
    .formula = "y = a s, s = sigmoid(b), x = [a b] along dim; dy = s da + a s (1 - s) db",
    .source = "Dauphin et al. 2017, Language modeling with gated convolutional networks, (1)",
    .arguments = {{.name = "x", .shape = "m 12 n"}},
    .attributes = {{.name = "dim", .choices = {1, -2}}},
    .build = WithAttributes("glu", 1, {"dim"}, MakeGlu),
    .reference = GluReference,
    .error_cases = {DimPastTheEnd(1),
                    {.description = "an odd size", .inputs = {{DType::kF64, {3}}}}},
});

}  // namespace
}  // namespace peelcheck
