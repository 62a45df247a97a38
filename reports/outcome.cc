#include "reports/outcome.h"

namespace peelcheck {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kMismatch: return "mismatch";
    case Verdict::kWrongError: return "wrong_error";
    case Verdict::kCrash: return "crash";
    case Verdict::kTimeout: return "timeout";
    case Verdict::kNondeterministic: return "nondeterministic";
    case Verdict::kInconclusive: return "inconclusive";
    case Verdict::kUnsupported: return "unsupported";
    case Verdict::kVacuous: return "vacuous";
  }
  return "?";
}

bool IsFailure(Verdict verdict) {
  return verdict != Verdict::kPass && verdict != Verdict::kInconclusive &&
         verdict != Verdict::kUnsupported;
}

}  // namespace peelcheck
