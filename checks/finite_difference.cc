// checks/finite_difference.cc: central differences, extrapolated, with the bound derived in
// numerics.h.
//
//   D2(h) = (f(x + h t) - f(x - h t)) / 2h        error c2 h^2 + c4 h^4 + ..
//   D4(h) = (4 D2(h/2) - D2(h)) / 3               error O(h^4)
//   D6(h) = (16 D4(h/2) - D4(h)) / 15             error O(h^6), about |D6 - D4| at most
//   S(h) = f(x + h t) + f(x - h t) - 2 f(x)       S(h) - 20 S(h/2) + 64 S(h/4) = 64 noise + O(h^6)
#include "checks/finite_difference.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>

#include "checks/numerics.h"

namespace peelcheck {
namespace {

// Floating outputs, flattened one after the other.
struct Evaluation {
  std::vector<double> values;
  std::vector<Shape> shapes;
};

absl::StatusOr<Evaluation> Evaluate(const BlackBox& f, std::span<const Array> inputs) {
  absl::StatusOr<std::vector<Array>> outputs = f(inputs);
  if (!outputs.ok()) return outputs.status();
  Evaluation result;
  for (const Array& output : *outputs) {
    if (!IsFloating(output.dtype())) continue;
    result.shapes.push_back(output.shape());
    const Array dense = output.Cast(DType::kF64).Contiguous();
    result.values.insert(result.values.end(), dense.data<double>(),
                         dense.data<double>() + dense.size());
  }
  return result;
}

class Line {
 public:
  Line(const BlackBox& f, std::span<const Array> inputs, std::span<const size_t> argnums,
       std::span<const Array> directions)
      : f_(f),
        inputs_(inputs.begin(), inputs.end()),
        base_(inputs_),
        argnums_(argnums.begin(), argnums.end()) {
    double squares = 0.0;
    for (const Array& direction : directions) {
      directions_.push_back(direction.Contiguous());
      const double* d = directions_.back().data<double>();
      for (int64_t i = 0; i < direction.size(); ++i) squares += d[i] * d[i];
    }
    norm_ = std::sqrt(squares);
  }
  double norm() const { return norm_; }

  // f at distance `s` along the unit direction.
  absl::StatusOr<Evaluation> At(double s) {
    for (size_t k = 0; k < argnums_.size(); ++k) {
      Array moved = base_[argnums_[k]].Copy();
      double* x = moved.fresh_data<double>();
      const double* d = directions_[k].data<double>();
      for (int64_t i = 0; i < moved.size(); ++i) x[i] += s / norm_ * d[i];
      inputs_[argnums_[k]] = std::move(moved);
    }
    return Evaluate(f_, inputs_);
  }

