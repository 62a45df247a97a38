// opinfo_db/ops/conv.cc: convolutions: a matrix product of the kernel with the windows; conv1d is
// conv2d of height 1.
//
//   BuildOperation("conv2d", {{"stride", 2}, {"padding", {1, 0}}})({x, weight, bias})
//     // [n, c, h, w], [o, c / groups, i, j], [o] -> [n, o, h', w']
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"
#include "opinfo_db/ops/windows.h"

namespace peelcheck {
namespace {

struct ConvOptions {
  WindowOptions window;  // its kernel is that of the weight
  int64_t groups = 1;
};

ConvOptions OptionsOf(const std::string& name, int64_t axes, const Attributes& attributes) {
  ConvOptions options;
  options.window.stride = PairOf(attributes, "stride", 1, 1, name, axes, 1);
  options.window.padding = PairOf(attributes, "padding", 0, 0, name, axes, 0);
  options.window.dilation = PairOf(attributes, "dilation", 1, 1, name, axes, 1);
  options.groups = GetInt(attributes, "groups", 1, name);
  return options;
}

// x [n, c, h, w], weight [o, c / groups, i, j], bias [o] or undefined.
Tensor Conv2d(const std::string& name, ConvOptions options, const Tensor& x, const Tensor& weight,
              const Tensor& bias) {
  const int64_t groups = options.groups;
  const bool fits = x.rank() == 4 && weight.rank() == 4 && groups > 0 &&
                    x.dim(1) == weight.dim(1) * groups && weight.dim(0) % groups == 0 &&
                    (!bias.defined() || bias.shape() == Shape{weight.dim(0)});
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat(
        "[", name, "] input has shape ", ShapeToString(x.shape()), ", weight ",
        ShapeToString(weight.shape()),
        bias.defined() ? ", bias " + ShapeToString(bias.shape()) : std::string(), ", groups=",
        groups, "; expected [n, c, ..], [o, c / groups, ..], [o], c and o multiples of groups"));
  }
  options.window.kernel = {weight.dim(2), weight.dim(3)};
  RequireWindows(name, x, options.window);
  const int64_t n = x.dim(0), o = weight.dim(0);
  const int64_t depth = weight.dim(1) * weight.dim(2) * weight.dim(3);
  const Tensor windows = Windows(x, options.window);
  const int64_t h = windows.dim(3), w = windows.dim(4);
  const Tensor columns = Reshape(windows, {n, groups, depth, h * w});
  const Tensor rows = Reshape(weight, {groups, o / groups, depth});
  const Tensor y = Reshape(MatMul(rows, columns), {n, o, h, w});
  return bias.defined() ? y + Reshape(bias, {o, 1, 1}) : y;
}

TensorFn Make(const std::string& name, int64_t axes, const Attributes& attributes) {
  return [name, axes, options = OptionsOf(name, axes, attributes)](const Tensors& in) -> Tensors {
    const Tensor bias = in.size() > 2 ? in[2] : Tensor();
    if (axes == 2) return {Conv2d(name, options, in[0], in[1], bias)};
    if (in[0].rank() != 3 || in[1].rank() != 3) {
      ThrowInvalidArgument(
          absl::StrCat("[", name, "] input has shape ", ShapeToString(in[0].shape()), ", weight ",
                       ShapeToString(in[1].shape()), "; expected [n, c, l], [o, c / groups, k]"));
    }
    return {Squeeze(Conv2d(name, options, Unsqueeze(in[0], 2), Unsqueeze(in[1], 2), bias), 2)};
  };
}

// The sum over the kernel for each output element, positions in the padding left out.
std::vector<Array> ConvReference(std::span<const Array> in, const Attributes& attributes,
                                 int64_t axes) {
  const ConvOptions options = OptionsOf("reference", axes, attributes);
  const Array &x = in[0], &weight = in[1];
  const auto spatial = static_cast<size_t>(axes);
  const size_t skip = 2 - spatial;  // conv1d has only the width
  const int64_t in_group = weight.dim(1), out_group = weight.dim(0) / options.groups;
  Shape shape = {x.dim(0), weight.dim(0)};
  Shape kernel = {in_group};
  for (size_t k = 0; k < spatial; ++k) {
    const int64_t size = weight.shape()[k + 2];
    const int64_t reach = options.window.dilation[k + skip] * (size - 1) + 1;
    shape.push_back((x.shape()[k + 2] + 2 * options.window.padding[k + skip] - reach) /
                        options.window.stride[k + skip] +
                    1);
    kernel.push_back(size);
  }
  return {FromIndices(x.dtype(), shape, [&](const Index& out) {
    double sum = in.size() > 2 ? in[2].DoubleAt(out[1]) : 0;
    ForEachIndex(kernel, [&](const Index& at) {
      Index from = {out[0], out[1] / out_group * in_group + at[0]}, weight_at = {out[1], at[0]};
      for (size_t k = 0; k < spatial; ++k) {
        const int64_t position = out[k + 2] * options.window.stride[k + skip] +
                                 at[k + 1] * options.window.dilation[k + skip] -
                                 options.window.padding[k + skip];
        if (position < 0 || position >= x.shape()[k + 2]) return;
        from.push_back(position);
        weight_at.push_back(at[k + 1]);
      }
      sum += At(x, from) * At(weight, weight_at);
    });
    return sum;
  })};
}

