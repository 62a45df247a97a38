// opinfo_db/json.cc: attributes, transforms and programs as JSON and back. Arrays: json_array.cc.
//
//   ProgramFromText(R"({"op": "sin", "stack": [{"kind": "vmaps"}]})")
//     -> stack[0].kind: "vmaps"; expected "grad", "vjp", "jvp" or "vmap"
#include "opinfo_db/json.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "opinfo_db/json_reading.h"

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRandomnessNames[] = {"error", "different", "same"};  // in enum order

Json AttributeToJson(const AttributeValue& value) {
  return std::visit(
      [](const auto& each) -> Json {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, double>) {
          // The attribute that is a string "inf" does not exist; a number that is not finite has no
          // other spelling.
          if (!std::isfinite(each)) return std::isnan(each) ? "nan" : each > 0 ? "inf" : "-inf";
          return each;
        } else {
          return each;
        }
      },
      value);
}

Json BatchDimsToJson(const std::vector<BatchDim>& dims) {
  Json list = Json::array();
  for (const BatchDim& dim : dims) list.push_back(dim.has_value() ? Json(*dim) : Json(nullptr));
  return dims.size() == 1 ? list[0] : list;
}

Json TransformToJson(const Transform& transform) {
  Json json = {{"kind", TransformName(transform.kind)}};
  if (transform.kind != TransformKind::kVmap) {
    if (transform.argnums.has_value()) json["argnums"] = *transform.argnums;
    return json;
  }
  json["in_dims"] = BatchDimsToJson(transform.in_dims);
  json["out_dims"] = BatchDimsToJson(transform.out_dims);
  if (transform.batch_size >= 0) json["batch_size"] = transform.batch_size;
  if (transform.randomness != Randomness::kError) {
    json["randomness"] = kRandomnessNames[static_cast<size_t>(transform.randomness)];
  }
  return json;
}

absl::StatusOr<AttributeValue> AttributeFromJson(const Json& json, const std::string& where) {
  if (json.is_null()) return AttributeValue();
  if (json.is_boolean()) return AttributeValue(json.get<bool>());
  if (json.is_number_float()) return AttributeValue(json.get<double>());
  if (json.is_number_integer()) {
    const absl::StatusOr<int64_t> value = ReadInteger(json, where);
    if (!value.ok()) return value.status();
    return AttributeValue(*value);
  }
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text == "nan") return AttributeValue(std::nan(""));
    if (text == "inf") return AttributeValue(HUGE_VAL);
    if (text == "-inf") return AttributeValue(-HUGE_VAL);
    return AttributeValue(text);
  }
  if (json.is_array()) {
    const absl::StatusOr<std::vector<int64_t>> list = ReadIntegers(json, where);
    if (!list.ok()) return list.status();
    return AttributeValue(*list);
  }
  return WrongJson(where, json, "null, true, false, a number, a string or a list of integers");
}

// An integer or null for all, or a list of those.
absl::StatusOr<std::vector<BatchDim>> BatchDimsFromJson(const Json& json,
                                                        const std::string& where) {
  const auto read_one = [](const Json& each, const std::string& place) -> absl::StatusOr<BatchDim> {
    if (each.is_null()) return BatchDim();
    const absl::StatusOr<int64_t> dim = ReadInteger(each, place);
    if (!dim.ok()) return WrongJson(place, each, "an integer or null");
    return BatchDim(*dim);
  };
  std::vector<BatchDim> dims;
  if (!json.is_array()) {
    const absl::StatusOr<BatchDim> dim = read_one(json, where);
    if (!dim.ok()) return WrongJson(where, json, "an integer, null or a list of those");
    return std::vector<BatchDim>{*dim};
  }
  for (size_t i = 0; i < json.size(); ++i) {
    const absl::StatusOr<BatchDim> dim = read_one(json[i], absl::StrCat(where, "[", i, "]"));
    if (!dim.ok()) return dim.status();
    dims.push_back(*dim);
  }
  return dims;
}

absl::StatusOr<Randomness> RandomnessFromJson(const Json& json, const std::string& where) {
  for (size_t i = 0; i < std::size(kRandomnessNames); ++i) {
    if (json == kRandomnessNames[i]) return static_cast<Randomness>(i);
  }
  return WrongJson(where, json, "\"error\", \"different\" or \"same\"");
}

absl::Status ReadVmap(const Json& json, const std::string& where, Transform& transform) {
  absl::Status status =
      CheckKeys(json, where, {"kind"}, {"in_dims", "out_dims", "batch_size", "randomness"});
  if (!status.ok()) return status;
  if (json.contains("in_dims")) {
    const auto dims = BatchDimsFromJson(json["in_dims"], where + ".in_dims");
    if (!dims.ok()) return dims.status();
    transform.in_dims = *dims;
  }
  if (json.contains("out_dims")) {
    const auto dims = BatchDimsFromJson(json["out_dims"], where + ".out_dims");
    if (!dims.ok()) return dims.status();
    transform.out_dims = *dims;
  }
  transform.batch_size = -1;
  if (json.contains("batch_size")) {
    const auto size = ReadInteger(json["batch_size"], where + ".batch_size");
    if (!size.ok() || *size < 0) {
      return WrongJson(where + ".batch_size", json["batch_size"],
                       "a size of 0 or more (left out: that of the inputs)");
    }
    transform.batch_size = *size;
  }
  if (json.contains("randomness")) {
    const auto randomness = RandomnessFromJson(json["randomness"], where + ".randomness");
    if (!randomness.ok()) return randomness.status();
    transform.randomness = *randomness;
  }
  return absl::OkStatus();
}

