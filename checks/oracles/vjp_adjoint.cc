// vjp and grad: <gradient, t> = <cotangent, finite difference of the rest of the stack along t>. On small inputs t runs over every
// element, which gives the gradient itself; on larger ones random directions come first, and the elements only to explain a failure.
#include <absl/strings/str_cat.h>

#include <cmath>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

struct Pairing {
  double value = 0.0;
  double bound = 0.0;
  std::string evidence;
  bool useful = true;
};

class AdjointOracle {
 public:
  AdjointOracle(const CheckedCase& c, const PeeledProgram& q)
      : c_(c),
        q_(q),
        f_(Differenced(c, q.program)),
        primals_(c.sample.inputs.begin(), c.sample.inputs.begin() + static_cast<int64_t>(q.input_count)),
        cotangents_(c.sample.inputs.begin() + static_cast<int64_t>(q.input_count), c.sample.inputs.end()),
        argnums_(OutermostArgnums(c, q.input_count)),
        grad_(c.sample.program.stack.front().kind == TransformKind::kGrad) {
    for (size_t argnum : argnums_) elements_ += primals_[argnum].size();
  }

  Judgement Judge() {
    if (!judgement_.CheckCount("finite difference", c_.outputs.size(), argnums_.size())) return judgement_;
    // Shape and dtype first: the sums below would hide them.
    for (size_t k = 0; k < argnums_.size(); ++k) {
      const Array& like = primals_[argnums_[k]];
      if (c_.outputs[k].shape() == like.shape() && c_.outputs[k].dtype() == like.dtype()) continue;
      judgement_.Compare("input", GradientName(k), static_cast<int64_t>(k), c_.outputs[k], like, {});
      return judgement_;
    }
    if (elements_ > kFullJacobianElements && RandomDirectionsAgree()) return judgement_;
    if (Decided()) return judgement_;
    CompareElements();
    return judgement_;
  }

 private:
  bool Decided() const { return judgement_.finding.has_value() || !judgement_.inconclusive.empty(); }

  std::string GradientName(size_t k) const {
    return "gradient of " + InputNames(c_.entry, q_.program, primals_)[argnums_[k]];
  }

  // <cotangent, finite difference along the directions>, and what it may be off by.
  std::optional<Pairing> Pair(const std::vector<Array>& directions) {
    absl::StatusOr<Directional> d = DifferentiateAlong(f_, primals_, argnums_, directions);
    if (!d.ok()) {
      judgement_.NotePeeledError("finite difference", q_.program, d.status());
      return std::nullopt;
    }
    Pairing result{.evidence = d->evidence, .useful = d->useful()};
    double magnitude = 0.0;
    for (size_t o = 0; o < d->derivative.size(); ++o) {
      for (int64_t i = 0; i < d->derivative[o].size(); ++i) {
        const double cotangent = grad_ ? 1.0 : cotangents_[o].DoubleAt(i);
        const double term = cotangent * d->derivative[o].data<double>()[i];
        result.value += term;
        magnitude += std::abs(term);
        result.bound += std::abs(cotangent) * d->bound[o][static_cast<size_t>(i)];
      }
    }
    result.bound += kReorderUnits * Epsilon(DType::kF64) * (1 + magnitude);
    return result;
  }

  bool RandomDirectionsAgree() {
    uint64_t state = c_.seed;
    for (int n = 0; n < kRandomDirections; ++n) {
      std::vector<Array> directions;
      double paired = 0.0;
      double magnitude = 0.0;
      for (size_t k = 0; k < argnums_.size(); ++k) {
        Array direction = Array::Empty(DType::kF64, primals_[argnums_[k]].shape());
        for (int64_t i = 0; i < direction.size(); ++i) {
          state = state * 6364136223846793005u + 1442695040888963407u;
          const double t = static_cast<double>(static_cast<int64_t>(state >> 33) - (int64_t{1} << 30)) / static_cast<double>(int64_t{1} << 30);
          direction.fresh_data<double>()[i] = t;
          const double gradient = c_.outputs[k].DoubleAt(i);
          paired += gradient * t;
          magnitude += std::abs(gradient * t);
          judgement_.any_nonzero = judgement_.any_nonzero || gradient != 0;
        }
        directions.push_back(std::move(direction));
      }
      const std::optional<Pairing> expected = Pair(directions);
      if (!expected.has_value()) return false;
      if (!expected->useful) {
        judgement_.inconclusive = "ill-conditioned or at a kink: " + expected->evidence;
        return false;
      }
      const double bound = expected->bound + kReorderUnits * Epsilon(DType::kF64) * (1 + magnitude);
      const double ratio = std::abs(paired - expected->value) / bound;
      judgement_.worst_ratio = std::max(judgement_.worst_ratio, ratio);
      judgement_.any_nonzero = judgement_.any_nonzero || expected->value != 0;
      ++judgement_.comparisons;
      if (!(ratio <= 1.0)) return false;
    }
    return true;
  }

  void CompareElements() {
    for (size_t k = 0; k < argnums_.size() && !Decided(); ++k) {
      const Array& primal = primals_[argnums_[k]];
      Array expected = Array::Zeros(DType::kF64, primal.shape());
      std::vector<double> bounds(static_cast<size_t>(primal.size()));
      std::string evidence;
      for (int64_t i = 0; i < primal.size(); ++i) {
        std::vector<Array> directions;
        for (size_t other : argnums_) directions.push_back(Array::Zeros(DType::kF64, primals_[other].shape()));
        directions[k].SetDouble(i, 1.0);
        const std::optional<Pairing> pairing = Pair(directions);
        if (!pairing.has_value()) return;
        if (!pairing->useful) {
          judgement_.inconclusive = "ill-conditioned or at a kink: " + pairing->evidence;
          return;
        }
        expected.fresh_data<double>()[i] = pairing->value;
        bounds[static_cast<size_t>(i)] = pairing->bound;
        evidence = pairing->evidence;
      }
      judgement_.Compare("finite difference", GradientName(k), static_cast<int64_t>(k), c_.outputs[k], expected, bounds, evidence);
    }
  }

  const CheckedCase& c_;
  const PeeledProgram& q_;
  BlackBox f_;
  std::vector<Array> primals_, cotangents_;
  std::vector<size_t> argnums_;
  bool grad_;
  int64_t elements_ = 0;
  Judgement judgement_;
};

}  // namespace

Judgement AgainstAdjoint(const CheckedCase& c) {
  const PeeledProgram q = PeelCase(c);
  return AdjointOracle(c, q).Judge();
}

}  // namespace peelcheck
