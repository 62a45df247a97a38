// engine/random.h: random numbers that are the same for the same seed on every machine, and what
// drawing them means under transforms.
//
//   RandomScope seeded(42);                                // this thread; the old state comes back
//   Tensor u = RandomUniform({3, 4}, DType::kF64, "noise");   // under a vmap: by its randomness
//
// A draw is a constant for grad, vjp and jvp. Under a vmap it is refused (randomness `error`), has
// own numbers for each slot (`different`), or one set of numbers for all slots (`same`).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/tensor.h"

namespace peelcheck {

// Philox-4x32-10: a bijection of a 128-bit counter under a 64-bit key (Salmon et al. 2011, Parallel
// random numbers: as easy as 1, 2, 3). Only integer arithmetic, so bits do not depend on the
// platform.
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A stream of numbers: the Philox blocks of the counters 0, 1, .. under the seed as key.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}
  void ManualSeed(uint64_t seed) { *this = Generator(seed); }

  uint32_t NextBits();
  // [0, 1), a multiple of 2^-53.
  double NextUniform();
  // Mean 0, variance 1, by the polar method (Marsaglia & Bray 1964) with + - * / and square roots
  // only, which IEEE 754 rounds the same everywhere; libm's logarithm is not used.
  double NextNormal();

 private:
  uint64_t seed_;
  uint64_t block_ = 0;
  int used_ = 4;  // words of `words_`
  std::array<uint32_t, 4> words_{};
};

// This thread's, seeded with 0 at first.
Generator& CurrentGenerator();

// This thread's generator starts anew from `seed` while it lives; then goes on where it was.
class RandomScope {
 public:
  explicit RandomScope(uint64_t seed) : saved_(CurrentGenerator()) {
    CurrentGenerator().ManualSeed(seed);
  }
  ~RandomScope() { CurrentGenerator() = saved_; }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  Generator saved_;
};

// Drawn in row-major order from this thread's generator; f32 gets the f64 numbers, rounded (uniform
// ones downwards, so that 1 is not among them). Every live vmap with randomness `different` puts
// its batch in front: one draw of [B.., shape]. Throws failed_precondition, naming `tag`, under a
// vmap with randomness `error`, whether or not anything that is drawn for is batched.
Tensor RandomUniform(const Shape& shape, DType dtype, const std::string& tag);  // [0, 1)
Tensor RandomNormal(const Shape& shape, DType dtype, const std::string& tag);

}  // namespace peelcheck
