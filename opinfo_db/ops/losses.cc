// opinfo_db/ops/losses.cc: losses that go element by element, a row each: the loss of one element
// as an operation and as the formula in double, and the parameter that it takes.
//
//   BuildOperation("huber_loss", {{"delta", 0.5}, {"reduction", "sum"}})({x, target})
#include <cmath>

#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reduction.h"

namespace peelcheck {
namespace {

struct Loss {
  std::string name, formula;
  Domain x = {}, target = {};
  Tensor (*loss)(const Tensor& x, const Tensor& t, double parameter) = nullptr;
  double (*reference)(double x, double t, double parameter) = nullptr;
  std::string parameter = "";  // its attribute, positive; "": none
  std::vector<AttributeValue> choices = {};
  bool of_difference = false;  // a function of x - t: the two gradients cancel in a sum
};

std::vector<std::string> Known(const Loss& loss) {
  if (loss.parameter.empty()) return {"reduction"};
  return {"reduction", loss.parameter};
}

double ParameterOf(const Loss& loss, const Attributes& attributes) {
  if (loss.parameter.empty()) return 0;
  const double value = GetDouble(attributes, loss.parameter, 1, loss.name);
  if (value > 0) return value;
  ThrowInvalidArgument(
      absl::StrCat("[", loss.name, "] ", loss.parameter, "=", value, "; expected a number > 0"));
}

TensorFn Make(const Loss& loss, const Attributes& attributes) {
  const Reduction reduction = ReductionOf(attributes, loss.name);
  const double parameter = ParameterOf(loss, attributes);
  return [=](const Tensors& in) -> Tensors {
    if (in[0].shape() != in[1].shape()) {
      ThrowInvalidArgument(absl::StrCat("[", loss.name, "] input has shape ",
                                        ShapeToString(in[0].shape()), ", target ",
                                        ShapeToString(in[1].shape()), "; expected the same"));
    }
    return {Reduced(loss.loss(in[0], in[1], parameter), reduction)};
  };
}

Registration Row(Loss loss, SourceLocation where = SourceLocation::Current()) {
  std::vector<AttributeSpec> attributes = {Reductions()};
  if (!loss.parameter.empty())
    attributes.push_back({.name = loss.parameter, .choices = loss.choices});
  return Registration(
      {
          .name = loss.name,
          .formula = loss.formula,
          .source = "https://pytorch.org/docs/stable/generated/torch.nn.functional." + loss.name +
                    ".html",
          .arguments = {{.name = "input", .domain = loss.x},
                        {.name = "target", .domain = loss.target}},
          .attributes = attributes,
          .allows_empty = false,  // a mean of nothing
          .build = WithAttributes(loss.name, 2, Known(loss),
                                  [loss](const Attributes& a) { return Make(loss, a); }),
          .reference =
              [loss](std::span<const Array> in, const Attributes& a) {
                const double parameter = ParameterOf(loss, a);
                const Array losses = FromIndices(in[0].dtype(), in[0].shape(), [&](const Index& i) {
                  return loss.reference(At(in[0], i), At(in[1], i), parameter);
                });
                return std::vector<Array>{ReducedReference(losses, ReductionOf(a, loss.name))};
              },
          .constant_sum = loss.of_difference,
          .error_cases = {{.description = "shapes differ",
                           .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {4}}}},
                          {.description = "an unknown reduction",
                           .inputs = {{DType::kF64, {3}}, {DType::kF64, {3}}},
                           .attributes = {{"reduction", std::string("average")}}}},
      },
      where);
}

// |x - t| <= 0.8 or >= 1.2: clear of the seam at 0.9 to 1.1, where the second derivative jumps.
constexpr double kSeam = 0.4;
Domain AwayFromSeam() { return {.low = -3, .high = 3, .kinks = {-1, 1}, .margin = kSeam}; }
Domain NearZero() { return {.low = -0.2, .high = 0.2}; }
Domain Distinct() { return {.low = -10, .high = 10, .margin = 0.1, .distinct = true}; }

