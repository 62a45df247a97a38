// engine/trace.h: prints how calls travel through the levels, and each tape.
//
//   PEELCHECK_TRACE=1 program            // to stderr
//   std::string text;
//   { TraceScope trace(&text); Vmap(f)({xs}); }   // to a string, this thread's calls only
//
// A line per call and level: the level that takes the call, the inputs as that level sees them.
// Under it, indented, what it lowers to. Levels are numbered by their depth: vmap#1 is the
// outermost.
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "engine/level.h"

namespace peelcheck {

// Appends the trace to `out` while it lives. One per thread at a time; the innermost one counts.
class TraceScope {
 public:
  explicit TraceScope(std::string* out);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  std::string* previous_;
};

// -- for the engine: what is traced
// ----------------------------------------------------------------

// How many traces there are in the process: the only cost where there are none.
extern std::atomic<int> active_traces;
inline bool Tracing() { return active_traces.load(std::memory_order_relaxed) != 0; }

// Lines that are written while it lives are indented by one step more.
class TraceIndent {
 public:
  TraceIndent();
  ~TraceIndent();
  TraceIndent(const TraceIndent&) = delete;
  TraceIndent& operator=(const TraceIndent&) = delete;
};

// "vmap#1", by the depth of a live level.
std::string TraceName(const Level& level);
void TraceLine(const std::string& line);
// `where` = "plain" or the level's name: "grad#2  mul(f64[3] %0, vmap#1 f64[] @0)".
void TraceCall(const std::string& where, const Function& function, TensorSpan inputs);
// The records of a tape, as "%2 = mul(%0, %1)".
void TraceTape(const std::string& where, const Tape& tape);

}  // namespace peelcheck
