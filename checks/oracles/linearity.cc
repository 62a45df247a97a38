// vjp is linear in the cotangents, jvp in the tangents.
//
//   vjp(ct + u) = vjp(ct) + vjp(u), and vjp(0) = 0 exactly
#include <algorithm>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

bool IsLinear(const CheckedCase& c) {
  if (c.sample.program.stack.empty()) return false;
  const TransformKind kind = c.sample.program.stack.front().kind;
  return kind == TransformKind::kVjp || kind == TransformKind::kJvp;
}

// The first output that is linear: all of a vjp; the tangents of a jvp, of which there is one for
// each floating primal output.
size_t FirstLinear(const CheckedCase& c) {
  if (c.sample.program.stack.front().kind == TransformKind::kVjp) return 0;
  size_t primal = 0, tangents = 0;
  while (primal < c.outputs.size() && primal + tangents < c.outputs.size()) {
    tangents += IsFloating(c.outputs[primal].dtype());
    ++primal;
  }
  return primal;
}

template <typename Change>
std::vector<Array> Changed(const CheckedCase& c, Change change) {
  std::vector<Array> inputs = c.sample.inputs;
  for (size_t i = PeelCase(c).input_count; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].Copy();
    for (int64_t e = 0; e < inputs[i].size(); ++e) {
      inputs[i].SetDouble(e, change(inputs[i].DoubleAt(e), e));
    }
  }
  return inputs;
}

// Small multiples of 1/4: sums of them with the grid of the samples lose next to nothing.
double Other(int64_t element) { return 0.25 * static_cast<double>(element * 5 % 7) - 0.5; }

Judgement Additive(const CheckedCase& c) {
  constexpr const char* kLaw = "linearity";
  Judgement judgement;
  const Program& program = c.sample.program;
  const auto other = c.engine.Run(program, Changed(c, [](double, int64_t e) { return Other(e); }));
  const auto sum =
      c.engine.Run(program, Changed(c, [](double x, int64_t e) { return x + Other(e); }));
  if (!other.ok() || !sum.ok()) {
    judgement.NotePeeledError(kLaw, program, other.ok() ? sum.status() : other.status());
    return judgement;
  }
  if (!judgement.CheckCount(c, kLaw, other->size()) ||
      !judgement.CheckCount(c, kLaw, sum->size())) {
    return judgement;
  }
  for (size_t o = FirstLinear(c); o < sum->size(); ++o) {
    const Array &total = (*sum)[o], &part = (*other)[o];
    if (total.shape() != part.shape()) continue;  // the signature's business
    Array expected = total.Copy();
    for (int64_t e = 0; e < total.size(); ++e) {
      expected.SetDouble(e, total.DoubleAt(e) - part.DoubleAt(e));
    }
    std::vector<double> bounds = UniformBounds(total, kReorderUnits, c.dtype);
    const std::vector<double> more = UniformBounds(part, kReorderUnits, c.dtype);
    for (size_t e = 0; e < bounds.size(); ++e) bounds[e] += more[e];
    judgement.Compare(c, kLaw, o, expected, bounds);
  }
  judgement.any_nonzero = false;
  return judgement;
}

Judgement ZeroGivesZero(const CheckedCase& c) {
  constexpr const char* kLaw = "zero cotangents or tangents";
  Judgement judgement;
  const auto zeros =
      c.engine.Run(c.sample.program, Changed(c, [](double, int64_t) { return 0.0; }));
  if (!zeros.ok()) {
    judgement.NotePeeledError(kLaw, c.sample.program, zeros.status());
    return judgement;
  }
  CheckedCase of_zeros{c.entry, c.dtype, c.sample, c.engine, *zeros, c.operation, c.seed};
  if (!judgement.CheckCount(of_zeros, kLaw, c.outputs.size())) return judgement;
  for (size_t o = FirstLinear(c); o < zeros->size(); ++o) {
    const Array expected = Array::Zeros(c.outputs[o].dtype(), c.outputs[o].shape());
    judgement.Compare(of_zeros, kLaw, o, expected,
                      std::vector<double>(static_cast<size_t>(expected.size()), 0.0));
  }
  judgement.any_nonzero = false;
  return judgement;
}

const LawRegistration kLinearity({"linearity", IsLinear, Additive});
const LawRegistration kZeros({"zeros", IsLinear, ZeroGivesZero});

}  // namespace
}  // namespace peelcheck
