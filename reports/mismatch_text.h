// reports/mismatch_text.h: one mismatch for a human: what, where, how far off, and the command that
// reruns it.
//
//   LogQuotient  vjp  f64: mismatch
//     gradient of y differs in 1 of 1 elements
//     ...
//     rerun: build/release/peelcheck replay peelcheck-1:LogQuotient:vjp:f64:1:0
#pragma once

#include <string>

#include "reports/outcome.h"

namespace peelcheck {

// Several lines, each ended by a newline; the last one is the command.
std::string RenderMismatch(const Mismatch& mismatch);
// "[0, 3]"
std::string IndexToString(const std::vector<int64_t>& index);

}  // namespace peelcheck
