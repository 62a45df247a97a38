#include "checks/lint.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "generators/case.h"

namespace peelcheck {
namespace {

constexpr int64_t kSamples = 200;
constexpr int64_t kClaimSamples = 20;

class Linter {
 public:
  explicit Linter(const Entry& entry) : entry_(entry) {}

  std::vector<LintFinding> Run() {
    CheckFormula();
    CheckPatterns();
    if (DrawSamples()) {
      CheckReachable();
      CheckClaims();
    }
    if (!entry_.reference && !entry_.differentiable) {
      Add("no reference", "it has neither a reference nor a derivative; nothing can be compared");
    }
    return std::move(findings_);
  }

 private:
  void Add(const std::string& rule, const std::string& message) {
    findings_.push_back({entry_.name, rule, message, entry_.file, entry_.line});
  }

  // "y = sin x; dy = cos x dx": a value, and what becomes of a small change.
  void CheckFormula() {
    const std::string& formula = entry_.formula;
    if (formula.find('=') == std::string::npos) {
      Add("formula", "the formula is \"" + formula + "\"; expected what it computes, y = ..");
    } else if (entry_.differentiable && formula.find("; d") == std::string::npos) {
      Add("formula", "the formula \"" + formula + "\" does not tell the derivative, dy = ..");
    }
  }

  void CheckPatterns() {
    for (const Argument& argument : entry_.arguments) {
      const std::string padded = " " + argument.shape + " ";
      if (padded.find(" 2 ") != std::string::npos) {
        Add("pattern", "argument " + argument.name + " has the shape \"" + argument.shape +
                           "\"; an axis of size 2 looks like a batch, take another size");
      }
    }
  }

  bool DrawSamples() {
    std::string refusal;
    for (int64_t i = 0; i < kSamples; ++i) {
      try {
        Case drawn = GenerateCase({.entry = &entry_, .check = "lint", .index = i});
        const std::vector<std::string> broken = InvariantViolations(entry_, drawn);
        if (!broken.empty()) {
          Add("size 2", absl::StrCat("sample ", i, ": ", broken[0]));
          return false;
        }
        samples_.push_back(std::move(drawn));
      } catch (const Error& error) {
        refusal = error.what();
      }
    }
    if (!samples_.empty()) return true;
    Add("no sample", "none of " + std::to_string(kSamples) + " samples could be drawn: " + refusal);
    return false;
  }

  void CheckReachable() {
    for (const AttributeSpec& spec : entry_.attributes) {
      for (const AttributeValue& choice : spec.choices) {
        const bool reached = std::any_of(samples_.begin(), samples_.end(), [&](const Case& sample) {
          const auto at = sample.program.attributes.find(spec.name);
          const AttributeValue value =
              at == sample.program.attributes.end() ? AttributeValue() : at->second;
          return value == choice;
        });
        if (reached) continue;
        Add("unreachable", absl::StrCat("no sample has ", spec.name, "=", AttributeToString(choice),
                                        " in ", kSamples, "; drop the choice or make it drawable"));
      }
    }
  }

  // What the derivatives of some samples are, by forward and by reverse mode.
  void CheckClaims() {
    bool floating_output = false, ran = false, derivative = false;
    for (int64_t i = 0; i < kClaimSamples; ++i) {
      const Case& sample = samples_[static_cast<size_t>(i) % samples_.size()];
      Tensors inputs;
      for (const Array& input : sample.inputs) inputs.push_back(Tensor::FromArray(input));
      const TensorFn operation = BuildOperation(entry_.name, sample.program.attributes);
      try {
        for (const Tensor& output : operation(inputs)) {
          floating_output = floating_output || IsFloating(output.dtype());
        }
        ran = true;
        if (!floating_output || !entry_.differentiable) continue;
        derivative = HasDerivative(operation, inputs) || derivative;
      } catch (const Error& error) {
        if (error.error_class() == ErrorClass::kUnimplemented && entry_.composable) {
          Add("no derivative", std::string("it says that it is differentiable, but: ") +
                                   error.what() +
                                   "; write the rule, or say differentiable = false");
          return;
        }
        if (error.error_class() == ErrorClass::kInternal) {
          Add("no sample", std::string("an internal error: ") + error.what());
          return;
        }
      }
    }
    if (!ran) return Add("no sample", "the operation refuses every sample that is drawn of it");
    JudgeClaims(floating_output, derivative);
  }

