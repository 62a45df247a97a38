// engine/level.h: the live levels of a thread, and what a tensor handle points to. Internal to the
// engine.
//
//   Level level(LevelKind::kVmap);            // not live yet
//   LevelScope live(level);                   // on top of the stack
//   Tensor wrapped = WrapBatched(level, array_with_batch, 0);
//
// Each level knows the one below it. A level processes a call by unwrapping its own wrappers,
// lowering (making the level below current), calling again, and wrapping the results. Ids are never
// reused, so two levels cannot confuse their wrappers.
#pragma once

#include <cstdint>

#include "engine/array.h"
#include "engine/function.h"
#include "engine/tape.h"
#include "engine/tensor.h"

namespace peelcheck {

enum class LevelKind : uint8_t { kVmap, kGrad, kJvp, kFunctionalize };
const char* LevelKindName(LevelKind kind);

struct Level {
  explicit Level(LevelKind level_kind);

  LevelKind kind;
  int64_t id;
  Level* below = nullptr;
  VmapInfo vmap;                   // kVmap
  bool fallback_is_error = false;  // kVmap
  Ref<Tape> tape;                  // kGrad
};

// The level that a call made now would reach first; nullptr: none is live.
Level* CurrentLevel();
// The live level of that id, at or below the current one; nullptr: it has ended, or lies above.
Level* FindLiveLevel(int64_t id);
// Id of the newest level that this thread has entered: what a tensor's `birth` is compared with.
int64_t NewestLevelId();
// Grad levels up to this id record nothing (NoGradGuard).
int64_t NoGradBoundary();

// Puts a level on top of the stack while it lives.
class LevelScope {
 public:
  explicit LevelScope(Level& level);
  ~LevelScope();
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;

 private:
  Level* previous_;
};

// Makes the level below `level` current while it lives.
class LowerScope {
 public:
  explicit LowerScope(const Level& level);
  ~LowerScope();
  LowerScope(const LowerScope&) = delete;
  LowerScope& operator=(const LowerScope&) = delete;

 private:
  Level* previous_;
};

enum class TensorKind : uint8_t { kPlain, kBatched, kGrad, kJvp, kFunctional };

// Fields are used by the kinds that their comments name.
struct TensorImpl : RefCounted {
  TensorKind kind = TensorKind::kPlain;
  int64_t level_id = 0;  // wrappers: the owner
  int64_t birth =
      0;         // newest level when it was made: a level with a larger id captured it from outside
  Array array;   // kPlain
  Tensor inner;  // wrappers: the value at the level below
  Tensor tangent;         // kJvp: same shape and dtype as inner; undefined = zero
  int64_t slot = -1;      // kGrad: which value of the tape it is
  int64_t version = 0;    // kGrad, kJvp: of the storage, when slot or tangent were last right
  int64_t batch_dim = 0;  // kBatched: the axis of `inner` that the vmap hides
  Shape logical_shape;    // kBatched
};

// The storage underneath all wrappers.
inline Storage& StorageOf(const Tensor& tensor) {
  const TensorImpl* at = tensor.impl();
  while (at->kind != TensorKind::kPlain) at = at->inner.impl();
  return *at->array.storage();
}

Tensor WrapBatched(const Level& level, const Tensor& inner, int64_t batch_dim);
Tensor WrapGrad(const Level& level, const Tensor& inner, int64_t slot);
Tensor WrapJvp(const Level& level, const Tensor& inner, const Tensor& tangent);
Tensor WrapFunctional(const Level& level, const Tensor& inner);

// Whether `tensor` is a wrapper that `level` owns.
inline bool IsWrapperOf(const Tensor& tensor, const Level& level) {
  return tensor.defined() && tensor.impl()->kind != TensorKind::kPlain &&
         tensor.impl()->level_id == level.id;
}

// The value of a grad or jvp wrapper at the level below. failed_precondition where its memory was
// written through another tensor (a view, the same array passed twice): the wrapper's derivative is
// then that of a value that is no more.
const Tensor& ValueOf(const Tensor& wrapper, const std::string& tag);
inline const Tensor& ValueOf(const Tensor& wrapper, const Function& function) {
  const TensorImpl& impl = *wrapper.impl();
  return impl.inner.version() == impl.version ? impl.inner : ValueOf(wrapper, function.name());
}
// `caller`, whose value was overwritten by `output`, as a wrapper of `level` (a grad or jvp level)
// with the new value: the same handle. failed_precondition, naming `function`, for a tensor that
// was captured from outside of the level.
void RebindWritten(const Level& level, const Function& function, const Tensor& caller,
                   const Tensor& output);
// failed_precondition for a tensor whose memory holds values that a live level differentiates
// without the tensor being a wrapper of that level: its base or a view of it was written.
void RefuseUntrackedAlias(const Tensor& tensor, const Function& function);

// [vmap] refusal of a batched tensor whose level has ended: failed_precondition.
[[noreturn]] void ThrowEscapedBatched(const std::string& tag);

// What each kind of level does with a call; engine/dispatch.cc picks one.
Tensors CallAtGrad(Level& level, const Ref<const Function>& function, TensorSpan inputs);
Tensors CallAtJvp(Level& level, const Ref<const Function>& function, TensorSpan inputs);
Tensors CallAtVmap(Level& level, const Ref<const Function>& function, TensorSpan inputs);
Tensors CallAtFunctionalize(Level& level, const Ref<const Function>& function, TensorSpan inputs);

}  // namespace peelcheck
