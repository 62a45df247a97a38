// Number, dtype and shape of the outputs: what ProgramSignature derives from the plain call. A
// reference, a loop or a difference says the same of most programs; this one also speaks for f32,
// where the oracle is the same engine, and for a batch of size 0, which has no slot to compare.
#include <absl/strings/str_cat.h>

#include "checks/oracle.h"

namespace peelcheck {

Judgement AgainstSignature(const CheckedCase& c) {
  constexpr const char* kOracle = "signature of the plain call";
  Judgement judgement;
  const Signature expected = ProgramSignature(c.sample.program, c.operation);
  if (!judgement.CheckCount(c, kOracle, expected.outputs.size())) return judgement;
  for (size_t o = 0; o < expected.outputs.size(); ++o) {
    const ArraySpec& spec = expected.outputs[o];
    if (c.outputs[o].shape() == spec.shape && c.outputs[o].dtype() == spec.dtype) continue;
    const Array like = Array::Zeros(spec.dtype, spec.shape);
    judgement.Compare(c, kOracle, o, like, {});
    break;
  }
  return judgement;
}

}  // namespace peelcheck