  void JudgeClaims(bool floating_output, bool derivative) {
    if (entry_.differentiable && !floating_output) {
      Add("false claim", "differentiable, but no output is floating; say differentiable = false");
    }
    if (!entry_.differentiable || !floating_output || entry_.surrogate) return;
    if (entry_.zero_derivative && derivative) {
      Add("false claim", "zero_derivative, but a derivative is not zero");
    }
    if (!entry_.zero_derivative && !derivative) {
      Add("false claim",
          "the derivative is zero in every sample; say zero_derivative = true, or "
          "draw samples where it is not");
    }
  }

  // Whether some gradient is not zero. Runs both modes, so that a missing rule shows.
  bool HasDerivative(const TensorFn& operation, const Tensors& inputs) {
    const std::optional<std::vector<int64_t>> argnums = Argnums(inputs);
    if (argnums.has_value() && argnums->empty()) return false;
    const VjpResult vjp = Vjp(operation, inputs, {.argnums = argnums});
    Tensors cotangents;
    for (const Tensor& output : vjp.outputs) {
      if (IsFloating(output.dtype())) cotangents.push_back(Uneven(output.shape(), output.dtype()));
    }
    bool nonzero = false;
    for (const Tensor& gradient : vjp.pullback(cotangents)) {
      for (const double value : gradient.array().ToDoubles()) nonzero = nonzero || value != 0;
    }
    if (entry_.composable) {
      Tensors tangents;
      for (const int64_t argnum : *argnums) {
        const Tensor& input = inputs[static_cast<size_t>(argnum)];
        tangents.push_back(Uneven(input.shape(), input.dtype()));
      }
      Jvp(operation, inputs, tangents, {.argnums = argnums});
    }
    return nonzero;
  }

  std::optional<std::vector<int64_t>> Argnums(const Tensors& inputs) const {
    std::vector<int64_t> argnums;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool declared = i >= entry_.arguments.size() || entry_.arguments[i].differentiable;
      if (declared && IsFloating(inputs[i].dtype())) argnums.push_back(static_cast<int64_t>(i));
    }
    return argnums;
  }

  // 1, -0.5, 0.75, ..: no two sums of them cancel by symmetry.
  static Tensor Uneven(const Shape& shape, DType dtype) {
    Array array = Array::Zeros(dtype, shape);
    for (int64_t i = 0; i < array.size(); ++i) {
      const auto k = static_cast<double>(i);
      array.SetDouble(i, (i % 2 == 0 ? 1.0 : -0.5) + 0.01 * k);
    }
    return Tensor::FromArray(std::move(array));
  }

  const Entry& entry_;
  std::vector<Case> samples_;
  std::vector<LintFinding> findings_;
};

}  // namespace

std::vector<LintFinding> LintEntry(const Entry& entry) { return Linter(entry).Run(); }

std::vector<LintFinding> LintFiles(const std::string& root) {
  std::set<std::string> registered;
  for (const Entry* entry : AllEntries()) {
    registered.insert(std::filesystem::path(entry->file).filename().string());
  }
  std::vector<LintFinding> findings;
  for (const char* folder : {"opinfo_db/ops", "opinfo_db/functions"}) {
    const std::filesystem::path path = std::filesystem::path(root) / folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with(".cc") || name.ends_with("_test.cc") || registered.contains(name)) {
        continue;
      }
      findings.push_back({"", "no entry",
                          "the file registers no entry; add one, or take the file "
                          "out of the folder",
                          absl::StrCat(folder, "/", name), 1});
    }
  }
  return findings;
}

}  // namespace peelcheck
