// checks/guarded_engine.h: an engine that the oracles can trust to return arrays or a status.
//
//   GuardedEngine guarded(engine);
//   guarded.Run(program, inputs);   // kUnknown where `engine` throws, kInternal where an output is
//                                   // undefined
//
// An adapter should turn exceptions into kUnknown itself. One that does not must cost its own cell,
// not the run.
#pragma once

#include "checks/engine_under_test.h"

namespace peelcheck {

class GuardedEngine : public EngineUnderTest {
 public:
  explicit GuardedEngine(EngineUnderTest& engine) : engine_(engine) {}
  std::string name() const override { return engine_.name(); }
  bool Supports(const Program& program) const override { return engine_.Supports(program); }
  absl::StatusOr<std::vector<Array>> Run(const Program& program,
                                         std::span<const Array> inputs) override;

 private:
  EngineUnderTest& engine_;
};

}  // namespace peelcheck
