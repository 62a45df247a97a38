// checks/numerics.h: every constant of the oracles, with its derivation. All are dimensionless.
#pragma once

#include "engine/dtype.h"

namespace peelcheck {

// -- finite differences, in f64 -----------------------------------------------------------------------------------------------------
// Largest step along a unit direction. Generated values keep 0.1 from kinks and from one another (ties): two elements that approach each
// other close by at most 2 * 0.02 < 0.1, so no stencil crosses a kink.
constexpr double kFirstStep = 0.02;
// Central differences at h, h/2, h/4 cancel the h^2 and h^4 terms (Richardson 1911): what is left is O(h^6).
constexpr int kLevels = 3;
// Where the bound at one h is too wide, h is divided by this and the better of the two results is kept.
constexpr double kStepShrink = 4.0;
constexpr int kStepRounds = 4;
// A bound below this fraction of the derivative's scale is tight enough to stop at.
constexpr double kTightBound = 1e-9;
// The difference of the last two extrapolations is the size of the h^4 term that was cancelled, larger than what is left where h is in
// the asymptotic regime. 4: outside of it. The share of the largest such difference in the array covers an element where the two meet
// by chance.
constexpr double kTruncationSafety = 4.0;
constexpr double kNeighbourShare = 0.01;
// Round-off of a value f computed in some tens of operations: this many eps * (1 + |f|); divided by the smallest step.
constexpr double kRoundingUnits = 16.0;
// Above this fraction of the scale a bound decides nothing: inconclusive.
constexpr double kUselessBound = 1e-3;

// -- adjoint identity ------------------------------------------------------------------------------------------------------------------
// Up to this many differentiated elements each is differenced by itself (the full Jacobian); beyond, random directions come first.
constexpr int64_t kFullJacobianElements = 6;
constexpr int kRandomDirections = 2;

// -- two computations of one value in one dtype ----------------------------------------------------------------------------------------
// A loop and a batched kernel may add up in another order: sums of up to some hundred terms of the array's own size differ by less than
// 1000 eps of it.
constexpr double kReorderUnits = 1000.0;

// -- f32 against its f64 shadow ----------------------------------------------------------------------------------------------------------
// The same program in f64 on the same inputs; f32 rounds each of some tens of intermediate values: 100 eps of the array's scale. Where a
// small change of the inputs moves the result by more (ill-conditioned), 20 times what a relative change of eps of each input does.
constexpr double kShadowUnits = 100.0;
constexpr double kSensitivityUnits = 20.0;

// -- verdicts ----------------------------------------------------------------------------------------------------------------------------
// More than this share of inconclusive cases (and at least 2) makes a cell inconclusive.
constexpr double kInconclusiveShare = 0.05;

}  // namespace peelcheck
