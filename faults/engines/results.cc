// faults/engines/results.cc: the built-in engine with its results spoiled (checks/test_engines.h).
#include "checks/test_engines.h"
#include "faults/catalogue.h"

namespace peelcheck {
namespace {

EngineFault Spoiled(const std::string& name, Fault fault, const std::string& description,
                    const std::string& report = "", const std::string& op = "mul") {
  return {.name = "results-" + name,
          .kind = FaultKind::kResults,
          .description = description,
          .ops = {op},
          .engine = [fault] { return std::make_unique<FaultyEngine>(fault); },
          .report = report};
}

const EngineFaults kResults({
    Spoiled("gradient-off-by-1e-4", Fault::kScaledGradient, "gradients are 1e-4 too large"),
    Spoiled("last-gradient-element", Fault::kSparseGradient,
            "the last element of a gradient is 1e-4 too large", "B155"),
    Spoiled("tangent-off-by-1e-4", Fault::kScaledTangent, "tangents are 1e-4 too large"),
    Spoiled("zero-gradient", Fault::kZeroGradient, "gradients are zeros", "B101"),
    Spoiled("zeros", Fault::kZeros, "all outputs are zeros", "B153"),
    Spoiled("slots-swapped", Fault::kSwappedSlots, "the slots of a batch come in reverse"),
    Spoiled("slot-0-for-all", Fault::kFirstSlotForAll, "slot 0 stands for all slots"),
    Spoiled("last-slot-off", Fault::kLastSlotWrong, "the last slot is 1e-4 off", "B149"),
    Spoiled("other-dtype", Fault::kWrongDType, "transforms return the other floating dtype",
            "B118"),
    Spoiled("leading-axis", Fault::kWrongShape, "gradients have a leading axis of size 1"),
    Spoiled("extra-output", Fault::kExtraOutput, "a transform returns its first output twice"),
    Spoiled("rounded-primal", Fault::kNoisy, "the plain call is rounded to 1e-4", "", "sin"),
    Spoiled("throws", Fault::kThrows, "a transform leaves by an exception of the library", "B114"),
    Spoiled("undefined-output", Fault::kUndefinedOutput, "an output without storage"),
    Spoiled("input-written", Fault::kMutatesInput, "the engine writes its first input"),
    Spoiled("drifts", Fault::kDrifts, "each run adds one more rounding error", "B112"),
    Spoiled("refuses", Fault::kRefuses, "every transform is unimplemented"),
    Spoiled("wrong-error-class", Fault::kWrongClass, "every transform is an invalid argument"),
    Spoiled("error-swallowed", Fault::kSwallowsErrors,
            "where the engine must refuse it returns its inputs", "B161",
            "OpaqueCubeNotComposable"),
});

}  // namespace
}  // namespace peelcheck
