// f32: the same program in f64 on the same inputs. How far f32 may be off: some roundings of the
// array's scale, or more where a relative change of the inputs by one rounding moves the f64 result
// by more.
//
//   bound = 100 eps32 (1 + max |y|) + 20 |y(x (1 +- eps32)) - y(x)|
#include <cmath>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

// The signs alternate: a change of all elements alike would cancel in differences and quotients.
std::vector<Array> InF64(const std::vector<Array>& inputs, double relative_change) {
  std::vector<Array> result;
  double change = relative_change;
  for (const Array& input : inputs) {
    if (!IsFloating(input.dtype())) {
      result.push_back(input);
      continue;
    }
    Array wide = input.Cast(DType::kF64).Copy();
    double* data = wide.fresh_data<double>();
    for (int64_t i = 0; i < wide.size(); ++i, change = -change) data[i] *= 1 + change;
    result.push_back(std::move(wide));
  }
  return result;
}

void AddSensitivity(const Array& wide, const Array& moved, std::vector<double>& bounds) {
  if (moved.shape() != wide.shape()) return;
  for (int64_t i = 0; i < wide.size(); ++i) {
    const double change = std::abs(moved.DoubleAt(i) - wide.DoubleAt(i));
    if (std::isfinite(change)) bounds[static_cast<size_t>(i)] += kSensitivityUnits * change;
  }
}

}  // namespace

Judgement AgainstShadow(const CheckedCase& c) {
  constexpr const char* kOracle = "f64 shadow";
  Judgement judgement;
  const Program& program = c.sample.program;
  const absl::StatusOr<std::vector<Array>> shadow =
      c.engine.Run(program, InF64(c.sample.inputs, 0.0));
  const absl::StatusOr<std::vector<Array>> moved =
      c.engine.Run(program, InF64(c.sample.inputs, Epsilon(DType::kF32)));
  if (!shadow.ok() || !moved.ok()) {
    judgement.NotePeeledError(kOracle, program, shadow.ok() ? moved.status() : shadow.status());
    return judgement;
  }
  if (!judgement.CheckCount(c, kOracle, shadow->size()) || moved->size() != shadow->size()) {
    return judgement;
  }
  for (size_t o = 0; o < shadow->size(); ++o) {
    const Array& wide = (*shadow)[o];
    std::vector<double> bounds = UniformBounds(wide, kShadowUnits, DType::kF32);
    AddSensitivity(wide, (*moved)[o], bounds);
    // The dtype was held against the signature; here only values count.
    judgement.Compare(c, kOracle, o, wide.Cast(c.outputs[o].dtype()), bounds);
  }
  return judgement;
}

}  // namespace peelcheck
