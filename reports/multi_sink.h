// reports/multi_sink.h: tells a run to several sinks.
#pragma once

#include <utility>
#include <vector>

#include "reports/outcome.h"

namespace peelcheck {

class MultiSink : public Sink {
 public:
  explicit MultiSink(std::vector<Sink*> sinks) : sinks_(std::move(sinks)) {}
  void Begin(const RunInfo& info) override {
    for (Sink* sink : sinks_) sink->Begin(info);
  }
  void OnMismatch(const Mismatch& mismatch) override {
    for (Sink* sink : sinks_) sink->OnMismatch(mismatch);
  }
  void OnCell(const CellResult& cell) override {
    for (Sink* sink : sinks_) sink->OnCell(cell);
  }
  void End(const RunEnd& end) override {
    for (Sink* sink : sinks_) sink->End(end);
  }

 private:
  std::vector<Sink*> sinks_;
};

}  // namespace peelcheck
