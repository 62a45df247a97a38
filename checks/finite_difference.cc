// checks/finite_difference.cc: a polynomial through nine values on a line, split into signal and
// noise; the model is derived in docs/numerics.md.
//
//   a_j = sum_k P_j(k) f(x + k h t), P_j the orthonormal (Gram) polynomials of nine points
//   f'  = sum_{j <= J} a_j P_j'(0) / h
//
// A smooth f has coefficients that fall off geometrically, until they sink into the round-off of f,
// which is the same in every a_j. So the last ones tell the noise (More and Wild 2011, whose table
// of differences they are in another basis), and those beyond J what J leaves out.
#include "checks/finite_difference.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace peelcheck {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// P_j at the points 0..8 and its derivative at the point where f is differentiated.
struct Basis {
  std::array<std::array<double, kPoints>, kPoints> value;
  std::array<double, kPoints> slope;
};

// Three-term recurrence of Gram's polynomials in t = k - 4, orthonormal by construction.
Basis BuildBasis(int at) {
  Basis basis;
  std::array<double, kPoints> before{}, current{};
  double slope_before = 0.0, slope = 0.0, alpha_before = 0.0;
  current.fill(1.0 / std::sqrt(static_cast<double>(kPoints)));
  for (int j = 0; j < kPoints; ++j) {
    basis.value[static_cast<size_t>(j)] = current;
    basis.slope[static_cast<size_t>(j)] = slope;
    const double n = kPoints, next = j + 1;
    // t P_j = alpha_{j+1} P_{j+1} + alpha_j P_{j-1}
    const double alpha = next / 2 * std::sqrt((n * n - next * next) / (4 * next * next - 1));
    if (j + 1 == kPoints) break;
    const double slope_next = (current[static_cast<size_t>(at)] + (at - kPoints / 2) * slope -
                               alpha_before * slope_before) /
                              alpha;
    std::array<double, kPoints> following;
    for (int k = 0; k < kPoints; ++k) {
      const auto i = static_cast<size_t>(k);
      following[i] = ((k - kPoints / 2) * current[i] - alpha_before * before[i]) / alpha;
    }
    before = current;
    current = following;
    slope_before = slope;
    slope = slope_next;
    alpha_before = alpha;
  }
  return basis;
}

// Index of the point that is the middle: 4 central, 0 forward, 8 backward.
const Basis& BasisAt(int at) {
  static const Basis central = BuildBasis(kPoints / 2), forward = BuildBasis(0),
                     backward = BuildBasis(kPoints - 1);
  return at == 0 ? forward : at == kPoints - 1 ? backward : central;
}

// Floating outputs, flattened one after the other.
struct Evaluation {
  std::vector<double> values;
  std::vector<Shape> shapes;
  bool finite = true;
};

Evaluation Flattened(std::span<const Array> outputs) {
  Evaluation result;
  for (const Array& output : outputs) {
    if (!IsFloating(output.dtype())) continue;
    result.shapes.push_back(output.shape());
    const Array dense = output.Cast(DType::kF64).Contiguous();
    result.values.insert(result.values.end(), dense.data<double>(),
                         dense.data<double>() + dense.size());
  }
  result.finite = std::all_of(result.values.begin(), result.values.end(),
                              [](double value) { return std::isfinite(value); });
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
    for (const size_t argnum : argnums_) {
      for (int64_t i = 0; i < base_[argnum].size(); ++i) {
        size_ = std::max(size_, std::abs(base_[argnum].DoubleAt(i)));
      }
    }
  }
  double norm() const { return norm_; }
  // Largest |input| that moves: a point on the line is rounded, too.
  double size() const { return size_; }

  // f at distance `s` along the unit direction.
  absl::StatusOr<Evaluation> At(double s) {
    for (size_t k = 0; k < argnums_.size(); ++k) {
      Array moved = base_[argnums_[k]].Copy();
      double* x = moved.fresh_data<double>();
      const double* d = directions_[k].data<double>();
      for (int64_t i = 0; i < moved.size(); ++i) x[i] += s / norm_ * d[i];
      inputs_[argnums_[k]] = std::move(moved);
    }
    absl::StatusOr<std::vector<Array>> outputs = f_(inputs_);
    if (!outputs.ok()) return outputs.status();
    return Flattened(*outputs);
  }

 private:
  const BlackBox& f_;
  std::vector<Array> inputs_, base_;
  std::vector<size_t> argnums_;
  std::vector<Array> directions_;
  double norm_ = 0.0, size_ = 0.0;
};