absl::StatusOr<Transform> TransformFromJson(const Json& json, const std::string& where) {
  if (!json.is_object() || !json.contains("kind")) {
    return WrongJson(where, json, "an object with a \"kind\"");
  }
  const Json& kind_json = json["kind"];
  const std::optional<TransformKind> kind =
      kind_json.is_string() ? TransformFromName(kind_json.get<std::string>()) : std::nullopt;
  if (!kind.has_value()) {
    return WrongJson(where + ".kind", kind_json, "\"grad\", \"vjp\", \"jvp\" or \"vmap\"");
  }
  Transform transform{.kind = *kind};
  if (*kind == TransformKind::kVmap) {
    const absl::Status status = ReadVmap(json, where, transform);
    if (!status.ok()) return status;
    return transform;
  }
  const absl::Status status = CheckKeys(json, where, {"kind"}, {"argnums"});
  if (!status.ok()) return status;
  if (json.contains("argnums") && !json["argnums"].is_null()) {
    const auto argnums = ReadIntegers(json["argnums"], where + ".argnums");
    if (!argnums.ok()) return argnums.status();
    transform.argnums = *argnums;
  }
  return transform;
}

absl::StatusOr<Program> ReadProgram(const Json& json) {
  if (!json["op"].is_string() || json["op"].get_ref<const std::string&>().empty()) {
    return WrongJson("op", json["op"], "the name of an operation");
  }
  Program program{.op = json["op"].get<std::string>()};
  if (json.contains("attributes")) {
    auto attributes = AttributesFromJson(json["attributes"], "attributes");
    if (!attributes.ok()) return attributes.status();
    program.attributes = *std::move(attributes);
  }
  if (!json.contains("stack")) return program;
  const Json& stack = json["stack"];
  if (!stack.is_array()) return WrongJson("stack", stack, "a list of transforms, outermost first");
  for (size_t i = 0; i < stack.size(); ++i) {
    auto transform = TransformFromJson(stack[i], absl::StrCat("stack[", i, "]"));
    if (!transform.ok()) return transform.status();
    program.stack.push_back(*std::move(transform));
  }
  return program;
}

// How deep arrays and objects are nested; a guard, since printing a value in a message descends one
// call per level.
int64_t NestingDepth(const std::string& text) {
  int64_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

Json AttributesToJson(const Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [name, value] : attributes) json[name] = AttributeToJson(value);
  return json;
}

Json ProgramToJson(const Program& program) {
  Json stack = Json::array();
  for (const Transform& transform : program.stack) stack.push_back(TransformToJson(transform));
  Json json;
  json["op"] = program.op;
  json["attributes"] = AttributesToJson(program.attributes);
  json["stack"] = std::move(stack);
  return json;
}

Json ProgramToJson(const ProgramWithInputs& program) {
  Json json = ProgramToJson(program.program);
  Json inputs = Json::array();
  for (const Array& input : program.inputs) inputs.push_back(ArrayToJson(input));
  json["inputs"] = std::move(inputs);
  return json;
}

absl::StatusOr<Attributes> AttributesFromJson(const Json& json, const std::string& where) {
  if (!json.is_object()) return WrongJson(where, json, "an object of names and values");
  Attributes attributes;
  for (const auto& [name, value] : json.items()) {
    auto attribute = AttributeFromJson(value, absl::StrCat(where, ".", name));
    if (!attribute.ok()) return attribute.status();
    attributes[name] = *std::move(attribute);
  }
  return attributes;
}

absl::StatusOr<ProgramWithInputs> ProgramFromJson(const Json& json) {
  const absl::Status keys = CheckKeys(json, "program", {"op"}, {"attributes", "stack", "inputs"});
  if (!keys.ok()) return keys;
  absl::StatusOr<Program> program = ReadProgram(json);
  if (!program.ok()) return program.status();
  ProgramWithInputs result{.program = *std::move(program), .inputs = {}};
  if (!json.contains("inputs")) return result;
  const Json& inputs = json["inputs"];
  if (!inputs.is_array()) return WrongJson("inputs", inputs, "a list of arrays");
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto array = ArrayFromJson(inputs[i], absl::StrCat("inputs[", i, "]"));
    if (!array.ok()) return array.status();
    result.inputs.push_back(*std::move(array));
  }
  return result;
}

absl::StatusOr<Json> ParseJson(const std::string& text) {
  constexpr int64_t kMaxDepth = 100;
  if (const int64_t depth = NestingDepth(text); depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("text: nested ", depth, " deep; expected at most ", kMaxDepth));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: <what>"
    std::string what = error.what();
    const size_t bracket = what.find("] ");
    if (bracket != std::string::npos) what = what.substr(bracket + 2);
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", std::min(error.byte, text.size()), " of ", text.size(), ": ", what));
  } catch (const Json::exception& error) {  // a number out of range
    return absl::InvalidArgumentError(absl::StrCat("text: ", error.what()));
  }
}

absl::StatusOr<ProgramWithInputs> ProgramFromText(const std::string& text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return json.status();
  return ProgramFromJson(*json);
}

}  // namespace peelcheck
