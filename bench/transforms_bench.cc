// The cost of a transform of one small operation: mul of f64 [4] with [3, 4], as a built-in, and as
// a custom function with a written and with a generated vmap rule.
//
//   build/release/transforms_bench --benchmark_repetitions=5
//   --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <string>

#include "opinfo_db/entry.h"
#include "opinfo_db/program.h"

namespace peelcheck {
namespace {

Tensor Ramp(const Shape& shape) {
  Array array = Array::Zeros(DType::kF64, shape);
  for (int64_t i = 0; i < array.size(); ++i)
    array.SetDouble(i, 0.25 + 0.5 * static_cast<double>(i));
  return Tensor::FromArray(std::move(array));
}

// The inputs of each word, with a batch of 2 in front of all of them.
Tensors InputsFor(const std::string& word) {
  const Shape x = {4}, y = {3, 4}, z = {3, 4};
  std::vector<Shape> shapes = {x, y};
  if (word.find("vjp") != std::string::npos) shapes.push_back(z);
  if (word.find("vjpvjp") != std::string::npos) {
    shapes.push_back(x);
    shapes.push_back(y);
  }
  if (word == "jvp") {
    shapes.push_back(x);
    shapes.push_back(y);
  }
  Tensors inputs;
  for (Shape& shape : shapes) {
    if (word.rfind("vmap", 0) == 0) shape.insert(shape.begin(), 2);
    inputs.push_back(Ramp(shape));
  }
  return inputs;
}

std::vector<Transform> StackOf(std::string word) {
  std::vector<Transform> stack;
  while (!word.empty()) {
    for (const TransformKind kind :
         {TransformKind::kVmap, TransformKind::kVjp, TransformKind::kJvp}) {
      const std::string name = TransformName(kind);
      if (word.rfind(name, 0) != 0) continue;
      stack.push_back({.kind = kind});
      word.erase(0, name.size());
    }
  }
  return stack;
}

void RunWord(benchmark::State& state, const std::string& op, const std::string& word) {
  const TensorFn f = ApplyStack(BuildOperation(op, {}), StackOf(word));
  const Tensors inputs = InputsFor(word);
  for (auto _ : state) benchmark::DoNotOptimize(f(inputs));
}

void RegisterAll() {
  for (const char* op : {"mul", "OpaqueMul", "MulGenVmap"}) {
    for (const char* word : {"", "vjp", "vjpvjp", "jvp", "vmap", "vmapvjp", "vmapvjpvjp"}) {
      const std::string name = std::string(op) + "/" + (*word == '\0' ? "forward" : word);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { RunWord(state, op, word); });
    }
  }
}

}  // namespace
}  // namespace peelcheck

int main(int argc, char** argv) {
  peelcheck::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