struct Estimate {
  std::vector<double> derivative, bound;
  double scale = 0.0, widest = 0.0, reach = 0.0;
  double noise = 0.0;       // of the element with the widest bound
  double truncation = 0.0;  // share of its bound that falls with the reach
  double signal = 0.0;      // its largest coefficient
  int degree = 0;           // of that element
  size_t worst = 0;
  double central[3] = {kNan, kNan, kNan};  // its central differences at reach, 1/2, 1/4
  bool finite = true;
};

// The coefficients of one element.
struct Spectrum {
  std::array<double, kPoints> a{};
  double magnitude = 0.0;  // largest |f|
  double noise = 0.0;      // root mean square of the coefficients that are taken for noise
};

Spectrum Analyse(const Basis& basis, const std::array<double, kPoints>& f, double middle) {
  Spectrum result;
  for (size_t k = 0; k < kPoints; ++k) {
    const double change = f[k] - middle;
    for (size_t j = 1; j < kPoints; ++j) result.a[j] += basis.value[j][k] * change;
    result.magnitude = std::max(result.magnitude, std::abs(f[k]));
  }
  double squares = 0.0;
  int count = 0;
  for (size_t j = kPoints - 1; j >= kFirstNoiseDegree; --j) {
    // Signal goes on rising towards lower degrees (every second one of an even or odd f); noise
    // that was small by chance does not.
    const auto stands_out = [&](size_t i) {
      return std::abs(result.a[i]) > kSignalOverNoise * std::sqrt(squares / count);
    };
    if (count > 1 && stands_out(j) && (stands_out(j - 1) || stands_out(j - 2))) break;
    squares += result.a[j] * result.a[j];
    ++count;
  }
  result.noise = std::sqrt(squares / count);
  return result;
}

// What degrees beyond the eighth would add to the slope: the last coefficients, one step further
// down the geometric fall from the first ones.
double TailBeyond(const Basis& basis, const Spectrum& s) {
  const double last = std::max(std::abs(s.a[kPoints - 2]), std::abs(s.a[kPoints - 1]));
  const double first = std::max(std::abs(s.a[1]), std::abs(s.a[2]));
  if (!(last > 0)) return last;  // 0 or nan
  const double fall = first > last ? std::pow(last / first, 1.0 / (kPoints - 3)) : 1.0;
  const double slope =
      std::max(std::abs(basis.slope[kPoints - 2]), std::abs(basis.slope[kPoints - 1]));
  return kTailSafety * last * fall * slope;
}

struct Fit {
  double slope = 0.0, bound = 0.0, truncation = 0.0;
  int degree = 0;
};

// Of all degrees the one whose bound is least.
Fit BestFit(const Basis& basis, const Spectrum& s, double noise) {
  // A coefficient tells of the signal what it has above the noise.
  const auto share = [&](size_t j) {
    return std::max(std::abs(s.a[j]) - noise, 0.0) * std::abs(basis.slope[j]);
  };
  double left_out = 0.0;
  for (size_t j = 2; j < kPoints; ++j) left_out += share(j);
  const double tail = TailBeyond(basis, s);
  Fit best{.bound = kNan};
  double slope = 0.0, amplification = 0.0;
  for (size_t j = 1; j < kPoints; ++j) {
    slope += s.a[j] * basis.slope[j];
    amplification += basis.slope[j] * basis.slope[j];
    if (j > 1) left_out -= share(j);
    // A degree that changes nothing (an even one about the middle) is no candidate.
    if (basis.slope[j] == 0.0 && j > 1) continue;
    const double truncation = std::max(left_out, 0.0) + tail;
    const double bound = truncation + kNoiseSafety * noise * std::sqrt(amplification) +
                         kArithmeticUnits * Epsilon(DType::kF64) * std::abs(slope);
    if (!(best.bound <= bound)) {
      best = {
          .slope = slope, .bound = bound, .truncation = truncation, .degree = static_cast<int>(j)};
    }
  }
  return best;
}

