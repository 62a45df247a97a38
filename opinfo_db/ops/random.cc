// opinfo_db/ops/random.cc: dropout, bernoulli, normal, uniform. Each draws from its attribute
// `seed`: a program is a function of its inputs, and two runs give the same bits.
//
//   BuildOperation("dropout", {{"p", 0.5}, {"seed", 7}})({x})   // under a vmap: by its randomness
//
// A draw is a constant; normal and uniform are differentiated through it (the path derivative,
// which PyTorch's distributions call rsample).
#include "engine/random.h"

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/random_reference.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

uint64_t SeedOf(const Attributes& attributes, const std::string& tag) {
  return static_cast<uint64_t>(RequireInt(attributes, "seed", tag));
}

// u < p for f64 numbers u, so that f32 and f64 see the same draw.
Tensor Below(const Tensor& p, const Shape& shape, const std::string& tag) {
  return Lt(RandomUniform(shape, DType::kF64, tag), To(p, DType::kF64));
}

TensorFn MakeDropout(const Attributes& attributes) {
  const double p = GetDouble(attributes, "p", 0.5, "dropout");
  const bool training = GetBool(attributes, "training", true, "dropout");
  const uint64_t seed = SeedOf(attributes, "dropout");
  if (!(p >= 0 && p <= 1)) {
    ThrowInvalidArgument(
        absl::StrCat("[dropout] p=", p, "; expected a probability, 0 to 1: the share to drop"));
  }
  return [=](const Tensors& in) -> Tensors {
    const Tensor& x = in[0];
    if (!IsFloating(x.dtype()))
      ThrowInvalidArgument(
          absl::StrCat("[dropout] x is ", DTypeName(x.dtype()), "; expected f32 or f64"));
    if (!training) return {Clone(x)};
    RandomScope seeded(seed);
    const Tensor keep = Below(Tensor::Scalar(1 - p), x.shape(), "dropout");
    // Selected, not multiplied: a dropped infinity is 0, and nothing is divided by 0 for p = 1.
    return {Where(keep, p < 1 ? x / (1 - p) : x, Full({}, 0, x.dtype()))};
  };
}

TensorFn MakeBernoulli(const Attributes& attributes) {
  const uint64_t seed = SeedOf(attributes, "bernoulli");
  return [seed](const Tensors& in) -> Tensors {
    RandomScope seeded(seed);
    return {To(Below(in[0], in[0].shape(), "bernoulli"), in[0].dtype())};
  };
}

// shift + scale * draw, for broadcast parameters.
TensorFn MakeLocationScale(const std::string& name, const Attributes& attributes,
                           Tensor (*draw)(const Shape&, DType, const std::string&),
                           Tensor (*combine)(const Tensor&, const Tensor&, const Tensor&)) {
  const uint64_t seed = SeedOf(attributes, name);
  return [=](const Tensors& in) -> Tensors {
    const DType dtype = PromoteTypes(in[0].dtype(), in[1].dtype());
    const Shape shape = BroadcastShapes(in[0].shape(), in[1].shape(), name);
    RandomScope seeded(seed);
    return {combine(in[0], in[1], draw(shape, dtype, name))};
  };
}

Tensor Normal(const Tensor& mean, const Tensor& std, const Tensor& z) { return mean + std * z; }
Tensor Uniform(const Tensor& low, const Tensor& high, const Tensor& u) {
  return low + (high - low) * u;
}

int64_t ReferenceSeed(const Attributes& attributes) {
  return RequireInt(attributes, "seed", "reference");
}

std::vector<Array> DropoutReference(std::span<const Array> in, const Attributes& attributes) {
  const double p = GetDouble(attributes, "p", 0.5, "reference");
  const bool training = GetBool(attributes, "training", true, "reference");
  ReferenceStream stream(ReferenceSeed(attributes));
  return {FromIndices(in[0].dtype(), in[0].shape(), [&](const Index& i) {
    if (!training) return At(in[0], i);
    return stream.Uniform() < 1 - p ? At(in[0], i) / (1 - p) : 0.0;
  })};
}

std::vector<Array> BernoulliReference(std::span<const Array> in, const Attributes& attributes) {
  ReferenceStream stream(ReferenceSeed(attributes));
  return {FromIndices(in[0].dtype(), in[0].shape(),
                      [&](const Index& i) { return stream.Uniform() < At(in[0], i) ? 1.0 : 0.0; })};
}

