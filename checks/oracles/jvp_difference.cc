// jvp: the primal outputs against the rest of the stack, the tangents against a finite difference
// of it along the tangent.
//
//   jvp sin at x along t   // (f(x + h t) - f(x - h t)) / 2h, extrapolated to h = 0, with a bound
#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

// The engine's tangent is a computation, too.
void WidenByRounding(const Array& derivative, std::vector<double>& bound) {
  const std::vector<double> rounding = UniformBounds(derivative, kReorderUnits, DType::kF64);
  for (size_t i = 0; i < bound.size(); ++i) bound[i] += rounding[i];
}

// Claims of another shape are for the comparison to tell.
bool Covers(const Directional& d, std::span<const Array> claimed) {
  for (size_t k = 0; k < claimed.size(); ++k) {
    if (claimed[k].shape() != d.derivative[k].shape()) return true;
    if (!CompareArrays(claimed[k].Cast(DType::kF64), d.derivative[k], d.bound[k]).ok()) {
      return false;
    }
  }
  return true;
}

}  // namespace

Judgement AgainstDifference(const CheckedCase& c) {
  constexpr const char* kOracle = "finite difference";
  Judgement judgement;
  const PeeledProgram q = PeelCase(c);
  const auto end = c.sample.inputs.begin() + static_cast<std::ptrdiff_t>(q.input_count);
  const std::vector<Array> primals(c.sample.inputs.begin(), end);
  const std::vector<Array> tangents(end, c.sample.inputs.end());
  const absl::StatusOr<std::vector<Array>> plain = c.engine.Run(q.program, primals);
  if (!plain.ok()) {
    judgement.NotePeeledError("rest of the stack", q.program, plain.status());
    return judgement;
  }
  const BlackBox f = Differenced(c, q.program);
  const std::vector<size_t> argnums = OutermostArgnums(c, q.input_count);
  const Reach reach = ReachAlong(c.entry.arguments, primals, argnums, tangents);
  const std::vector<Array>* middle = c.entry.surrogate == nullptr ? &*plain : nullptr;
  absl::StatusOr<Directional> d = DifferentiateAlong(f, primals, argnums, tangents, reach, middle);
  if (!d.ok()) {
    judgement.NotePeeledError(kOracle, q.program, d.status());
    return judgement;
  }
  const size_t outputs = plain->size();
  if (!judgement.CheckCount(c, kOracle, outputs + d->derivative.size())) return judgement;
  for (size_t o = 0; o < outputs; ++o) {
    const Array& expected = (*plain)[o];
    judgement.Compare(c, "rest of the stack", o, expected,
                      UniformBounds(expected, kReorderUnits, c.dtype));
  }
  if (!d->useful()) {
    judgement.NoteUseless(d->evidence);
    return judgement;
  }
  // Primal outputs say nothing of the derivative: only tangents keep a cell from being vacuous.
  judgement.any_nonzero = false;
  for (size_t k = 0; k < d->derivative.size(); ++k) WidenByRounding(d->derivative[k], d->bound[k]);
  const std::span<const Array> claimed(c.outputs.data() + outputs, d->derivative.size());
  for (const double factor : kConfirmReach) {
    if (Covers(*d, claimed)) break;
    absl::StatusOr<Directional> again =
        DifferentiateAlong(f, primals, argnums, tangents, reach.Times(factor), middle);
    if (!again.ok()) continue;
    for (size_t k = 0; k < again->derivative.size(); ++k) {
      WidenByRounding(again->derivative[k], again->bound[k]);
    }
    d->KeepNearer(*again, claimed);
  }
  for (size_t k = 0; k < d->derivative.size(); ++k) {
    judgement.Compare(c, kOracle, outputs + k, d->derivative[k], d->bound[k], d->evidence);
  }
  return judgement;
}

}  // namespace peelcheck
