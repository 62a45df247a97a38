// value: the outputs against the entry's independent reference.
#include <absl/strings/str_cat.h>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {

Judgement AgainstReference(const CheckedCase& c) {
  Judgement judgement;
  const std::vector<Array> expected = c.entry.reference(c.sample.inputs, c.sample.program.attributes);
  if (!judgement.CheckCount("reference", c.outputs.size(), expected.size())) return judgement;
  for (size_t o = 0; o < expected.size(); ++o) {
    judgement.Compare("reference", absl::StrCat("output ", o), static_cast<int64_t>(o), c.outputs[o], expected[o],
                      UniformBounds(expected[o], kReorderUnits, c.dtype));
  }
  return judgement;
}

}  // namespace peelcheck
