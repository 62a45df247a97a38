// engine/error.h: what the engine throws.
//
//   throw Error(ErrorClass::kInvalidArgument,
//               "[vmap] in_dims=2 for an input of rank 2; expected -2..1");
//
// A message has a tag (the function or transform), what came, what was expected, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace peelcheck {

enum class ErrorClass {
  kInvalidArgument,     // the caller's mistake: change the arguments
  kUnimplemented,       // there is no rule for this: write one or avoid the transform
  kFailedPrecondition,  // a state that the transform cannot honour: change the program
  kInternal,            // a fault of the engine: report it
};

// "invalid_argument", "unimplemented", "failed_precondition", "internal".
const char* ErrorClassName(ErrorClass error_class);

class Error : public std::runtime_error {
 public:
  Error(ErrorClass error_class, const std::string& message)
      : std::runtime_error(message), error_class_(error_class) {}
  ErrorClass error_class() const { return error_class_; }

 private:
  ErrorClass error_class_;
};

[[noreturn]] void ThrowInvalidArgument(const std::string& message);
[[noreturn]] void ThrowUnimplemented(const std::string& message);
[[noreturn]] void ThrowFailedPrecondition(const std::string& message);
[[noreturn]] void ThrowInternal(const std::string& message);

}  // namespace peelcheck
