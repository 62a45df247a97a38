// opinfo_db/entry.h: the descriptor of one operation or custom function: all that generators and
// checks know of it.
//
//   const Registration kSin({
//       .name = "sin",
//       .formula = "y = sin x; dy = cos x dx",
//       .arguments = {{.name = "x", .shape = "...", .domain = {.low = -3, .high = 3}}},
//       .build = Unary(Sin),
//       .reference = ElementwiseReference([](double x) { return std::sin(x); }),
//   });
//
// An entry is data; no generator code stands in it. It is registered with the file and line where
// it is written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "opinfo_db/program.h"

namespace peelcheck {

// Where the values of a floating argument are drawn from; everything is on a grid of 0.01.
struct Domain {
  double low = -2.0, high = 2.0;
  // Points at which the operation has no derivative, or is not smooth: values keep `margin` away
  // from them, and finite differences do not step across.
  std::vector<double> kinks = {};
  double margin = 0.1;
  // All values of one argument (of all such arguments together) differ by at least `margin`: for
  // sort, max, maximum.
  bool distinct = false;
  // Matrices [.., m, n]: this times i + 1 is added to element i, i. Off-diagonal values up to a
  // sixth of it make them well conditioned, their symmetric part positive definite, and their
  // eigenvalues and singular values distinct.
  double diagonal = 0;
};

// What the values of an argument are.
enum class ValueKind {
  kFloating,  // drawn from `domain`, in the dtype of the cell
  kBool,      // false or true
  kIndex,  // i64 in 0..n-1, n the size of argument `of` along the attribute `dim_attribute` (or dim
           // `dim`)
  kPermutation,         // i64, along that dim a permutation of 0..n-1; shape of argument `of`
  kInversePermutation,  // the inverse of argument `of` along that dim
  kInteger,             // i64 in -5..5
};

struct Argument {
  std::string name;
  // Axes, outermost first. A letter or word names an axis: the same name is the same size,
  // different names differ. A digit is that size. "..." any number (0 to 2) of leading axes, the
  // same in all arguments; "~" likewise, but here an argument may lack leading ones or have size 1
  // in some: the arguments broadcast together. Examples: "m k", "... n", "~", "".
  std::string shape = "...";
  ValueKind kind = ValueKind::kFloating;
  Domain domain = {};
  bool differentiable = true;  // kFloating only: false = gradients with respect to it are not taken
  int of = 0;                  // kIndex, kPermutation, kInversePermutation: which argument
  std::string dim_attribute = "";  // where the dim is an attribute
  int64_t dim = 0;                 // where it is fixed
};

enum class AttributeKind {
  kChoice,       // one of `choices`
  kDim,          // a dim of argument `of`: -rank..rank-1 (rank 0: 0 or -1)
  kOptionalDim,  // the same, or absent
  kDims,         // absent, one dim, or a list of distinct dims; negative ones too
  kDimList,      // a list of distinct dims, at least one where the rank allows it
  kPermutation,  // a list: all dims in some order
  kNewDim,       // -rank-1..rank: where a new axis goes
  kIndexAlong,   // an index into argument `of` along attribute `dim_attribute` (or `dim`): -n..n-1;
                 // the axis is not empty
  kReshape,      // a shape with the element count of argument `of`, sometimes with a -1
  kTrailingSizes,  // the sizes of the last `dim` axes of argument `of`
  kExpand,  // a shape that argument `of` broadcasts to, sometimes with -1s and new leading axes
};

struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::kChoice;
  std::vector<AttributeValue> choices = {};
  int of = 0;
  std::string dim_attribute = "";
  int64_t dim = 0;
};

// A call that must fail, plain and under every transform.
struct ErrorCase {
  std::string description;
  std::vector<ArraySpec> inputs;
  Attributes attributes = {};
  ErrorClass error_class = ErrorClass::kInvalidArgument;
};

// Values from plain arrays, by code that shares nothing with the operation.
using Reference =
    std::function<std::vector<Array>(std::span<const Array> inputs, const Attributes& attributes)>;

struct Entry {
  std::string name;            // PyTorch's, where it has the operation
  std::string formula;         // what it computes and its derivative
  std::string source = "";     // paper, equation, or the documentation that defines it
  std::string pins_down = "";  // custom functions: what the entry is there to pin down
  std::vector<Argument> arguments;
  std::vector<AttributeSpec> attributes = {};
  int64_t max_leading_axes = 2;  // of "..." and "~"
  int64_t min_rank = 0;          // of an argument with "..." or "~"
  bool allows_empty = true;      // size-0 axes are legal
  // Checks the attributes and returns the operation: flat inputs -> flat outputs.
  std::function<TensorFn(const Attributes&)> build;
  Reference reference = nullptr;
  // The declared derivative is not that of the function (a scaled gradient). The checks then
  // difference this one instead: its true derivative is what the entry declares.
  std::function<TensorFn(const Attributes&)> surrogate = nullptr;
  bool zero_derivative = false;  // the derivative is zero everywhere on purpose (floor, sign)
  // The outputs, or the gradients, sum to a constant (layer_norm; the losses of x - t): where a
  // stack has a grad, which sums, zeros may be all that there is to compare.
  bool constant_sum = false;
  bool differentiable = true;  // false: no floating output or input: only value and vmap apply
  bool composable = true;      // false: vmap, jvp and second derivatives are refused with `refusal`
  ErrorClass refusal = ErrorClass::kFailedPrecondition;
  bool random = false;  // draws numbers from a seed: mapped with randomness `same`, so that each
                        // slot draws what the loop draws
  bool custom_function = false;  // of the autograd-function database, not a built-in operation
  std::vector<ErrorCase> error_cases = {};
  std::string file = "";  // set by Registration
  int line = 0;
};

// All entries by name order; throws invalid_argument on a duplicate name at start-up.
const std::vector<const Entry*>& AllEntries();
// nullptr where there is none.
const Entry* FindEntry(const std::string& name);
// The operation of a program; `op` may end in "#surrogate". Unknown: invalid_argument that names
// the closest ones and `list ops`.
TensorFn BuildOperation(const std::string& op, const Attributes& attributes);
// The closest registered names, by edit distance, at most three.
std::vector<std::string> ClosestNames(const std::string& name, std::span<const std::string> known);

// Where a call is written: std::source_location, which clang 14 does not have.
struct SourceLocation {
  const char* file = "";
  int line = 0;
  static constexpr SourceLocation Current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Registers an entry at the place where it is written.
class Registration {
 public:
  explicit Registration(Entry entry, SourceLocation where = SourceLocation::Current());
};

// Puts an entry that is not registered under its name, on this thread, while it lives: FindEntry
// and BuildOperation find it, AllEntries does not list it. For entries that are wrong on purpose.
class ScopedEntry {
 public:
  explicit ScopedEntry(const Entry& entry);
  ~ScopedEntry();
  ScopedEntry(const ScopedEntry&) = delete;
  ScopedEntry& operator=(const ScopedEntry&) = delete;

 private:
  const Entry* previous_;
};

// -- what many entries need
// ------------------------------------------------------------------------------------------------------

// build: a function of tensors without attributes; refuses any attribute and any wrong number of
// inputs.
std::function<TensorFn(const Attributes&)> Plain(const std::string& name, size_t arity,
                                                 std::function<Tensors(const Tensors&)> call);
// reference: elementwise with broadcasting; computed in double, rounded to the promoted dtype of
// the inputs.
Reference ElementwiseReference(std::function<double(double)> f);
Reference ElementwiseReference(std::function<double(double, double)> f);

}  // namespace peelcheck