 private:
  const BlackBox& f_;
  std::vector<Array> inputs_, base_;
  std::vector<size_t> argnums_;
  std::vector<Array> directions_;
  double norm_ = 0.0;
};

struct Estimate {
  std::vector<double> derivative, bound;
  std::vector<Shape> shapes;
  double scale = 0.0, widest = 0.0, step = 0.0;
  double rounding = 0.0;  // the part of each bound that grows as h shrinks
};

// Each level of extrapolation removes one term of the error; the ratio of the last two removals,
// taken over the whole array so that no element gets lucky, is how much smaller the next one would
// be.
double ConvergenceRatio(double second_difference, double fourth_difference) {
  if (!(second_difference > 0)) return 1.0;
  const double ratio = fourth_difference / second_difference;
  return ratio < 1.0 ? std::max(ratio, kLeastConvergence) : 1.0;
}

// Values along the line at +-h, +-h/2, +-h/4, and at 0.
struct Stencil {
  std::vector<double> middle;
  std::vector<double> odd[kLevels];   // (f(s) - f(-s)) / 2s: D2
  std::vector<double> even[kLevels];  // f(s) + f(-s) - 2 f(0)
  double largest_value = 0.0;
};

// D6 with its bounds.
void Extrapolate(const Stencil& at, double h, Estimate& result) {
  const size_t count = at.middle.size();
  result.derivative.resize(count);
  result.bound.resize(count);
  double second = 0.0, fourth = 0.0, sixth = 0.0, noise = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const double coarse = (4 * at.odd[1][i] - at.odd[0][i]) / 3;
    const double fine = (4 * at.odd[2][i] - at.odd[1][i]) / 3;
    result.derivative[i] = (16 * fine - coarse) / 15;
    result.bound[i] = std::abs(result.derivative[i] - fine);
    second = std::max(second, std::abs(at.odd[1][i] - at.odd[0][i]));
    fourth = std::max(fourth, std::abs(fine - coarse));
    sixth = std::max(sixth, result.bound[i]);
    result.scale = std::max(result.scale, std::abs(result.derivative[i]));
    // h^2 and h^4 of the even part cancel as well: what is left is noise, 64 times.
    noise = std::max(noise, std::abs(at.even[0][i] - 20 * at.even[1][i] + 64 * at.even[2][i]) / 64);
  }
  const double truncation = kTruncationSafety * ConvergenceRatio(second, fourth);
  const double assumed = kRoundingUnits * Epsilon(DType::kF64) * (1 + at.largest_value);
  const double rounding = (assumed + kNoiseSafety * noise) / (h / 4);
  result.rounding = rounding;
  for (double& bound : result.bound) {
    bound = truncation * (bound + kNeighbourShare * sixth) + rounding;
    result.widest = std::max(result.widest, bound);
  }
}

absl::StatusOr<Estimate> EstimateAt(Line& line, const Evaluation& middle, double h) {
  Stencil at;
  at.middle = middle.values;
  const size_t count = middle.values.size();
  for (int level = 0; level < kLevels; ++level) {
    const double step = std::ldexp(h, -level);
    const absl::StatusOr<Evaluation> plus = line.At(step);
    if (!plus.ok()) return plus.status();
    const absl::StatusOr<Evaluation> minus = line.At(-step);
    if (!minus.ok()) return minus.status();
    if (plus->shapes != middle.shapes || minus->shapes != middle.shapes) {
      return absl::InternalError("the shapes of the outputs change with the values of the inputs");
    }
    at.odd[level].resize(count);
    at.even[level].resize(count);
    for (size_t i = 0; i < count; ++i) {
      const double above = plus->values[i], below = minus->values[i];
      at.odd[level][i] = (above - below) / (2 * step);
      at.even[level][i] = (above - middle.values[i]) + (below - middle.values[i]);
      at.largest_value = std::max(at.largest_value, std::abs(above));
    }
  }
  Estimate result{.derivative = {}, .bound = {}, .shapes = middle.shapes, .step = h};
  Extrapolate(at, h, result);
  return result;
}

Directional Packed(const Estimate& estimate, double norm) {
  Directional result;
  size_t at = 0;
  for (const Shape& shape : estimate.shapes) {
    Array derivative = Array::Empty(DType::kF64, shape);
    std::vector<double> bound(static_cast<size_t>(derivative.size()));
    for (int64_t i = 0; i < derivative.size(); ++i, ++at) {
      derivative.fresh_data<double>()[i] = estimate.derivative[at] * norm;
      bound[static_cast<size_t>(i)] = estimate.bound[at] * norm;
    }
    result.derivative.push_back(std::move(derivative));
    result.bound.push_back(std::move(bound));
  }
  result.scale = estimate.scale * norm;
  result.widest = estimate.widest * norm;
  result.evidence = absl::StrFormat("finite difference: step %g, order 6, bound %.1e",
                                    estimate.step, result.widest);
  return result;
}

}  // namespace

bool Directional::useful() const { return widest <= kUselessBound * (1 + scale); }

absl::StatusOr<Directional> DifferentiateAlong(const BlackBox& f, std::span<const Array> inputs,
                                               std::span<const size_t> argnums,
                                               std::span<const Array> directions) {
  Line line(f, inputs, argnums, directions);
  const absl::StatusOr<Evaluation> middle = Evaluate(f, inputs);
  if (!middle.ok()) return middle.status();
  if (line.norm() == 0.0) {
    // No elements, or a tangent of zeros: the derivative is zero, exactly.
    const std::vector<double> zeros(middle->values.size(), 0.0);
    return Packed({.derivative = zeros, .bound = zeros, .shapes = middle->shapes}, 1.0);
  }
  absl::StatusOr<Estimate> best = EstimateAt(line, *middle, kFirstStep);
  if (!best.ok()) return best.status();
  double h = kFirstStep;
  for (int round = 1; round < kStepRounds; ++round) {
    if (best->widest <= kTightBound * (1 + best->scale)) break;
    // Where noise rules a smaller step only widens the bound; or it ends on a plateau of a rounded
    // f, which looks like a perfect derivative of zero.
    if (best->rounding > best->widest / 2) break;
    h /= kStepShrink;
    absl::StatusOr<Estimate> finer = EstimateAt(line, *middle, h);
    if (!finer.ok()) return finer.status();
    if (!(finer->widest < best->widest)) break;
    best = std::move(finer);
  }
  return Packed(*best, line.norm());
}

}  // namespace peelcheck