// The typical noise relative to the size of a value: elements share a computation, and one of them
// may show little of its noise by chance.
double SharedNoise(const std::vector<Spectrum>& spectra) {
  std::vector<double> relative;
  for (const Spectrum& s : spectra) {
    if (s.magnitude > 0 && std::isfinite(s.noise)) relative.push_back(s.noise / s.magnitude);
  }
  if (relative.empty()) return 0.0;
  const auto middle = relative.begin() + static_cast<std::ptrdiff_t>(relative.size() / 2);
  std::nth_element(relative.begin(), middle, relative.end());
  return *middle;
}

// The typical noise as it is: a value that is what is left of larger ones has their noise, and may
// show little of it by chance.
double TypicalNoise(const std::vector<Spectrum>& spectra) {
  std::vector<double> noise;
  for (const Spectrum& s : spectra) {
    if (std::isfinite(s.noise)) noise.push_back(s.noise);
  }
  if (noise.empty()) return 0.0;
  const auto middle = noise.begin() + static_cast<std::ptrdiff_t>(noise.size() / 2);
  std::nth_element(noise.begin(), middle, noise.end());
  return *middle;
}

// `at`: index of the middle among the points, which lie h apart.
absl::StatusOr<Estimate> EstimateAt(Line& line, const Evaluation& middle, int at, double h) {
  const size_t count = middle.values.size();
  std::vector<std::array<double, kPoints>> f(count);
  Estimate result{.reach = h * std::max(at, kPoints - 1 - at)};
  for (int k = 0; k < kPoints; ++k) {
    const absl::StatusOr<Evaluation> here = k == at ? middle : line.At((k - at) * h);
    if (!here.ok()) return here.status();
    if (here->shapes != middle.shapes) {
      return absl::InternalError("the shapes of the outputs change with the values of the inputs");
    }
    result.finite = result.finite && here->finite;
    for (size_t i = 0; i < count; ++i) f[i][static_cast<size_t>(k)] = here->values[i];
  }
  const Basis& basis = BasisAt(at);
  std::vector<Spectrum> spectra(count);
  for (size_t i = 0; i < count; ++i) spectra[i] = Analyse(basis, f[i], middle.values[i]);
  const double rounding = kLeastNoise * Epsilon(DType::kF64);
  const double shared = SharedNoise(spectra);
  const double typical = TypicalNoise(spectra);
  // Elements that are all round-off have a relative noise of 1: it is not that of the others.
  double loudest = 0.0;
  for (const Spectrum& s : spectra) loudest = std::max(loudest, s.noise);
  result.derivative.resize(count);
  result.bound.resize(count);
  for (size_t i = 0; i < count; ++i) {
    // a_1 P_1'(0) / h is the slope; the point was rounded before f was.
    const double moved = std::abs(spectra[i].a[1] * basis.slope[1]) / h * line.size();
    const double noise = std::max({spectra[i].noise, typical,
                                   std::hypot(std::min(shared * spectra[i].magnitude, loudest) +
                                                  rounding * spectra[i].magnitude,
                                              rounding * moved)});
    const Fit fit = BestFit(basis, spectra[i], noise);
    result.derivative[i] = fit.slope / h;
    result.bound[i] = fit.bound / h;
    result.scale = std::max(result.scale, std::abs(result.derivative[i]));
    if (i > 0 && result.bound[i] <= result.widest) continue;
    if (std::isnan(result.widest)) continue;
    result.widest = result.bound[i];
    result.worst = i;
    result.noise = noise;
    result.degree = fit.degree;
    result.truncation = fit.truncation / h;
    result.signal = std::max(std::abs(spectra[i].a[1]), std::abs(spectra[i].a[2]));
  }
  for (int n = 0; n < 3 && at == kPoints / 2 && count > 0; ++n) {
    const auto steps = static_cast<size_t>(kPoints / 2 >> n);
    const auto& values = f[result.worst];
    result.central[n] = (values[kPoints / 2 + steps] - values[kPoints / 2 - steps]) /
                        (2 * static_cast<double>(steps) * h);
  }
  return result;
}

