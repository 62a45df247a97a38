// opinfo_db/attributes.cc: typed access to the attributes of a program; declared in
// opinfo_db/program.h.
//
//   GetInt({{"dim", "last"}}, "dim", 0, "sum")
//     throws: [sum] attribute dim is "last"; expected an integer
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>

#include "opinfo_db/program.h"

namespace peelcheck {
namespace {

// nullptr where the attribute is absent or null: both mean "the default".
const AttributeValue* Find(const Attributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end() || std::holds_alternative<std::monostate>(found->second)) {
    return nullptr;
  }
  return &found->second;
}

[[noreturn]] void ThrowWrongType(const std::string& name, const AttributeValue& value,
                                 const char* expected, const std::string& tag) {
  ThrowInvalidArgument(absl::StrCat("[", tag, "] attribute ", name, " is ",
                                    AttributeToString(value), "; expected ", expected));
}

[[noreturn]] void ThrowMissing(const std::string& name, const char* expected,
                               const std::string& tag) {
  ThrowInvalidArgument(
      absl::StrCat("[", tag, "] attribute ", name, " is missing; expected ", expected));
}

constexpr const char* kInteger = "an integer";
constexpr const char* kIntegers = "an integer or a list of integers";

}  // namespace

std::string AttributeToString(const AttributeValue& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t integer) const { return absl::StrCat(integer); }
    std::string operator()(double number) const {
      char buffer[32];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
      std::string text(buffer, end);
      // "2" would read as an integer.
      if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
      return text;
    }
    std::string operator()(const std::string& text) const { return absl::StrCat("\"", text, "\""); }
    std::string operator()(const std::vector<int64_t>& list) const {
      std::string text = "[";
      for (size_t i = 0; i < list.size(); ++i) absl::StrAppend(&text, i > 0 ? ", " : "", list[i]);
      return text + "]";
    }
  };
  return std::visit(Printer(), value);
}

bool GetBool(const Attributes& attributes, const std::string& name, bool fallback,
             const std::string& tag) {
  const AttributeValue* value = Find(attributes, name);
  if (value == nullptr) return fallback;
  if (const bool* flag = std::get_if<bool>(value)) return *flag;
  ThrowWrongType(name, *value, "true or false", tag);
}

int64_t GetInt(const Attributes& attributes, const std::string& name, int64_t fallback,
               const std::string& tag) {
  return GetOptionalInt(attributes, name, tag).value_or(fallback);
}

double GetDouble(const Attributes& attributes, const std::string& name, double fallback,
                 const std::string& tag) {
  const AttributeValue* value = Find(attributes, name);
  if (value == nullptr) return fallback;
  if (const double* number = std::get_if<double>(value)) return *number;
  if (const int64_t* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  ThrowWrongType(name, *value, "a number", tag);
}

std::optional<int64_t> GetOptionalInt(const Attributes& attributes, const std::string& name,
                                      const std::string& tag) {
  const AttributeValue* value = Find(attributes, name);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* integer = std::get_if<int64_t>(value)) return *integer;
  ThrowWrongType(name, *value, kInteger, tag);
}

std::optional<std::vector<int64_t>> GetOptionalInts(const Attributes& attributes,
                                                    const std::string& name,
                                                    const std::string& tag) {
  const AttributeValue* value = Find(attributes, name);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* integer = std::get_if<int64_t>(value)) return std::vector<int64_t>{*integer};
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  ThrowWrongType(name, *value, kIntegers, tag);
}

int64_t RequireInt(const Attributes& attributes, const std::string& name, const std::string& tag) {
  const std::optional<int64_t> value = GetOptionalInt(attributes, name, tag);
  if (!value.has_value()) ThrowMissing(name, kInteger, tag);
  return *value;
}

std::vector<int64_t> RequireInts(const Attributes& attributes, const std::string& name,
                                 const std::string& tag) {
  std::optional<std::vector<int64_t>> value = GetOptionalInts(attributes, name, tag);
  if (!value.has_value()) ThrowMissing(name, kIntegers, tag);
  return *std::move(value);
}

void RefuseUnknownAttributes(const Attributes& attributes, std::span<const std::string> known,
                             const std::string& tag) {
  for (const auto& [name, value] : attributes) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string expected;
    for (const std::string& each : known) {
      absl::StrAppend(&expected, expected.empty() ? "" : ", ", each);
    }
    ThrowInvalidArgument(absl::StrCat("[", tag, "] unknown attribute ", name, "=",
                                      AttributeToString(value), "; expected ",
                                      known.empty() ? "no attributes" : "one of: " + expected));
  }
}

}  // namespace peelcheck
