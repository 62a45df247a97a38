// opinfo_db/ops/linear.cc: y = x W^T + b, with and without b.
//
//   BuildOperation("linear_bias", {})({x, weight, bias})   // [.., k], [n, k], [n] -> [.., n]
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

Tensors Linear(const std::string& name, const Tensors& in) {
  const Tensor &x = in[0], &weight = in[1];
  const bool fits = x.rank() > 0 && weight.rank() == 2 && x.dim(x.rank() - 1) == weight.dim(1) &&
                    (in.size() < 3 || in[2].shape() == Shape{weight.dim(0)});
  if (!fits) {
    ThrowInvalidArgument(
        absl::StrCat("[", name, "] x has shape ", ShapeToString(x.shape()), ", weight ",
                     ShapeToString(weight.shape()),
                     in.size() > 2 ? ", bias " + ShapeToString(in[2].shape()) : std::string(),
                     "; expected [.., k], [n, k]", in.size() > 2 ? ", [n]" : ""));
  }
  const Tensor y = MatMul(x, Transpose(weight, 0, 1));
  return {in.size() > 2 ? y + in[2] : y};
}

std::vector<Array> LinearReference(std::span<const Array> in, const Attributes&) {
  Shape shape = in[0].shape();
  shape.back() = in[1].dim(0);
  return {FromIndices(in[0].dtype(), shape, [&](Index i) {
    const int64_t out = i.back();
    double sum = in.size() > 2 ? in[2].DoubleAt(out) : 0;
    for (int64_t k = 0; k < in[1].dim(1); ++k) {
      i.back() = k;
      sum += At(in[0], i) * At(in[1], {out, k});
    }
    return sum;
  })};
}

Registration Row(const std::string& name, const std::string& formula, bool bias,
                 SourceLocation where = SourceLocation::Current()) {
  std::vector<Argument> arguments = {{.name = "x", .shape = "... k"},
                                     {.name = "weight", .shape = "n k"}};
  if (bias) arguments.push_back({.name = "bias", .shape = "n"});
  const auto inputs = [bias](const Shape& x) {
    std::vector<ArraySpec> specs = {{DType::kF64, x}, {DType::kF64, {5, 4}}};
    if (bias) specs.push_back({DType::kF64, {5}});
    return specs;
  };
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = "https://pytorch.org/docs/stable/generated/torch.nn.functional.linear.html",
          .arguments = arguments,
          .build =
              Plain(name, bias ? 3 : 2, [name](const Tensors& in) { return Linear(name, in); }),
          .reference = LinearReference,
          .error_cases = {{.description = "k differs", .inputs = inputs({3, 5})},
                          {.description = "a 0-d input", .inputs = inputs({})}},
      },
      where);
}

const Registration kRows[] = {
    Row("linear", "y = x W^T; dy = dx W^T + x dW^T", false),
    Row("linear_bias", "y = x W^T + b; dy = dx W^T + x dW^T + db", true),
};

}  // namespace
}  // namespace peelcheck
