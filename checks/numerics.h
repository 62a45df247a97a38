// checks/numerics.h: every constant of the oracles, with its derivation. All are dimensionless.
//
//   bound = (12 * noise * |slopes| + what the degrees left out would add) / h   // finite
//   difference
//
// docs/numerics.md derives them at length.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace peelcheck {

// -- finite differences, in f64 ------------------------------------------------------------------
// Nine equidistant values: eight coefficients beside the constant. The noise is read off the last
// ones, down to the first that still is signal, at most down to this degree.
constexpr int kPoints = 9;
constexpr int kFirstNoiseDegree = 3;
// Furthest point along a unit direction. Generated values keep 0.1 from kinks and ties: two
// elements approach each other by at most sqrt(2) / 32 = 0.044. Halving it doubles the noise.
constexpr double kReach = 1.0 / 32;
// Noise of the slope is kNoiseSafety times its standard deviation, which two to six coefficients
// tell: Student's t with 3 degrees of freedom exceeds 13 once in a thousand, with 6 degrees 6; the
// noise shared among elements and the rounding of the value itself, below which no estimate falls,
// bring it to 12.
constexpr double kNoiseSafety = 12.0;
// A coefficient this many times above those behind it has not sunk into the noise yet.
constexpr double kSignalOverNoise = 10.0;
// A value rounded once is off by eps / sqrt(12) of itself (eps: the spacing above 1), root mean
// square.
constexpr double kLeastNoise = 0.29;
// Degrees beyond the eighth: the next one, and a geometric series after it.
constexpr double kTailSafety = 4.0;
// The sums of the fit round too, some units in the last place of the slope.
constexpr double kArithmeticUnits = 4.0;
// Where the bound at one reach is too wide, a reach this many times smaller is tried and the better
// one kept: truncation of degree 7 falls by 4^8 while noise grows by 4.
constexpr double kReachShrink = 4.0;
constexpr int kReachRounds = 4;
// Flat coefficients below this share of the first ones are noise, which no smaller reach cures.
constexpr double kNoiseOverSignal = 0.01;
// A bound below this fraction of the derivative's scale is tight enough to stop at: 1e5 times
// smaller than the gradient error of 1e-4 that a check must see.
constexpr double kTightBound = 1e-9;
// A claim is refuted only where three reaches refute it: their noise is independent, so a chance
// of 1e-3 becomes 1e-9. No two are in a ratio of small integers, which would share points.
constexpr double kConfirmReach[] = {0.61, 0.37};
// Kinks are approached up to this share of the way; ties up to sqrt(2) * 0.6 = 0.85 of the margin.
constexpr double kKinkShare = 0.9;
constexpr double kTieShare = 0.6;
// How far a stencil may leave the declared domain: its ends are clear of a true edge by more.
constexpr double kDomainSlack = kReach;
// One side of less than this share of the other is given up: one-sided values cost about 30 times
// the noise, a central stencil of a quarter of the reach 4 times.
constexpr double kOneSidedBelow = 1.0 / 32;
// Above this fraction of the scale a bound decides nothing: inconclusive.
constexpr double kUselessBound = 1e-3;

// -- adjoint identity ----------------------------------------------------------------------------
// Up to this many differentiated elements each is differenced by itself: the full Jacobian, which
// no sparse fault escapes. Beyond, random directions come first and elements only explain.
constexpr int64_t kFullJacobianElements = 12;
constexpr int kRandomDirections = 2;
// No element of a random direction is smaller: a fault in a single element must not hide behind a
// small weight.
constexpr double kLeastWeight = 0.5;

// -- two computations of one value in one dtype --------------------------------------------------
// A loop and a batched kernel, or a reference, may add up in another order: the samples' sums have
// at most 7 * 7 terms, twice over in a second derivative: 100 eps of the array's own size. The most
// that is seen is 4 eps.
constexpr double kReorderUnits = 100.0;

// -- f32 against its f64 shadow ------------------------------------------------------------------
// The same program in f64 on the same inputs; f32 rounds each of some tens of intermediate values:
// 100 eps of the array's scale. Where a small change of the inputs moves the result by more
// (ill-conditioned), 20 times what a relative change of eps of each input does.
constexpr double kShadowUnits = 100.0;
constexpr double kSensitivityUnits = 20.0;
// The range of five draws of a noise is 2.3 standard deviations on average; three ranges are seven.
constexpr double kSpreads = 3.0;

// -- verdicts ------------------------------------------------------------------------------------
// More than this share of inconclusive cases (and at least kInconclusiveCases) makes a cell
// inconclusive.
constexpr double kInconclusiveShare = 0.05;
constexpr int64_t kInconclusiveCases = 2;

}  // namespace peelcheck
