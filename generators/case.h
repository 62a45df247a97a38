// generators/case.h: random, size-2-free cases of an entry under a transform stack, and their
// shrinking.
//
//   CaseRequest request{.entry = FindEntry("mul"), .word = {TransformKind::kVmap,
//   TransformKind::kVjp}, .seed = 42, .index = 7}; Case c = GenerateCase(request); // the same
//   request gives the same case, on every machine ShrinkOutcome small = ShrinkCase(request,
//   [](const Case& c) { return Fails(c); });
//
// Invariants, which shrinking keeps (a property test proves it):
//   no axis of a sample has size 2, and the named axes of a general sample differ from one another;
//   batch sizes of nested vmaps differ from one another and from the axes, every slot of a batch
//   holds different values; values keep clear of the declared kinks and ties and stay in their
//   domain; indices are in range, permutations are permutations.
// No RapidCheck in this header: it costs seconds in each file that includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "opinfo_db/entry.h"
#include "opinfo_db/program.h"

namespace peelcheck {

// What kind of sample was drawn: reports count them.
//   "general", "size 1" (some axes are 1), "empty" (an axis is 0), "0-d", "batch 0", "batch 1",
//   "batch 3"
struct Case {
  Program program;
  std::vector<Array> inputs;  // of the program, outermost transform's view
  std::string sample_class;
};

// What samples would be like without two of the guarantees above: to measure what each is worth.
struct SampleStyle {
  bool axes_of_two = false;   // every axis that would be longer than 1 has size 2
  bool copied_slots = false;  // a batch is its first slot, repeated
};

struct CaseRequest {
  const Entry* entry = nullptr;
  std::vector<TransformKind> word = {};  // outermost first
  DType dtype = DType::kF64;             // of the floating arguments
  uint64_t seed = 0;
  std::string check = "";  // part of the random stream's name
  int64_t index = 0;       // which sample
  SampleStyle style = {};
};

// One random stream per (seed, op, check, index): independent of any other case, and of dtype, so
// that f32 and f64 see the same numbers (every value is representable on a grid of 0.01, rounded to
// the dtype).
Case GenerateCase(const CaseRequest& request);

struct ShrinkBudget {
  int64_t tries = 400;   // calls of the predicate; deterministic
  double seconds = 5.0;  // a net under a slow engine
};
struct ShrinkOutcome {
  Case smallest;
  int64_t tries = 0;
  int64_t steps = 0;       // how often a smaller failing case replaced the best one
  bool exhausted = false;  // the budget ended the search: there may be smaller ones
};
// Smaller cases that still fail, in this order: fewer leading axes, smaller axes, plainer
// attributes and dims, simpler values. `fails` must be true for the case of the request.
ShrinkOutcome ShrinkCase(const CaseRequest& request, const std::function<bool(const Case&)>& fails,
                         const ShrinkBudget& budget = {});

// Every invariant above that `c` breaks, one line each; empty = none. What the property test and
// the lint call.
std::vector<std::string> InvariantViolations(const Entry& entry, const Case& c);

}  // namespace peelcheck