// A line of convergence for a report: how the plain central differences of the worst element
// approach the result.
std::string Convergence(const Estimate& estimate, double norm) {
  const double truth = estimate.derivative[estimate.worst];
  double off[3];
  for (int n = 0; n < 3; ++n) off[n] = std::abs(estimate.central[n] - truth) * norm;
  if (std::isnan(off[0])) return "; one-sided";
  std::string text = absl::StrFormat(
      "; central differences at step %.2g, %.2g, %.2g are off by %.1e, %.1e, %.1e", estimate.reach,
      estimate.reach / 2, estimate.reach / 4, off[0], off[1], off[2]);
  if (off[2] > 8 * estimate.bound[estimate.worst] * norm) {
    absl::StrAppendFormat(&text, ": order %.2f", std::log2(off[1] / off[2]));
  }
  return text;
}

Directional Packed(const Estimate& estimate, const std::vector<Shape>& shapes, double norm) {
  Directional result;
  size_t at = 0;
  for (const Shape& shape : shapes) {
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
  if (estimate.degree > 0) {
    result.evidence =
        absl::StrFormat("finite difference: reach %.2g, degree %d, noise %.1e, bound %.1e",
                        estimate.reach, estimate.degree, estimate.noise, result.widest) +
        Convergence(estimate, norm);
  }
  return result;
}

// Which stencil `reach` allows: the index of the middle, and the distance of the points.
struct Stencil {
  int at = kPoints / 2;
  double h = 0.0;
};

Stencil ChooseStencil(const Reach& reach) {
  const double both = std::min(reach.backward, reach.forward);
  const double either = std::max(reach.backward, reach.forward);
  if (both >= kOneSidedBelow * either) return {kPoints / 2, both / (kPoints / 2)};
  return {reach.forward > reach.backward ? 0 : kPoints - 1, either / (kPoints - 1)};
}

// Where a value is not finite the function has an edge: the side that is finite is taken.
absl::StatusOr<Estimate> EstimateWithin(Line& line, const Evaluation& middle, Stencil& stencil) {
  absl::StatusOr<Estimate> central = EstimateAt(line, middle, stencil.at, stencil.h);
  if (!central.ok() || central->finite || !middle.finite || stencil.at != kPoints / 2) {
    return central;
  }
  const absl::StatusOr<Estimate> again = EstimateAt(line, middle, stencil.at, stencil.h);
  if (!again.ok()) return again.status();
  if (again->finite) {
    return absl::InternalError("a value that is not finite is finite in a second run");
  }
  for (const int at : {0, kPoints - 1}) {
    absl::StatusOr<Estimate> sided = EstimateAt(line, middle, at, stencil.h / 2);
    if (!sided.ok()) return sided.status();
    if (!sided->finite) continue;
    stencil = {at, stencil.h / 2};
    return sided;
  }
  return central;
}

void Limit(double distance, Reach& reach) {
  if (distance >= 0) reach.forward = std::min(reach.forward, distance);
  if (distance <= 0) reach.backward = std::min(reach.backward, -distance);
}

}  // namespace

bool Directional::useful() const { return widest <= kUselessBound * (1 + scale); }

void Directional::KeepNearer(const Directional& other, std::span<const Array> claimed) {
  widest = 0.0;
  for (size_t o = 0; o < derivative.size(); ++o) {
    for (int64_t i = 0; i < derivative[o].size(); ++i) {
      const auto e = static_cast<size_t>(i);
      const double claim = claimed[o].DoubleAt(i);
      double& here = derivative[o].fresh_data<double>()[i];
      const double there = other.derivative[o].data<double>()[i];
      if (std::abs(there - claim) * bound[o][e] < std::abs(here - claim) * other.bound[o][e]) {
        here = there;
        bound[o][e] = other.bound[o][e];
      }
      if (!(bound[o][e] <= widest)) widest = bound[o][e];
    }
  }
}