// One draw per element of the broadcast shape, in row-major order.
Reference LocationScaleReference(double (ReferenceStream::*draw)(),
                                 double (*combine)(double, double, double)) {
  return [=](std::span<const Array> in, const Attributes& attributes) {
    ReferenceStream stream(ReferenceSeed(attributes));
    const Shape shape = BroadcastShapes(in[0].shape(), in[1].shape(), "reference");
    const Array x = in[0].Expanded(shape), y = in[1].Expanded(shape);
    return std::vector<Array>{
        FromIndices(PromoteTypes(x.dtype(), y.dtype()), shape,
                    [&](const Index& i) { return combine(At(x, i), At(y, i), (stream.*draw)()); })};
  };
}

AttributeSpec Seeds() { return {.name = "seed", .choices = {7, 0, 123456789012, -1}}; }

const Registration kDropout({
    .name = "dropout",
    .formula = "y = x m / (1 - p), m = 1 with probability 1 - p, else 0; dy = m dx / (1 - p)",
    .source = "https://pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html",
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "p", .choices = {0.25, 0.5, 0.0, 0.8}},
                   {.name = "training", .choices = {true, true, false}},
                   Seeds()},
    .build = WithAttributes("dropout", 1, {"p", "training", "seed"}, MakeDropout),
    .reference = DropoutReference,
    .random = true,
    .error_cases = {{.description = "p above 1",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"p", 1.5}, {"seed", 7}}},
                    {.description = "no seed", .inputs = {{DType::kF64, {3}}}},
                    {.description = "an integer input",
                     .inputs = {{DType::kI64, {3}}},
                     .attributes = {{"seed", 7}}}},
});

// No derivative: p decides which way a comparison goes.
const Registration kBernoulli({
    .name = "bernoulli",
    .formula = "y = 1 with probability p, else 0, no derivative",
    .source = "https://pytorch.org/docs/stable/generated/torch.bernoulli.html",
    .arguments = {{.name = "p", .domain = {.low = 0.05, .high = 0.95}, .differentiable = false}},
    .attributes = {Seeds()},
    .build = WithAttributes("bernoulli", 1, {"seed"}, MakeBernoulli),
    .reference = BernoulliReference,
    .differentiable = false,
    .random = true,
    .error_cases = {{.description = "no seed", .inputs = {{DType::kF64, {3}}}}},
});

std::vector<ErrorCase> Errors() {
  return {{.description = "no seed", .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}}},
          {.description = "shapes do not broadcast",
           .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}},
           .attributes = {{"seed", 7}}}};
}

const Registration kNormal({
    .name = "normal",
    .formula = "y = mean + std z, z standard normal; dy = dmean + z dstd",
    .source = "https://pytorch.org/docs/stable/distributions.html#normal (rsample)",
    .arguments = {{.name = "mean", .shape = "~"},
                  {.name = "std", .shape = "~", .domain = {.low = 0.2, .high = 2}}},
    .attributes = {Seeds()},
    .build = WithAttributes("normal", 2, {"seed"},
                            [](const Attributes& attributes) {
                              return MakeLocationScale("normal", attributes, RandomNormal, Normal);
                            }),
    .reference = LocationScaleReference(&ReferenceStream::Normal,
                                        [](double m, double s, double z) { return m + s * z; }),
    .random = true,
    .error_cases = Errors(),
});

const Registration kUniform({
    .name = "uniform",
    .formula = "y = low + (high - low) u, u uniform in [0, 1); dy = (1 - u) dlow + u dhigh",
    .source = "https://pytorch.org/docs/stable/distributions.html#uniform (rsample)",
    .arguments = {{.name = "low", .shape = "~"},
                  {.name = "high", .shape = "~", .domain = {.low = 2.1, .high = 4}}},
    .attributes = {Seeds()},
    .build = WithAttributes("uniform", 2, {"seed"},
                            [](const Attributes& attributes) {
                              return MakeLocationScale("uniform", attributes, RandomUniform,
                                                       Uniform);
                            }),
    .reference = LocationScaleReference(&ReferenceStream::Uniform,
                                        [](double low, double high, double u) {
                                          return low + (high - low) * u;
                                        }),
    .random = true,
    .error_cases = Errors(),
});

}  // namespace
}  // namespace peelcheck
