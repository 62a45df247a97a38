// faults/engines/mechanisms.cc: the built-in engine with one mechanism broken.
//
//   BrokenEngine engine(FaultPoint::kFanOutOverwritten);   // as `builtin`, but for that
#include "faults/catalogue.h"

namespace peelcheck {
namespace {

class BrokenEngine : public EngineUnderTest {
 public:
  explicit BrokenEngine(FaultPoint point) : point_(point), engine_(FindEngine("builtin")->make()) {}
  std::string name() const override { return "broken"; }
  bool Supports(const Program& program) const override { return engine_->Supports(program); }
  absl::StatusOr<std::vector<Array>> Run(const Program& program,
                                         std::span<const Array> inputs) override {
    const ScopedFaultPoint broken(point_);
    return engine_->Run(program, inputs);
  }

 private:
  FaultPoint point_;
  std::unique_ptr<EngineUnderTest> engine_;
};

EngineFault Broken(const std::string& name, FaultPoint point, std::vector<std::string> ops,
                   const std::string& description, const std::string& report = "",
                   bool axis = false) {
  return {.name = "engine-" + name,
          .kind = FaultKind::kMechanism,
          .description = description,
          .ops = std::move(ops),
          .engine = [point] { return std::make_unique<BrokenEngine>(point); },
          .report = report,
          .axis = axis};
}

using P = FaultPoint;

const EngineFaults kMechanisms({
    Broken("shared-level-ids", P::kSharedLevelIds, {"mul"},
           "live jvp levels share an id: perturbations are confused", "B97, B99"),
    // -- tape
    Broken("fan-out-overwritten", P::kFanOutOverwritten, {"SquareViaMul"},
           "the last use of a value overwrites the gradients of its other uses", "B17"),
    Broken("fan-out-first-kept", P::kFanOutFirstKept, {"SquareViaMulGenVmap"},
           "only the first gradient of a value that is used twice is kept", "B17"),
    Broken("cotangents-swapped", P::kCotangentsSwapped, {"CubeGenVmap", "SplitGenVmap"},
           "a record's cotangents reach its rule in reverse order"),
    Broken("partly-used-skipped", P::kPartlyUsedSkipped, {"NestedCubeOfMul"},
           "a function of which one output is not used gets no gradient", "B114"),
    Broken("first-record-skipped", P::kFirstRecordSkipped, {"softplus", "NestedCubeOfMul", "exp_"},
           "the reverse pass ends one record too early"),
    Broken("once-differentiable-twice", P::kOnceDifferentiatedOn, {"seeded-noise"},
           "a once-differentiable function is differentiated twice without a word"),
    // -- results of rules
    Broken("missing-is-one", P::kMissingIsOne, {"OpaqueSinCosTan3", "ConstantOutput"},
           "an absent tangent or cotangent is read as ones", "B116"),
    Broken("gradient-unreduced", P::kUnreduced, {"ZeroGradientsGenVmap"},
           "an over-broadcast gradient is passed on as it is", "B26, B28"),
    Broken("gradient-averaged", P::kReducedByMean, {"seeded-broadcast"},
           "an over-broadcast gradient is averaged to its input's shape", "B20"),
    Broken("gradient-detached", P::kGradientDetached, {"mul"},
           "a gradient is a constant for the levels around it", "B105"),
    Broken("tangent-detached", P::kTangentDetached, {"mul"},
           "a tangent is a constant for the levels around it", "B105"),
    // -- grad level
    Broken("needs-grad-shifted", P::kNeedsGradShifted, {"OpaqueMul", "FrozenWeight"},
           "needs_input_grad says of an input what is true of the next one"),
    Broken("grad-dirty-lost", P::kGradDirtyLost, {"OpaqueExpInPlace"},
           "reverse mode: a written input keeps the gradient path of its old value", "B86, B94"),
    Broken("non-differentiable-tracked", P::kNonDiffIgnored, {"seeded-marked-output"},
           "an output marked non-differentiable is differentiated"),
    Broken("first-cotangent-only", P::kFirstCotangentOnly, {"CubeGenVmap"},
           "vjp uses the cotangent of the first output alone"),
    Broken("argnums-sorted", P::kArgnumsSorted, {"mul", "where"},
           "gradients come in the order of the inputs, whatever argnums says"),
    // -- jvp level
    Broken("first-tangent-only", P::kFirstTangentOnly, {"mul"},
           "only the first input's tangent counts", "B39"),
    Broken("tangents-swapped", P::kTangentsSwapped, {"mul", "sub"},
           "a rule gets its tangents in reverse order", "B39"),
    Broken("first-output-tangent", P::kFirstOutputTangent, {"CubeGenVmap"},
           "only the first output gets a tangent", "B39"),
    Broken("jvp-dirty-lost", P::kJvpDirtyLost, {"OpaqueExpInPlace"},
           "forward mode: a written input keeps its old tangent", "B86"),
    Broken("saved-of-backward", P::kSavedOfBackward, {"seeded-two-saves"},
           "jvp sees what was saved for backward"),
    Broken("tangents-from-left", P::kTangentsFromLeft, {"seeded-two-saves"},
           "tangent i goes to input i, whatever argnums says", "B39"),
    // -- vmap
    Broken("out-dim-ignored", P::kOutDimIgnored, {"mul"}, "out_dims has no effect", "B157", true),
    Broken("unbatched-out-dim", P::kUnbatchedOutDim, {"ConstantOutput"},
           "a negative out_dim of an output that is not batched is off by one", "B67", true),
    Broken("unbatched-first-slot", P::kUnbatchedFirstSlot, {"ConstantOutputGenVmap"},
           "an output that is not batched stands in slot 0 alone"),
    Broken("negative-in-dim", P::kNegativeInDim, {"mul"}, "a negative in_dim is off by one", "B67",
           true),
    Broken("randomness-ignored", P::kRandomnessIgnored, {"seeded-noise"},
           "vmap draws random numbers although the caller has not said which", "B144, B146"),
    Broken("identity-lost", P::kIdentityLost, {"OpaqueExpInPlace", "ReturnsInput"},
           "an output that is an input becomes another tensor", "B86"),
    Broken("rule-out-dims-ignored", P::kRuleOutDimsIgnored, {"OpaqueMul"},
           "the out_dims that a batching rule returns are taken for 0", "B157", true),
    Broken("rule-in-dims-reversed", P::kRuleInDimsReversed, {"OpaqueMul"},
           "a batching rule is told the in_dims in reverse order", "B53", true),
    Broken("no-rank-padding", P::kNoRankPadding, {"mul"},
           "operands of different rank meet without 1s after the batch axis", "B63", true),
    Broken("batch-swapped-to-front", P::kBatchSwappedToFront, {"sum", "cumsum", "sub"},
           "a batch axis is swapped with axis 0 where it must be moved there", "", true),
    Broken("unbatched-is-zero", P::kUnbatchedIsZero, {"cat"},
           "an operand that is not batched counts in slot 0 alone", "B53"),
    // -- generated batching rule
    Broken("gen-not-summed", P::kGenNotSummed, {"MulGenVmap"},
           "generated rule: the gradient of an unbatched input is that of slot 0", "B28"),
    Broken("gen-summed-twice", P::kGenSummedTwice, {"MulGenVmap"},
           "generated rule: the gradient of an unbatched input is too large by the batch size",
           "B88"),
    Broken("gen-setup-outside", P::kGenSetupOutside, {"SelectGenVmap"},
           "generated rule: setup_context sees shapes with the batch axis", "", true),
    Broken("gen-one-dims-record", P::kGenOneDimsRecord, {"seeded-two-saves"},
           "generated rule: one record of batch dims for both lists of saved tensors", "", true),
    Broken("gen-shared-per-slot", P::kGenSharedPerSlot,
           {"ConstantOutputGenVmap", "seeded-shared-output"},
           "generated rule: the cotangent of a shared output counts once per slot", "B88"),
    Broken("gen-cotangent-dim", P::kGenCotangentDim, {"ReturnsInputGenVmap"},
           "generated rule: cotangents are taken to have their batch axis in front", "", true),
    Broken("gen-tangent-dim", P::kGenTangentDim, {"ReturnsInputGenVmap"},
           "generated rule: tangents keep their batch axis in front", "B92", true),
    Broken("gen-gradient-dim", P::kGenGradientDim, {"MulGenVmap"},
           "generated rule: gradients keep their batch axis in front", "", true),
    Broken("gen-dirty-lost", P::kGenDirtyLost, {"ExpInPlaceGenVmap"},
           "generated rule: mark_dirty is not passed on", "B86"),
    Broken("gen-non-diff-lost", P::kGenNonDiffLost, {"seeded-marked-output"},
           "generated rule: mark_non_differentiable is not passed on"),
    Broken("gen-gradient-unreduced", P::kGenGradientUnreduced, {"ZeroGradientsGenVmap"},
           "generated rule: over-broadcast gradients are not reduced to the logical shape", "B28"),
    Broken("gen-first-gradient", P::kGenFirstGradient, {"MulGenVmap"},
           "generated rule: only the first input gets a gradient"),
    Broken("gen-attributes-lost", P::kGenAttributesLost, {"SelectGenVmap"},
           "generated rule: context attributes do not reach the rules"),
});

}  // namespace
}  // namespace peelcheck
