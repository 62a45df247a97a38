// opinfo_db/ops/windows.h: the windows that convolution and pooling move over [n, c, h, w], as one
// more axis; made of pad, slice and stack, so every transform of those carries over.
//
//   Tensor w = Windows(x, {.kernel = {3, 3}, .padding = {1, 1}});   // [n, c, 9, h', w']
#pragma once

#include <absl/strings/str_cat.h>

#include <array>
#include <string>
#include <vector>

#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

using Pair = std::array<int64_t, 2>;  // height, width

struct WindowOptions {
  Pair kernel = {1, 1}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};

  // Windows along axis k of an input of that size.
  int64_t Count(size_t k, int64_t size) const {
    const int64_t room = size + 2 * padding[k] - dilation[k] * (kernel[k] - 1) - 1;
    return room < 0 ? 0 : room / stride[k] + 1;
  }
};

// One number for both axes, or one each; `axes` 1: of the width, and `other` for the height.
inline Pair PairOf(const Attributes& attributes, const std::string& name, int64_t fallback,
                   int64_t least, const std::string& tag, int64_t axes = 2, int64_t other = 0) {
  const auto given = GetOptionalInts(attributes, name, tag);
  const std::vector<int64_t> values = given.value_or(std::vector<int64_t>{fallback});
  const bool fits = !values.empty() && std::ssize(values) <= axes &&
                    *std::min_element(values.begin(), values.end()) >= least;
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] ", name, "=", AttributeToString(values),
                                      "; expected 1 to ", axes, " numbers >= ", least));
  }
  return {axes == 1 ? other : values.front(), values.back()};
}

inline void RequireWindows(const std::string& tag, const Tensor& x, const WindowOptions& options) {
  const int64_t h = x.rank() == 4 ? options.Count(0, x.dim(2)) : 0;
  const int64_t w = x.rank() == 4 ? options.Count(1, x.dim(3)) : 0;
  if (h > 0 && w > 0) return;
  ThrowInvalidArgument(absl::StrCat(
      "[", tag, "] input has shape ", ShapeToString(x.shape()), ", the window ",
      options.dilation[0] * (options.kernel[0] - 1) + 1, " x ",
      options.dilation[1] * (options.kernel[1] - 1) + 1, " with padding ", options.padding[0], ", ",
      options.padding[1], "; expected [n, c, h, w] with room for a window"));
}

// What stands in the padding.
inline Tensor Padded(const Tensor& x, const Pair& padding, double value) {
  if (padding == Pair{0, 0}) return x;
  const Tensor padded = Pad(Pad(x, 2, padding[0], padding[0]), 3, padding[1], padding[1]);
  if (value == 0) return padded;
  const int64_t h = padded.dim(2), w = padded.dim(3);
  Array inside = Array::Zeros(DType::kBool, {h, w});
  for (int64_t i = padding[0]; i < h - padding[0]; ++i)
    for (int64_t j = padding[1]; j < w - padding[1]; ++j) inside.SetDouble(i * w + j, 1);
  return Where(Tensor::FromArray(inside), padded, Full({}, value, x.dtype()));
}

// [n, c, h, w] -> [n, c, kernel elements, h', w'].
inline Tensor Windows(const Tensor& x, const WindowOptions& options, double padding_value = 0) {
  const Tensor padded = Padded(x, options.padding, padding_value);
  const int64_t h = options.Count(0, x.dim(2)), w = options.Count(1, x.dim(3));
  const auto pick = [&](const Tensor& from, size_t k, int64_t at, int64_t count) {
    const int64_t start = at * options.dilation[k];
    return Slice(from, static_cast<int64_t>(k) + 2, start,
                 start + (count - 1) * options.stride[k] + 1, options.stride[k]);
  };
  Tensors pieces;
  for (int64_t i = 0; i < options.kernel[0]; ++i) {
    const Tensor rows = pick(padded, 0, i, h);
    for (int64_t j = 0; j < options.kernel[1]; ++j) pieces.push_back(pick(rows, 1, j, w));
  }
  return Stack(pieces, 2);
}

}  // namespace peelcheck
