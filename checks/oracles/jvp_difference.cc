// jvp: the primal outputs against the rest of the stack, the tangents against a finite difference of it along the tangent.
#include <absl/strings/str_cat.h>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {

Judgement AgainstDifference(const CheckedCase& c) {
  Judgement judgement;
  const PeeledProgram q = PeelCase(c);
  const std::vector<Array> primals(c.sample.inputs.begin(), c.sample.inputs.begin() + static_cast<int64_t>(q.input_count));
  const std::vector<Array> tangents(c.sample.inputs.begin() + static_cast<int64_t>(q.input_count), c.sample.inputs.end());
  absl::StatusOr<std::vector<Array>> plain = c.engine.Run(q.program, primals);
  if (!plain.ok()) {
    judgement.NotePeeledError("plain call", q.program, plain.status());
    return judgement;
  }
  absl::StatusOr<Directional> d = DifferentiateAlong(Differenced(c, q.program), primals, OutermostArgnums(c, q.input_count), tangents);
  if (!d.ok()) {
    judgement.NotePeeledError("finite difference", q.program, d.status());
    return judgement;
  }
  const size_t outputs = plain->size();
  if (!judgement.CheckCount("finite difference", c.outputs.size(), outputs + d->derivative.size())) return judgement;
  for (size_t o = 0; o < outputs; ++o) {
    judgement.Compare("plain call", absl::StrCat("primal output ", o), static_cast<int64_t>(o), c.outputs[o], (*plain)[o],
                      UniformBounds((*plain)[o], kReorderUnits, c.dtype));
  }
  if (!d->useful()) {
    judgement.inconclusive = "ill-conditioned or at a kink: " + d->evidence;
    return judgement;
  }
  for (size_t k = 0; k < d->derivative.size(); ++k) {
    const size_t o = outputs + k;
    judgement.Compare("finite difference", absl::StrCat("tangent of floating output ", k), static_cast<int64_t>(o), c.outputs[o],
                      d->derivative[k], d->bound[k], d->evidence);
  }
  return judgement;
}

}  // namespace peelcheck
