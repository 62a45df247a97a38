// checks/numerics.h: every constant of the oracles, with its derivation. All are dimensionless.
//
//   bound = 8 * convergence * |D6 - D4| + (4 * eps * (1 + max |f|) + 8 * noise) / (h / 4)   //
//   finite difference
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace peelcheck {

// -- finite differences, in f64 ------------------------------------------------------------------
// Largest step along a unit direction. Generated values keep 0.1 from kinks and from one another
// (ties): two elements that approach each other close by at most 2 * 0.02 < 0.1, so no stencil
// crosses a kink.
constexpr double kFirstStep = 0.02;
// Central differences at h, h/2, h/4 cancel the h^2 and h^4 terms (Richardson 1911); what is left
// is O(h^6).
constexpr int kLevels = 3;
// Where the bound at one h is too wide, h is divided by this and the better of the two results is
// kept: truncation falls by 4^6 = 4096 while rounding grows by 4, so two or three rounds reach the
// least sum of the two for any f whose scale of variation is above 1e-3.
constexpr double kStepShrink = 4.0;
constexpr int kStepRounds = 4;
// A bound below this fraction of the derivative's scale is tight enough to stop at: 1e5 times
// smaller than the gradient error of 1e-4 that a check must see.
constexpr double kTightBound = 1e-9;
// D6 - D4, the difference of the last two extrapolations, is the size of the h^4 term that D6
// cancelled. What is left of h^6 is smaller by the ratio at which the terms fall off, and that is
// measured: |D4(h/2) - D4(h)| / |D2(h/2) - D2(h)|, h^2/64 for e^x where the true factor is h^2/42.
// It is near 1 outside of the asymptotic regime, and where noise rules. 8: the two factors differ
// by some.
constexpr double kTruncationSafety = 8.0;
// No convergence is trusted to be faster than this.
constexpr double kLeastConvergence = 1e-3;
// An element at which D6 and D4 meet by chance borrows this share of the largest difference.
constexpr double kNeighbourShare = 0.1;
// Round-off of a value f computed in some tens of operations: this many eps * (1 + max |f|),
// divided by h/4. A central difference divides two of them by 2 * h/4, and the weights of the
// extrapolation add up to 64/45 + 20/45 * 1/2 + 1/45 * 1/4 < 2: that leaves 2 eps for each value.
constexpr double kRoundingUnits = 4.0;
// More noise than that (a primal at lower precision than its dtype, sums that cancel) is measured
// in the even part of the stencil; one sample of it may be small by chance, hence the factor.
constexpr double kNoiseSafety = 8.0;
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

// -- verdicts ------------------------------------------------------------------------------------
// More than this share of inconclusive cases (and at least kInconclusiveCases) makes a cell
// inconclusive.
constexpr double kInconclusiveShare = 0.05;
constexpr int64_t kInconclusiveCases = 2;

}  // namespace peelcheck