struct Row {
  std::string name, op;
  int64_t axes;
  std::string x, weight, bias;  // "": without
  std::vector<AttributeSpec> attributes;
};

Registration Conv(Row row, SourceLocation where = SourceLocation::Current()) {
  std::vector<Argument> arguments = {{.name = "input", .shape = row.x},
                                     {.name = "weight", .shape = row.weight}};
  if (!row.bias.empty()) arguments.push_back({.name = "bias", .shape = row.bias});
  const auto inputs = [&row](Shape x, Shape weight) {
    if (row.axes == 1) {
      x.pop_back();
      weight.pop_back();
    }
    std::vector<ArraySpec> specs = {{DType::kF64, x}, {DType::kF64, weight}};
    if (!row.bias.empty()) specs.push_back({DType::kF64, {weight[0]}});
    return specs;
  };
  return Registration(
      {
          .name = row.name,
          .formula =
              "y_nop = b_o + sum over c, k of w_ock x_nc(stride p + dilation k - padding), c "
              "over the group of o, p and k over all spatial axes; dy = dw x + w dx + db likewise",
          .source =
              "https://pytorch.org/docs/stable/generated/torch.nn.functional." + row.op + ".html",
          .arguments = arguments,
          .attributes = row.attributes,
          .allows_empty = false,  // as in PyTorch, which refuses an input without channels
          .build = WithAttributes(row.name, row.bias.empty() ? 2 : 3,
                                  {"stride", "padding", "dilation", "groups"},
                                  [name = row.name, axes = row.axes](const Attributes& a) {
                                    return Make(name, axes, a);
                                  }),
          .reference = [axes = row.axes](
                           std::span<const Array> in,
                           const Attributes& a) { return ConvReference(in, a, axes); },
          .error_cases = {{.description = "channels differ",
                           .inputs = inputs({3, 4, 7, 7}, {5, 3, 3, 3})},
                          {.description = "the kernel is larger than the input",
                           .inputs = inputs({3, 4, 3, 3}, {3, 4, 5, 5})},
                          {.description = "stride 0",
                           .inputs = inputs({3, 4, 7, 7}, {3, 4, 3, 3}),
                           .attributes = {{"stride", 0}}}},
      },
      where);
}

AttributeValue Ints(std::vector<int64_t> values) { return values; }

// No choice makes an output of size 2.
const Registration kRows[] = {
    Conv({"conv1d",
          "conv1d",
          1,
          "n c 11",
          "o c 3",
          "",
          {{.name = "stride", .choices = {1, 3}},
           {.name = "padding", .choices = {0, 1, Ints({2})}},
           {.name = "dilation", .choices = {1, 2}}}}),
    Conv({"conv1d_bias",
          "conv1d",
          1,
          "n c 11",
          "o c 3",
          "o",
          {{.name = "stride", .choices = {1, 3}}, {.name = "padding", .choices = {0, 1}}}}),
    Conv({"conv2d",
          "conv2d",
          2,
          "n c 7 11",
          "o c 3 4",
          "",
          {{.name = "stride", .choices = {1, 2, Ints({1, 2})}},
           {.name = "padding", .choices = {0, 1, Ints({1, 0})}},
           {.name = "dilation", .choices = {1, Ints({1, 2})}}}}),
    Conv({"conv2d_bias",
          "conv2d",
          2,
          "n c 7 11",
          "o c 3 4",
          "o",
          {{.name = "stride", .choices = {2, 1, Ints({1, 2})}},
           {.name = "padding", .choices = {0, 1}}}}),
    Conv({"conv2d_grouped",
          "conv2d",
          2,
          "n 15 4 5",
          "12 5 1 3",
          "12",
          {{.name = "groups", .choices = {3}}, {.name = "padding", .choices = {0, Ints({0, 1})}}}}),
};

}  // namespace
}  // namespace peelcheck
