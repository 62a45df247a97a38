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
  if (kind != TensorKind::kBatched) impl->version = inner.version();
  return Tensor(impl);
}

}  // namespace

const char* LevelKindName(LevelKind kind) {
  switch (kind) {
    case LevelKind::kVmap: return "vmap";
    case LevelKind::kGrad: return "grad";
    case LevelKind::kJvp: return "jvp";
    case LevelKind::kFunctionalize: return "functionalize";
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

const Tensor& ValueOf(const Tensor& wrapper, const std::string& tag) {
  const TensorImpl& impl = *wrapper.impl();
  if (impl.inner.version() != impl.version) {
    ThrowFailedPrecondition(absl::StrCat(
        "[", tag,
        "] a tensor that is differentiated was written in place through another tensor "
        "that shares its memory (a view, or the same array passed twice): it is at version ",
        impl.inner.version(), ", expected ", impl.version,
        "; clone one of them before the in-place operation"));
  }
  return impl.inner;
}

void RebindWritten(const Level& level, const Function& function, const Tensor& caller,
                   const Tensor& output) {
  TensorImpl* impl = caller.impl();
  if (!IsWrapperOf(caller, level)) {
    if (impl->birth < level.id) {
      ThrowFailedPrecondition(absl::StrCat(
          "[", function.name(),
          "] wrote in place into a tensor that was captured from outside the ",
          LevelKindName(level.kind),
          " level: its derivative would be lost; pass it as an input of the function"));
    }
    // Made inside the level, constant until now: the same handle becomes a wrapper.
    auto inner = MakeRef<TensorImpl>(*output.impl());
    impl->kind = level.kind == LevelKind::kGrad ? TensorKind::kGrad : TensorKind::kJvp;
    impl->level_id = level.id;
    impl->inner = Tensor(std::move(inner));
    impl->array = Array();
    StorageOf(impl->inner).SetTrackedLevel(level.id);
  }
  impl->version = impl->inner.version();
}

void RefuseUntrackedAlias(const Tensor& tensor, const Function& function) {
  const int64_t tracked = StorageOf(tensor).tracked_level();
  const Level* level = FindLiveLevel(tracked);
  if (level == nullptr) return;
  for (const TensorImpl* at = tensor.impl(); at->kind != TensorKind::kPlain;
       at = at->inner.impl()) {
    if (at->level_id == tracked) return;
  }
  ThrowFailedPrecondition(absl::StrCat("[", function.name(),
                                       "] an input shares memory with a tensor into which ",
                                       LevelKindName(level->kind),
                                       " wrote in place (through a view), and does not know of it: "
                                       "the result would be wrong; use the "
                                       "tensor that was written, or an out-of-place operation"));
}

Tensor WrapFunctional(const Level& level, const Tensor& inner) {
  Ref<TensorImpl> impl;
  return Wrap(TensorKind::kFunctional, level, inner, impl);
}

void ThrowEscapedBatched(const std::string& tag) {
  ThrowFailedPrecondition(absl::StrCat(
      "[", tag,
      "] a batched tensor is used after its vmap has ended: it escaped through a captured "
      "variable; return it from the mapped function instead"));
}

}  // namespace peelcheck
