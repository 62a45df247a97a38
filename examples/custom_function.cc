// A custom function of a user, in one file, under every named check.
//
//   build/release/example_custom_function
//
// `SquaredNorm` computes |x|^2 of a vector. Its registration is all that the generators and checks
// need to know.
#include <cstdio>

#include "checks/runner.h"
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "reports/terminal_sink.h"

namespace peelcheck {
namespace {

class SquaredNorm : public Function {
 public:
  std::string name() const override { return "SquaredNorm"; }
  Tensors Forward(TensorSpan in) const override { return {Sum(in[0] * in[0])}; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override { ctx.Save({in[0]}); }
  Tensors Backward(Context& ctx, TensorSpan cotangents) const override {
    return {cotangents[0] * ctx.saved()[0] * 2.0};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Sum(ctx.saved()[0] * tangents[0]) * 2.0};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kSquaredNorm({
    .name = "SquaredNorm",
    .formula = "y = sum_i x_i^2; dy = 2 sum_i x_i dx_i",
    .arguments = {{.name = "x", .shape = "n"}},
    .build = Plain("SquaredNorm", 1,
                   [](const Tensors& in) { return Call(MakeRef<SquaredNorm>(), in); }),
    .custom_function = true,
});

}  // namespace
}  // namespace peelcheck

int main() {
  using namespace peelcheck;
  TerminalSink report(TerminalOptionsFromEnvironment());
  RunOptions options;
  options.ops = {"SquaredNorm"};
  options.seed = 1;
  const absl::StatusOr<RunEnd> end = RunChecks(options, report);
  if (!end.ok()) {
    std::fprintf(stderr, "%s\n", std::string(end.status().message()).c_str());
    return 2;
  }
  return end->exit_code;
}
