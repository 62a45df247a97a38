// opinfo_db/entry.cc: the registry of entries, and how an operation is found by name.
//
//   BuildOperation("sun", {})  throws: [registry] unknown operation `sun`; did you mean sum, sub,
//   sin? See `peelcheck list ops`
#include "opinfo_db/entry.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <deque>

namespace peelcheck {
namespace {

// Of this thread; see ScopedEntry.
thread_local const Entry* scoped_entry = nullptr;

constexpr char kSurrogateSuffix[] = "#surrogate";

// Function-local, so that it exists before the first Registration of any file; a deque keeps
// addresses.
std::deque<Entry>& Owned() {
  static auto* const entries = new std::deque<Entry>;
  return *entries;
}

std::vector<const Entry*>& Sorted() {
  static auto* const entries = new std::vector<const Entry*>;
  return *entries;
}

// Levenshtein's distance.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

const Entry& RequireEntry(const std::string& name) {
  if (const Entry* entry = FindEntry(name)) return *entry;
  std::vector<std::string> known;
  for (const Entry* entry : AllEntries()) known.push_back(entry->name);
  std::string closest;
  for (const std::string& each : ClosestNames(name, known)) {
    absl::StrAppend(&closest, closest.empty() ? "" : ", ", each);
  }
  ThrowInvalidArgument(absl::StrCat("[registry] unknown operation `", name, "`; did you mean ",
                                    closest, "? See `peelcheck list ops`"));
}

// The input position of element `position` of `shape`, by broadcasting `from` to it.
int64_t BroadcastPosition(int64_t position, const Shape& shape, const Shape& from) {
  int64_t result = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {  // from the last axis
    const int64_t size = shape[shape.size() - 1 - i];
    const int64_t index = position % size;
    position /= size;
    if (i >= from.size()) continue;
    const int64_t from_size = from[from.size() - 1 - i];
    if (from_size != 1) result += index * stride;
    stride *= from_size;
  }
  return result;
}

void RequireInputs(size_t came, size_t expected) {
  if (came == expected) return;
  ThrowInvalidArgument(absl::StrCat("[reference] ", came, " inputs came; expected ", expected));
}

}  // namespace

const std::vector<const Entry*>& AllEntries() { return Sorted(); }

ScopedEntry::ScopedEntry(const Entry& entry) : previous_(scoped_entry) { scoped_entry = &entry; }
ScopedEntry::~ScopedEntry() { scoped_entry = previous_; }

const Entry* FindEntry(const std::string& name) {
  if (scoped_entry != nullptr && scoped_entry->name == name) return scoped_entry;
  const auto& entries = AllEntries();
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Entry* entry, const std::string& key) { return entry->name < key; });
  return found != entries.end() && (*found)->name == name ? *found : nullptr;
}

TensorFn BuildOperation(const std::string& op, const Attributes& attributes) {
  const bool surrogate = op.ends_with(kSurrogateSuffix);
  const std::string name = surrogate ? op.substr(0, op.size() - (sizeof kSurrogateSuffix - 1)) : op;
  const Entry& entry = RequireEntry(name);
  if (surrogate && !entry.surrogate) {
    ThrowInvalidArgument(absl::StrCat(
        "[registry] `", name, "` has no surrogate: its derivative is its own; use `", name, "`"));
  }
  TensorFn operation = surrogate ? entry.surrogate(attributes) : entry.build(attributes);
  if (operation.target<NamedOperation>() != nullptr) return operation;
  return NamedOperation{.name = op,
                        .arity = static_cast<int64_t>(entry.arguments.size()),
                        .call = std::move(operation)};
}

std::vector<std::string> ClosestNames(const std::string& name, std::span<const std::string> known) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& each : known) ranked.emplace_back(EditDistance(name, each), each);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> closest;
  for (size_t i = 0; i < ranked.size() && i < 3; ++i) closest.push_back(ranked[i].second);
  return closest;
}

Registration::Registration(Entry entry, SourceLocation where) {
  entry.file = where.file;
  entry.line = where.line;
  if (const Entry* other = FindEntry(entry.name)) {
    ThrowInvalidArgument(absl::StrCat("[registry] `", entry.name, "` is registered at ",
                                      other->file, ":", other->line, " and at ", entry.file, ":",
                                      entry.line, "; rename one"));
  }
  if (!entry.build) {
    ThrowInvalidArgument(absl::StrCat("[registry] `", entry.name, "` at ", entry.file, ":",
                                      entry.line, " has no `build`; give it one"));
  }
  Owned().push_back(std::move(entry));
  const Entry* added = &Owned().back();
  const auto place =
      std::lower_bound(Sorted().begin(), Sorted().end(), added,
                       [](const Entry* a, const Entry* b) { return a->name < b->name; });
  Sorted().insert(place, added);
}

std::function<TensorFn(const Attributes&)> Plain(const std::string& name, size_t arity,
                                                 std::function<Tensors(const Tensors&)> call) {
  return [name, arity, call = std::move(call)](const Attributes& attributes) -> TensorFn {
    RefuseUnknownAttributes(attributes, {}, name);
    return NamedOperation{
        .name = name, .arity = static_cast<int64_t>(arity), .call = [=](const Tensors& inputs) {
          if (inputs.size() != arity) {
            ThrowInvalidArgument(
                absl::StrCat("[", name, "] ", inputs.size(), " inputs came; expected ", arity));
          }
          return call(inputs);
        }};
  };
}

Reference ElementwiseReference(std::function<double(double)> f) {
  return [f = std::move(f)](std::span<const Array> inputs, const Attributes&) {
    RequireInputs(inputs.size(), 1);
    Array result = Array::Zeros(inputs[0].dtype(), inputs[0].shape());
    for (int64_t i = 0; i < result.size(); ++i) result.SetDouble(i, f(inputs[0].DoubleAt(i)));
    return std::vector<Array>{result};
  };
}

Reference ElementwiseReference(std::function<double(double, double)> f) {
  return [f = std::move(f)](std::span<const Array> inputs, const Attributes&) {
    RequireInputs(inputs.size(), 2);
    const Array &x = inputs[0], &y = inputs[1];
    const Shape shape = BroadcastShapes(x.shape(), y.shape(), "reference");
    Array result = Array::Zeros(PromoteTypes(x.dtype(), y.dtype()), shape);
    for (int64_t i = 0; i < result.size(); ++i) {
      result.SetDouble(i, f(x.DoubleAt(BroadcastPosition(i, shape, x.shape())),
                            y.DoubleAt(BroadcastPosition(i, shape, y.shape()))));
    }
    return std::vector<Array>{result};
  };
}

}  // namespace peelcheck
