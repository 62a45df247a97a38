// checks/replay.cc: one case again: from its token, which draws it anew, or from its file, which
// holds the values; declared in runner.h.
//
//   ReplayToken("peelcheck-1:mul:vmapvjp:f64:42:7", options, sink)
//   ReplayCase(R"({"version":1,"op":"mul",..})", options, sink)
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <nlohmann/json.hpp>

#include "checks/plain_call.h"
#include "checks/run_case.h"
#include "checks/select.h"
#include "opinfo_db/json.h"

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

// Of the token and of the generator that it speaks to.
constexpr const char* kTokenPrefix = "peelcheck-1";

std::vector<std::string> OperationNames() {
  std::vector<std::string> names;
  for (const Entry* entry : AllEntries()) names.push_back(entry->name);
  return names;
}

std::vector<std::string> CheckNames() {
  std::vector<std::string> names;
  for (const Check& check : NamedChecks()) names.push_back(check.name);
  return names;
}

absl::StatusOr<Cell> FindCell(const std::string& op, const std::string& check_name,
                              const std::string& dtype_name) {
  const Entry* entry = FindEntry(op);
  if (entry == nullptr) return UnknownName("op", op, OperationNames());
  std::optional<Check> check = FindCheck(check_name);
  if (!check.has_value()) return UnknownName("check", check_name, CheckNames());
  if (!Applies(*check, *entry)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the check ", check_name, " does not apply to ", op,
        check_name == "value" ? ", which has no reference" : ", which has no derivative"));
  }
  const std::optional<DType> dtype = DTypeFromName(dtype_name);
  if (!dtype.has_value() || !IsFloating(*dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown dtype \"", dtype_name, "\"; expected f64 or f32"));
  }
  return Cell{entry, std::move(*check), *dtype};
}

// Tells one case as a run of one cell. The token of a drawn case is its own; see MakeToken.
RunEnd TellCase(const CaseContext& context, const Cell& cell, const Case& sample,
                int64_t case_index, const RunOptions& options, Sink& sink) {
  sink.Begin({.version = PEELCHECK_VERSION,
              .engine = options.engine,
              .profile = "replay",
              .seed = options.seed,
              .cell_count = 1});
  const CaseOutcome outcome = RunCase(context, sample);
  CellResult result{.id = {cell.entry->name, cell.check.name, DTypeName(cell.dtype)}};
  result.cases = 1;
  result.comparisons = outcome.judgement.comparisons;
  result.verdict = outcome.verdict;
  result.verdicts[VerdictName(outcome.verdict)] = 1;
  result.worst_error = outcome.judgement.worst_ratio;
  RunEnd end{.exit_code = IsFailure(outcome.verdict) ? 1 : 0,
             .cells = 1,
             .cases = 1,
             .comparisons = result.comparisons};
  if (outcome.judgement.finding.has_value()) {
    sink.OnMismatch(ExplainMismatch(context, result.id, sample, outcome, options, case_index));
    end.mismatches = 1;
  } else if (result.comparisons == 0) {
    end.exit_code = 3;
  }
  sink.OnCell(result);
  sink.End(end);
  return end;
}

struct Token {
  std::string op, check, dtype;
  uint64_t seed = 0;
  int64_t case_index = 0;
};

absl::StatusOr<Token> ParseToken(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts[0].rfind("peelcheck-", 0) == 0 && parts[0] != kTokenPrefix) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the token is of version \"", parts[0], "\", this program reads ", kTokenPrefix,
        "; replay the mismatch's file instead, or use the program that wrote it"));
  }
  Token token;
  if (parts.size() != 6 || parts[0] != kTokenPrefix || !absl::SimpleAtoi(parts[4], &token.seed) ||
      !absl::SimpleAtoi(parts[5], &token.case_index) || token.case_index < 0) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no token; expected ",
                                                   kTokenPrefix, ":op:check:dtype:seed:case"));
  }
  token.op = parts[1];
  token.check = parts[2];
  token.dtype = parts[3];
  return token;
}

absl::Status CheckFields(const Json& json) {
  for (const char* key : {"version", "op", "check", "dtype", "program"}) {
    if (json.is_object() && json.contains(key)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the file has no \"", key, "\"; expected a mismatch file of peelcheck"));
  }
  if (json["version"] != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the file is of version ", json["version"].dump(), "; this program reads version 1"));
  }
  for (const char* key : {"op", "check", "dtype", "sample_class"}) {
    if (!json.contains(key) || json[key].is_string()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" is ", json[key].dump(), "; expected a string"));
  }
  return absl::OkStatus();
}

