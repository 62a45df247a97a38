// The generator's bits against published ones, and draws under vmap with each randomness.
#include "engine/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

using Words = std::array<uint32_t, 4>;
using Values = std::vector<double>;

Values ValuesOf(const Tensor& x) { return x.array().ToDoubles(); }

Tensor Noise(const Shape& shape) { return RandomUniform(shape, DType::kF64, "noise"); }

// Adds noise to an input of any shape.
Tensors AddNoise(const Tensors& in) { return {in[0] + Noise(in[0].shape())}; }

Tensors AddNoiseSeeded(const Tensors& in) {
  RandomScope seeded(42);
  return AddNoise(in);
}

Tensor Zeros(const Shape& shape) { return Full(shape, 0, DType::kF64); }

// The known answers that come with Random123 1.14 (kat_vectors: philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(semantics_random, TheSameSeedGivesTheSameNumbers) {
  Generator a(7), b(7), c(8);
  for (int i = 0; i < 100; ++i) {
    const uint32_t bits = a.NextBits();
    EXPECT_EQ(bits, b.NextBits());
    EXPECT_NE(bits, c.NextBits());
  }
}

// Bits that must never change: a stored program draws from them.
TEST(semantics_random, NumbersAreFixed) {
  Generator generator(0);
  EXPECT_EQ(generator.NextBits(), 0x6627e8d5u);
  generator.ManualSeed(0);
  EXPECT_EQ(
      generator.NextUniform(),
      std::ldexp(static_cast<double>((uint64_t{0x6627e8d5 >> 5} << 26) | (0xe169c58d >> 6)), -53));
}

TEST(semantics_random, MomentsOfUniformAndNormal) {
  constexpr int kCount = 200000;
  Generator generator(3);
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = generator.NextUniform(), z = generator.NextNormal();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
    normal_sum += z;
    normal_squares += z * z;
    normal_fourth += z * z * z * z;
  }
  // Five standard errors.
  EXPECT_NEAR(sum / kCount, 0.5, 0.0033);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.0034);
  EXPECT_NEAR(normal_sum / kCount, 0, 0.0112);
  EXPECT_NEAR(normal_squares / kCount, 1, 0.0159);
  EXPECT_NEAR(normal_fourth / kCount, 3, 0.11);
}

TEST(semantics_random, SeedsAndRestores) {
  CurrentGenerator().ManualSeed(5);
  const Values first = ValuesOf(Noise({4}));
  CurrentGenerator().ManualSeed(5);
  {
    RandomScope seeded(9);
    EXPECT_NE(ValuesOf(Noise({4})), first);
  }
  EXPECT_EQ(ValuesOf(Noise({4})), first);
}

TEST(Draws, AreTheSameInF32RoundedDown) {
  RandomScope seeded(1);
  const Tensor f32 = RandomUniform({1000}, DType::kF32, "noise");
  CurrentGenerator().ManualSeed(1);
  const Tensor f64 = RandomUniform({1000}, DType::kF64, "noise");
  for (int64_t i = 0; i < 1000; ++i) {
    const double wide = f64.array().DoubleAt(i), narrow = f32.array().DoubleAt(i);
    EXPECT_TRUE(narrow <= wide && wide - narrow < 1.0 / (1 << 24)) << wide << " " << narrow;
  }
}

TEST(Draws, AnIntegerDtypeIsRefused) {
  EXPECT_THROW(RandomUniform({3}, DType::kI64, "noise"), Error);
}

