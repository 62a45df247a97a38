// cli/report_options.h: the reports of a run, as the command line asks for them: terminal,
// results.jsonl, junit.xml, mismatch files.
//
//   absl::StatusOr<std::unique_ptr<RunReports>> reports = RunReports::Open("out");
//   RunChecks(options, (*reports)->sink());
//   absl::Status written = (*reports)->Finish();
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <memory>
#include <string>

#include "checks/runner.h"
#include "reports/outcome.h"

namespace peelcheck {

class RunReports {
 public:
  // Makes the folder. kUnavailable with the reason where it, or a file in it, cannot be written. An
  // empty `directory`: terminal only.
  static absl::StatusOr<std::unique_ptr<RunReports>> Open(const std::string& directory);
  virtual ~RunReports() = default;
  virtual Sink& sink() = 0;
  // Whether everything has reached the disk.
  virtual absl::Status Finish() = 0;
};

// Set by SIGINT or SIGTERM once HandleInterrupts was called: the run ends after the cells at work,
// and its report is written.
const std::atomic<bool>& Interrupted();
void HandleInterrupts();

// Comma-separated names: "f64,f32". kInvalidArgument that names what is known.
absl::StatusOr<std::vector<DType>> ParseDTypes(const std::vector<std::string>& names);

// The exit code of a run whose report was, or was not, written.
int FinishRun(const absl::StatusOr<RunEnd>& end, RunReports& reports);

}  // namespace peelcheck
