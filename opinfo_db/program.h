// opinfo_db/program.h: a transform stack over an operation, as data.
//
//   Program{.op = "mul", .stack = {Transform{.kind = TransformKind::kVmap, .in_dims = {0,
//   std::nullopt}, .batch_size = 2},
//                                  Transform{.kind = TransformKind::kVjp}}}       // vmap(0,_) vjp
//                                  mul, outermost first
//
// Because it is data a program can be printed, written to JSON, drawn at random, shrunk, replayed
// and handed to any engine. Inputs and outputs are flat lists of plain arrays:
//   vmap  keeps the arity; inputs have the batch axis at in_dims, outputs at out_dims
//   jvp   inputs: primals, then a tangent per argnum; outputs: primal outputs, then a tangent per
//   floating output vjp   inputs: primals, then a cotangent per floating output; outputs: a
//   gradient per argnum grad  vjp of the sum of all floating outputs: inputs are the primals,
//   outputs a gradient per argnum
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/array.h"
#include "engine/transforms.h"

namespace peelcheck {

// The value of an attribute, as in JSON: null, a flag, an integer, a number, a string, a list of
// integers.
using AttributeValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::map<std::string, AttributeValue>;

std::string AttributeToString(const AttributeValue& value);

// Typed access for operations. `tag` is the operation's name. Absent and null give the default; a
// wrong type: invalid_argument with the name, what came and what was expected.
bool GetBool(const Attributes& attributes, const std::string& name, bool fallback,
             const std::string& tag);
int64_t GetInt(const Attributes& attributes, const std::string& name, int64_t fallback,
               const std::string& tag);
double GetDouble(const Attributes& attributes, const std::string& name, double fallback,
                 const std::string& tag);
// An integer or null/absent.
std::optional<int64_t> GetOptionalInt(const Attributes& attributes, const std::string& name,
                                      const std::string& tag);
// An integer (a list of one), a list, or null/absent.
std::optional<std::vector<int64_t>> GetOptionalInts(const Attributes& attributes,
                                                    const std::string& name,
                                                    const std::string& tag);
// Same, but must be there.
int64_t RequireInt(const Attributes& attributes, const std::string& name, const std::string& tag);
std::vector<int64_t> RequireInts(const Attributes& attributes, const std::string& name,
                                 const std::string& tag);
// invalid_argument where an attribute is none of `known`.
void RefuseUnknownAttributes(const Attributes& attributes, std::span<const std::string> known,
                             const std::string& tag);

enum class TransformKind { kGrad, kVjp, kJvp, kVmap };
const char* TransformName(TransformKind kind);  // "grad", "vjp", "jvp", "vmap"
std::optional<TransformKind> TransformFromName(const std::string& name);

struct Transform {
  TransformKind kind = TransformKind::kVjp;
  std::optional<std::vector<int64_t>> argnums = {};  // grad, vjp, jvp; absent = all floating inputs
  std::vector<BatchDim> in_dims = {0};               // vmap: one per input, or one for all
  std::vector<BatchDim> out_dims = {0};              // vmap: one per output, or one for all
  int64_t batch_size = 2;  // vmap: checked against the inputs; -1 = theirs, whatever it is
  Randomness randomness = Randomness::kError;  // vmap
};

struct Program {
  std::string op;
  Attributes attributes = {};
  std::vector<Transform> stack = {};  // outermost first
};

// "vmap(0,_) vjp mul"; what is not the default is shown: "vjp[0]", "vmap(0,_ -> 1)", "vmap(0;
// same)", "sum(dim=1)".
std::string ProgramToString(const Program& program);
// The check's word of a stack: "vmapvjp"; "value" for an empty one.
std::string StackWord(const Program& program);

// The program without its outermost transform.
Program Peeled(const Program& program);

// What an input or output looks like.
struct ArraySpec {
  DType dtype = DType::kF64;
  Shape shape;
};
struct Signature {
  std::vector<ArraySpec> inputs, outputs;
};
// Inputs and outputs of a program, from those of its bare operation. Throws invalid_argument on a
// stack that does not fit.
Signature ProgramSignature(const Program& program, const Signature& operation);

// An operation that knows what it is called and how many tensors it takes and gives. The flat
// inputs of a stack can only be told apart (primals, tangents, cotangents) by one who knows one of
// the two numbers. Put it in a TensorFn as it is; BuildOperation does.
struct NamedOperation {
  std::string name = "operation";
  int64_t arity = -1;  // number of inputs; -1 = any
  int64_t floating_outputs =
      -1;  // -1 = found from the inputs; 1 where the arity is not known either
  TensorFn call;
  Tensors operator()(const Tensors& inputs) const { return call(inputs); }
};

// A function of flat inputs -> flat outputs that applies the stack to `operation` with the built-in
// transforms. Throws Error as the transforms do, and invalid_argument for a wrong number of inputs.
// A TensorFn that is no NamedOperation may have any number of inputs, and is taken to have one
// floating output.
TensorFn ApplyStack(const TensorFn& operation, const std::vector<Transform>& stack);

// How many inputs the program under each suffix of the stack takes: [0] is the bare operation's
// (`arity`), the last is the whole program's. invalid_argument where `inputs` are too few or too
// many.
std::vector<int64_t> InputCounts(const Program& program, int64_t arity,
                                 std::span<const Array> inputs);

}  // namespace peelcheck
