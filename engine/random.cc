#include "engine/random.h"

#include <absl/strings/str_cat.h>

#include <cmath>
#include <vector>

#include "engine/level.h"

namespace peelcheck {
namespace {

// ln x for x > 0: x = m 2^e with m in [sqrt 1/2, sqrt 2], ln m = 2 artanh((m - 1) / (m + 1)). The
// argument is below 0.172, so 11 terms of the series leave less than 0.172^23 < 1e-17.
double PortableLog(double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440, kLn2 = 0.69314718055994530942;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double series = 0;
  for (int k = 10; k >= 0; --k) series = series * t2 + 1.0 / (2 * k + 1);
  return exponent * kLn2 + 2 * t * series;
}

// The largest f32 that is not above a uniform number.
float RoundedDown(double u) {
  constexpr double kSteps = 16777216;  // 2^24
  return static_cast<float>(std::floor(u * kSteps) / kSteps);
}

template <typename Next>
Tensor Draw(const Shape& shape, DType dtype, const std::string& tag, Next next) {
  if (!IsFloating(dtype)) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] random numbers of dtype ", DTypeName(dtype),
                                      "; expected f32 or f64"));
  }
  std::vector<Level*> different;  // innermost first
  Shape drawn = shape;
  for (Level* level = CurrentLevel(); level != nullptr; level = level->below) {
    if (level->kind != LevelKind::kVmap || level->vmap.randomness == Randomness::kSame) continue;
    if (level->vmap.randomness == Randomness::kError) {
      ThrowFailedPrecondition(
          absl::StrCat("[", tag,
                       "] draws random numbers under a vmap with randomness=error; expected "
                       "`different` (each slot draws its own numbers) or `same` (one draw for all)"
                       ": say which in the vmap"));
    }
    different.push_back(level);
    drawn.insert(drawn.begin(), level->vmap.batch_size);
  }
  Array numbers = Array::Empty(dtype, drawn);
  VisitFloating(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = numbers.fresh_data<T>();
    for (int64_t i = 0; i < numbers.size(); ++i) out[i] = next(zero);
  });
  Tensor result = Tensor::FromArray(numbers);
  for (auto level = different.rbegin(); level != different.rend(); ++level)
    result = WrapBatched(**level, result, 0);
  return result;
}

}  // namespace

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

uint32_t Generator::NextBits() {
  if (used_ == 4) {
    words_ = Philox({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32), 0, 0},
                    {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    ++block_;
    used_ = 0;
  }
  return words_[static_cast<size_t>(used_++)];
}

double Generator::NextUniform() {
  const auto high = static_cast<double>(NextBits() >> 5);  // 27 bits
  const auto low = static_cast<double>(NextBits() >> 6);   // 26 bits
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double Generator::NextNormal() {
  while (true) {
    const double x = 2 * NextUniform() - 1;
    const double y = 2 * NextUniform() - 1;
    const double s = x * x + y * y;
    if (s > 0 && s < 1) return x * std::sqrt(-2 * PortableLog(s) / s);
  }
}

Generator& CurrentGenerator() {
  thread_local Generator generator;
  return generator;
}

Tensor RandomUniform(const Shape& shape, DType dtype, const std::string& tag) {
  return Draw(shape, dtype, tag, [](auto zero) {
    const double u = CurrentGenerator().NextUniform();
    if constexpr (std::is_same_v<decltype(zero), float>) return RoundedDown(u);
    return static_cast<decltype(zero)>(u);
  });
}

Tensor RandomNormal(const Shape& shape, DType dtype, const std::string& tag) {
  return Draw(shape, dtype, tag, [](auto zero) {
    return static_cast<decltype(zero)>(CurrentGenerator().NextNormal());
  });
}

}  // namespace peelcheck
