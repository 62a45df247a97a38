// engine/ops/elementwise_rows.h: the words that rows of elementwise tables are written in. Included
// by .cc files that hold such a table, never by a header.
//
//   UnaryRow{"exp2", FLOATING(std::exp2(v)), OF_Y(t * y * kLn2)}
//   BinaryRow{"mul", PROMOTED(v * w), BY_Y(t * y), BY_X(t * x)}
//
// The name of a partial says which values its formula reads, by the compiler's word: a value that
// is not named cannot be used, and one that is named must be. Only these are saved for the rules.
//   one operand     y = f(x):         OF_T, OF_X, OF_Y, OF_XY
//   two operands    z = f(x, y):      BY_T, BY_X, BY_Y, BY_XY, BY_Z, BY_XZ, BY_YZ, BY_XYZ
//   three operands  z = f(x, y, w):   BY_T, BY_X, BY_Y, BY_W, BY_XY, BY_YW
// `t` is the cotangent or tangent; `a` and `b` are the operation's parameters.
#pragma once

#include "engine/ops/elementwise_function.h"

#define PEELCHECK_PARTIAL(reads, first, second, third, output, ...)             \
  peelcheck::Partial {                                                          \
    [](const peelcheck::Tensor& t, const peelcheck::Tensor& first,              \
       const peelcheck::Tensor& second, const peelcheck::Tensor& third,         \
       const peelcheck::Tensor& output, [[maybe_unused]] double a,              \
       [[maybe_unused]] double b) -> peelcheck::Tensor { return __VA_ARGS__; }, \
        reads                                                                   \
  }

#define OF_T(...) PEELCHECK_PARTIAL(0, , , , , __VA_ARGS__)
#define OF_X(...) PEELCHECK_PARTIAL(1, x, , , , __VA_ARGS__)
#define OF_Y(...) PEELCHECK_PARTIAL(8, , , , y, __VA_ARGS__)
#define OF_XY(...) PEELCHECK_PARTIAL(9, x, , , y, __VA_ARGS__)

#define BY_T(...) PEELCHECK_PARTIAL(0, , , , , __VA_ARGS__)
#define BY_X(...) PEELCHECK_PARTIAL(1, x, , , , __VA_ARGS__)
#define BY_Y(...) PEELCHECK_PARTIAL(2, , y, , , __VA_ARGS__)
#define BY_W(...) PEELCHECK_PARTIAL(4, , , w, , __VA_ARGS__)
#define BY_Z(...) PEELCHECK_PARTIAL(8, , , , z, __VA_ARGS__)
#define BY_XY(...) PEELCHECK_PARTIAL(3, x, y, , , __VA_ARGS__)
#define BY_XZ(...) PEELCHECK_PARTIAL(9, x, , , z, __VA_ARGS__)
#define BY_YW(...) PEELCHECK_PARTIAL(6, , y, w, , __VA_ARGS__)
#define BY_YZ(...) PEELCHECK_PARTIAL(10, , y, , z, __VA_ARGS__)
#define BY_XYZ(...) PEELCHECK_PARTIAL(11, x, y, , z, __VA_ARGS__)

// Kernels of one operand v.
#define PEELCHECK_KERNEL(...) \
  [](auto v, [[maybe_unused]] auto a, [[maybe_unused]] auto b) { return (__VA_ARGS__); }
#define FLOATING(...) peelcheck::MapFloating<PEELCHECK_KERNEL(__VA_ARGS__)>
#define NUMERIC(...) peelcheck::MapNumeric<PEELCHECK_KERNEL(__VA_ARGS__)>
#define TO_BOOL(...) peelcheck::MapToBool<[](auto v) { return (__VA_ARGS__); }>

// Kernels of two operands v and w.
#define PEELCHECK_KERNEL_2(...) [](auto v, auto w) { return (__VA_ARGS__); }
#define PROMOTED(...) peelcheck::MapPromoted<PEELCHECK_KERNEL_2(__VA_ARGS__)>
#define PROMOTED_KEEP_BOOL(...) peelcheck::MapPromotedKeepBool<PEELCHECK_KERNEL_2(__VA_ARGS__)>
#define PROMOTED_FLOATING(...) \
  peelcheck::MapPromoted<PEELCHECK_KERNEL_2(__VA_ARGS__), peelcheck::DType::kF32>
#define PROMOTED_TO_BOOL(...) peelcheck::MapPromotedToBool<PEELCHECK_KERNEL_2(__VA_ARGS__)>

// Kernels of three operands u, v and w.
#define FLOATING_3(...) \
  peelcheck::MapThree<[](auto u, auto v, auto w, [[maybe_unused]] auto a) { return (__VA_ARGS__); }>
