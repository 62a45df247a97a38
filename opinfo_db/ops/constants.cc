// opinfo_db/ops/constants.cc: outputs that do not depend on the input, or claim not to: zeros_like,
// ones_like, detach.
//
// What they pin down: a gradient that nothing flows into is zeros, never nothing; an output that is
// not batched is expanded.
#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

const Registration kZerosLike({
    .name = "zeros_like",
    .formula = "y = 0 in the shape and dtype of x; dy = 0",
    .source = "https://pytorch.org/docs/stable/generated/torch.zeros_like.html",
    .arguments = {{.name = "x"}},
    .build = Plain("zeros_like", 1,
                   [](const Tensors& in) -> Tensors { return {ZerosLike(in[0])}; }),
    .reference = ElementwiseReference([](double) { return 0.0; }),
    .zero_derivative = true,
});

const Registration kOnesLike({
    .name = "ones_like",
    .formula = "y = 1 in the shape and dtype of x; dy = 0",
    .source = "https://pytorch.org/docs/stable/generated/torch.ones_like.html",
    .arguments = {{.name = "x"}},
    .build = Plain("ones_like", 1, [](const Tensors& in) -> Tensors { return {OnesLike(in[0])}; }),
    .reference = ElementwiseReference([](double) { return 1.0; }),
    .zero_derivative = true,
});

const Registration kDetach({
    .name = "detach",
    .formula = "y = x; dy = 0 by declaration",
    .source = "https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html",
    .arguments = {{.name = "x"}},
    .build = Plain("detach", 1, [](const Tensors& in) -> Tensors { return {Detach(in[0])}; }),
    .reference = ElementwiseReference([](double x) { return x; }),
    .surrogate = Plain("detach#surrogate", 1,
                       [](const Tensors& in) -> Tensors { return {ZerosLike(in[0])}; }),
    .zero_derivative = true,
});

}  // namespace
}  // namespace peelcheck
