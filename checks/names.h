// checks/names.h: what the inputs and outputs of a program are called in a report.
//
//   NamesOf(entry of mul, jvp mul, {f64}).inputs    // "x", "y", "tangent of x", "tangent of y"
//   NamesOf(entry of mul, vjp mul, {f64}).outputs   // "gradient of x", "gradient of y"
//
// Names nest as the stack does: "cotangent of gradient of x" is an input of `vjp vjp mul`.
#pragma once

#include <string>
#include <vector>

#include "opinfo_db/entry.h"
#include "opinfo_db/program.h"

namespace peelcheck {

struct ProgramNames {
  std::vector<std::string> inputs, outputs;
};

// `operation`: what the bare operation takes and gives; its argnums and floating outputs decide how
// many tangents and cotangents there are.
ProgramNames NamesOf(const Entry& entry, const Program& program, const Signature& operation);

// `names[i]`, or "input 3" where a program has more inputs than its names say.
std::string NameAt(const std::vector<std::string>& names, size_t i, const char* what);

}  // namespace peelcheck
