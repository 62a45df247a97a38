// opinfo_db/ops/cross_entropy.cc: nll_loss of log-probabilities [n, c] and class indices [n], and
// cross_entropy of logits; with and without weights of the classes.
//
//   BuildOperation("cross_entropy", {{"label_smoothing", 0.1}})({logits, target})
//
// The gradient of a row is gathered at its class, or left out where the class is `ignore_index`.
#include <cmath>

#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reduction.h"

namespace peelcheck {
namespace {

struct Options {
  std::string name;
  Reduction reduction = Reduction::kMean;
  int64_t ignore_index = -100;
  double smoothing = 0;
};

Options OptionsOf(const std::string& name, const Attributes& attributes) {
  Options options{.name = name,
                  .reduction = ReductionOf(attributes, name),
                  .ignore_index = GetInt(attributes, "ignore_index", -100, name),
                  .smoothing = GetDouble(attributes, "label_smoothing", 0, name)};
  if (!(options.smoothing >= 0 && options.smoothing <= 1)) {
    ThrowInvalidArgument(
        absl::StrCat("[", name, "] label_smoothing=", options.smoothing, "; expected 0 to 1"));
  }
  return options;
}

void CheckShapes(const Options& options, const Tensors& in) {
  const bool fits = in[0].rank() == 2 && in[1].rank() == 1 && in[0].dim(0) == in[1].dim(0) &&
                    (in.size() < 3 || in[2].shape() == Shape{in[0].dim(1)});
  if (fits && in[1].dtype() == DType::kI64) return;
  ThrowInvalidArgument(absl::StrCat(
      "[", options.name, "] input has shape ", ShapeToString(in[0].shape()), ", target ",
      ShapeToString(in[1].shape()), " of ", DTypeName(in[1].dtype()),
      in.size() > 2 ? absl::StrCat(", weight ", ShapeToString(in[2].shape())) : std::string(),
      "; expected [n, c], [n] of i64", in.size() > 2 ? ", [c]" : ""));
}

// x [n, c], log-probabilities or logits, target [n], weight [c] or undefined.
Tensor NllLoss(const Options& options, const Tensor& x, bool logits, const Tensor& target,
               const Tensor& weight) {
  const DType dtype = x.dtype();
  const Tensor zero = Full({}, 0, dtype);
  const Tensor kept = Ne(target, Full({}, static_cast<double>(options.ignore_index), DType::kI64));
  // Ignored rows go first of all: an infinity in one would come back as infinity times 0.
  const Tensor rows = Where(Unsqueeze(kept, 1), x, zero);
  const Tensor log_p = logits ? LogSoftmax(rows, 1) : rows;
  const Tensor index = Where(kept, target, ZerosLike(target));
  const Tensor class_weight =
      Where(kept, weight.defined() ? IndexSelect(weight, 0, index) : Full({}, 1, dtype), zero);
  Tensor loss = -Squeeze(Gather(log_p, 1, Unsqueeze(index, 1)), 1) * class_weight;
  if (options.smoothing > 0) {
    const Tensor all = Sum(weight.defined() ? log_p * weight : log_p, Dims{1});
    const double share = options.smoothing / static_cast<double>(log_p.dim(1));
    loss = loss * (1 - options.smoothing) - Where(kept, all, zero) * share;
  }
  if (options.reduction != Reduction::kMean) return Reduced(loss, options.reduction);
  return Sum(loss) / Sum(class_weight);
}

TensorFn Make(const std::string& name, bool logits, const Attributes& attributes) {
  return [options = OptionsOf(name, attributes), logits](const Tensors& in) -> Tensors {
    CheckShapes(options, in);
    const Tensor weight = in.size() > 2 ? in[2] : Tensor();
    return {NllLoss(options, in[0], logits, in[1], weight)};
  };
}

std::vector<Array> EntropyReference(std::span<const Array> in, const Attributes& attributes,
                                    bool logits) {
  const Options options = OptionsOf("reference", attributes);
  const int64_t n = in[0].dim(0), c = in[0].dim(1);
  Array losses = Array::Zeros(in[0].dtype(), {n});
  double total = 0, total_weight = 0;
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<double> row = Line(in[0], {i, 0}, 1);
    double normaliser = 0;
    for (const double value : row) normaliser += std::exp(value);
    const int64_t target = in[1].IntAt(i);
    if (target == options.ignore_index) continue;
    double loss = 0;
    for (int64_t k = 0; k < c; ++k) {
      const double weight = in.size() > 2 ? in[2].DoubleAt(k) : 1;
      const double log_p = row[static_cast<size_t>(k)] - (logits ? std::log(normaliser) : 0);
      const double hard = k == target ? 1 - options.smoothing : 0;
      loss -= (hard + options.smoothing / static_cast<double>(c)) * weight * log_p;
      if (k == target) total_weight += weight;
    }
    losses.SetDouble(i, loss);
    total += loss;
  }
  if (options.reduction == Reduction::kNone) return {losses};
  const double divisor = options.reduction == Reduction::kMean ? total_weight : 1;
  return {Array::Full(in[0].dtype(), {}, total / divisor)};
}

Registration Row(const std::string& name, const std::string& op, bool logits, bool weighted,
                 SourceLocation where = SourceLocation::Current()) {
  std::vector<Argument> arguments = {
      {.name = "input", .shape = "n c", .domain = {.low = -3, .high = 3}},
      {.name = "target", .shape = "n", .kind = ValueKind::kIndex, .of = 0, .dim = 1}};
  if (weighted)
    arguments.push_back({.name = "weight", .shape = "c", .domain = {.low = 0.2, .high = 2}});
  std::vector<AttributeSpec> attributes = {Reductions()};
  std::vector<std::string> known = {"reduction", "ignore_index"};
  if (logits) {
    attributes.push_back({.name = "label_smoothing", .choices = {0.0, 0.1, 0.5}});
    known.push_back("label_smoothing");
  }
  const std::string p = logits ? "ln softmax(x)" : "x";
  const auto inputs = [weighted](const Shape& x, DType target) {
    std::vector<ArraySpec> specs = {{DType::kF64, x}, {target, {3}}};
    if (weighted) specs.push_back({DType::kF64, {4}});
    return specs;
  };
  return Registration(
      {
          .name = name,
          .formula =
              "l_i = -w_t " + p +
              "_it, t the class of row i; mean: sum of l_i / sum of w_t; dl_i = -w_t d(" + p +
              "_it)" +
              (logits ? "; label smoothing s spreads the share s evenly over all classes" : ""),
          .source = "https://pytorch.org/docs/stable/generated/torch.nn.functional." + op + ".html",
          .arguments = arguments,
          .attributes = attributes,
          .allows_empty = false,  // a mean of nothing
          .build =
              WithAttributes(name, weighted ? 3 : 2, known,
                             [name, logits](const Attributes& a) { return Make(name, logits, a); }),
          .reference = [logits](std::span<const Array> in,
                                const Attributes& a) { return EntropyReference(in, a, logits); },
          .error_cases = {{.description = "rows differ", .inputs = inputs({5, 4}, DType::kI64)},
                          {.description = "target is floating",
                           .inputs = inputs({3, 4}, DType::kF64)}},
      },
      where);
}

const Registration kRows[] = {
    Row("nll_loss", "nll_loss", false, false),
    Row("nll_loss_weighted", "nll_loss", false, true),
    Row("cross_entropy", "cross_entropy", true, false),
    Row("cross_entropy_weighted", "cross_entropy", true, true),
};

}  // namespace
}  // namespace peelcheck
