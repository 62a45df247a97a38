// reports/terminal_sink.h: the table of a run, operations x checks, and its mismatches, for a
// terminal.
//
//   TerminalSink sink(TerminalOptionsFromEnvironment());
//
// A cell shows the worst of its dtypes: `.` pass, `F` failure, `E` wrong error, `C` crash, `N`
// nondeterministic, `V` vacuous,
// `?` inconclusive, `u` unsupported; blank: the check does not apply.
#pragma once

#include <chrono>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "reports/outcome.h"

namespace peelcheck {

struct TerminalOptions {
  std::ostream* report = nullptr;    // the table; nullptr: std::cout
  std::ostream* progress = nullptr;  // a bar while the run lasts; nullptr: none
  bool colour = false;
  int width = 100;
  size_t full_mismatches = 10;  // so many are told in full, the rest in one line each
};

// Colours only where stdout is a terminal and NO_COLOR is not set; a bar only where stderr is a
// terminal; width from COLUMNS or the terminal.
TerminalOptions TerminalOptionsFromEnvironment();

class TerminalSink : public Sink {
 public:
  explicit TerminalSink(const TerminalOptions& options);
  void Begin(const RunInfo& info) override;
  void OnMismatch(const Mismatch& mismatch) override;
  void OnCell(const CellResult& cell) override;
  void End(const RunEnd& end) override;

 private:
  void DrawProgress();
  void PrintTable();
  void PrintTableOf(size_t first, size_t last, size_t name_width);
  void PrintMismatches();
  std::string Glyph(Verdict verdict) const;
  std::string Coloured(const std::string& text, const char* code) const;

  TerminalOptions options_;
  std::ostream& out_;
  RunInfo info_;
  std::vector<std::string> ops_, checks_;  // in the order of the run
  std::map<std::pair<std::string, std::string>, Verdict> worst_;
  std::map<std::string, int64_t> verdicts_;  // cases of the whole run
  std::vector<Mismatch> mismatches_;
  int64_t cells_done_ = 0;
  std::chrono::steady_clock::time_point started_, drawn_;
};

}  // namespace peelcheck
