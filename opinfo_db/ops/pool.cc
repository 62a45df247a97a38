// opinfo_db/ops/pool.cc: the largest value, or the mean, of each window of [n, c, h, w].
//
//   BuildOperation("max_pool2d", {{"kernel_size", 3}, {"padding", 1}})({x})
#include <limits>

#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"
#include "opinfo_db/ops/windows.h"

namespace peelcheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The stride is the kernel's size unless it is given.
WindowOptions OptionsOf(const std::string& name, const Attributes& attributes) {
  WindowOptions options;
  RequireInts(attributes, "kernel_size", name);
  options.kernel = PairOf(attributes, "kernel_size", 1, 1, name);
  options.padding = PairOf(attributes, "padding", 0, 0, name);
  options.stride = GetOptionalInts(attributes, "stride", name).has_value()
                       ? PairOf(attributes, "stride", 1, 1, name)
                       : options.kernel;
  for (size_t k = 0; k < 2; ++k) {
    if (2 * options.padding[k] <= options.kernel[k]) continue;
    ThrowInvalidArgument(absl::StrCat("[", name, "] padding ", options.padding[k],
                                      " for a kernel of size ", options.kernel[k],
                                      "; expected at most half of it"));
  }
  return options;
}

// Padding is never the largest: it is -infinity.
Tensors MaxPool(const Tensor& x, const WindowOptions& options, bool) {
  return {Amax(Windows(x, options, -kInfinity), Dims{2})};
}

// Padding counts as zeros, or not at all.
Tensors AvgPool(const Tensor& x, const WindowOptions& options, bool count_padding) {
  const Tensor windows = Windows(x, options);
  if (count_padding || options.padding == Pair{0, 0}) return {Mean(windows, Dims{2})};
  const Tensor ones = Full({1, 1, x.dim(2), x.dim(3)}, 1, x.dtype());
  return {Sum(windows, Dims{2}) / Sum(Windows(ones, options), Dims{2})};
}

std::vector<Array> PoolReference(std::span<const Array> in, const Attributes& attributes,
                                 bool largest) {
  const WindowOptions options = OptionsOf("reference", attributes);
  const bool count_padding = GetBool(attributes, "count_include_pad", true, "reference");
  const Array& x = in[0];
  Shape shape = {x.dim(0), x.dim(1)};
  for (size_t k = 0; k < 2; ++k) {
    shape.push_back(
        (x.shape()[k + 2] + 2 * options.padding[k] - options.kernel[k]) / options.stride[k] + 1);
  }
  return {FromIndices(x.dtype(), shape, [&](const Index& out) {
    double best = -kInfinity, sum = 0, inside = 0;
    for (int64_t i = 0; i < options.kernel[0]; ++i) {
      for (int64_t j = 0; j < options.kernel[1]; ++j) {
        const int64_t row = out[2] * options.stride[0] + i - options.padding[0];
        const int64_t column = out[3] * options.stride[1] + j - options.padding[1];
        if (row < 0 || column < 0 || row >= x.dim(2) || column >= x.dim(3)) continue;
        const double value = At(x, {out[0], out[1], row, column});
        best = std::max(best, value);
        sum += value;
        ++inside;
      }
    }
    const auto all = static_cast<double>(options.kernel[0] * options.kernel[1]);
    return largest ? best : sum / (count_padding ? all : inside);
  })};
}

Registration Pool(const std::string& name, const std::string& formula, const Domain& domain,
                  Tensors (*pool)(const Tensor&, const WindowOptions&, bool), bool largest,
                  SourceLocation where = SourceLocation::Current()) {
  const AttributeValue uneven = std::vector<int64_t>{1, 3};
  std::vector<AttributeSpec> attributes = {{.name = "kernel_size", .choices = {3, uneven}},
                                           {.name = "stride", .choices = {{}, 1, uneven}},
                                           {.name = "padding", .choices = {0, 0}}};
  std::vector<std::string> known = {"kernel_size", "stride", "padding"};
  if (!largest) {
    attributes.push_back({.name = "count_include_pad", .choices = {true, false}});
    known.push_back("count_include_pad");
  }
  attributes[2].choices = {0, AttributeValue(std::vector<int64_t>{0, 1})};
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source =
              "https://pytorch.org/docs/stable/generated/torch.nn.functional." + name + ".html",
          .arguments = {{.name = "x", .shape = "n c 5 7", .domain = domain}},
          .attributes = attributes,
          .allows_empty = false,  // as in PyTorch, which refuses an input without channels
          .build = WithAttributes(name, 1, known,
                                  [=](const Attributes& a) -> TensorFn {
                                    const WindowOptions options = OptionsOf(name, a);
                                    const bool count = GetBool(a, "count_include_pad", true, name);
                                    return [=](const Tensors& in) {
                                      RequireWindows(name, in[0], options);
                                      return pool(in[0], options, count);
                                    };
                                  }),
          .reference = [largest](std::span<const Array> in,
                                 const Attributes& a) { return PoolReference(in, a, largest); },
          .error_cases = {{.description = "no kernel_size",
                           .inputs = {{DType::kF64, {3, 4, 5, 7}}}},
                          {.description = "more padding than half of the kernel",
                           .inputs = {{DType::kF64, {3, 4, 5, 7}}},
                           .attributes = {{"kernel_size", 3}, {"padding", 2}}},
                          {.description = "three axes",
                           .inputs = {{DType::kF64, {4, 5, 7}}},
                           .attributes = {{"kernel_size", 3}}}},
      },
      where);
}

const Registration kRows[] = {
    Pool("max_pool2d", "y = the largest x of the window; dy = its dx; ties share it",
         {.low = -50, .high = 50, .margin = 0.1, .distinct = true}, MaxPool, true),
    Pool("avg_pool2d", "y = the mean of the window, padding as zeros or left out; dy likewise", {},
         AvgPool, false),
};

}  // namespace
}  // namespace peelcheck
