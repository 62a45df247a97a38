// f32: the same program in f64 on the same inputs. How far f32 may be off: some roundings of the
// array's scale, or more where a relative change of the inputs by one rounding moves the f64 result
// by more.
//
//   bound = 100 eps32 (1 + max |y|) + 20 |y(x (1 +- eps32)) - y(x)|
//
// Where that does not cover an element, the difference is looked at for some neighbours of the
// inputs. What cancels in f32 leaves another rest each time; a wrong result is off by the same. So
// the spread of the differences is added, several times over, and explains the first but not the
// second.
#include <algorithm>
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

std::vector<Array> Neighbour(const std::vector<Array>& inputs, double relative_change) {
  std::vector<Array> result = InF64(inputs, relative_change);
  for (size_t i = 0; i < inputs.size(); ++i) result[i] = result[i].Cast(inputs[i].dtype());
  return result;
}

bool Explained(const Array& came, const Array& wide, const std::vector<double>& bounds) {
  if (came.shape() != wide.shape()) return true;  // the comparison says so
  for (int64_t i = 0; i < wide.size(); ++i) {
    const double difference = std::abs(came.DoubleAt(i) - wide.DoubleAt(i));
    if (difference > bounds[static_cast<size_t>(i)]) return false;
  }
  return true;
}

// Adds kSpreads times the range of (f32 - f64) over the inputs and their neighbours, element by
// element of output `o`.
void AddSpread(const CheckedCase& c, size_t o, const Array& wide, std::vector<double>& bounds) {
  std::vector<double> low, high;
  for (int64_t i = 0; i < wide.size(); ++i) {
    low.push_back(c.outputs[o].DoubleAt(i) - wide.DoubleAt(i));
  }
  high = low;
  for (const double steps : {1.0, -1.0, 2.0, -2.0}) {
    const std::vector<Array> inputs = Neighbour(c.sample.inputs, steps * Epsilon(DType::kF32));
    const auto here = c.engine.Run(c.sample.program, inputs);
    const auto exact = c.engine.Run(c.sample.program, InF64(inputs, 0.0));
    if (!here.ok() || !exact.ok() || here->size() <= o || exact->size() <= o ||
        (*here)[o].shape() != wide.shape() || (*exact)[o].shape() != wide.shape()) {
      return;
    }
    for (int64_t i = 0; i < wide.size(); ++i) {
      const auto e = static_cast<size_t>(i);
      const double difference = (*here)[o].DoubleAt(i) - (*exact)[o].DoubleAt(i);
      if (!std::isfinite(difference)) continue;
      low[e] = std::min(low[e], difference);
      high[e] = std::max(high[e], difference);
    }
  }
  for (size_t e = 0; e < bounds.size(); ++e) {
    if (std::isfinite(high[e] - low[e])) bounds[e] += kSpreads * (high[e] - low[e]);
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
    if (!Explained(c.outputs[o], wide, bounds)) AddSpread(c, o, wide, bounds);
    // The dtype was held against the signature; here only values count.
    judgement.Compare(c, kOracle, o, wide.Cast(c.outputs[o].dtype()), bounds);
  }
  return judgement;
}

}  // namespace peelcheck
