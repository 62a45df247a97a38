// vmap once its arguments are known: the batch size, one level over all slots or over a chunk of
// them, and the outputs' batch axes. What a vmap does with a call is in engine/vmap_level.cc.
#include "engine/map_over.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/batching.h"
#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/random.h"

namespace peelcheck {
namespace {

void WrapInDims(const Tensors& inputs, std::vector<BatchDim>& dims, const MapLayout& layout) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) {
      ThrowInvalidArgument(absl::StrCat("[vmap] ", layout.InputName(i), " is an undefined tensor"));
    }
    if (!dims[i].has_value()) continue;
    const int64_t rank = inputs[i].rank();
    if (rank == 0) {
      ThrowInvalidArgument(
          absl::StrCat("[vmap] in_dims=", *dims[i], " for ", layout.InputName(i),
                       " of rank 0, which has no axis to map over; use none for it"));
    }
    if (*dims[i] < -rank || *dims[i] >= rank) {
      ThrowInvalidArgument(absl::StrCat("[vmap] in_dims=", *dims[i], " for ", layout.InputName(i),
                                        " of rank ", rank, "; expected ", -rank, "..", rank - 1));
    }
    if (Faulty(FaultPoint::kNegativeInDim) && *dims[i] < 0 && rank > 1) {
      *dims[i] = (*dims[i] + rank + 1) % rank;
      continue;
    }
    if (*dims[i] < 0) *dims[i] += rank;
  }
}

int64_t BatchSize(const Tensors& inputs, const std::vector<BatchDim>& dims,
                  const MapLayout& layout) {
  std::optional<int64_t> size;
  bool equal = true;
  std::string sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!dims[i].has_value()) continue;
    const int64_t mapped = inputs[i].dim(*dims[i]);
    equal = equal && mapped == size.value_or(mapped);
    size = mapped;
    absl::StrAppend(&sizes, sizes.empty() ? "" : ", ", layout.InputName(i), ": ", mapped);
  }
  if (!size.has_value()) {
    ThrowInvalidArgument(
        "[vmap] in_dims is none for every input, so nothing is mapped; give at least one input a "
        "dim");
  }
  if (!equal) {
    ThrowInvalidArgument(absl::StrCat("[vmap] sizes in the mapped axes differ (", sizes,
                                      "); expected one batch size"));
  }
  return *size;
}

// An output's value with its batch axis at `out_dim`.
Tensor PlaceBatch(const Level& level, const Tensor& output, BatchDim out_dim,
                  const MapLayout& layout, size_t index) {
  const bool batched = IsWrapperOf(output, level);
  if (!out_dim.has_value()) {
    if (!batched) return output;
    ThrowInvalidArgument(absl::StrCat(
        "[vmap] out_dims is none for ", layout.OutputName(index),
        ", which is batched; give it a dim, or make it independent of the mapped inputs"));
  }
  const int64_t rank = output.rank() + 1;  // with the batch axis
  if (*out_dim < -rank || *out_dim >= rank) {
    ThrowInvalidArgument(absl::StrCat("[vmap] out_dims=", *out_dim, " for ",
                                      layout.OutputName(index), " of rank ", rank,
                                      " with its batch axis; expected ", -rank, "..", rank - 1));
  }
  int64_t to = *out_dim < 0 ? *out_dim + rank : *out_dim;
  if (Faulty(FaultPoint::kOutDimIgnored)) to = 0;
  if (Faulty(FaultPoint::kUnbatchedOutDim) && !batched && *out_dim < 0) to = (to + rank - 1) % rank;
  if (Faulty(FaultPoint::kUnbatchedFirstSlot) && !batched && level.vmap.batch_size > 0) {
    return MoveDim(Pad(Unsqueeze(output, 0), 0, 0, level.vmap.batch_size - 1), 0, to);
  }
  if (batched) return MoveDim(output.impl()->inner, output.impl()->batch_dim, to);
  return MoveDim(EnsureBatchAtFront(output, std::nullopt, level.vmap.batch_size), 0, to);
}

Tensors MapAtOnce(const TensorFn& f, const VmapOptions& options, const Tensors& inputs,
                  const std::vector<BatchDim>& dims, int64_t batch_size, const MapLayout& layout) {
  Level level(LevelKind::kVmap);
  level.vmap = {batch_size, options.randomness};
  if (Faulty(FaultPoint::kRandomnessIgnored)) level.vmap.randomness = Randomness::kSame;
  level.fallback_is_error = options.fallback_is_error;
  Tensors wrapped;
  for (size_t i = 0; i < inputs.size(); ++i) {
    wrapped.push_back(dims[i].has_value() ? WrapBatched(level, inputs[i], *dims[i]) : inputs[i]);
  }
  Tensors outputs;
  {
    LevelScope live(level);
    outputs = f(wrapped);
  }
  const std::vector<BatchDim> out_dims = layout.OutDims(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined())
      ThrowInvalidArgument(
          absl::StrCat("[vmap] ", layout.OutputName(i), " is an undefined tensor"));
    outputs[i] = PlaceBatch(level, outputs[i], out_dims[i], layout, i);
  }
  return outputs;
}

// ceil(B / chunk_size) calls, joined along the out_dims; an output with out_dim none is that of the
// first chunk.
Tensors MapInChunks(const TensorFn& f, const VmapOptions& options, const Tensors& inputs,
                    const std::vector<BatchDim>& dims, int64_t batch_size,
                    const MapLayout& layout) {
  const int64_t chunk_size = *options.chunk_size;
  std::vector<Tensors> pieces;
  const Generator before = CurrentGenerator();
  for (int64_t start = 0; start < batch_size; start += chunk_size) {
    const int64_t length = std::min(chunk_size, batch_size - start);
    Tensors chunk;
    for (size_t i = 0; i < inputs.size(); ++i) {
      chunk.push_back(dims[i].has_value() ? Narrow(inputs[i], *dims[i], start, length) : inputs[i]);
    }
    // All slots see one draw, in whichever chunk they are.
    if (options.randomness == Randomness::kSame) CurrentGenerator() = before;
    const Tensors outputs = MapAtOnce(f, options, chunk, dims, length, layout);
    pieces.resize(outputs.size());
    for (size_t o = 0; o < outputs.size(); ++o) pieces[o].push_back(outputs[o]);
  }
  const std::vector<BatchDim> out_dims = layout.OutDims(pieces.size());
  Tensors joined;
  for (size_t o = 0; o < pieces.size(); ++o) {
    joined.push_back(out_dims[o].has_value() ? Cat(pieces[o], *out_dims[o]) : pieces[o][0]);
  }
  return joined;
}

}  // namespace

void CheckChunkSize(const std::optional<int64_t>& chunk_size, const std::string& tag) {
  if (chunk_size.value_or(1) >= 1) return;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] chunk_size=", *chunk_size,
                                    "; expected 1 or more, or none for all at once"));
}

Tensors MapOver(const TensorFn& f, const Tensors& inputs, std::vector<BatchDim> in_dims,
                const MapLayout& layout, const VmapOptions& options) {
  CheckChunkSize(options.chunk_size, "vmap");
  WrapInDims(inputs, in_dims, layout);
  const int64_t batch_size = BatchSize(inputs, in_dims, layout);
  if (batch_size <= options.chunk_size.value_or(batch_size)) {
    return MapAtOnce(f, options, inputs, in_dims, batch_size, layout);
  }
  return MapInChunks(f, options, inputs, in_dims, batch_size, layout);
}

}  // namespace peelcheck
