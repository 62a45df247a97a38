#include "engine/error.h"

namespace peelcheck {

const char* ErrorClassName(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::kInvalidArgument: return "invalid_argument";
    case ErrorClass::kUnimplemented: return "unimplemented";
    case ErrorClass::kFailedPrecondition: return "failed_precondition";
    case ErrorClass::kInternal: return "internal";
  }
  return "internal";
}

void ThrowInvalidArgument(const std::string& message) {
  throw Error(ErrorClass::kInvalidArgument, message);
}
void ThrowUnimplemented(const std::string& message) {
  throw Error(ErrorClass::kUnimplemented, message);
}
void ThrowFailedPrecondition(const std::string& message) {
  throw Error(ErrorClass::kFailedPrecondition, message);
}
void ThrowInternal(const std::string& message) { throw Error(ErrorClass::kInternal, message); }

}  // namespace peelcheck
