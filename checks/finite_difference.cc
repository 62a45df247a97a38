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
    result.values.insert(result.values.end(), dense.data<double>(), dense.data<double>() + dense.size());
  }
  return result;
}

class Line {
 public:
  Line(const BlackBox& f, std::span<const Array> inputs, std::span<const size_t> argnums, std::span<const Array> directions)
      : f_(f), inputs_(inputs.begin(), inputs.end()), base_(inputs_), argnums_(argnums.begin(), argnums.end()) {
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
};

// Central differences at h, h/2, h/4 and their extrapolation to 0.
absl::StatusOr<Estimate> EstimateAt(Line& line, double h) {
  std::vector<double> table[kLevels];
  Estimate result;
  double largest_value = 0.0;
  for (int level = 0; level < kLevels; ++level) {
    const double step = std::ldexp(h, -level);
    absl::StatusOr<Evaluation> plus = line.At(step);
    if (!plus.ok()) return plus.status();
    absl::StatusOr<Evaluation> minus = line.At(-step);
    if (!minus.ok()) return minus.status();
    table[level].resize(plus->values.size());
    for (size_t i = 0; i < plus->values.size(); ++i) {
      table[level][i] = (plus->values[i] - minus->values[i]) / (2 * step);
      largest_value = std::max(largest_value, std::abs(plus->values[i]));
    }
    result.shapes = std::move(plus->shapes);
  }
  const size_t count = table[0].size();
  result.derivative.resize(count);
  result.bound.resize(count);
  double largest_difference = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const double fourth_coarse = (4 * table[1][i] - table[0][i]) / 3;
    const double fourth_fine = (4 * table[2][i] - table[1][i]) / 3;
    const double sixth = (16 * fourth_fine - fourth_coarse) / 15;
    result.derivative[i] = sixth;
    result.bound[i] = std::abs(sixth - fourth_fine);
    largest_difference = std::max(largest_difference, result.bound[i]);
    result.scale = std::max(result.scale, std::abs(sixth));
  }
  const double rounding = kRoundingUnits * Epsilon(DType::kF64) * (1 + largest_value) / (h / 4);
  for (double& bound : result.bound) {
    bound = kTruncationSafety * bound + kNeighbourShare * largest_difference + rounding;
    result.widest = std::max(result.widest, bound);
  }
  result.step = h;
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
  result.evidence = absl::StrFormat("finite difference: step %g, order 6, bound %.1e", estimate.step, result.widest);
  return result;
}

}  // namespace

bool Directional::useful() const { return widest <= kUselessBound * (1 + scale); }

absl::StatusOr<Directional> DifferentiateAlong(const BlackBox& f, std::span<const Array> inputs, std::span<const size_t> argnums,
                                               std::span<const Array> directions) {
  Line line(f, inputs, argnums, directions);
  if (line.norm() == 0.0) {
    // A direction without elements: the derivative is zero, exactly.
    absl::StatusOr<Evaluation> value = Evaluate(f, inputs);
    if (!value.ok()) return value.status();
    Estimate zero;
    zero.derivative.assign(value->values.size(), 0.0);
    zero.bound.assign(value->values.size(), 0.0);
    zero.shapes = std::move(value->shapes);
    return Packed(zero, 1.0);
  }
  absl::StatusOr<Estimate> best = EstimateAt(line, kFirstStep);
  if (!best.ok()) return best.status();
  double h = kFirstStep;
  for (int round = 1; round < kStepRounds && !(best->widest <= kTightBound * (1 + best->scale)); ++round) {
    h /= kStepShrink;
    absl::StatusOr<Estimate> finer = EstimateAt(line, h);
    if (!finer.ok()) return finer.status();
    // Once rounding takes over, a smaller step only widens the bound.
    if (!(finer->widest < best->widest)) break;
    best = std::move(finer);
  }
  return Packed(*best, line.norm());
}

}  // namespace peelcheck
