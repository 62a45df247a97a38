// checks/select.h: names that a user gives, resolved or refused with what was probably meant.
//
//   UnknownName("op", "mull", {"mul", "add"})   // no op matches "mull"; did you mean mul? ..
#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

namespace peelcheck {

// * any characters, ? exactly one; everything else stands for itself.
bool GlobMatches(const std::string& glob, const std::string& text);

// invalid_argument with the closest names; `what` is "op", "check" or "engine".
absl::Status UnknownName(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known);

// ok, or invalid_argument where no engine has that name.
absl::Status KnownEngine(const std::string& name);

}  // namespace peelcheck
