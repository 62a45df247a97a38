// vjp and grad: <gradient, t> = <cotangent, finite difference of the rest of the stack along t>.
//
// On small inputs t runs over every element, which gives the gradient itself: the full Jacobian. On
// larger ones dense random directions come first, and the elements only to explain a failure.
#include <absl/strings/str_format.h>

#include <cmath>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

constexpr const char* kOracle = "finite difference";

// One side of the identity, and what it may be off by.
struct Pairing {
  double value = 0.0;
  double bound = 0.0;
  std::string evidence;
};

class AdjointOracle {
 public:
  AdjointOracle(const CheckedCase& c, const PeeledProgram& q)
      : c_(c), q_(q), f_(Differenced(c, q.program)), argnums_(OutermostArgnums(c, q.input_count)) {
    const auto middle = c.sample.inputs.begin() + static_cast<std::ptrdiff_t>(q.input_count);
    primals_.assign(c.sample.inputs.begin(), middle);
    // grad takes no cotangents: they are ones.
    is_grad_ = c.sample.program.stack.front().kind == TransformKind::kGrad;
    cotangents_.assign(middle, c.sample.inputs.end());
    for (const size_t argnum : argnums_) elements_ += primals_[argnum].size();
  }

  Judgement Judge() {
    if (elements_ <= kFullJacobianElements) {
      CompareElements();
      return std::move(judgement_);
    }
    const bool agree = RandomDirectionsAgree();
    if (agree || judgement_.Decided()) return std::move(judgement_);
    const std::string evidence = disagreement_;
    CompareElements();
    if (judgement_.Decided()) {
      if (judgement_.finding.has_value()) judgement_.finding->evidence.push_back(evidence);
    } else {
      // Each element is inside of its bound, their sum along a direction is not: too close to tell.
      judgement_.NoteUseless(evidence + ", but each element of the gradient agrees");
    }
    return std::move(judgement_);
  }

 private:
  // f at the sample itself, which every direction shares.
  const std::vector<Array>* Middle() {
    if (!middle_.has_value()) middle_ = f_(primals_);
    return middle_->ok() ? &**middle_ : nullptr;
  }

  // The estimate that lies nearest to `claimed`, of as many reaches as it takes to meet it.
  std::optional<Pairing> DifferencePaired(const std::vector<Array>& directions,
                                          const Pairing& claimed) {
    std::optional<Pairing> nearest = DifferencePaired(directions, 1.0);
    for (const double factor : kConfirmReach) {
      if (!nearest.has_value() || Ratio(claimed, *nearest) <= 1.0) break;
      const std::optional<Pairing> again = DifferencePaired(directions, factor);
      if (!again.has_value()) return std::nullopt;
      if (Ratio(claimed, *again) < Ratio(claimed, *nearest)) nearest = again;
    }
    return nearest;
  }

  static double Ratio(const Pairing& a, const Pairing& b) {
    return std::abs(a.value - b.value) / (a.bound + b.bound);
  }

  // <cotangent, finite difference along the directions>.
  std::optional<Pairing> DifferencePaired(const std::vector<Array>& directions, double factor) {
    const Reach reach = ReachAlong(c_.entry.arguments, primals_, argnums_, directions);
    const absl::StatusOr<Directional> d =
        DifferentiateAlong(f_, primals_, argnums_, directions, reach.Times(factor), Middle());
    if (!d.ok()) {
      judgement_.NotePeeledError(kOracle, q_.program, d.status());
      return std::nullopt;
    }
    if (!is_grad_ && d->derivative.size() != cotangents_.size()) {
      judgement_.NotePeeledError(kOracle, q_.program,
                                 absl::InternalError("another number of floating outputs came than "
                                                     "there are cotangents"));
      return std::nullopt;
    }
    if (!d->useful()) {
      judgement_.NoteUseless(d->evidence);
      return std::nullopt;
    }
    return Paired(*d);
  }

  Pairing Paired(const Directional& d) const {
    Pairing result{.evidence = d.evidence};
    double magnitude = 0.0;
    for (size_t o = 0; o < d.derivative.size(); ++o) {
      for (int64_t i = 0; i < d.derivative[o].size(); ++i) {
        const double cotangent = is_grad_ ? 1.0 : cotangents_[o].DoubleAt(i);
        const double term = cotangent * d.derivative[o].data<double>()[i];
        result.value += term;
        magnitude += std::abs(term);
        result.bound += std::abs(cotangent) * d.bound[o][static_cast<size_t>(i)];
      }
    }
    result.bound += kReorderUnits * Epsilon(DType::kF64) * (1 + magnitude);
    return result;
  }

