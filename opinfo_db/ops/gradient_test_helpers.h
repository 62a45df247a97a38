// opinfo_db/ops/gradient_test_helpers.h: what the tests of operations compare gradients with:
// central differences of <cotangents, f(x)>, one element after the other.
//
//   ExpectGradients("det", {}, {Tensor::FromArray(a)});
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops.h"
#include "engine/transforms.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

using Values = std::vector<double>;

inline Values ValuesOf(const Tensor& x) { return x.array().ToDoubles(); }

inline Tensor Of(const Shape& shape, const Values& values, DType dtype = DType::kF64) {
  return Tensor::FromArray(Array::FromValues(dtype, shape, values));
}

// Values in -1..1 without pattern (a multiplicative hash), the same in each run. Not a function
// such as sin(i + j), of which all large matrices are singular.
inline Tensor Scattered(const Shape& shape, int seed, DType dtype = DType::kF64) {
  Values values;
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    uint64_t bits =
        (static_cast<uint64_t>(i) * 64 + static_cast<uint64_t>(seed) + 1) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9u;
    values.push_back(static_cast<double>(bits >> 11) / 4503599627370496.0 - 1);
  }
  return Of(shape, values, dtype);
}

inline Tensors OutputsOf(const std::string& op, const Attributes& attributes, const Tensors& in) {
  return BuildOperation(op, attributes)(in);
}

// <cotangents, outputs>, cotangents scattered.
inline double Weighted(const Tensors& outputs) {
  double total = 0;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Values weights = ValuesOf(Scattered(outputs[o].shape(), static_cast<int>(o) + 50));
    const Values values = ValuesOf(outputs[o]);
    for (size_t i = 0; i < values.size(); ++i) total += weights[i] * values[i];
  }
  return total;
}

inline Tensors Pulled(const TensorFn& f, const Tensors& in) {
  const VjpResult result = Vjp(f, in);
  Tensors cotangents;
  for (size_t o = 0; o < result.outputs.size(); ++o)
    cotangents.push_back(
        Scattered(result.outputs[o].shape(), static_cast<int>(o) + 50, result.outputs[o].dtype()));
  return result.pullback(cotangents);
}

// The largest difference between gradients by vjp and by central differences, over floating inputs.
inline double GradientError(const TensorFn& f, const Tensors& in) {
  // Central differences of fourth order: truncation h^4 / 30 = 3e-16 times the fifth derivative,
  // rounding 1e-16 / h = 3e-13 times the value.
  constexpr double kStep = 3e-4;
  constexpr std::pair<double, double> kStencil[] = {
      {kStep, 8}, {-kStep, -8}, {2 * kStep, -1}, {-2 * kStep, 1}};
  const Tensors gradients = Pulled(f, in);
  double worst = 0;
  size_t g = 0;
  for (size_t k = 0; k < in.size(); ++k) {
    if (!IsFloating(in[k].dtype())) continue;
    const Tensor& gradient = gradients[g++];
    if (gradient.shape() != in[k].shape()) return HUGE_VAL;
    for (int64_t i = 0; i < in[k].size(); ++i) {
      double difference = 0;
      for (const auto& [step, weight] : kStencil) {
        Tensors moved = in;
        Array array = in[k].array().Copy();
        array.SetDouble(i, array.DoubleAt(i) + step);
        moved[k] = Tensor::FromArray(array);
        difference += weight * Weighted(f(moved)) / (12 * kStep);
      }
      worst = std::max(worst, std::abs(difference - gradient.array().DoubleAt(i)));
    }
  }
  return worst;
}

inline double GradientError(const std::string& op, const Attributes& attributes,
                            const Tensors& in) {
  return GradientError(BuildOperation(op, attributes), in);
}

}  // namespace peelcheck
