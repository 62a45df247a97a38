// engine/transforms.h: grad, vjp, jvp and vmap of C++ functions over tensors, nested in any way.
//
//   TensorFn f = [](const Tensors& in) -> Tensors { return {in[0] * in[1]}; };
//   Tensors gradients = Grad(Sum(f), {.argnums = {0}})({x, y});
//   Tensors rows = Vmap(f, {.in_dims = {0, std::nullopt}})({xs, y});
//
// Each transform takes a function and returns a function (vjp returns outputs and a pullback), so
// they compose.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/function.h"
#include "engine/tensor.h"

namespace peelcheck {

using TensorFn = std::function<Tensors(const Tensors&)>;

struct VmapOptions {
  // One dim per input, or a single one for all inputs; negative dims wrap; nullopt = not mapped.
  std::vector<BatchDim> in_dims = {0};
  // One dim per output, or a single one for all outputs. An output that is not batched is expanded,
  // unless its dim is nullopt.
  std::vector<BatchDim> out_dims = {0};
  Randomness randomness = Randomness::kError;
  bool fallback_is_error = false;
  // Mapped in ceil(B / chunk_size) pieces, the last one smaller; absent = all at once.
  std::optional<int64_t> chunk_size = std::nullopt;
};

struct DiffOptions {
  // Which inputs are differentiated; negative wraps; absent = all floating inputs. Out of range,
  // empty, repeated or integer inputs: invalid_argument.
  std::optional<std::vector<int64_t>> argnums = std::nullopt;
  // The last output is auxiliary: handed back as it is, neither differentiated nor checked.
  bool has_aux = false;
  // jvp, jacfwd: an output that does not depend on the differentiated inputs is refused
  // (failed_precondition) instead of having zero tangents.
  bool strict = false;
};

// f mapped over a batch axis. Inputs [.., B at in_dim, ..] -> outputs [.., B at out_dim, ..].
TensorFn Vmap(TensorFn f, VmapOptions options = {});

// Gradients, in argnum order, of a function with one 0-d floating output (invalid_argument
// otherwise: use Vjp or JacRev); with has_aux then the auxiliary output.
TensorFn Grad(TensorFn f, DiffOptions options = {});
// The same with the function's value: gradients, value, and with has_aux the auxiliary output.
TensorFn GradAndValue(TensorFn f, DiffOptions options = {});

struct VjpResult {
  Tensors outputs;
  // One cotangent per floating output (undefined = zeros) -> one gradient per argnum. May be called
  // several times, after the level has ended, in another thread, and under other transforms.
  TensorFn pullback;
  Tensor aux = Tensor();  // with has_aux
};
// A function without any floating output: invalid_argument.
VjpResult Vjp(const TensorFn& f, const Tensors& inputs, const DiffOptions& options = {});

struct JvpResult {
  Tensors outputs;
  Tensors tangents;       // one per floating output: zeros where it does not depend on the inputs
  Tensor aux = Tensor();  // with has_aux
};
// `tangents`: one per argnum, same shape and dtype as the primal (undefined = zeros).
JvpResult Jvp(const TensorFn& f, const Tensors& inputs, const Tensors& tangents,
              const DiffOptions& options = {});

struct LinearizeResult {
  Tensors outputs;
  // Tangents, one per argnum (undefined = zeros) -> one per floating output: what Jvp gives at the
  // same point, without running f again.
  TensorFn pushforward;
  Tensor aux = Tensor();  // with has_aux
};
// f runs once; its jvp rules run at each call of the pushforward.
LinearizeResult Linearize(const TensorFn& f, const Tensors& inputs,
                          const DiffOptions& options = {});

// f without its writes: each in-place operation computes a new value for its handle instead, and
// what f did to its inputs is copied into them when it has returned. Same results as f. Refused: a
// custom function (unimplemented: the engine cannot know what it writes), and the use of another
// view of memory that f wrote (failed_precondition).
TensorFn Functionalize(TensorFn f);

// How often a loop over slots stood in for a missing batching rule, in this thread.
int64_t VmapFallbackCount();

// While one lives, the grad levels that were live when it was made record nothing: results are
// constants for them. Levels that are entered later are not affected, so a guard outside of a
// transform is ignored by it.
class NoGradGuard {
 public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  int64_t previous_;
};

}  // namespace peelcheck
