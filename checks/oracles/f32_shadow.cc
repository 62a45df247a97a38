// f32: the same program in f64 on the same inputs. How far f32 may be off: some roundings of the array's scale, or more where a relative
// change of the inputs by one rounding moves the f64 result by more.
#include <absl/strings/str_cat.h>

#include <cmath>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

std::vector<Array> InF64(const std::vector<Array>& inputs, double relative_change) {
  std::vector<Array> result;
  int64_t sign = 1;
  for (const Array& input : inputs) {
    Array wide = IsFloating(input.dtype()) ? input.Cast(DType::kF64) : input;
    if (relative_change != 0 && IsFloating(input.dtype())) {
      wide = wide.Copy();
      double* data = wide.fresh_data<double>();
      for (int64_t i = 0; i < wide.size(); ++i, sign = -sign) data[i] *= 1 + relative_change * static_cast<double>(sign);
    }
    result.push_back(std::move(wide));
  }
  return result;
}

}  // namespace

Judgement AgainstShadow(const CheckedCase& c) {
  constexpr const char* kOracle = "f64 shadow";
  Judgement judgement;
  const double eps = Epsilon(DType::kF32);
  absl::StatusOr<std::vector<Array>> shadow = c.engine.Run(c.sample.program, InF64(c.sample.inputs, 0.0));
  absl::StatusOr<std::vector<Array>> moved = c.engine.Run(c.sample.program, InF64(c.sample.inputs, eps));
  if (!shadow.ok() || !moved.ok()) {
    judgement.NotePeeledError(kOracle, c.sample.program, shadow.ok() ? moved.status() : shadow.status());
    return judgement;
  }
  if (!judgement.CheckCount(kOracle, c.outputs.size(), shadow->size())) return judgement;
  for (size_t o = 0; o < shadow->size(); ++o) {
    const Array& wide = (*shadow)[o];
    std::vector<double> bounds = UniformBounds(wide, kShadowUnits, DType::kF32);
    if ((*moved)[o].shape() == wide.shape()) {
      for (int64_t i = 0; i < wide.size(); ++i) {
        const double change = std::abs((*moved)[o].DoubleAt(i) - wide.DoubleAt(i));
        if (std::isfinite(change)) bounds[static_cast<size_t>(i)] += kSensitivityUnits * change;
      }
    }
    const Array expected = IsFloating(wide.dtype()) ? wide.Cast(DType::kF32) : wide;
    judgement.Compare(kOracle, absl::StrCat("output ", o), static_cast<int64_t>(o), c.outputs[o], expected, bounds);
  }
  return judgement;
}

}  // namespace peelcheck
