#include "engine/rule_results.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/fault_points.h"
#include "engine/ops.h"

namespace peelcheck {
namespace {

std::string Describe(const TensorSpec& spec) {
  return absl::StrCat(DTypeName(spec.dtype), ShapeToString(spec.shape));
}

// Whether `shape` broadcasts to `larger`.
bool BroadcastsTo(const Shape& shape, const Shape& larger) {
  if (shape.size() > larger.size()) return false;
  const size_t lead = larger.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != larger[lead + i]) return false;
  }
  return true;
}

bool ContainsTensor(TensorSpan list, const Tensor& tensor) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& t) { return t.is(tensor); });
}

}  // namespace

std::string GeneratedName(const Function& function) { return function.name() + "Generated"; }

Tensor ZerosOf(const TensorSpec& spec) { return Full(spec.shape, 0.0, spec.dtype); }

void MaterializeZeros(std::span<const TensorSpec> specs, Tensors& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].defined() || !IsFloating(specs[i].dtype)) continue;
    values[i] = Faulty(FaultPoint::kMissingIsOne) ? Full(specs[i].shape, 1.0, specs[i].dtype)
                                                  : ZerosOf(specs[i]);
  }
}

Tensor CheckedGradient(const Function& function, size_t input, const Tensor& gradient,
                       const TensorSpec& expected) {
  if (!IsFloating(expected.dtype)) {
    ThrowInvalidArgument(absl::StrCat("[", GeneratedName(function),
                                      "] backward returned a gradient for input ", input,
                                      ", which is ", DTypeName(expected.dtype),
                                      " and has none; return an undefined Tensor there"));
  }
  const bool dtype_fits = gradient.dtype() == expected.dtype;
  if (dtype_fits && gradient.shape() == expected.shape) return gradient;
  if (dtype_fits && BroadcastsTo(expected.shape, gradient.shape())) {
    const Tensor sum = SumTo(gradient, expected.shape);
    if (Faulty(FaultPoint::kUnreduced)) return gradient;
    if (Faulty(FaultPoint::kReducedByMean)) {
      return sum * (static_cast<double>(sum.size()) / static_cast<double>(gradient.size()));
    }
    return sum;
  }
  ThrowInvalidArgument(absl::StrCat("[", GeneratedName(function), "] backward returned ",
                                    Describe(SpecOf(gradient)), " as the gradient of input ", input,
                                    "; expected ", Describe(expected)));
}

void CheckTangent(const Function& function, size_t output, const Tensor& tangent,
                  const TensorSpec& expected) {
  if (tangent.dtype() == expected.dtype && tangent.shape() == expected.shape) return;
  ThrowInvalidArgument(absl::StrCat("[", GeneratedName(function), "] jvp returned ",
                                    Describe(SpecOf(tangent)), " as the tangent of output ", output,
                                    "; expected ", Describe(expected)));
}

Tensors RunJvp(const Function& function, Context& ctx, std::span<const TensorSpec> inputs,
               std::span<const TensorSpec> outputs, Tensors tangents) {
  if (!function.handles_undefined() && ContextAccess::MaterializeGrads(ctx)) {
    MaterializeZeros(inputs, tangents);
  }
  Tensors results = function.Jvp(ctx, tangents);
  CheckCount(function, "tangents", results.size(), outputs.size(), "output");
  for (size_t i = 0; i < results.size(); ++i) {
    // What an output without a derivative gets is dropped by the caller, whatever it is.
    if (results[i].defined() && IsFloating(outputs[i].dtype)) {
      CheckTangent(function, i, results[i], outputs[i]);
    }
  }
  return results;
}

void CheckCount(const Function& function, const char* what, size_t came, size_t expected,
                const char* per) {
  if (came == expected) return;
  ThrowInvalidArgument(absl::StrCat("[", GeneratedName(function), "] returned ", came, " ", what,
                                    "; expected ", expected, ", one per ", per,
                                    " (an undefined Tensor stands for none)"));
}

void CheckDirty(const Function& function, const Context& ctx, TensorSpan inputs,
                TensorSpan outputs) {
  for (const Tensor& dirty : ContextAccess::Dirty(ctx)) {
    if (!ContainsTensor(inputs, dirty)) {
      ThrowInvalidArgument(absl::StrCat(
          "[", GeneratedName(function),
          "] marked a tensor dirty that is not an input; mark only inputs that forward wrote"));
    }
    if (!ContainsTensor(outputs, dirty)) {
      ThrowInvalidArgument(absl::StrCat(
          "[", GeneratedName(function),
          "] marked an input dirty that it does not return; return every tensor that forward "
          "writes in place"));
    }
  }
}

}  // namespace peelcheck
