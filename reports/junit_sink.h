// reports/junit_sink.h: junit.xml for CI systems: a testsuite per operation, a testcase per check
// and dtype, at the entry's file and line.
#pragma once

#include <absl/status/status.h>

#include <map>
#include <string>
#include <vector>

#include "reports/outcome.h"

namespace peelcheck {

class JunitSink : public Sink {
 public:
  explicit JunitSink(std::string path) : path_(std::move(path)) {}
  void Begin(const RunInfo& info) override;
  void OnMismatch(const Mismatch& mismatch) override;
  void OnCell(const CellResult& cell) override;
  // Writes the file beside its final place and renames it, so that a reader never sees half of one.
  void End(const RunEnd& end) override;
  absl::Status status() const { return status_; }

 private:
  struct Suite {
    std::string name;
    std::vector<CellResult> cells;
    std::map<std::string, std::string> details;  // of mismatches, by "check[dtype]"
  };
  Suite& SuiteOf(const std::string& op);
  std::string path_;
  std::vector<Suite> suites_;
  absl::Status status_;
};

// Escapes the five characters of XML and drops the control characters that XML 1.0 cannot hold.
std::string XmlEscaped(const std::string& text);

}  // namespace peelcheck