// A file may leave batch sizes to the inputs; oracles need the numbers.
void FillBatchSizes(ProgramWithInputs& program, const Entry& entry) {
  std::vector<Array> inputs = program.inputs;
  const std::vector<int64_t> counts =
      InputCounts(program.program, static_cast<int64_t>(entry.arguments.size()), program.inputs);
  for (size_t i = 0; i < program.program.stack.size(); ++i) {
    Transform& transform = program.program.stack[i];
    if (transform.kind == TransformKind::kVmap) {
      if (transform.batch_size < 0) transform.batch_size = BatchSizeOf(transform, inputs);
      inputs = SlotInputs(transform, inputs, 0);
    }
    inputs.resize(static_cast<size_t>(counts[counts.size() - 2 - i]));
  }
}

absl::StatusOr<ProgramWithInputs> ReadProgram(const Json& json, const Cell& cell) {
  absl::StatusOr<ProgramWithInputs> program = ProgramFromJson(json["program"]);
  if (!program.ok()) return program.status();
  if (program->program.op != cell.entry->name || StackWord(program->program) != cell.check.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program is `", ProgramToString(program->program), "`; expected one of ",
                     cell.entry->name, " under ", cell.check.name, " as the file says"));
  }
  try {
    FillBatchSizes(*program, *cell.entry);
  } catch (const Error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return program;
}

}  // namespace

std::string MakeToken(const CellId& id, uint64_t seed, int64_t case_index) {
  return absl::StrCat(kTokenPrefix, ":", id.op, ":", id.check, ":", id.dtype, ":", seed, ":",
                      case_index);
}

absl::StatusOr<RunEnd> ReplayToken(const std::string& text, const RunOptions& options, Sink& sink) {
  const absl::Status known = KnownEngine(options.engine);
  if (!known.ok()) return known;
  const absl::StatusOr<Token> token = ParseToken(text);
  if (!token.ok()) return token.status();
  const absl::StatusOr<Cell> cell = FindCell(token->op, token->check, token->dtype);
  if (!cell.ok()) return cell.status();
  RunOptions seeded = options;
  seeded.seed = token->seed;
  const CaseRequest request{.entry = cell->entry,
                            .word = cell->check.word,
                            .dtype = cell->dtype,
                            .seed = token->seed,
                            .check = cell->check.name,
                            .index = token->case_index};
  const std::unique_ptr<EngineUnderTest> engine = FindEngine(options.engine)->make();
  const CaseContext context{*cell->entry, cell->dtype, *engine,
                            DirectionSeed(token->seed, token->case_index), true};
  Case sample;
  try {
    sample = GenerateCase(request);
  } catch (const Error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operation refuses this sample of its own descriptor: ", error.what()));
  }
  const CaseOutcome found = RunCase(context, sample);
  if (found.judgement.finding.has_value()) {
    // The same small case as the report shows.
    sample = ShrinkFailure(context, request, found, options.shrink).smallest;
  }
  return TellCase(context, *cell, sample, token->case_index, seeded, sink);
}

absl::StatusOr<RunEnd> ReplayCase(const std::string& text, const RunOptions& options, Sink& sink) {
  const absl::Status known = KnownEngine(options.engine);
  if (!known.ok()) return known;
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return json.status();
  const absl::Status fields = CheckFields(*json);
  if (!fields.ok()) return fields;
  const absl::StatusOr<Cell> cell = FindCell((*json)["op"], (*json)["check"], (*json)["dtype"]);
  if (!cell.ok()) return cell.status();
  absl::StatusOr<ProgramWithInputs> program = ReadProgram(*json, *cell);
  if (!program.ok()) return program.status();
  const std::unique_ptr<EngineUnderTest> engine = FindEngine(options.engine)->make();
  // The seed and case of the run that wrote the file: directions, and the token that is told again.
  RunOptions seeded = options;
  int64_t case_index = 0;
  if (json->contains("token") && (*json)["token"].is_string()) {
    const absl::StatusOr<Token> token = ParseToken((*json)["token"]);
    if (token.ok()) {
      seeded.seed = token->seed;
      case_index = token->case_index;
    }
  }
  const CaseContext context{*cell->entry, cell->dtype, *engine,
                            DirectionSeed(seeded.seed, case_index), true};
  const Case sample{std::move(program->program), std::move(program->inputs),
                    json->value("sample_class", "replayed")};
  return TellCase(context, *cell, sample, case_index, seeded, sink);
}

}  // namespace peelcheck