TEST(semantics_random, ErrorRefusesAndSaysWhatToDo) {
  for (const BatchDim dim : {BatchDim(0), BatchDim(std::nullopt)}) {
    // The second input is mapped, so with dim none the noise is for an input that is not batched.
    const TensorFn f = Vmap([](const Tensors& in) { return Tensors{AddNoise(in)[0] + in[1]}; },
                            {.in_dims = {dim, 0}});
    try {
      f({Zeros({3}), Zeros({3})});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kFailedPrecondition);
      for (const char* part : {"[noise]", "randomness=error", "`different`", "`same`"})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(semantics_random, DifferentIsOneDrawOfAllSlots) {
  RandomScope seeded(42);
  const Values all = ValuesOf(Noise({5, 3}));
  const TensorFn f = Vmap(AddNoiseSeeded, {.randomness = Randomness::kDifferent});
  EXPECT_EQ(ValuesOf(f({Zeros({5, 3})})[0]), all);
  // What is drawn for an unbatched value differs in each slot as well.
  const TensorFn unbatched =
      Vmap([](const Tensors& in) { return AddNoiseSeeded({in[1]}); },
           {.in_dims = {0, std::nullopt}, .randomness = Randomness::kDifferent});
  EXPECT_EQ(ValuesOf(unbatched({Zeros({5}), Zeros({3})})[0]), all);
}

TEST(semantics_random, SameIsOneDrawForAllSlots) {
  const Values one = ValuesOf(AddNoiseSeeded({Zeros({3})})[0]);
  const TensorFn f = Vmap(AddNoiseSeeded, {.randomness = Randomness::kSame});
  const Tensor y = f({Zeros({5, 3})})[0];
  for (int64_t slot = 0; slot < 5; ++slot) EXPECT_EQ(ValuesOf(Select(y, 0, slot)), one);
}

// Each nesting puts the batches of its `different` levels in front, the outer one first.
TEST(semantics_random, NestedLevelsEachByTheirOwnRandomness) {
  const auto nested = [](Randomness outer, Randomness inner) {
    return ValuesOf(Vmap(Vmap(AddNoiseSeeded, {.randomness = inner}),
                         {.randomness = outer})({Zeros({4, 5, 3})})[0]);
  };
  const auto drawn = [](const Shape& shape) {
    RandomScope seeded(42);
    return ValuesOf(BroadcastTo(Noise(shape), {4, 5, 3}));
  };
  EXPECT_EQ(nested(Randomness::kDifferent, Randomness::kDifferent), drawn({4, 5, 3}));
  EXPECT_EQ(nested(Randomness::kSame, Randomness::kDifferent), drawn({5, 3}));
  EXPECT_EQ(nested(Randomness::kDifferent, Randomness::kSame), drawn({4, 1, 3}));
  EXPECT_EQ(nested(Randomness::kSame, Randomness::kSame), drawn({3}));
  EXPECT_THROW(nested(Randomness::kDifferent, Randomness::kError), Error);
  EXPECT_THROW(nested(Randomness::kError, Randomness::kSame), Error);
}

TEST(semantics_random, ChunksOfTheSameDrawTheSame) {
  RandomScope seeded(11);
  const Values one = ValuesOf(Noise({3}));
  CurrentGenerator().ManualSeed(11);
  const Tensor y =
      Vmap(AddNoise, {.randomness = Randomness::kSame, .chunk_size = 2})({Zeros({5, 3})})[0];
  for (int64_t slot = 0; slot < 5; ++slot) EXPECT_EQ(ValuesOf(Select(y, 0, slot)), one);
}

TEST(semantics_random, ChunksOfDifferentOnesGoOn) {
  RandomScope seeded(11);
  const Values all = ValuesOf(Noise({5, 3}));
  CurrentGenerator().ManualSeed(11);
  EXPECT_EQ(ValuesOf(Vmap(AddNoise, {.randomness = Randomness::kDifferent, .chunk_size = 2})(
                {Zeros({5, 3})})[0]),
            all);
}

// The pullback uses the numbers of the forward pass, slot by slot.
TEST(semantics_random, GradientsSeeTheNumbersOfTheForwardPass) {
  const auto scaled = [](const Tensors& in) -> Tensors {
    return {Sum(in[0] * Noise(in[0].shape()))};
  };
  RandomScope seeded(2);
  const Values all = ValuesOf(Noise({5, 3}));
  CurrentGenerator().ManualSeed(2);
  const TensorFn f = Vmap(Grad(scaled), {.randomness = Randomness::kDifferent});
  EXPECT_EQ(ValuesOf(f({Zeros({5, 3})})[0]), all);
}

}  // namespace
}  // namespace peelcheck
