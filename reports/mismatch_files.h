// reports/mismatch_files.h: a file of values for each mismatch, for `peelcheck replay FILE`:
// <folder>/1-mul-vmapvjp-f64.json.
#pragma once

#include <absl/status/status.h>

#include <string>

#include "reports/outcome.h"

namespace peelcheck {

class MismatchFilesSink : public Sink {
 public:
  explicit MismatchFilesSink(std::string folder) : folder_(std::move(folder)) {}
  // Removes the files of an earlier run; others in the folder stay.
  void Begin(const RunInfo& info) override;
  void OnMismatch(const Mismatch& mismatch) override;
  void OnCell(const CellResult&) override {}
  void End(const RunEnd&) override {}
  absl::Status status() const { return status_; }

 private:
  std::string folder_;
  int count_ = 0;
  absl::Status status_;
};

}  // namespace peelcheck
