// checks/run_case.h: one case on one engine: run it, let the oracle of its outermost transform
// judge it.
//
//   CaseOutcome outcome = RunCase({entry, dtype, engine, seed, /*thorough=*/true}, sample);
//   outcome.verdict == Verdict::kPass
#pragma once

#include "checks/oracle.h"
#include "checks/runner.h"

namespace peelcheck {

struct CaseOutcome {
  Verdict verdict = Verdict::kPass;
  Judgement judgement;
  Signature operation;  // of the plain call, for the names in a report; empty where it failed
};

struct CaseContext {
  const Entry& entry;
  DType dtype;
  EngineUnderTest& engine;
  uint64_t seed;          // of the oracles' directions
  bool thorough = false;  // run twice, bit for bit: what the first case of a cell does
};

// Never throws, whatever the engine does.
CaseOutcome RunCase(const CaseContext& context, const Case& sample);

// The seed of the directions that the oracles of a case draw.
uint64_t DirectionSeed(uint64_t run_seed, int64_t case_index);

// Smaller cases with the same verdict by the same oracle.
ShrinkOutcome ShrinkFailure(const CaseContext& context, const CaseRequest& request,
                            const CaseOutcome& failure, const ShrinkBudget& budget);

// Tells a failing case, already shrunk.
Mismatch ExplainMismatch(const CaseContext& context, const CellId& id, const Case& sample,
                         const CaseOutcome& outcome, const RunOptions& options, int64_t case_index);

// The text of a mismatch file: everything to replay a case by its values.
//   {"version":1,"engine":"builtin","op":"mul","check":"vjp","dtype":"f64",
//    "sample_class":"general","token":"peelcheck-1:mul:vjp:f64:42:7",
//    "program":{"op":"mul",..,"inputs":[..]}}
std::string CaseToJson(const CellId& id, const Case& sample, const std::string& engine,
                       const std::string& token);

}  // namespace peelcheck
