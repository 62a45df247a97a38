// opinfo_db/ops/layer_norm.cc: each sample to mean 0 and variance 1 over its last axes; composed,
// so derivatives of all orders see mean and variance as functions of x.
//
//   BuildOperation("layer_norm_affine", {{"normalized_shape", {4, 3}}})({x, weight, bias})
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/normalization.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr double kEps = 1e-5;

TensorFn Make(const std::string& name, const Attributes& attributes) {
  const std::vector<int64_t> sizes = RequireInts(attributes, "normalized_shape", name);
  const double eps = GetDouble(attributes, "eps", kEps, name);
  return [=](const Tensors& in) -> Tensors {
    const Shape normalized(sizes.begin(), sizes.end());
    for (size_t i = 0; i < in.size(); ++i) {
      const Shape& shape = in[i].shape();
      const bool fits = shape.size() >= sizes.size() && (i == 0 || shape == normalized) &&
                        std::equal(sizes.rbegin(), sizes.rend(), shape.rbegin());
      if (fits && !sizes.empty()) continue;
      ThrowInvalidArgument(absl::StrCat("[", name, "] operand ", i, " has shape ",
                                        ShapeToString(shape), "; expected ", i == 0 ? ".., " : "",
                                        "normalized_shape=", ShapeToString(normalized)));
    }
    Dims dims;
    for (int64_t i = 1; i <= std::ssize(sizes); ++i) dims.push_back(-i);
    const Tensor y = Standardised(in[0], dims, eps);
    return {in.size() == 1 ? y : y * in[1] + in[2]};
  };
}

std::vector<Array> LayerNormReference(std::span<const Array> in, const Attributes& attributes) {
  const Array& x = in[0];
  const std::vector<int64_t> sizes = RequireInts(attributes, "normalized_shape", "reference");
  const double eps = GetDouble(attributes, "eps", kEps, "reference");
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  Array y = Array::Zeros(x.dtype(), x.shape());
  for (int64_t start = 0; start < x.size(); start += count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(x.DoubleAt(start + i));
    const auto [mean, variance] = Moments(values);
    for (int64_t i = 0; i < count; ++i) {
      const double value = (x.DoubleAt(start + i) - mean) / std::sqrt(variance + eps);
      y.SetDouble(start + i,
                  in.size() == 1 ? value : value * in[1].DoubleAt(i) + in[2].DoubleAt(i));
    }
  }
  return {y};
}

Registration Row(const std::string& name, const std::string& formula, const std::string& axes,
                 bool affine, SourceLocation where = SourceLocation::Current()) {
  std::vector<Argument> arguments = {
      {.name = "x", .shape = "... " + axes, .domain = ValuesApart()}};
  std::vector<ArraySpec> wrong = {{DType::kF64, {3, 4}}};
  if (affine) {
    arguments.push_back({.name = "weight", .shape = axes});
    arguments.push_back({.name = "bias", .shape = axes});
    wrong.insert(wrong.end(), 2, {DType::kF64, {3}});
  }
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = "Ba et al. 2016, Layer normalization, (4); "
                    "https://pytorch.org/docs/stable/generated/torch.nn.functional.layer_norm.html",
          .arguments = arguments,
          .attributes = {{.name = "normalized_shape",
                          .kind = AttributeKind::kTrailingSizes,
                          .dim = axes.size() > 1 ? 2 : 1},
                         {.name = "eps", .choices = {kEps, 0.1}}},
          .allows_empty = false,  // a mean of nothing
          .build = WithAttributes(name, affine ? 3 : 1, {"normalized_shape", "eps"},
                                  [name](const Attributes& a) { return Make(name, a); }),
          .reference = LayerNormReference,
          .constant_sum = !affine,
          .error_cases = {{.description = "sizes differ",
                           .inputs = wrong,
                           .attributes = {{"normalized_shape", std::vector<int64_t>{5}}}},
                          {.description = "no normalized_shape", .inputs = wrong}},
      },
      where);
}

const Registration kRows[] = {
    Row("layer_norm",
        "y = (x - m) / sqrt(v + eps), m, v = mean and variance over the last axis; dy "
        "= (dx - mean(dx) - y mean(y dx)) / sqrt(v + eps)",
        "n", false),
    Row("layer_norm_affine",
        "y = w (x - m) / sqrt(v + eps) + b, over the last two axes; dy = w du + u dw + "
        "db, u the standardised x",
        "m n", true),
};

}  // namespace
}  // namespace peelcheck
