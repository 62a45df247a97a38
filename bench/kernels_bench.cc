// Elementwise kernels on contiguous f64, beside the same loop written with Eigen arrays; fresh
// results on both sides. 10^7 elements: memory, whose pages are new, costs more than the loop;
// 4096: the loop.
//
//   build/release/kernels_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <Eigen/Core>

#include <string>

#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

using Column = Eigen::Map<Eigen::ArrayXd>;
using ConstColumn = Eigen::Map<const Eigen::ArrayXd>;
using EigenLoop = void (*)(const ConstColumn& x, const ConstColumn& y, Column z);

// Irregular numbers in (-2, 2).
Tensor Values(int64_t size, double phase) {
  Array array = Array::Zeros(DType::kF64, {size});
  double* out = array.fresh_data<double>();
  for (int64_t i = 0; i < size; ++i) {
    const double turn = 0.618033988749895 * static_cast<double>(i) + phase;
    out[i] = 4 * (turn - static_cast<double>(static_cast<int64_t>(turn))) - 2;
  }
  return Tensor::FromArray(array);
}

void RunOurs(benchmark::State& state, const std::string& op) {
  const int64_t size = state.range(0);
  const TensorFn f = BuildOperation(op, {});
  Tensors inputs;
  for (size_t i = 0; i < FindEntry(op)->arguments.size(); ++i) {
    inputs.push_back(Values(size, 0.37 * static_cast<double>(i)));
  }
  for (auto _ : state) benchmark::DoNotOptimize(f(inputs));
  state.SetItemsProcessed(state.iterations() * size);
}

void RunEigen(benchmark::State& state, EigenLoop loop) {
  const int64_t size = state.range(0);
  const Tensor x = Values(size, 0), y = Values(size, 0.37);
  for (auto _ : state) {
    // An Array gives the memory on both sides: what is compared is the loop.
    Array z = Array::Empty(DType::kF64, {size});
    loop(ConstColumn(x.array().data<double>(), size), ConstColumn(y.array().data<double>(), size),
         Column(z.fresh_data<double>(), size));
    benchmark::DoNotOptimize(z);
  }
  state.SetItemsProcessed(state.iterations() * size);
}

void RegisterAll() {
  const std::pair<const char*, EigenLoop> loops[] = {
      {"add", [](const ConstColumn& x, const ConstColumn& y, Column z) { z = x + y; }},
      {"mul", [](const ConstColumn& x, const ConstColumn& y, Column z) { z = x * y; }},
      {"exp", [](const ConstColumn& x, const ConstColumn&, Column z) { z = x.exp(); }},
      {"tanh", [](const ConstColumn& x, const ConstColumn&, Column z) { z = x.tanh(); }}};
  for (const auto& [op, loop] : loops) {
    const std::string name = op;
    benchmark::RegisterBenchmark((name + "/peelcheck").c_str(),
                                 [=](benchmark::State& state) { RunOurs(state, name); })
        ->Arg(10'000'000)
        ->Arg(4096);
    benchmark::RegisterBenchmark(
        (name + "/eigen").c_str(),
        [=, loop = loop](benchmark::State& state) { RunEigen(state, loop); })
        ->Arg(10'000'000)
        ->Arg(4096);
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
