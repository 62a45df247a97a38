// opinfo_db/ops/random_reference.h: the stream of random numbers written a second time, for the
// references of random operations.
//
//   ReferenceStream stream(seed);
//   double u = stream.Uniform(), z = stream.Normal();
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace peelcheck {

class ReferenceStream {
 public:
  explicit ReferenceStream(int64_t seed) : seed_(static_cast<uint64_t>(seed)) {}

  // 53 bits: the upper 27 of one word, then the upper 26 of the next.
  double Uniform() {
    const uint64_t high = Word() >> 5, low = Word() >> 6;
    return std::ldexp(static_cast<double>((high << 26) | low), -53);
  }
  double Normal() {
    double x = 0, y = 0, radius = 0;
    do {
      x = 2 * Uniform() - 1;
      y = 2 * Uniform() - 1;
      radius = std::hypot(x, y);
    } while (radius == 0 || radius >= 1);
    return x / radius * std::sqrt(-4 * std::log(radius));
  }

 private:
  uint64_t Word() {
    if (words_.empty()) {
      uint64_t c0 = block_ & kMask, c1 = block_ >> 32, c2 = 0, c3 = 0;
      uint64_t k0 = seed_ & kMask, k1 = seed_ >> 32;
      for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = c0 * 0xD2511F53u, p2 = c2 * 0xCD9E8D57u;
        c0 = (p2 >> 32) ^ c1 ^ k0;
        c1 = p2 & kMask;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c3 = p0 & kMask;
        k0 = (k0 + 0x9E3779B9u) & kMask;
        k1 = (k1 + 0xBB67AE85u) & kMask;
      }
      words_ = {c3, c2, c1, c0};
      ++block_;
    }
    const uint64_t word = words_.back();
    words_.pop_back();
    return word;
  }
  static constexpr uint64_t kMask = 0xFFFFFFFFu;
  uint64_t seed_, block_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace peelcheck
