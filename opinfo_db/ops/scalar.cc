// opinfo_db/ops/scalar.cc: operations with numbers as attributes: affine, pow_scalar.
//
//   BuildOperation("affine", {{"scale", 2.0}, {"shift", -1.0}})   // what 2 * x - 1 is in C++
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"

namespace peelcheck {
namespace {

const Registration kAffine({
    .name = "affine",
    .formula = "y = scale x + shift; dy = scale dx",
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "scale", .choices = {2.0, 1.0, -0.5}},
                   {.name = "shift", .choices = {0.0, 3.0, -0.25}}},
    .build = WithAttributes("affine", 1, {"scale", "shift"},
                            [](const Attributes& attributes) {
                              const double scale = GetDouble(attributes, "scale", 1, "affine");
                              const double shift = GetDouble(attributes, "shift", 0, "affine");
                              return [=](const Tensors& in) -> Tensors {
                                return {Affine(in[0], scale, shift)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const double scale = GetDouble(attributes, "scale", 1, "reference");
          const double shift = GetDouble(attributes, "shift", 0, "reference");
          return ElementwiseReference([=](double x) { return scale * x + shift; })(inputs, {});
        },
});

const Registration kPowScalar({
    .name = "pow_scalar",
    .formula = "y = x^exponent; dy = exponent x^(exponent - 1) dx",
    .source = "https://pytorch.org/docs/stable/generated/torch.pow.html",
    .arguments = {{.name = "x", .domain = {.low = 0.2, .high = 2.5}}},
    .attributes = {{.name = "exponent", .choices = {2.0, 3.0, 0.5, -1.0, 1.0}}},
    .build = WithAttributes("pow_scalar", 1, {"exponent"},
                            [](const Attributes& attributes) {
                              const double exponent =
                                  GetDouble(attributes, "exponent", 2, "pow_scalar");
                              return [=](const Tensors& in) -> Tensors {
                                return {PowScalar(in[0], exponent)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const double exponent = GetDouble(attributes, "exponent", 2, "reference");
          return ElementwiseReference([=](double x) { return std::pow(x, exponent); })(inputs, {});
        },
});

}  // namespace
}  // namespace peelcheck
