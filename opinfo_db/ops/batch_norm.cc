// opinfo_db/ops/batch_norm.cc: each channel to mean 0 and variance 1, over all samples (training)
// or by running statistics, which are constants of x then.
//
//   BuildOperation("batch_norm", {{"training", true}})({x, running_mean, running_var})
//
// A function of its inputs: running statistics are not updated, which PyTorch does in place.
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/normalization.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr double kEps = 1e-5;

// x [n, c, ..], statistics and parameters [c].
TensorFn Make(const std::string& name, const Attributes& attributes) {
  const bool training = GetBool(attributes, "training", false, name);
  const double eps = GetDouble(attributes, "eps", kEps, name);
  return [=](const Tensors& in) -> Tensors {
    const Tensor& x = in[0];
    Dims all_but_channel, channel;
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i != 1) all_but_channel.push_back(i);
      channel.push_back(i == 1 ? x.dim(1) : 1);
    }
    Tensors of_channel;
    for (size_t i = 1; i < in.size(); ++i) {
      if (x.rank() < 2 || in[i].shape() != Shape{x.dim(1)}) {
        ThrowInvalidArgument(absl::StrCat("[", name, "] x has shape ", ShapeToString(x.shape()),
                                          ", operand ", i, " ", ShapeToString(in[i].shape()),
                                          "; expected [n, c, ..] and [c]"));
      }
      of_channel.push_back(Reshape(in[i], channel));
    }
    const Tensor y = training ? Standardised(x, all_but_channel, eps)
                              : (x - of_channel[0]) * Rsqrt(of_channel[1] + eps);
    return {in.size() == 3 ? y : y * of_channel[2] + of_channel[3]};
  };
}

std::vector<Array> BatchNormReference(std::span<const Array> in, const Attributes& attributes) {
  const Array& x = in[0];
  const double eps = GetDouble(attributes, "eps", kEps, "reference");
  const bool training = GetBool(attributes, "training", false, "reference");
  std::vector<std::vector<double>> channels(static_cast<size_t>(x.dim(1)));
  ForEachIndex(x.shape(),
               [&](const Index& i) { channels[static_cast<size_t>(i[1])].push_back(At(x, i)); });
  return {FromIndices(x.dtype(), x.shape(), [&](const Index& i) {
    const auto [mean, variance] = training ? Moments(channels[static_cast<size_t>(i[1])])
                                           : std::pair(in[1].DoubleAt(i[1]), in[2].DoubleAt(i[1]));
    const double y = (At(x, i) - mean) / std::sqrt(variance + eps);
    return in.size() == 3 ? y : y * in[3].DoubleAt(i[1]) + in[4].DoubleAt(i[1]);
  })};
}

Registration Row(const std::string& name, const std::string& formula, bool affine,
                 SourceLocation where = SourceLocation::Current()) {
  std::vector<Argument> arguments = {
      {.name = "x", .shape = "n c l", .domain = ValuesApart()},
      {.name = "running_mean", .shape = "c"},
      {.name = "running_var", .shape = "c", .domain = {.low = 0.2, .high = 2}}};
  std::vector<ArraySpec> wrong = {{DType::kF64, {3, 4}}, {DType::kF64, {4}}, {DType::kF64, {3}}};
  if (affine) {
    arguments.push_back({.name = "weight", .shape = "c"});
    arguments.push_back({.name = "bias", .shape = "c"});
    wrong.insert(wrong.end(), 2, {DType::kF64, {4}});
  }
  std::vector<ArraySpec> vector = wrong;
  vector[0].shape = {4};
  vector[2].shape = {4};
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = "Ioffe & Szegedy 2015, Batch normalization, algorithm 1; "
                    "https://pytorch.org/docs/stable/generated/torch.nn.functional.batch_norm.html",
          .arguments = arguments,
          .attributes = {{.name = "training", .choices = {true, false}},
                         {.name = "eps", .choices = {kEps, 0.1}}},
          .allows_empty = false,  // a mean of nothing
          .build = WithAttributes(name, affine ? 5 : 3, {"training", "eps"},
                                  [name](const Attributes& a) { return Make(name, a); }),
          .reference = BatchNormReference,
          .constant_sum = !affine,
          .error_cases = {{.description = "channels differ", .inputs = wrong},
                          {.description = "a vector", .inputs = vector}},
      },
      where);
}

const Registration kRows[] = {
    Row("batch_norm",
        "y = (x - m_c) / sqrt(v_c + eps); m, v = mean and variance of channel c where training, "
        "else running_mean, running_var; dy = (du - mean(du) - u mean(u du)) / sqrt(v_c + eps), u "
        "= y, "
        "where training",
        false),
    Row("batch_norm_affine",
        "y = w_c (x - m_c) / sqrt(v_c + eps) + b_c, m and v as in batch_norm; dy = w_c du + u dw_c "
        "+ db_c, u the standardised x",
        true),
};

}  // namespace
}  // namespace peelcheck
