// faults/catalogue.h: functions and engines that are wrong on purpose: what tests the tests.
//
//   for (const SeededFault& fault : FaultCatalogue()) RunFault(fault, options);   // run_fault.h
//
// A faulty function is an entry of its own that no main job lists; it stands in
// faults/functions/<family>.cc, where one knob turns the right function, its twin, into each of the
// wrong ones. A faulty engine is the built-in one with one mechanism broken (engine/fault_points.h)
// or with its results spoiled (checks/test_engines.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checks/engine_under_test.h"
#include "engine/fault_points.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

// What is wrong, in the words of the table of `peelcheck faults`.
enum class FaultKind {
  kValue,        // the operation itself
  kVjp,          // backward
  kJvp,          // jvp
  kVmap,         // a written batching rule
  kContext,      // what is saved, marked or kept between calls
  kInPlace,      // writing
  kLayout,       // strides, offsets, expanded operands
  kSpecial,      // exact values: zeros, ties, repeated indices, empty axes
  kHigherOrder,  // right at first order
  kMechanism,    // an engine's machinery
  kResults,      // an engine's results
};
const char* FaultKindName(FaultKind kind);

struct SeededFault {
  std::string name;  // "mul-jvp-first-tangent-only"
  FaultKind kind = FaultKind::kVjp;
  std::string description;
  std::string report = "";  // public reports of the same fault: "B39", "B39, B116"; else where from
  bool axis = false;        // lines up a wrong axis: what size-2-free samples are for

  // Cells run over these entries, in this order. A function's: one, not in AllEntries().
  std::vector<const Entry*> entries = {};
  // The same with nothing wrong: a function's right twin, or the entries again.
  std::vector<const Entry*> twins = {};
  // The engine that runs them; the twins run on the built-in one.
  std::function<std::unique_ptr<EngineUnderTest>()> engine;
};

// All of them, by name. Throws invalid_argument for a name that comes twice.
const std::vector<SeededFault>& FaultCatalogue();

// -- for the files that hold faults ---------------------------------------------------------------

// Which fault a function is to have; the twin has none.
//   if (knob == "sign") gradient = -gradient;
using Knob = std::string_view;

struct KnobFault {
  std::string knob;  // the fault is called "<family>-<knob>"
  FaultKind kind;
  std::string description;
  std::string report = "";
  bool axis = false;
};

// Registers the faults of one function: `make` builds it with a knob turned, "" for the twin. The
// name of its entry is set here.
class FaultFamily {
 public:
  FaultFamily(const std::string& family, Entry (*make)(Knob), std::vector<KnobFault> faults,
              SourceLocation where = SourceLocation::Current());
};

struct EngineFault {
  std::string name;
  FaultKind kind;
  std::string description;
  std::vector<std::string> ops;  // registered entries that can show it
  std::function<std::unique_ptr<EngineUnderTest>()> engine;
  std::string report = "";
  bool axis = false;
};
class EngineFaults {
 public:
  explicit EngineFaults(std::vector<EngineFault> faults);
};

}  // namespace peelcheck
