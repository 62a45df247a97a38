// checks/engine_registry.cc: the engines that can be checked; declared in engine_under_test.h.
//
//   FindEngine("builtin")->make()   // a fresh engine
//
// Not called engine_under_test.cc: the build takes every file that ends in _test.cc for a test, and
// would leave it out.
#include "checks/engine_under_test.h"

namespace peelcheck {
namespace {

std::vector<EngineInfo>& Registry() {
  static std::vector<EngineInfo> engines;
  return engines;
}

}  // namespace

EngineRegistration::EngineRegistration(std::string name, std::string description,
                                       std::function<std::unique_ptr<EngineUnderTest>()> make) {
  Registry().push_back({std::move(name), std::move(description), std::move(make)});
}

const std::vector<EngineInfo>& AllEngines() { return Registry(); }

const EngineInfo* FindEngine(const std::string& name) {
  for (const EngineInfo& engine : Registry()) {
    if (engine.name == name) return &engine;
  }
  return nullptr;
}

}  // namespace peelcheck
