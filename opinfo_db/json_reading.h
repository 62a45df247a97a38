// opinfo_db/json_reading.h: what the JSON readers share: checks with messages that say where, what
// came, what was expected.
//
//   absl::Status status = CheckKeys(json, "inputs[0]", {"dtype", "shape", "data"}, {});
//   // inputs[0]: key "data" is missing; expected dtype, shape, data
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace peelcheck {

// "<where>: <came, abbreviated>; expected <expected>".
absl::Status WrongJson(const std::string& where, const nlohmann::ordered_json& came,
                       const std::string& expected);
// An object that has all of `required` and nothing outside `required` and `optional`.
absl::Status CheckKeys(const nlohmann::ordered_json& json, const std::string& where,
                       const std::vector<std::string>& required,
                       const std::vector<std::string>& optional);
// An integer that fits 64 bits with sign; 2.0 is none.
absl::StatusOr<int64_t> ReadInteger(const nlohmann::ordered_json& json, const std::string& where);
absl::StatusOr<std::vector<int64_t>> ReadIntegers(const nlohmann::ordered_json& json,
                                                  const std::string& where);

}  // namespace peelcheck
