// engine/fault_points.h: places at which a mechanism of the engine can be broken on purpose, so
// that the harness can show that it would be noticed (`peelcheck faults`).
//
//   ScopedFaultPoint broken(FaultPoint::kFanOutOverwritten);   // on this thread, while it lives
//   if (Faulty(FaultPoint::kFanOutOverwritten)) ...            // at the place itself
//
// A place costs one load of a thread's own variable and a compare that is never taken. It stands
// where a call is processed, never in a kernel. Nothing but the fault catalogue sets one.
#pragma once

namespace peelcheck {

enum class FaultPoint {
  kNone,
  // -- levels
  kSharedLevelIds,  // live levels of one kind share an id: perturbations are confused
  // -- tape
  kFanOutOverwritten,     // the last use of a value overwrites the gradients of the others
  kFanOutFirstKept,       // the first one is kept
  kCotangentsSwapped,     // the cotangents of a record's outputs in reverse order
  kPartlyUsedSkipped,     // a record of which some output is not used is skipped
  kFirstRecordSkipped,    // the reverse pass ends one record too early
  kOnceDifferentiatedOn,  // a once-differentiable function is differentiated again
  // -- what comes back from rules
  kMissingIsOne,      // what is not there is ones instead of zeros
  kUnreduced,         // an over-broadcast gradient is not summed
  kReducedByMean,     // it is averaged
  kGradientDetached,  // gradients are constants for the levels around
  kTangentDetached,   // tangents are
  // -- grad level
  kNeedsGradShifted,    // needs_input_grad says of an input what is true of the next
  kGradDirtyLost,       // a written input keeps the slot of its old value
  kNonDiffIgnored,      // an output marked non-differentiable is tracked
  kFirstCotangentOnly,  // vjp uses the cotangent of the first output alone
  kArgnumsSorted,       // gradients come in the order of the inputs, not of argnums
  // -- jvp level
  kFirstTangentOnly,    // tangents of the later inputs are dropped
  kTangentsSwapped,     // the rule gets the tangents in reverse order
  kFirstOutputTangent,  // later outputs get no tangent
  kJvpDirtyLost,        // a written input keeps its old tangent
  kSavedOfBackward,     // the rule sees what was saved for backward
  kTangentsFromLeft,    // tangent i goes to input i, whatever argnums says
  // -- vmap
  kOutDimIgnored,        // batch axis of outputs at 0
  kUnbatchedOutDim,      // a negative out_dim of an unbatched output is off by one
  kUnbatchedFirstSlot,   // an unbatched output stands in slot 0 alone
  kNegativeInDim,        // a negative in_dim is off by one
  kRandomnessIgnored,    // every mode is `same`
  kIdentityLost,         // an output that is an input becomes another tensor
  kRuleOutDimsIgnored,   // out_dims of a written rule are taken for 0
  kRuleInDimsReversed,   // a written rule is told the in_dims in reverse order
  kNoRankPadding,        // operands of a broadcast are not aligned
  kBatchSwappedToFront,  // swapped with axis 0, where it must be moved
  kUnbatchedIsZero,      // an operand that is not batched counts in slot 0 alone
  // -- generated batching rule
  kGenNotSummed,          // gradient of an unbatched input: that of slot 0
  kGenSummedTwice,        // .. times the batch size
  kGenSetupOutside,       // setup_context sees the batch axis
  kGenOneDimsRecord,      // one record of batch dims for both lists of saved tensors
  kGenSharedPerSlot,      // the cotangent of an unbatched output is counted once per slot
  kGenCotangentDim,       // cotangents are taken to have their batch axis in front
  kGenTangentDim,         // tangents are left with their batch axis in front
  kGenGradientDim,        // gradients are
  kGenDirtyLost,          // mark_dirty is not passed on
  kGenNonDiffLost,        // mark_non_differentiable is not
  kGenGradientUnreduced,  // over-broadcast gradients are not reduced to the logical shape
  kGenFirstGradient,      // only the first input gets a gradient
  kGenAttributesLost,     // context attributes do not reach the rules
};

namespace internal {
inline thread_local constinit FaultPoint active_fault_point = FaultPoint::kNone;
}  // namespace internal

inline bool Faulty(FaultPoint point) {
  return __builtin_expect(internal::active_fault_point == point, false);
}

class ScopedFaultPoint {
 public:
  explicit ScopedFaultPoint(FaultPoint point) : previous_(internal::active_fault_point) {
    internal::active_fault_point = point;
  }
  ~ScopedFaultPoint() { internal::active_fault_point = previous_; }
  ScopedFaultPoint(const ScopedFaultPoint&) = delete;
  ScopedFaultPoint& operator=(const ScopedFaultPoint&) = delete;

 private:
  FaultPoint previous_;
};

}  // namespace peelcheck
