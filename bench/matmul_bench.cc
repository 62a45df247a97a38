// Matrix products beside Eigen by hand, in one program: MatMul of [n, n], and vmap(vjp(matmul))
// over a batch, whose two gradients are two products for each slot.
//
//   build/release/matmul_bench --benchmark_repetitions=5
//     --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <vector>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/program.h"

namespace peelcheck {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Tensor Ramp(const Shape& shape) {
  Array array = Array::Empty(DType::kF64, shape);
  double* data = array.fresh_data<double>();
  for (int64_t i = 0; i < array.size(); ++i) data[i] = static_cast<double>(i % 17) - 8;
  return Tensor::FromArray(array);
}

void Product(benchmark::State& state) {
  const Tensor x = Ramp({state.range(0), state.range(0)}),
               y = Ramp({state.range(0), state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(MatMul(x, y));
}

void EigenProduct(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Matrix x = Matrix::Random(n, n), y = Matrix::Random(n, n);
  for (auto _ : state) {
    Matrix z(n, n);
    z.noalias() = x * y;
    benchmark::DoNotOptimize(z.data());
  }
}

// batch, n
void MappedPullback(benchmark::State& state) {
  const Shape shape = {state.range(0), state.range(1), state.range(1)};
  const Tensors inputs = {Ramp(shape), Ramp(shape), Ramp(shape)};
  const TensorFn f =
      ApplyStack(BuildOperation("matmul", {}),
                 {{.kind = TransformKind::kVmap, .batch_size = -1}, {.kind = TransformKind::kVjp}});
  for (auto _ : state) benchmark::DoNotOptimize(f(inputs));
}

// What MappedPullback computes, nothing else: the product itself, then the gradients.
void EigenPullback(benchmark::State& state) {
  const int64_t batch = state.range(0), n = state.range(1), size = n * n;
  std::vector<double> x(batch * size, 1.5), y(batch * size, 2.5), ct(batch * size, 0.5);
  for (auto _ : state) {
    std::vector<double> z(batch * size), gx(batch * size), gy(batch * size);
    for (int64_t b = 0; b < batch; ++b) {
      const Eigen::Map<const Matrix> xs(&x[b * size], n, n), ys(&y[b * size], n, n);
      const Eigen::Map<const Matrix> cts(&ct[b * size], n, n);
      Eigen::Map<Matrix>(&z[b * size], n, n).noalias() = xs * ys;
      Eigen::Map<Matrix>(&gx[b * size], n, n).noalias() = cts * ys.transpose();
      Eigen::Map<Matrix>(&gy[b * size], n, n).noalias() = xs.transpose() * cts;
    }
    benchmark::DoNotOptimize(z.data());
    benchmark::DoNotOptimize(gx.data());
    benchmark::DoNotOptimize(gy.data());
  }
}

BENCHMARK(Product)->Arg(32)->Arg(128)->Arg(512);
BENCHMARK(EigenProduct)->Arg(32)->Arg(128)->Arg(512);
BENCHMARK(MappedPullback)->Args({64, 8})->Args({64, 32})->Args({32, 64});
BENCHMARK(EigenPullback)->Args({64, 8})->Args({64, 32})->Args({32, 64});

}  // namespace
}  // namespace peelcheck

BENCHMARK_MAIN();
