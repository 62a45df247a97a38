// opinfo_db/json.h: arrays, programs and cases as JSON: one spelling everywhere.
//
//   {"op":"mul","attributes":{},"stack":[{"kind":"vmap","in_dims":[0,null,0],"out_dims":[0,0],"batch_size":2},
//    {"kind":"vjp","argnums":[0,1]}],"inputs":[{"dtype":"f64","shape":[2,3],"data":[1,2,3,4,5,6]},..]}
//
// Left out: attributes {}, stack [], argnums (all floating inputs), in_dims 0, out_dims 0 (or one
// dim for all, or null), batch_size (what the inputs have; Transform::batch_size is -1 then),
// randomness "error" (or "different", "same"). Data is row-major, flat; "nan", "inf", "-inf" are
// strings; bool data are true/false (0/1 read too). Numbers are written with the digits that read
// back to the same bits of their dtype.
#pragma once

#include <absl/status/statusor.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/array.h"
#include "opinfo_db/program.h"

namespace peelcheck {

struct ProgramWithInputs {
  Program program;
  std::vector<Array> inputs;
};

nlohmann::ordered_json ArrayToJson(const Array& array);
nlohmann::ordered_json AttributesToJson(const Attributes& attributes);
nlohmann::ordered_json ProgramToJson(const Program& program);
nlohmann::ordered_json ProgramToJson(const ProgramWithInputs& program);  // with "inputs"

// The inverses. invalid_argument in one line that says where ("inputs[1].data: 5 numbers for shape
// [2, 3]; expected 6"), what came and what was expected: unknown keys, wrong types, unknown kinds
// and dtypes, negative or huge shapes (over 2^28 elements), integers that do not fit their dtype.
// `text` functions also report malformed or truncated JSON with the byte.
absl::StatusOr<Array> ArrayFromJson(const nlohmann::ordered_json& json, const std::string& where);
absl::StatusOr<Attributes> AttributesFromJson(const nlohmann::ordered_json& json,
                                              const std::string& where);
absl::StatusOr<ProgramWithInputs> ProgramFromJson(const nlohmann::ordered_json& json);
absl::StatusOr<nlohmann::ordered_json> ParseJson(const std::string& text);
absl::StatusOr<ProgramWithInputs> ProgramFromText(const std::string& text);

}  // namespace peelcheck
