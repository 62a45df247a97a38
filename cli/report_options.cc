#include "cli/report_options.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "cli/commands.h"
#include "reports/jsonl_sink.h"
#include "reports/junit_sink.h"
#include "reports/mismatch_files.h"
#include "reports/multi_sink.h"
#include "reports/terminal_sink.h"

namespace peelcheck {
namespace {

std::atomic<bool> interrupted{false};

extern "C" void OnInterrupt(int signal_number) {
  interrupted = true;
  std::signal(signal_number, SIG_DFL);  // a second one ends the program at once
}

class Reports : public RunReports {
 public:
  explicit Reports(std::unique_ptr<JsonlSink> jsonl, const std::string& directory)
      : terminal_(TerminalOptionsFromEnvironment()),
        jsonl_(std::move(jsonl)),
        junit_(directory + "/junit.xml"),
        files_(directory + "/mismatches"),
        sink_(jsonl_ == nullptr ? std::vector<Sink*>{&terminal_}
                                : std::vector<Sink*>{jsonl_.get(), &junit_, &files_, &terminal_}) {}
  Sink& sink() override { return sink_; }
  absl::Status Finish() override {
    if (jsonl_ == nullptr) return absl::OkStatus();
    absl::Status status = jsonl_->status();
    status.Update(junit_.status());
    status.Update(files_.status());
    return status;
  }

 private:
  TerminalSink terminal_;
  std::unique_ptr<JsonlSink> jsonl_;
  JunitSink junit_;
  MismatchFilesSink files_;
  MultiSink sink_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RunReports>> RunReports::Open(const std::string& directory) {
  if (directory.empty()) return std::make_unique<Reports>(nullptr, "");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::UnavailableError("cannot make the folder " + directory + ": " + error.message());
  absl::StatusOr<std::unique_ptr<JsonlSink>> jsonl = JsonlSink::Open(directory + "/results.jsonl");
  if (!jsonl.ok()) return jsonl.status();
  return std::make_unique<Reports>(std::move(*jsonl), directory);
}

const std::atomic<bool>& Interrupted() { return interrupted; }

void HandleInterrupts() {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
}

absl::StatusOr<std::vector<DType>> ParseDTypes(const std::vector<std::string>& names) {
  std::vector<DType> dtypes;
  for (const std::string& name : names) {
    const std::optional<DType> dtype = DTypeFromName(name);
    if (!dtype.has_value() || !IsFloating(*dtype)) {
      const std::string why(WhyNoDType(name));
      return absl::InvalidArgumentError("unknown dtype \"" + name +
                                        "\"; expected f64, f32 or both, with a comma" +
                                        (why.empty() ? "" : ": " + why));
    }
    if (std::find(dtypes.begin(), dtypes.end(), *dtype) == dtypes.end()) dtypes.push_back(*dtype);
  }
  return dtypes;
}

int FinishRun(const absl::StatusOr<RunEnd>& end, RunReports& reports) {
  if (!end.ok()) return UsageError(std::string(end.status().message()));
  const absl::Status written = reports.Finish();
  if (written.ok()) return end->exit_code;
  std::fprintf(stderr, "peelcheck: %s\n", std::string(written.message()).c_str());
  return kExitInfrastructure;
}

}  // namespace peelcheck
