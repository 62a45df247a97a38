#include "opinfo_db/elementwise_entry.h"

#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

double NumberOf(const Attributes& attributes, const NumberAttribute& attribute,
                const std::string& tag) {
  const auto given = attributes.find(attribute.name);
  const bool absent =
      given == attributes.end() || std::holds_alternative<std::monostate>(given->second);
  if (absent && !attribute.fallback.has_value()) {
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] attribute ", attribute.name, " is missing; expected a number"));
  }
  return GetDouble(attributes, attribute.name, attribute.fallback.value_or(0), tag);
}

std::function<Parameters(const Attributes&)> ParametersOf(const std::string& name,
                                                          const RowOptions& options) {
  return [name, options](const Attributes& attributes) {
    Parameters result;
    double* const places[] = {&result.a, &result.b};
    for (size_t i = 0; i < options.parameters.size(); ++i) {
      *places[i] = NumberOf(attributes, options.parameters[i], name);
    }
    if (options.check != nullptr) options.check(result);
    return result;
  };
}

// Refuses unknown attributes, reads the numbers, makes the operation.
Build BuildOf(const std::string& name, size_t arity, const RowOptions& options,
              std::function<TensorFn(const Parameters&)> make) {
  std::vector<std::string> known;
  for (const NumberAttribute& each : options.parameters) known.push_back(each.name);
  return WithAttributes(name, static_cast<int64_t>(arity), known,
                        [parameters = ParametersOf(name, options), make = std::move(make)](
                            const Attributes& attributes) { return make(parameters(attributes)); });
}

std::vector<AttributeSpec> SpecsOf(const RowOptions& options) {
  std::vector<AttributeSpec> specs;
  for (const NumberAttribute& each : options.parameters) {
    specs.push_back({.name = each.name, .choices = each.choices});
  }
  return specs;
}

Attributes FirstChoices(const RowOptions& options) {
  Attributes attributes;
  for (const NumberAttribute& each : options.parameters) attributes[each.name] = each.choices[0];
  return attributes;
}

// What every row has of mistakes: an attribute that it does not know, a number that is none,
// shapes.
std::vector<ErrorCase> ErrorCasesOf(size_t arity, const RowOptions& options) {
  std::vector<ErrorCase> cases = options.error_cases;
  const std::vector<ArraySpec> inputs(arity, {DType::kF64, {3}});
  Attributes unknown = FirstChoices(options);
  unknown["dim"] = 0;
  cases.push_back(
      {.description = "an attribute that there is not", .inputs = inputs, .attributes = unknown});
  for (const NumberAttribute& each : options.parameters) {
    Attributes wrong = FirstChoices(options);
    wrong[each.name] = std::string("one");
    cases.push_back(
        {.description = each.name + " that is no number", .inputs = inputs, .attributes = wrong});
    if (each.fallback.has_value()) continue;
    wrong.erase(each.name);
    cases.push_back({.description = each.name + " missing", .inputs = inputs, .attributes = wrong});
  }
  for (ErrorCase& each : ShapesThatDoNotBroadcast(arity)) {
    each.attributes = FirstChoices(options);
    cases.push_back(std::move(each));
  }
  return cases;
}

Registration Register(const std::string& name, const std::string& formula,
                      const std::vector<Domain>& domains, Build build,
                      const ElementReference& reference, const RowOptions& options,
                      const SourceLocation& where) {
  const std::vector<std::string> standard = {"x", "y", "w"};
  const auto& names = options.operands.empty() ? standard : options.operands;
  std::vector<Argument> arguments;
  for (size_t i = 0; i < domains.size(); ++i) {
    arguments.push_back({.name = names[i],
                         .shape = domains.size() == 1 ? "..." : "~",
                         .kind = options.values,
                         .domain = domains[i]});
  }
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = !options.source.empty() ? options.source
                                            : "https://pytorch.org/docs/stable/generated/" +
                                                  options.page + name + ".html",
          .arguments = std::move(arguments),
          .attributes = SpecsOf(options),
          .build = std::move(build),
          .reference = ReferenceOf(reference, options.to_bool, ParametersOf(name, options)),
          .zero_derivative = options.zero_derivative,
          .differentiable = !options.to_bool,
          .error_cases = ErrorCasesOf(domains.size(), options),
      },
      where);
}

