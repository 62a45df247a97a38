// value: the outputs against the entry's independent reference.
//
//   AgainstReference(c)   // sin: std::sin of each element, |difference| <= 100 eps (1 + max |y|)
#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {

Judgement AgainstReference(const CheckedCase& c) {
  constexpr const char* kOracle = "reference";
  Judgement judgement;
  const std::vector<Array> expected =
      c.entry.reference(c.sample.inputs, c.sample.program.attributes);
  if (!judgement.CheckCount(c, kOracle, expected.size())) return judgement;
  for (size_t o = 0; o < expected.size(); ++o) {
    judgement.Compare(c, kOracle, o, expected[o],
                      UniformBounds(expected[o], kReorderUnits, c.dtype));
  }
  return judgement;
}

}  // namespace peelcheck
