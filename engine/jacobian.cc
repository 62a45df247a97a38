#include "engine/jacobian.h"

#include <absl/strings/str_cat.h>

#include "engine/argnums.h"
#include "engine/map_over.h"
#include "engine/ops.h"

namespace peelcheck {
namespace {

// [n, *shape], n = the number of elements: row i is 1 at position i and 0 elsewhere.
Tensor StandardBasis(const Tensor& like) {
  const int64_t n = like.size();
  Array basis = Array::Zeros(like.dtype(), {n, n});
  for (int64_t i = 0; i < n; ++i) basis.SetDouble(i * n + i, 1.0);
  Dims shape = {n};
  shape.insert(shape.end(), like.shape().begin(), like.shape().end());
  return Reshape(Tensor::FromArray(std::move(basis)), shape);
}

// The linear map over the standard basis of argument `which` of those like `likes`, the others
// zero. `out_dim`: where the basis axis goes in each result.
Tensors MapOverBasis(const TensorFn& linear, const Tensors& likes, size_t which, int64_t out_dim,
                     const std::optional<int64_t>& chunk_size) {
  const TensorFn one = [&](const Tensors& direction) {
    Tensors arguments(likes.size());
    arguments[which] = direction[0];
    return linear(arguments);
  };
  VmapOptions options;
  options.out_dims = {out_dim};
  options.chunk_size = chunk_size;
  return Vmap(one, options)({StandardBasis(likes[which])});
}

// The axis at `at` (0 or the last one), of as many elements as `shape` has, as that shape.
Tensor SplitAxis(const Tensor& x, bool front, const Shape& shape) {
  const auto begin = x.shape().begin() + (front ? 1 : 0);
  const auto end = x.shape().end() - (front ? 0 : 1);
  Dims result(begin, end);
  result.insert(front ? result.begin() : result.end(), shape.begin(), shape.end());
  return Reshape(x, result);
}

DiffOptions ToDiffOptions(const JacobianOptions& options, const std::string& tag) {
  CheckChunkSize(options.chunk_size, tag);
  return {.argnums = options.argnums, .has_aux = options.has_aux, .strict = options.strict};
}

Tensors FloatingOf(const Tensors& tensors) {
  Tensors floating;
  for (const Tensor& tensor : tensors) {
    if (IsFloating(tensor.dtype())) floating.push_back(tensor);
  }
  return floating;
}

}  // namespace

TensorFn JacRev(TensorFn f, JacobianOptions options) {
  return [f = std::move(f), options = std::move(options)](const Tensors& inputs) {
    const VjpResult vjp = Vjp(f, inputs, ToDiffOptions(options, "jacrev"));
    const Tensors outputs = FloatingOf(vjp.outputs);
    Tensors jacobians;
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (const Tensor& rows : MapOverBasis(vjp.pullback, outputs, o, 0, options.chunk_size)) {
        jacobians.push_back(SplitAxis(rows, true, outputs[o].shape()));
      }
    }
    if (options.has_aux) jacobians.push_back(vjp.aux);
    return jacobians;
  };
}

TensorFn JacFwd(TensorFn f, JacobianOptions options) {
  return [f = std::move(f), options = std::move(options)](const Tensors& inputs) {
    DiffOptions diff = ToDiffOptions(options, "jacfwd");
    // What the directions do not change is kept from the first run: outputs' number, and aux.
    JvpResult last;
    const TensorFn tangents_of = [&](const Tensors& tangents) {
      last = Jvp(f, inputs, tangents, diff);
      return last.tangents;
    };
    Tensors primals;
    for (const size_t argnum : ResolveArgnums(options.argnums, inputs, "jacfwd")) {
      primals.push_back(inputs[argnum]);
    }
    std::vector<Tensors> by_input;
    for (size_t i = 0; i < primals.size(); ++i) {
      by_input.push_back(MapOverBasis(tangents_of, primals, i, -1, options.chunk_size));
    }
    Tensors jacobians;
    for (size_t o = 0; !by_input.empty() && o < by_input[0].size(); ++o) {
      for (size_t i = 0; i < primals.size(); ++i) {
        jacobians.push_back(SplitAxis(by_input[i][o], false, primals[i].shape()));
      }
    }
    if (options.has_aux) jacobians.push_back(last.aux);
    return jacobians;
  };
}

TensorFn Hessian(TensorFn f, JacobianOptions options) {
  return JacFwd(JacRev(std::move(f), options), options);
}

}  // namespace peelcheck
