// jvp: the primal outputs against the rest of the stack, the tangents against a finite difference
// of it along the tangent.
//
//   jvp sin at x along t   // (f(x + h t) - f(x - h t)) / 2h, extrapolated to h = 0, with a bound
#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {

Judgement AgainstDifference(const CheckedCase& c) {
  constexpr const char* kOracle = "finite difference";
  Judgement judgement;
  const PeeledProgram q = PeelCase(c);
  const auto middle = c.sample.inputs.begin() + static_cast<std::ptrdiff_t>(q.input_count);
  const std::vector<Array> primals(c.sample.inputs.begin(), middle);
  const std::vector<Array> tangents(middle, c.sample.inputs.end());
  const absl::StatusOr<std::vector<Array>> plain = c.engine.Run(q.program, primals);
  if (!plain.ok()) {
    judgement.NotePeeledError("rest of the stack", q.program, plain.status());
    return judgement;
  }
  const absl::StatusOr<Directional> d = DifferentiateAlong(
      Differenced(c, q.program), primals, OutermostArgnums(c, q.input_count), tangents);
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
  for (size_t k = 0; k < d->derivative.size(); ++k) {
    judgement.Compare(c, kOracle, outputs + k, d->derivative[k], d->bound[k], d->evidence);
  }
  return judgement;
}

}  // namespace peelcheck