// Whichever of `x`'s axes are missing or of size 1 are repeated.
double BroadcastAt(const Array& x, const Index& index) {
  Index own(index.end() - x.rank(), index.end());
  for (size_t i = 0; i < own.size(); ++i) {
    if (x.shape()[i] == 1) own[i] = 0;
  }
  return At(x, own);
}

}  // namespace

Reference ReferenceOf(const ElementReference& reference, bool to_bool,
                      std::function<Parameters(const Attributes&)> parameters) {
  return [of = reference.of, to_bool, parameters = std::move(parameters)](
             std::span<const Array> inputs, const Attributes& attributes) {
    const Parameters numbers = parameters(attributes);
    Shape shape;
    DType dtype = DType::kBool;
    for (const Array& input : inputs) {
      shape = BroadcastShapes(shape, input.shape(), "reference");
      dtype = PromoteTypes(dtype, input.dtype());
    }
    return std::vector<Array>{
        FromIndices(to_bool ? DType::kBool : dtype, shape, [&](const Index& index) {
          double operands[3] = {};
          for (size_t i = 0; i < inputs.size(); ++i) operands[i] = BroadcastAt(inputs[i], index);
          return of(operands, numbers);
        })};
  };
}

std::vector<ErrorCase> ShapesThatDoNotBroadcast(size_t arity) {
  if (arity < 2) return {};
  std::vector<ErrorCase> cases = {
      {.description = "sizes 3 and 4 in the last axis",
       .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}}},
      {.description = "sizes 3 and 5 in an inner axis",
       .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {5, 4}}}},
  };
  if (arity == 3) {
    for (ErrorCase& each : cases) each.inputs.insert(each.inputs.begin(), {DType::kF64, {}});
  }
  return cases;
}

Registration Row(UnaryEntry row, SourceLocation where) {
  const auto make = [name = row.name, rule = row.rule](const Parameters& parameters) -> TensorFn {
    if (rule.composed != nullptr) {
      return [call = rule.composed](const Tensors& in) -> Tensors { return {call(in[0])}; };
    }
    return [op = UnaryOp({name, rule.kernel, rule.partial}, parameters)](
               const Tensors& in) -> Tensors { return {op(in[0])}; };
  };
  return Register(row.name, row.formula, {row.domain}, BuildOf(row.name, 1, row.options, make),
                  row.reference, row.options, where);
}

Registration Row(BinaryEntry row, SourceLocation where) {
  const auto make = [name = row.name, rule = row.rule](const Parameters&) -> TensorFn {
    if (rule.composed != nullptr) {
      return [call = rule.composed](const Tensors& in) -> Tensors { return {call(in[0], in[1])}; };
    }
    return [op = BinaryOp({name, rule.kernel, rule.by_x, rule.by_y})](
               const Tensors& in) -> Tensors { return {op(in[0], in[1])}; };
  };
  return Register(row.name, row.formula, {row.x, row.y}, BuildOf(row.name, 2, row.options, make),
                  row.reference, row.options, where);
}

Registration Row(TernaryEntry row, SourceLocation where) {
  const auto make = [name = row.name, rule = row.rule](const Parameters& parameters) -> TensorFn {
    return [op = TernaryOp({name, rule.kernel, rule.by_x, rule.by_y, rule.by_w}, parameters)](
               const Tensors& in) -> Tensors { return {op(in[0], in[1], in[2])}; };
  };
  return Register(row.name, row.formula, {row.x, row.y, row.w},
                  BuildOf(row.name, 3, row.options, make), row.reference, row.options, where);
}

}  // namespace peelcheck
