// Purity: the same program on the same inputs gives the same bits.
//
//   Run(vjp sin, x, ct) twice   // an engine that keeps state between calls differs
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "checks/oracle.h"

namespace peelcheck {
namespace {

Judgement SecondRun(const CheckedCase& c) {
  Judgement judgement;
  const absl::StatusOr<std::vector<Array>> again = c.engine.Run(c.sample.program, c.sample.inputs);
  const bool same =
      again.ok() && std::equal(c.outputs.begin(), c.outputs.end(), again->begin(), again->end(),
                               [](const Array& x, const Array& y) { return x.BitEquals(y); });
  judgement.comparisons = 1;
  if (same) return judgement;
  judgement.finding = Finding{.verdict = Verdict::kNondeterministic,
                              .oracle = "second run",
                              .summary = "two runs of one program differ in their bits"};
  if (!again.ok()) judgement.finding->evidence.push_back(std::string(again.status().message()));
  return judgement;
}

const LawRegistration kSecondRun({"second run", [](const CheckedCase&) { return true; },
                                  SecondRun});

}  // namespace
}  // namespace peelcheck
