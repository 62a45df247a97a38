// checks/guarded_engine.cc: exceptions and undefined outputs become statuses; see guarded_engine.h.
#include "checks/guarded_engine.h"

#include <absl/strings/str_cat.h>

#include <exception>

namespace peelcheck {

absl::StatusOr<std::vector<Array>> GuardedEngine::Run(const Program& program,
                                                      std::span<const Array> inputs) {
  absl::StatusOr<std::vector<Array>> outputs;
  try {
    outputs = engine_.Run(program, inputs);
  } catch (const std::exception& error) {
    return absl::UnknownError(absl::StrCat("[", name(), "] left by an exception: ", error.what()));
  } catch (...) {
    return absl::UnknownError(absl::StrCat("[", name(), "] left by an exception of no known type"));
  }
  if (!outputs.ok()) return outputs;
  for (size_t o = 0; o < outputs->size(); ++o) {
    if ((*outputs)[o].defined()) continue;
    return absl::InternalError(absl::StrCat("[", name(), "] output ", o, " of `",
                                            ProgramToString(program), "` is undefined"));
  }
  return outputs;
}

}  // namespace peelcheck
