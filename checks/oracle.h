// checks/oracle.h: what the oracles share: the case they speak of, and what they found. One oracle
// is one file in checks/oracles/.
//
//   Judgement judgement = AgainstLoop(c);
//   if (judgement.finding) ...   // a failure, with all that explains it
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checks/check.h"
#include "checks/compare.h"
#include "checks/engine_under_test.h"
#include "checks/finite_difference.h"
#include "checks/names.h"
#include "generators/case.h"
#include "reports/outcome.h"

namespace peelcheck {

struct CheckedCase {
  const Entry& entry;
  DType dtype;
  const Case& sample;
  EngineUnderTest& engine;
  const std::vector<Array>& outputs;  // the engine's, of the whole program
  const Signature& operation;         // of the plain call
  uint64_t seed;                      // of the directions that the oracle draws
};

// A failure, with all that explains it.
struct Finding {
  Verdict verdict = Verdict::kMismatch;
  std::string oracle;
  std::string summary;
  std::string output_name;
  int64_t output_index = -1;
  Array engine, oracle_value;  // undefined for errors
  Comparison comparison;
  double bound = 0.0;  // at the worst element
  std::vector<std::string> evidence;
};

// What an oracle, or several, say of a case.
struct Judgement {
  int64_t comparisons = 0;
  bool any_nonzero = false;
  double worst_ratio = 0.0;
  std::optional<Finding> finding;  // the first
  std::string inconclusive;        // why, where it could not decide

  bool Decided() const { return finding.has_value() || !inconclusive.empty(); }
  // Compares output `o` of the engine and notes what came of it.
  void Compare(const CheckedCase& c, const std::string& oracle, size_t o, const Array& expected,
               std::span<const double> bounds, const std::string& evidence = "");
  // A wrong number of outputs; true where it is right.
  bool CheckCount(const CheckedCase& c, const std::string& oracle, size_t expected);
  // The engine fails on a part of the program that the oracle runs, though it ran the whole.
  void NotePeeledError(const std::string& oracle, const Program& program,
                       const absl::Status& status);
  // The finite difference is too wide to tell.
  void NoteUseless(const std::string& evidence);
  // Adds what another oracle said of the same case; the earlier finding stays.
  void Merge(Judgement other);
};

// Every case: number, dtype and shape of the outputs are what ProgramSignature says. Not counted as
// comparisons.
Judgement AgainstSignature(const CheckedCase& c);
// The peel oracles, by the outermost transform, in f64.
Judgement AgainstReference(const CheckedCase& c);   // value; any dtype
Judgement AgainstLoop(const CheckedCase& c);        // vmap; any dtype
Judgement AgainstDifference(const CheckedCase& c);  // jvp
Judgement AgainstAdjoint(const CheckedCase& c);     // vjp and grad
Judgement AgainstShadow(const CheckedCase& c);      // f32 against f64

// -- laws: what holds of every right engine, whatever the operation ------------------------------

// A law costs a few engine calls; each case asks one of those that apply, in turn, and all of them
// vote where a case fails. A new law is one file in checks/oracles/:
//
//   const LawRegistration kLaw({"my law", [](const CheckedCase& c) { return ..; }, MyLaw});
struct Law {
  std::string name;
  bool (*applies)(const CheckedCase& c);
  Judgement (*judge)(const CheckedCase& c);
};
class LawRegistration {
 public:
  explicit LawRegistration(Law law);
};
// By name, so that the order does not hang on the linker.
const std::vector<Law>& AllLaws();
// The law whose turn it is, by the seed of the case; no comparisons where none applies.
Judgement AskOneLaw(const CheckedCase& c);
// "loop and second run agree with the engine; linearity does not": one line for a finding.
std::string LawsVote(const CheckedCase& c);
// Compares whole output lists of the engine's own programs.
void CompareOutputs(const CheckedCase& c, const std::string& law, const Program& program,
                    const absl::StatusOr<std::vector<Array>>& expected, Judgement& judgement);

// -- for oracles ---------------------------------------------------------------------------------

// The program under the outermost transform, and how many of the inputs are its own.
struct PeeledProgram {
  Program program;
  size_t input_count = 0;
};
PeeledProgram PeelCase(const CheckedCase& c);
// A program of the engine as a black box, with the surrogate in place of an operation whose
// declared derivative is not its own.
BlackBox Differenced(const CheckedCase& c, const Program& program);
// Indices of the inputs that the outermost transform differentiates.
std::vector<size_t> OutermostArgnums(const CheckedCase& c, size_t primal_count);

}  // namespace peelcheck
