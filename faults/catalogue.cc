// faults/catalogue.cc: the registry of seeded faults; see catalogue.h.
#include "faults/catalogue.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <deque>

namespace peelcheck {
namespace {

// Engine faults name their entries, which may not be registered yet when the fault is.
struct Pending {
  SeededFault fault;
  std::vector<std::string> ops;
};

std::vector<Pending>& Registered() {
  static std::vector<Pending> registered;
  return registered;
}

std::deque<Entry>& OwnedEntries() {
  static std::deque<Entry> entries;
  return entries;
}

const Entry* Own(Entry entry, std::string name, const SourceLocation& where) {
  entry.name = std::move(name);
  entry.file = where.file;
  entry.line = where.line;
  entry.custom_function = true;
  return &OwnedEntries().emplace_back(std::move(entry));
}

// A registered entry, or a twin.
const Entry* FindAny(const std::string& name) {
  for (const Entry& entry : OwnedEntries()) {
    if (entry.name == name) return &entry;
  }
  return FindEntry(name);
}

std::unique_ptr<EngineUnderTest> MakeBuiltin() { return FindEngine("builtin")->make(); }

std::vector<SeededFault> MakeCatalogue() {
  std::vector<SeededFault> catalogue;
  for (Pending& pending : Registered()) {
    for (const std::string& op : pending.ops) {
      const Entry* entry = FindAny(op);
      if (entry == nullptr) {
        ThrowInvalidArgument(absl::StrCat("[faults] ", pending.fault.name, " names the operation `",
                                          op, "`, which is not registered; see `list ops`"));
      }
      pending.fault.entries.push_back(entry);
      pending.fault.twins.push_back(entry);
    }
    catalogue.push_back(pending.fault);
  }
  std::sort(catalogue.begin(), catalogue.end(),
            [](const SeededFault& a, const SeededFault& b) { return a.name < b.name; });
  for (size_t i = 1; i < catalogue.size(); ++i) {
    if (catalogue[i].name != catalogue[i - 1].name) continue;
    ThrowInvalidArgument(
        absl::StrCat("[faults] two faults are called ", catalogue[i].name, "; rename one"));
  }
  return catalogue;
}

}  // namespace

const char* FaultKindName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kValue: return "value";
    case FaultKind::kVjp: return "vjp rule";
    case FaultKind::kJvp: return "jvp rule";
    case FaultKind::kVmap: return "vmap rule";
    case FaultKind::kContext: return "context";
    case FaultKind::kInPlace: return "in place";
    case FaultKind::kLayout: return "layout";
    case FaultKind::kSpecial: return "special values";
    case FaultKind::kHigherOrder: return "higher order";
    case FaultKind::kMechanism: return "engine mechanism";
    case FaultKind::kResults: return "engine results";
  }
  return "?";
}

const std::vector<SeededFault>& FaultCatalogue() {
  static const std::vector<SeededFault> catalogue = MakeCatalogue();
  return catalogue;
}

FaultFamily::FaultFamily(const std::string& family, Entry (*make)(Knob),
                         std::vector<KnobFault> faults, SourceLocation where) {
  const Entry* twin = Own(make(""), family, where);
  for (KnobFault& fault : faults) {
    const std::string name = absl::StrCat(family, "-", fault.knob);
    Registered().push_back({{.name = name,
                             .kind = fault.kind,
                             .description = std::move(fault.description),
                             .report = std::move(fault.report),
                             .axis = fault.axis,
                             .entries = {Own(make(fault.knob), name, where)},
                             .twins = {twin},
                             .engine = MakeBuiltin},
                            {}});
  }
}

EngineFaults::EngineFaults(std::vector<EngineFault> faults) {
  for (EngineFault& fault : faults) {
    Registered().push_back({{.name = std::move(fault.name),
                             .kind = fault.kind,
                             .description = std::move(fault.description),
                             .report = std::move(fault.report),
                             .axis = fault.axis,
                             .engine = std::move(fault.engine)},
                            std::move(fault.ops)});
  }
}

}  // namespace peelcheck
