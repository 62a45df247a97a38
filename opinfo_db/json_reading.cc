#include "opinfo_db/json_reading.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, text.empty() ? "" : ", ", name);
  return text;
}

// One line of at most 60 characters; a list of a million numbers is not printed to be cut.
std::string Abbreviated(const Json& json) {
  constexpr size_t kLimit = 60;
  if (json.is_structured() && json.size() > kLimit) {
    return absl::StrCat(json.is_array() ? "a list of " : "an object of ", json.size());
  }
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLimit) text = text.substr(0, kLimit - 3) + "...";
  return text;
}

}  // namespace

absl::Status WrongJson(const std::string& where, const Json& came, const std::string& expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": ", Abbreviated(came), "; expected ", expected));
}

absl::Status CheckKeys(const Json& json, const std::string& where,
                       const std::vector<std::string>& required,
                       const std::vector<std::string>& optional) {
  std::vector<std::string> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  if (!json.is_object()) {
    return WrongJson(where, json, absl::StrCat("an object with ", Joined(known)));
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(where, ": unknown key ", Abbreviated(Json(key)),
                                                   "; expected ", Joined(known)));
  }
  for (const std::string& key : required) {
    if (json.contains(key)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": key \"", key, "\" is missing; expected ", Joined(known)));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ReadInteger(const Json& json, const std::string& where) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(value);
    }
  } else if (json.is_number_integer()) {
    return json.get<int64_t>();
  }
  return WrongJson(where, json, "an integer of 64 bits");
}

absl::StatusOr<std::vector<int64_t>> ReadIntegers(const Json& json, const std::string& where) {
  if (!json.is_array()) return WrongJson(where, json, "a list of integers");
  std::vector<int64_t> result;
  for (size_t i = 0; i < json.size(); ++i) {
    const absl::StatusOr<int64_t> value = ReadInteger(json[i], absl::StrCat(where, "[", i, "]"));
    if (!value.ok()) return value.status();
    result.push_back(*value);
  }
  return result;
}

}  // namespace peelcheck