Reach ReachAlong(std::span<const Argument> arguments, std::span<const Array> inputs,
                 std::span<const size_t> argnums, std::span<const Array> directions) {
  double squares = 0.0;
  for (const Array& direction : directions) {
    for (int64_t i = 0; i < direction.size(); ++i) {
      squares += direction.DoubleAt(i) * direction.DoubleAt(i);
    }
  }
  Reach reach;
  for (size_t k = 0; k < argnums.size() && squares > 0; ++k) {
    if (argnums[k] >= arguments.size()) continue;
    const Domain& domain = arguments[argnums[k]].domain;
    // Two elements approach each other by at most sqrt(2) times the way along a unit direction.
    if (domain.distinct) {
      reach.forward = reach.backward = std::min(reach.forward, kTieShare * domain.margin);
    }
    for (int64_t i = 0; i < directions[k].size(); ++i) {
      const double speed = directions[k].DoubleAt(i) / std::sqrt(squares);
      const double x = inputs[argnums[k]].DoubleAt(i);
      if (speed == 0) continue;
      for (const double kink : domain.kinks) Limit(kKinkShare * (kink - x) / speed, reach);
      // A value outside of its domain (a replayed file) has left the declaration behind.
      if (x < domain.low || x > domain.high) continue;
      Limit((domain.high + kDomainSlack - x) / speed, reach);
      Limit((domain.low - kDomainSlack - x) / speed, reach);
    }
  }
  return reach;
}

absl::StatusOr<Directional> DifferentiateAlong(const BlackBox& f, std::span<const Array> inputs,
                                               std::span<const size_t> argnums,
                                               std::span<const Array> directions,
                                               const Reach& reach,
                                               const std::vector<Array>* known_middle) {
  Line line(f, inputs, argnums, directions);
  Evaluation middle;
  if (known_middle != nullptr) {
    middle = Flattened(*known_middle);
  } else {
    const absl::StatusOr<std::vector<Array>> outputs = f(inputs);
    if (!outputs.ok()) return outputs.status();
    middle = Flattened(*outputs);
  }
  if (line.norm() == 0.0) {
    // No elements, or a tangent of zeros: the derivative is zero, exactly.
    const std::vector<double> zeros(middle.values.size(), 0.0);
    return Packed({.derivative = zeros, .bound = zeros}, middle.shapes, 1.0);
  }
  Stencil stencil = ChooseStencil(reach);
  if (!(stencil.h > 0)) {
    Estimate undecided;
    undecided.derivative.assign(middle.values.size(), 0.0);
    undecided.bound.assign(middle.values.size(), std::numeric_limits<double>::infinity());
    undecided.widest = std::numeric_limits<double>::infinity();
    Directional result = Packed(undecided, middle.shapes, 1.0);
    result.evidence = "finite difference: the sample lies on a declared kink or edge";
    return result;
  }
  absl::StatusOr<Estimate> best = EstimateWithin(line, middle, stencil);
  if (!best.ok()) return best.status();
  for (int round = 1; round < kReachRounds; ++round) {
    if (best->widest <= kTightBound * (1 + best->scale)) break;
    // Where noise rules a smaller reach only widens the bound; or it ends on a plateau of a rounded
    // f, which looks like a perfect derivative of zero. (Coefficients that do not fall off at all
    // are a function that varies faster than the reach.)
    if (best->truncation < best->widest / 2 && best->noise < kNoiseOverSignal * best->signal) break;
    stencil.h /= kReachShrink;
    absl::StatusOr<Estimate> finer = EstimateWithin(line, middle, stencil);
    if (!finer.ok()) return finer.status();
    if (!(finer->widest < best->widest) && best->finite) break;
    best = std::move(finer);
  }
  return Packed(*best, middle.shapes, line.norm());
}

}  // namespace peelcheck
