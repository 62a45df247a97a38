// How costs grow: a map over many rows beside the plain operation on the stacked array, and chains
// of operations of growing length.
//
//   build/release/scaling_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

constexpr int64_t kRows = 10000, kColumns = 64;

Tensor Rows() {
  Array array = Array::Zeros(DType::kF64, {kRows, kColumns});
  for (int64_t i = 0; i < array.size(); ++i) array.SetDouble(i, 1e-6 * static_cast<double>(i));
  return Tensor::FromArray(std::move(array));
}

const TensorFn kMul = [](const Tensors& in) -> Tensors { return {in[0] * in[1]}; };

void PlainElementwise(benchmark::State& state) {
  const Tensors inputs = {Rows(), Rows()};
  for (auto _ : state) benchmark::DoNotOptimize(kMul(inputs));
}
BENCHMARK(PlainElementwise)->Unit(benchmark::kMicrosecond);

void VmapElementwise(benchmark::State& state) {
  const Tensors inputs = {Rows(), Rows()};
  const TensorFn mapped = Vmap(kMul);
  for (auto _ : state) benchmark::DoNotOptimize(mapped(inputs));
}
BENCHMARK(VmapElementwise)->Unit(benchmark::kMicrosecond);

// One operand mapped, the other [columns]: a broadcast on both sides.
void PlainBroadcast(benchmark::State& state) {
  const Tensors inputs = {Rows(), Select(Rows(), 0, 1)};
  for (auto _ : state) benchmark::DoNotOptimize(kMul(inputs));
}
BENCHMARK(PlainBroadcast)->Unit(benchmark::kMicrosecond);

void VmapBroadcast(benchmark::State& state) {
  const Tensors inputs = {Rows(), Select(Rows(), 0, 1)};
  const TensorFn mapped = Vmap(kMul, {.in_dims = {0, std::nullopt}});
  for (auto _ : state) benchmark::DoNotOptimize(mapped(inputs));
}
BENCHMARK(VmapBroadcast)->Unit(benchmark::kMicrosecond);

void GradOfAChain(benchmark::State& state) {
  const int64_t length = state.range(0);
  const TensorFn chain = Grad([length](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int64_t i = 0; i < length; ++i) x = x * in[1];
    return {x};
  });
  const Tensors inputs = {Tensor::Scalar(1.0), Tensor::Scalar(1.0001)};
  for (auto _ : state) benchmark::DoNotOptimize(chain(inputs));
  state.SetComplexityN(length);
}
BENCHMARK(GradOfAChain)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond)->Complexity(
    benchmark::oN);

}  // namespace
}  // namespace peelcheck

BENCHMARK_MAIN();
