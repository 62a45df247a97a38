#include "engine/trace.h"

#include <absl/strings/str_cat.h>

#include <cstdio>
#include <cstdlib>

namespace peelcheck {
namespace {

bool AskedByEnvironment() {
  const char* value = std::getenv("PEELCHECK_TRACE");
  return value != nullptr && *value != '\0' && std::string(value) != "0";
}

const bool trace_to_stderr = AskedByEnvironment();
thread_local std::string* trace_text = nullptr;
thread_local int trace_depth = 0;

std::string Describe(const TensorSpec& spec) {
  return absl::StrCat(DTypeName(spec.dtype), ShapeToString(spec.shape));
}

// Outermost wrapper first: "grad#2 %0 (vmap#1 @0 (f64[4, 3]))".
std::string Describe(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const TensorImpl& impl = *tensor.impl();
  if (impl.kind == TensorKind::kPlain) {
    return Describe(TensorSpec{tensor.dtype(), tensor.shape()});
  }
  const Level* level = FindLiveLevel(impl.level_id);
  std::string owner = level != nullptr ? TraceName(*level) : "ended";
  if (impl.kind == TensorKind::kBatched) absl::StrAppend(&owner, " @", impl.batch_dim);
  if (impl.kind == TensorKind::kGrad) absl::StrAppend(&owner, " %", impl.slot);
  if (impl.kind == TensorKind::kJvp) {
    absl::StrAppend(&owner, impl.tangent.defined() ? " with tangent" : " without tangent");
  }
  return absl::StrCat(owner, " (", Describe(impl.inner), ")");
}

std::string SlotName(int64_t slot) { return slot < 0 ? "_" : absl::StrCat("%", slot); }

template <typename Slots>
std::string SlotNames(const Slots& slots) {
  std::string text;
  for (const int64_t slot : slots) absl::StrAppend(&text, text.empty() ? "" : ", ", SlotName(slot));
  return text;
}

}  // namespace

std::atomic<int> active_traces{trace_to_stderr ? 1 : 0};

TraceScope::TraceScope(std::string* out) : previous_(trace_text) {
  trace_text = out;
  active_traces.fetch_add(1, std::memory_order_relaxed);
}
TraceScope::~TraceScope() {
  trace_text = previous_;
  active_traces.fetch_sub(1, std::memory_order_relaxed);
}

TraceIndent::TraceIndent() { ++trace_depth; }
TraceIndent::~TraceIndent() { --trace_depth; }

std::string TraceName(const Level& level) {
  int depth = 1;
  for (const Level* below = level.below; below != nullptr; below = below->below) ++depth;
  return absl::StrCat(LevelKindName(level.kind), "#", depth);
}

void TraceLine(const std::string& line) {
  const std::string text =
      absl::StrCat(std::string(static_cast<size_t>(2 * trace_depth), ' '), line, "\n");
  if (trace_text != nullptr) {
    *trace_text += text;
  } else if (trace_to_stderr) {
    std::fputs(text.c_str(), stderr);
  }
}

void TraceCall(const std::string& where, const Function& function, TensorSpan inputs) {
  std::string arguments;
  for (const Tensor& input : inputs) {
    absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", Describe(input));
  }
  TraceLine(absl::StrCat(where, "  ", function.name(), "(", arguments, ")"));
}

void TraceTape(const std::string& where, const Tape& tape) {
  TraceLine(absl::StrCat("tape of ", where, ":"));
  TraceIndent indent;
  for (const TapeRecord& record : tape.records()) {
    std::string saved;
    Context& ctx = const_cast<Context&>(record.context);
    for (const Tensor& tensor : ContextAccess::SavedForBackward(ctx)) {
      absl::StrAppend(&saved, saved.empty() ? "; saved " : ", ", Describe(tensor));
    }
    TraceLine(absl::StrCat(SlotNames(record.output_slots), " = ", record.function->name(), "(",
                           SlotNames(record.input_slots), ")", saved));
  }
}

}  // namespace peelcheck
