// checks/engine_under_test.h: what an engine must offer to be checked: one virtual method.
//
//   class MyEngine : public EngineUnderTest { ... };
//   const EngineRegistration kMyEngine("mine", "my engine, by value", [] { return
//   std::make_unique<MyEngine>(); });
//
// in adapters/my_engine.cc; `peelcheck run --engine mine` then puts it under every check.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "opinfo_db/program.h"

namespace peelcheck {

class EngineUnderTest {
 public:
  virtual ~EngineUnderTest() = default;
  virtual std::string name() const = 0;
  // Whether the engine has the operation and all transforms of the stack. False is reported as
  // `unsupported`, and counted.
  virtual bool Supports(const Program& program) const = 0;
  // Runs the program on plain arrays, which it must not modify. Must be callable from several
  // threads. Errors: kInvalidArgument, kUnimplemented, kFailedPrecondition, kInternal as the engine
  // means them; kUnknown for a crash.
  virtual absl::StatusOr<std::vector<Array>> Run(const Program& program,
                                                 std::span<const Array> inputs) = 0;
};

struct EngineInfo {
  std::string name;
  std::string description;
  std::function<std::unique_ptr<EngineUnderTest>()> make;
};

class EngineRegistration {
 public:
  EngineRegistration(std::string name, std::string description,
                     std::function<std::unique_ptr<EngineUnderTest>()> make);
};
const std::vector<EngineInfo>& AllEngines();
// nullptr where there is none.
const EngineInfo* FindEngine(const std::string& name);

}  // namespace peelcheck
