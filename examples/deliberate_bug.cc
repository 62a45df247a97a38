// A custom function with a deliberate bug: what a report of peelcheck looks like.
//
//   build/release/example_deliberate_bug                      finds it, shrinks it, prints how to
//   replay it; exits 1 build/release/example_deliberate_bug replay TOKEN|FILE    the printed
//   command
//
// `LogQuotient` is z = log(x / y) with broadcasting. Its backward weighs the gradient of a y that
// was broadcast as if z were a mean over the axes along which y was repeated: right wherever
// nothing is broadcast, which is where hand-written tests look.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "checks/runner.h"
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "reports/terminal_sink.h"

namespace peelcheck {
namespace {

class LogQuotient : public Function {
 public:
  std::string name() const override { return "LogQuotient"; }
  Tensors Forward(TensorSpan in) const override { return {Log(in[0] / in[1])}; }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[0], in[1]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const Tensor& x = ctx.saved()[0];
    const Tensor& y = ctx.saved()[1];
    const Tensor gradient_x = SumTo(ct[0] / x, x.shape());
    const Tensor gradient_y = SumTo(-(ct[0] / y), y.shape());
    const double weight = static_cast<double>(y.size()) / static_cast<double>(ct[0].size());
    return {gradient_x, gradient_y * weight};  // the bug: * weight
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {tangents[0] / ctx.saved()[0] - tangents[1] / ctx.saved()[1]};
  }
  bool generate_vmap_rule() const override { return true; }
};

const Registration kLogQuotient({
    .name = "LogQuotient",
    .formula = "z = log(x / y); dz = dx / x - dy / y",
    .arguments = {{.name = "x", .shape = "~", .domain = {.low = 0.5, .high = 3}},
                  {.name = "y", .shape = "~", .domain = {.low = 0.5, .high = 3}}},
    .allows_empty = false,  // the weight divides by the element count
    .build = Plain("LogQuotient", 2,
                   [](const Tensors& in) { return Call(MakeRef<LogQuotient>(), in); }),
    .custom_function = true,
});

int Finish(const absl::StatusOr<RunEnd>& end) {
  if (end.ok()) return end->exit_code;
  std::fprintf(stderr, "%s\n", std::string(end.status().message()).c_str());
  return 2;
}

}  // namespace
}  // namespace peelcheck

int main(int argc, char** argv) {
  using namespace peelcheck;
  TerminalSink report(TerminalOptionsFromEnvironment());
  RunOptions options;
  options.program = argv[0];
  if (argc == 3 && std::strcmp(argv[1], "replay") == 0) {
    std::ifstream file(argv[2], std::ios::binary);
    if (!file) return Finish(ReplayToken(argv[2], options, report));
    return Finish(
        ReplayCase(std::string(std::istreambuf_iterator<char>(file), {}), options, report));
  }
  options.ops = {"LogQuotient"};
  options.checks = {"grad", "vjp", "jvp", "vmap", "vmapvjp"};
  options.dtypes = {DType::kF64};
  options.seed = 1;
  return Finish(RunChecks(options, report));
}
