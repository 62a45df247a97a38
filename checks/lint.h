// checks/lint.h: what is wrong with an entry of the database, by drawing samples of it and running
// it on the built-in transforms. `peelcheck lint` prints it.
//
//   for (const LintFinding& finding : LintEntry(*FindEntry("sin"))) ..   // none, we hope
#pragma once

#include <string>
#include <vector>

#include "opinfo_db/entry.h"

namespace peelcheck {

struct LintFinding {
  std::string op;
  std::string rule;     // "size 2", "unreachable", "false claim", ..; see LintEntry
  std::string message;  // what is wrong, and what to do
  std::string file;     // of the entry
  int line = 0;
};

// Rules:
//   formula        it has none, or it does not tell the derivative
//   pattern        an axis of literal size 2
//   no sample      no sample can be drawn, or all that are drawn are refused
//   size 2         a sample has an axis of size 2, or breaks another invariant of the generators
//   unreachable    a choice of an attribute that no sample has
//   no derivative  it says that it is differentiable, but a rule is missing
//   false claim    zero_derivative where some derivative is not zero, or the reverse;
//   differentiable
//                  without a floating output, or the reverse
//   no reference   neither a reference nor a derivative: nothing can be compared
std::vector<LintFinding> LintEntry(const Entry& entry);

// `file`s of opinfo_db/ops and opinfo_db/functions under the source tree at `root` that define no
// entry although they look like they do. Empty where there is no such tree.
std::vector<LintFinding> LintFiles(const std::string& root);

}  // namespace peelcheck
