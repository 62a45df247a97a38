// reports/jsonl_sink.h: results.jsonl: one JSON object a line, from which every other report can be
// made. Schema: docs/results_schema.md.
//
//   absl::StatusOr<std::unique_ptr<JsonlSink>> sink = JsonlSink::Open("out/results.jsonl");
//
// Each line is flushed when it is written: a file without an `end` record is that of a run that
// died.
#pragma once

#include <absl/status/statusor.h>

#include <fstream>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/outcome.h"

namespace peelcheck {

constexpr int kResultsSchemaVersion = 1;

class JsonlSink : public Sink {
 public:
  // kUnavailable with the reason where the file cannot be written.
  static absl::StatusOr<std::unique_ptr<JsonlSink>> Open(const std::string& path);
  void Begin(const RunInfo& info) override;
  void OnMismatch(const Mismatch& mismatch) override;
  void OnCell(const CellResult& cell) override;
  void End(const RunEnd& end) override;
  // Whether every line so far has reached the file.
  absl::Status status() const;

 private:
  explicit JsonlSink(std::string path) : path_(std::move(path)), file_(path_, std::ios::trunc) {}
  void Write(const nlohmann::ordered_json& record);
  std::string path_;
  std::ofstream file_;
};

}  // namespace peelcheck
