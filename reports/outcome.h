// reports/outcome.h: what a run found, in strings and numbers: the vocabulary of every report. No
// tensors in here.
//
// A run is told to its sinks in this order: Begin, then for each cell in order its mismatches and
// the cell, then End.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace peelcheck {

enum class Verdict {
  kPass,        // everything compared was inside its bound
  kMismatch,    // a value, shape or dtype that the oracle's bound cannot explain
  kWrongError,  // raised where it should not, did not raise where it should, or raised the wrong
                // class
  kCrash,       // left by an exception that is no engine error
  kTimeout,
  kNondeterministic,  // two runs of one case differ in their bits
  kInconclusive,      // the oracle could not decide; `reason` says why (kink, domain edge,
                      // ill-conditioned, noisy primal)
  kUnsupported,       // the engine says that it does not take this program
  kVacuous,           // compared nothing, or only zeros with zeros
};
constexpr int kVerdictCount = 9;

// "pass", "mismatch", "wrong_error", ...: the spelling of every report.
const char* VerdictName(Verdict verdict);
// Whether a verdict makes the run fail (exit code 1).
bool IsFailure(Verdict verdict);

// Operation x check x dtype: the unit of the table, of sharding and of seeds.
struct CellId {
  std::string op;
  std::string check;
  std::string dtype;  // "f64", "f32"
};

struct RunInfo {
  std::string version;
  std::string engine;
  std::string profile;  // "ci" or "dev"
  uint64_t seed = 0;
  int64_t cell_count = 0;
  std::vector<std::pair<std::string, std::string>> options;  // as given, in a fixed order
};

struct CellResult {
  CellId id;
  int64_t cases = 0;                        // samples tried
  int64_t comparisons = 0;                  // elements compared with an oracle
  std::map<std::string, int64_t> verdicts;  // by VerdictName, cases each
  Verdict verdict = Verdict::kPass;         // the cell's: the worst of its cases
  double worst_error = 0.0;  // largest |difference| / bound; dimensionless, above 1 is a mismatch
  double seconds = 0.0;      // the only field that differs from run to run
};

struct Mismatch {
  CellId id;
  Verdict verdict = Verdict::kMismatch;
  int64_t case_index = 0;
  std::string oracle;               // "finite difference", "loop over the batch", "reference", ...
  std::string stack;                // "vmap(0,_) vjp mul"
  std::string summary;              // one line: what differs
  std::string sample_class;         // "general", "size 1", ...
  std::vector<std::string> inputs;  // shrunk sample, printed with values: "x = f64[3] {1, 2, 3}"
  std::vector<std::string> attributes;  // "dim = -1"
  std::string engine_name;              // "builtin"
  std::string engine_result;
  std::string oracle_result;
  int64_t output_index = -1;  // which output or gradient, -1 where it does not apply
  std::string output_name;    // "gradient of x", "output 0"
  std::vector<int64_t> first_index, worst_index;  // empty where there is none (error verdicts)
  int64_t differing = 0, compared = 0;            // elements of this output
  double worst_engine_value = 0, worst_oracle_value = 0;
  double absolute_error = 0, relative_error = 0, bound = 0;  // at worst_index
  std::vector<std::string> evidence;  // "step 1e-2: error 3e-9", "shrunk in 14 steps from ..."
  std::string entry_file;             // "opinfo_db/functions/opaque_mul.cc"
  int entry_line = 0;
  std::string token;           // "peelcheck-1:mul:vmapvjp:f64:42:7"
  std::string replay_command;  // "build/release/peelcheck replay peelcheck-1:..."
  std::string case_json;       // JSON object text: everything to replay it by values
};

struct RunEnd {
  bool interrupted = false;
  int exit_code = 0;
  int64_t cells = 0, cases = 0, comparisons = 0, mismatches = 0;
  double seconds = 0.0;
};

// One way to report a run. A new sink is one file.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void Begin(const RunInfo& info) = 0;
  virtual void OnMismatch(const Mismatch& mismatch) = 0;
  virtual void OnCell(const CellResult& cell) = 0;
  virtual void End(const RunEnd& end) = 0;
};

}  // namespace peelcheck
