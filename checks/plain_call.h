// checks/plain_call.h: the operation of a program, called without any transform on one slot of its
// inputs. What it gives, or that it fails, is what every transform of it is held against.
//
//   PlainCall plain = CallPlainly(engine, entry, program, inputs);
//   ProgramSignature(program, plain.signature)   // dtypes and shapes that the engine must return
#pragma once

#include <span>

#include "checks/engine_under_test.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

struct PlainCall {
  Signature signature;  // outputs are empty where the call failed
  absl::Status status;
  // A batch of size 0 has no slot: zeros stood in for it, and the call may fail on them.
  bool made_up = false;
};

// `inputs` are those of the whole program; slot 0 of each batch is taken.
PlainCall CallPlainly(EngineUnderTest& engine, const Entry& entry, const Program& program,
                      std::span<const Array> inputs);

// The batch size that the inputs of a vmap have, given that it is the outermost transform; -1 where
// no input tells.
int64_t BatchSizeOf(const Transform& vmap, std::span<const Array> inputs);

// One slot of the inputs of a vmap, as copies: a plain call must not depend on the batch's layout.
std::vector<Array> SlotInputs(const Transform& vmap, std::span<const Array> inputs, int64_t slot);

}  // namespace peelcheck