// ln x, but -100 below e^-100; the logarithm never sees a 0, whose infinite slope would survive the
// product with 0.
Tensor LogFrom100(const Tensor& x) {
  const Tensor least = Full({}, 3.720075976020836e-44, x.dtype());  // e^-100
  const Tensor above = Gt(x, least);
  return Where(above, Log(Where(above, x, OnesLike(least))), Full({}, -100, x.dtype()));
}
double LogFrom100(double x) { return std::max(std::log(x), -100.0); }

Tensor HuberOf(const Tensor& x, const Tensor& t, double delta) {
  const Tensor d = x - t, size = Abs(d);
  return Where(Le(size, Full({}, delta, d.dtype())), Square(d) * 0.5, (size - 0.5 * delta) * delta);
}
double HuberOf(double x, double t, double delta) {
  const double d = std::abs(x - t);
  return d <= delta ? d * d / 2 : delta * (d - delta / 2);
}

Tensor KlDiv(const Tensor& x, const Tensor& t, double) {
  // 0 ln 0 = 0.
  const Tensor positive = Gt(t, Full({}, 0, t.dtype()));
  const Tensor safe = Where(positive, t, Full({}, 1, t.dtype()));
  return Where(positive, t * Log(safe), Full({}, 0, t.dtype())) - t * x;
}

const Registration kRows[] = {
    Row({.name = "mse_loss",
         .formula = "l = (x - t)^2; dl = 2 (x - t) (dx - dt)",
         .loss = [](const Tensor& x, const Tensor& t, double) { return Square(x - t); },
         .reference = [](double x, double t, double) { return (x - t) * (x - t); },
         .of_difference = true}),
    Row({.name = "l1_loss",
         .formula = "l = |x - t|; dl = sign(x - t) (dx - dt), 0 at a tie",
         .x = Distinct(),
         .target = Distinct(),
         .loss = [](const Tensor& x, const Tensor& t, double) { return Abs(x - t); },
         .reference = [](double x, double t, double) { return std::abs(x - t); },
         .of_difference = true}),
    Row({.name = "huber_loss",
         .formula = "l = d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), d = x - t; "
                    "dl = clamp(d, -delta, delta) dd",
         .x = AwayFromSeam(),
         .target = NearZero(),
         .loss = HuberOf,
         .reference = HuberOf,
         .parameter = "delta",
         .choices = {1.0, 0.95, 1.05},
         .of_difference = true}),
    Row({.name = "smooth_l1_loss",
         .formula = "l = d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, d = x - t; "
                    "dl = clamp(d / beta, -1, 1) dd",
         .x = AwayFromSeam(),
         .target = NearZero(),
         .loss = [](const Tensor& x, const Tensor& t,
                    double beta) { return HuberOf(x, t, beta) / beta; },
         .reference = [](double x, double t, double beta) { return HuberOf(x, t, beta) / beta; },
         .parameter = "beta",
         .choices = {1.0, 0.95, 1.05},
         .of_difference = true}),
    Row({.name = "binary_cross_entropy",
         .formula = "l = -t ln x - (1 - t) ln(1 - x), each logarithm at least -100; "
                    "dl = ((1 - t) / (1 - x) - t / x) dx + (ln(1 - x) - ln x) dt",
         .x = {.low = 0.1, .high = 0.9},
         .target = {.low = 0, .high = 1},
         .loss = [](const Tensor& x, const Tensor& t,
                    double) { return (t - 1) * LogFrom100(1.0 - x) - t * LogFrom100(x); },
         .reference = [](double x, double t,
                         double) { return (t - 1) * LogFrom100(1 - x) - t * LogFrom100(x); }}),
    Row({.name = "binary_cross_entropy_with_logits",
         .formula = "l = ln(1 + e^x) - t x; dl = (sigmoid(x) - t) dx - x dt",
         .x = {.low = -4, .high = 4},
         .target = {.low = 0, .high = 1},
         .loss = [](const Tensor& x, const Tensor& t, double) { return Softplus(x) - t * x; },
         .reference = [](double x, double t,
                         double) { return std::log(1 + std::exp(x)) - t * x; }}),
    Row({.name = "kl_div",
         .formula = "l = t (ln t - x), 0 where t = 0; dl = (ln t + 1 - x) dt - t dx",
         .target = {.low = 0.1, .high = 1},
         .loss = KlDiv,
         .reference = [](double x, double t, double) { return t * (std::log(t) - x); }}),
};

}  // namespace
}  // namespace peelcheck