  // Weights in +-[kLeastWeight, 1], dense.
  std::vector<Array> DrawDirections() {
    std::vector<Array> directions;
    for (const size_t argnum : argnums_) {
      Array direction = Array::Empty(DType::kF64, primals_[argnum].shape());
      for (int64_t i = 0; i < direction.size(); ++i) {
        // Knuth's MMIX generator; its upper bits are the random ones.
        stream_ = stream_ * 6364136223846793005u + 1442695040888963407u;
        const double unit = static_cast<double>(stream_ >> 33) / static_cast<double>(1u << 31);
        const double weight = kLeastWeight + (1 - kLeastWeight) * std::abs(2 * unit - 1);
        direction.fresh_data<double>()[i] = unit < 0.5 ? -weight : weight;
      }
      directions.push_back(std::move(direction));
    }
    return directions;
  }

  // <gradient, directions>.
  Pairing GradientPaired(const std::vector<Array>& directions) {
    Pairing result;
    double magnitude = 0.0;
    for (size_t k = 0; k < argnums_.size(); ++k) {
      for (int64_t i = 0; i < directions[k].size(); ++i) {
        const double gradient = c_.outputs[k].DoubleAt(i);
        const double term = gradient * directions[k].data<double>()[i];
        result.value += term;
        magnitude += std::abs(term);
        judgement_.any_nonzero = judgement_.any_nonzero || gradient != 0;
      }
    }
    result.bound = kReorderUnits * Epsilon(DType::kF64) * (1 + magnitude);
    return result;
  }

  bool RandomDirectionsAgree() {
    stream_ = c_.seed;
    for (int n = 0; n < kRandomDirections; ++n) {
      const std::vector<Array> directions = DrawDirections();
      const Pairing engine = GradientPaired(directions);
      const std::optional<Pairing> oracle = DifferencePaired(directions, engine);
      if (!oracle.has_value()) return false;
      const double ratio = Ratio(engine, *oracle);
      judgement_.any_nonzero = judgement_.any_nonzero || oracle->value != 0;
      ++judgement_.comparisons;
      if (!(ratio <= 1.0)) {  // nan is a disagreement too
        disagreement_ = absl::StrFormat(
            "along a random direction: engine %.12g, finite difference %.12g, bound %.1e",
            engine.value, oracle->value, engine.bound + oracle->bound);
        return false;
      }
      judgement_.worst_ratio = std::max(judgement_.worst_ratio, ratio);
    }
    return true;
  }

  void CompareElements() {
    std::vector<Array> directions;
    for (const size_t argnum : argnums_) {
      directions.push_back(Array::Zeros(DType::kF64, primals_[argnum].shape()));
    }
    for (size_t k = 0; k < argnums_.size() && !judgement_.Decided(); ++k) {
      const int64_t size = directions[k].size();
      Array expected = Array::Zeros(DType::kF64, directions[k].shape());
      std::vector<double> bounds(static_cast<size_t>(size));
      std::string evidence;
      for (int64_t i = 0; i < size; ++i) {
        directions[k].fresh_data<double>()[i] = 1.0;
        const std::optional<Pairing> pairing =
            DifferencePaired(directions, Pairing{.value = c_.outputs[k].DoubleAt(i)});
        directions[k].fresh_data<double>()[i] = 0.0;
        if (!pairing.has_value()) return;
        expected.fresh_data<double>()[i] = pairing->value;
        bounds[static_cast<size_t>(i)] = pairing->bound;
        evidence = pairing->evidence;
      }
      judgement_.Compare(c_, kOracle, k, expected, bounds, evidence);
    }
  }

  const CheckedCase& c_;
  const PeeledProgram& q_;
  BlackBox f_;
  std::vector<size_t> argnums_;
  std::vector<Array> primals_, cotangents_;
  std::optional<absl::StatusOr<std::vector<Array>>> middle_;
  bool is_grad_ = false;
  int64_t elements_ = 0;
  uint64_t stream_ = 0;
  std::string disagreement_;
  Judgement judgement_;
};

}  // namespace

// Gradients have the shape and dtype of their inputs: AgainstSignature has seen to it.
Judgement AgainstAdjoint(const CheckedCase& c) {
  const PeeledProgram q = PeelCase(c);
  return AdjointOracle(c, q).Judge();
}

}  // namespace peelcheck
