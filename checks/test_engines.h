// checks/test_engines.h: engines that are wrong on purpose, for tests of the checks themselves and
// for the fault catalogue (faults/).
//
//   FaultyEngine engine(Fault::kScaledGradient);
//   RunCell(cell, engine, options).result.verdict == Verdict::kMismatch
#pragma once

#include <atomic>
#include <memory>

#include "checks/engine_under_test.h"

namespace peelcheck {

enum class Fault {
  kNone,
  kScaledGradient,   // gradients times 1.0001
  kSparseGradient,   // the last element of a gradient times 1.0001
  kScaledTangent,    // tangents times 1.0001
  kZeroGradient,     // gradients are zeros
  kZeros,            // every output of every program is zeros
  kSwappedSlots,     // the slots of an outermost vmap in reverse
  kFirstSlotForAll,  // slot 0 of an outermost vmap in every slot
  kLastSlotWrong,    // the last slot of an outermost vmap is off
  kWrongDType,       // the outputs of a transform in the other floating dtype
  kWrongShape,       // gradients have a leading axis of size 1
  kExtraOutput,      // a transform returns its first output twice
  kNanOnce,          // one run, in the middle of a case, gives nan
  kNoisy,            // the plain call is rounded to 1e-4
  kThrows,           // a transform leaves by std::runtime_error
  kUndefinedOutput,  // a transform returns an array without storage
  kMutatesInput,     // writes its first input
  kDrifts,           // each run adds one more rounding error
  kRefuses,          // every transform is unimplemented
  kWrongClass,       // every transform is an invalid argument
  kSwallowsErrors,   // returns its inputs where the built-in engine refuses
  kUnsupported,      // supports nothing
};

class FaultyEngine : public EngineUnderTest {
 public:
  explicit FaultyEngine(Fault fault);
  std::string name() const override { return "faulty"; }
  bool Supports(const Program&) const override { return fault_ != Fault::kUnsupported; }
  absl::StatusOr<std::vector<Array>> Run(const Program& program,
                                         std::span<const Array> inputs) override;

 private:
  void Spoil(const Program& program, std::vector<Array>& outputs);

  Fault fault_;
  std::unique_ptr<EngineUnderTest> right_;
  std::atomic<int64_t> runs_ = 0;
};

}  // namespace peelcheck
