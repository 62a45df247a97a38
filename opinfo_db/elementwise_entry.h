// opinfo_db/elementwise_entry.h: an elementwise operation of the database as one row: name, kernel,
// derivative, formula, domain and reference together.
//
//   Row({"sin",  Sin,                                          "y = sin x; dy = cos x dx", kPlain,
//   [](double x) { return std::sin(x); }}), Row({"exp2", {FLOATING(std::exp2(v)), OF_Y(t * y *
//   kLn2)}, "y = 2^x; dy = y ln 2 dx",  kPlain, [](double x) { return std::pow(2, x); }}),
//
// The first wraps an operation that the engine has (engine/ops.h); the second is the operation: the
// words of its rule are those of engine/ops/elementwise_rows.h. Numbers that are attributes come to
// kernel, derivative and reference as a and b. The reference is computed in double and shares no
// code with the kernel.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/ops/elementwise_function.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

// An attribute that is a number. Without a default it must be given.
struct NumberAttribute {
  std::string name;
  std::vector<AttributeValue> choices;  // what generators draw; null = the default
  std::optional<double> fallback = std::nullopt;
};

// One element of the reference, of one, two or three operands; with a and b behind them where
// there are parameters.
struct ElementReference {
  template <typename F>
  ElementReference(F f) {  // NOLINT: implicit, so that a row holds a lambda
    if constexpr (std::is_invocable_v<F, double>) {
      of = [f](const double* x, const Parameters&) { return static_cast<double>(f(x[0])); };
    } else if constexpr (std::is_invocable_v<F, double, double>) {
      of = [f](const double* x, const Parameters&) { return static_cast<double>(f(x[0], x[1])); };
    } else if constexpr (std::is_invocable_v<F, double, Parameters>) {
      of = [f](const double* x, const Parameters& p) { return static_cast<double>(f(x[0], p)); };
    } else {
      of = [f](const double* x, const Parameters& p) {
        return static_cast<double>(f(x[0], x[1], x[2], p));
      };
    }
  }
  std::function<double(const double* operands, const Parameters&)> of;
};

// What a row may have beyond the columns that all have.
struct RowOptions {
  std::vector<NumberAttribute> parameters = {};  // a, and b
  void (*check)(const Parameters&) = nullptr;    // throws on values that do not fit
  std::string page = "torch.";                   // of PyTorch's documentation
  std::string source = "";                       // where the page has another name
  bool zero_derivative = false;                  // zero everywhere on purpose
  bool to_bool = false;                          // the result is bool: no derivative
  ValueKind values = ValueKind::kFloating;       // what the operands are
  std::vector<std::string> operands = {};        // their names; absent: x, y, w
  std::vector<ErrorCase> error_cases = {};       // beside those that all have
};

struct UnaryEntry {
  struct Rule {
    Rule(Tensor (*operation)(const Tensor&)) : composed(operation) {}                     // NOLINT
    Rule(decltype(UnaryRow::kernel) k, const Partial& p = {}) : kernel(k), partial(p) {}  // NOLINT
    Tensor (*composed)(const Tensor&) = nullptr;
    decltype(UnaryRow::kernel) kernel = nullptr;
    Partial partial = {};
  };
  std::string name;
  Rule rule;
  std::string formula;
  Domain domain;
  ElementReference reference;
  RowOptions options = {};
};

struct BinaryEntry {
  struct Rule {
    Rule(Tensor (*operation)(const Tensor&, const Tensor&)) : composed(operation) {}   // NOLINT
    Rule(decltype(BinaryRow::kernel) k, const Partial& x = {}, const Partial& y = {})  // NOLINT
        : kernel(k), by_x(x), by_y(y) {}
    Tensor (*composed)(const Tensor&, const Tensor&) = nullptr;
    decltype(BinaryRow::kernel) kernel = nullptr;
    Partial by_x = {}, by_y = {};
  };
  std::string name;
  Rule rule;
  std::string formula;
  Domain x, y;
  ElementReference reference;
  RowOptions options = {};
};

struct TernaryEntry {
  struct Rule {
    decltype(TernaryRow::kernel) kernel = nullptr;
    Partial by_x = {}, by_y = {}, by_w = {};
  };
  std::string name;
  Rule rule;
  std::string formula;
  Domain x, y, w;
  ElementReference reference;
  RowOptions options = {};
};

// Registers the entry at the caller's line, that of the row.
Registration Row(UnaryEntry row, SourceLocation where = SourceLocation::Current());
Registration Row(BinaryEntry row, SourceLocation where = SourceLocation::Current());
Registration Row(TernaryEntry row, SourceLocation where = SourceLocation::Current());

// Operands of 3 and 4, and of 3 and 5 in an inner axis; `arity` 2 or 3.
std::vector<ErrorCase> ShapesThatDoNotBroadcast(size_t arity = 2);

// The reference of an elementwise operation: broadcast, computed in double, rounded to the promoted
// dtype of the operands, or bool.
Reference ReferenceOf(const ElementReference& reference, bool to_bool,
                      std::function<Parameters(const Attributes&)> parameters);

// -- what tables share
// -----------------------------------------------------------------------------

// A constant in the dtype of `like`.
inline Tensor Constant(const Tensor& like, double value) { return Full({}, value, like.dtype()); }
inline Tensor Zero(const Tensor& like) { return Constant(like, 0); }
inline Tensor Above(const Tensor& x, double bound) { return Gt(x, Constant(x, bound)); }
// x where it is at most `bound`, else 0: a branch's argument, harmless where the branch is not
// taken, or an overflow there would come back as inf * 0.
inline Tensor OnlyUpTo(const Tensor& x, double bound) { return Where(Above(x, bound), Zero(x), x); }
// x cut at -bound and bound: for a factor that is multiplied by one that is 0 there already.
inline Tensor Cut(const Tensor& x, double bound) {
  return Minimum(Maximum(x, Constant(x, -bound)), Constant(x, bound));
}

}  // namespace peelcheck
