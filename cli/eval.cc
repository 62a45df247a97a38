// peelcheck eval: runs programs that are written as JSON and prints their outputs as JSON.
//
//   echo '{"op":"mul","stack":[{"kind":"vjp"}],"inputs":[..x, y, cotangent..]}' | peelcheck eval -
//   {"outputs":[{"dtype":"f64","shape":[2,3],"data":[..]},..]}
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "checks/engine_under_test.h"
#include "cli/commands.h"
#include "engine/error.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/json.h"

namespace peelcheck {
namespace {

struct Answer {
  std::string line;  // JSON
  std::string message;
  int exit_code = kExitOk;
};

const char* StatusClass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument: return ErrorClassName(ErrorClass::kInvalidArgument);
    case absl::StatusCode::kUnimplemented: return ErrorClassName(ErrorClass::kUnimplemented);
    case absl::StatusCode::kFailedPrecondition:
      return ErrorClassName(ErrorClass::kFailedPrecondition);
    default: return ErrorClassName(ErrorClass::kInternal);
  }
}

Answer ErrorAnswer(const absl::Status& status, int exit_code) {
  const std::string message(status.message());
  const nlohmann::ordered_json json = {
      {"error", {{"class", StatusClass(status)}, {"message", message}}}};
  return {json.dump(), message, exit_code};
}

Answer Evaluate(const std::string& text, EngineUnderTest& engine) {
  absl::StatusOr<ProgramWithInputs> parsed = ProgramFromText(text);
  if (!parsed.ok()) return ErrorAnswer(parsed.status(), kExitUsage);
  try {
    const TensorFn operation = BuildOperation(parsed->program.op, parsed->program.attributes);
    // A wrong number of inputs is a mistake of the program's writer, and told apart from what the
    // engine refuses.
    const NamedOperation* named = operation.target<NamedOperation>();
    if (named != nullptr && named->arity >= 0)
      InputCounts(parsed->program, named->arity, parsed->inputs);
  } catch (const Error& error) {
    return ErrorAnswer(absl::InvalidArgumentError(error.what()), kExitUsage);
  }
  absl::StatusOr<std::vector<Array>> outputs = engine.Run(parsed->program, parsed->inputs);
  if (!outputs.ok()) return ErrorAnswer(outputs.status(), kExitMismatches);
  nlohmann::ordered_json json = {{"outputs", nlohmann::ordered_json::array()}};
  for (const Array& output : *outputs) json["outputs"].push_back(ArrayToJson(output));
  return {json.dump(), "", kExitOk};
}

bool Blank(const std::string& line) {
  return line.find_first_not_of(" \t\r\n") == std::string::npos;
}

// One program, over as many lines as it likes, or one program per line.
int EvaluateText(const std::string& text, EngineUnderTest& engine) {
  std::istringstream lines(text);
  std::vector<std::string> programs;
  for (std::string line; std::getline(lines, line);) {
    if (!Blank(line)) programs.push_back(line);
  }
  if (programs.size() <= 1 || ParseJson(text).ok()) {
    const Answer answer = Evaluate(text, engine);
    std::cout << answer.line << "\n";
    return answer.exit_code == kExitUsage ? UsageError(answer.message) : answer.exit_code;
  }
  int exit_code = kExitOk;
  for (const std::string& program : programs) {
    const Answer answer = Evaluate(program, engine);
    std::cout << answer.line << "\n" << std::flush;
    if (answer.exit_code != kExitOk) exit_code = kExitMismatches;
  }
  return exit_code;
}

int Eval(const std::string& file, const std::string& engine_name) {
  const EngineInfo* info = FindEngine(engine_name);
  if (info == nullptr)
    return UsageError("unknown engine \"" + engine_name + "\"; see `peelcheck list engines`");
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream input(file, std::ios::binary);
    if (!input) return UsageError("cannot read " + file + "; give a file, or - for standard input");
    text.assign(std::istreambuf_iterator<char>(input), {});
  }
  if (Blank(text))
    return UsageError(
        "the input is empty; expected a program as JSON, see `peelcheck eval --help`");
  return EvaluateText(text, *info->make());
}

}  // namespace

void AddEvalCommand(CLI::App& app, int* exit_code) {
  struct Options {
    std::string file;
    std::string engine = "builtin";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("eval", "Run programs written as JSON and print their outputs");
  command
      ->add_option("file", options->file,
                   "A file with one program, or one per line; - for standard input")
      ->required();
  command->add_option("--engine", options->engine, "Which engine runs them")->capture_default_str();
  command->footer(
      "A program names an operation, its attributes, a stack of transforms (outermost first) and "
      "its inputs:\n"
      "  {\"op\":\"mul\",\"stack\":[{\"kind\":\"vjp\",\"argnums\":[0]}],\"inputs\":[\n"
      "    "
      "{\"dtype\":\"f64\",\"shape\":[3],\"data\":[1,2,3]},{\"dtype\":\"f64\",\"shape\":[],\"data\":"
      "[4]},\n"
      "    {\"dtype\":\"f64\",\"shape\":[3],\"data\":[1,1,1]}]}\n"
      "Inputs of jvp: primals, then tangents in argnum order. Inputs of vjp: primals, then "
      "cotangents of the floating outputs.\n"
      "Answer: {\"outputs\":[..]} or {\"error\":{\"class\":..,\"message\":..}}; exit 1 for an "
      "error of the engine, 2 for a\n"
      "program that makes no sense. With one program per line, an error does not stop the rest.\n"
      "Examples:\n  peelcheck eval programs.jsonl\n  echo '{\"op\":..}' | peelcheck eval -");
  command->callback([options, exit_code] { *exit_code = Eval(options->file, options->engine); });
}

}  // namespace peelcheck
