#include "engine/level.h"

#include <absl/strings/str_cat.h>

#include <atomic>

#include "engine/fault_points.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

thread_local Level* current_level = nullptr;
thread_local int64_t newest_level_id = 0;
thread_local int64_t no_grad_boundary = 0;

// Process-wide, so that a wrapper that reaches another thread cannot pass for one of that thread's
// levels.
std::atomic<int64_t> next_level_id{1};

Tensor Wrap(TensorKind kind, const Level& level, const Tensor& inner, Ref<TensorImpl>& impl) {
  impl = MakeRef<TensorImpl>();
  impl->kind = kind;
  impl->level_id = level.id;
  impl->birth = newest_level_id;
  impl->inner = inner;
  return Tensor(impl);
}

}  // namespace

const char* LevelKindName(LevelKind kind) {
  switch (kind) {
    case LevelKind::kVmap: return "vmap";
    case LevelKind::kGrad: return "grad";
    case LevelKind::kJvp: return "jvp";
  }
  return "?";
}

Level::Level(LevelKind level_kind)
    : kind(level_kind), id(next_level_id.fetch_add(1, std::memory_order_relaxed)) {
  if (Faulty(FaultPoint::kSharedLevelIds) && kind == LevelKind::kJvp)
    id = 1 + static_cast<int64_t>(kind);
  if (kind == LevelKind::kGrad) tape = MakeRef<Tape>();
}

Level* CurrentLevel() { return current_level; }

Level* FindLiveLevel(int64_t id) {
  Level* level = current_level;
  while (level != nullptr && level->id != id) level = level->below;
  return level;
}

int64_t NewestLevelId() { return newest_level_id; }
int64_t NoGradBoundary() { return no_grad_boundary; }

LevelScope::LevelScope(Level& level) : previous_(current_level) {
  level.below = current_level;
  current_level = &level;
  newest_level_id = level.id;
}
LevelScope::~LevelScope() { current_level = previous_; }

LowerScope::LowerScope(const Level& level) : previous_(current_level) {
  current_level = level.below;
}
LowerScope::~LowerScope() { current_level = previous_; }

NoGradGuard::NoGradGuard() : previous_(no_grad_boundary) {
  // Only levels that are live now: an id below the newest one also covers those, since ids grow
  // with depth.
  if (current_level != nullptr) no_grad_boundary = current_level->id;
}
NoGradGuard::~NoGradGuard() { no_grad_boundary = previous_; }

Tensor WrapBatched(const Level& level, const Tensor& inner, int64_t batch_dim) {
  Ref<TensorImpl> impl;
  Tensor wrapped = Wrap(TensorKind::kBatched, level, inner, impl);
  impl->batch_dim = batch_dim;
  impl->logical_shape = inner.shape();
  impl->logical_shape.erase(impl->logical_shape.begin() + batch_dim);
  return wrapped;
}

Tensor WrapGrad(const Level& level, const Tensor& inner, int64_t slot) {
  Ref<TensorImpl> impl;
  Tensor wrapped = Wrap(TensorKind::kGrad, level, inner, impl);
  impl->slot = slot;
  return wrapped;
}

Tensor WrapJvp(const Level& level, const Tensor& inner, const Tensor& tangent) {
  Ref<TensorImpl> impl;
  Tensor wrapped = Wrap(TensorKind::kJvp, level, inner, impl);
  impl->tangent = tangent;
  return wrapped;
}

void ThrowEscapedBatched(const std::string& tag) {
  ThrowFailedPrecondition(absl::StrCat(
      "[", tag,
      "] a batched tensor is used after its vmap has ended: it escaped through a captured "
      "variable; return it from the mapped function instead"));
}

}  // namespace peelcheck
