//===- ArtifactChecks.cpp - header, tensors, states and entries -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactChecks.h"

#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/DividedStates.h"
#include "runtime/exec/IndexChecks.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace sinter::rt;

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

Status corrupt(const std::string &what) {
  return Status::invalid("corrupt artifact: " + what);
}

Status checkHeader(const sinter_artifact &artifact) {
  if (artifact.magic != SINTER_ABI_MAGIC)
    return Status::invalid(
        "this is not a Sinter artifact (wrong magic number)");
  // An older minor lacks fields that are read here.
  if (artifact.major != SINTER_ABI_MAJOR || artifact.minor < SINTER_ABI_MINOR)
    return Status::invalid(
        "the artifact has ABI " + number(artifact.major) + "." +
        number(artifact.minor) + ", this runtime reads " +
        number(SINTER_ABI_MAJOR) + "." + number(SINTER_ABI_MINOR) +
        (artifact.major > SINTER_ABI_MAJOR ? ": update the runtime"
                                           : ": compile the model again"));
  // A newer minor may have appended fields to the artifact, never to the rows.
  bool sizeFits = artifact.minor > SINTER_ABI_MINOR
                      ? artifact.sizeofArtifact >= sizeof(sinter_artifact)
                      : artifact.sizeofArtifact == sizeof(sinter_artifact);
  if (!sizeFits || artifact.sizeofCommand != sizeof(sinter_command) ||
      artifact.sizeofState != sizeof(sinter_state_desc))
    return corrupt("its struct sizes are not those of ABI " +
                   number(artifact.major) + "." + number(artifact.minor));
  if (!artifact.name || !artifact.buildId || !artifact.manifest ||
      !artifact.cpuFeatures || !artifact.target)
    return corrupt(
        "name, build id, target, manifest or CPU features are missing");
  auto table = [](const void *rows, uint32_t count) { return rows || !count; };
  if (!table(artifact.states, artifact.numStates))
    return corrupt("the state table is missing");
  if (!table(artifact.entries, artifact.numEntries))
    return corrupt("the entry table is missing");
  if (!table(artifact.kernels, artifact.numKernels))
    return corrupt("the kernel table is missing");
  if (!table(artifact.images, artifact.numImages))
    return corrupt("the table of kernel images is missing");
  if (!table(artifact.exportPieces, artifact.numExportPieces))
    return corrupt("the export pieces are missing");
  if (artifact.constantsBytes && !artifact.constants)
    return corrupt("the constants are missing");
  if (reinterpret_cast<uintptr_t>(artifact.constants) % 64 != 0)
    return corrupt("the constants are not aligned to 64 bytes");
  if (artifact.constantsBytes > INT64_MAX || artifact.stateBytes > INT64_MAX)
    return corrupt("the constants or the state block exceed 2^63 bytes");
  return {};
}

Status checkTensor(const sinter_tensor_desc &tensor, const std::string &what) {
  if (!tensor.name)
    return corrupt(what + " has no name");
  std::string who = what + " '" + tensor.name + "'";
  uint64_t elementBytes = dtypeBytes(tensor.dtype);
  if (!elementBytes)
    return corrupt(who + " has the unknown dtype " + number(tensor.dtype));
  if (tensor.rank > SINTER_MAX_RANK || (tensor.rank && !tensor.dims))
    return corrupt(who + " has rank " + number(tensor.rank));
  int64_t bytes = static_cast<int64_t>(elementBytes);
  bool empty = false, fits = true;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] < 0)
      return corrupt(who + " has the dimension " +
                     std::to_string(tensor.dims[i]));
    empty |= tensor.dims[i] == 0;
    fits = fits && (empty || multiplyInto(bytes, tensor.dims[i], bytes));
  }
  if (empty)
    bytes = 0;
  else if (!fits)
    return corrupt(who + " has more than 2^63 bytes");
  if (tensor.sizeBytes != static_cast<uint64_t>(bytes))
    return corrupt(who + " claims to have " + number(tensor.sizeBytes) +
                   " bytes, but its shape has " + number(bytes));
  return {};
}

bool rangeFits(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

/// Checks what holds for a state of role ROUNDED only, and that states after
/// one are such states, too.
Status checkRounded(const sinter_artifact &artifact, uint32_t index) {
  const sinter_state_desc &state = artifact.states[index];
  std::string who = std::string("state '") + state.tensor.name + "'";
  if (!isRounded(state)) {
    if (index && isRounded(artifact.states[index - 1]))
      return corrupt(who + " comes after rounded parameters");
    return {};
  }
  if (state.of >= index || artifact.states[state.of].role != SINTER_STATE_PARAM)
    return corrupt(who + " is not of a parameter");
  auto isRefresh = [](const sinter_entry &entry) {
    return entry.name && std::strcmp(entry.name, SINTER_ENTRY_REFRESH) == 0 &&
           !entry.numInputs && !entry.numOutputs;
  };
  const bool isOfDivided = isRoundedOfDivided(artifact, index);
  if (state.initOffsetBytes != UINT64_MAX ||
      (!isOfDivided &&
       std::none_of(artifact.entries, artifact.entries + artifact.numEntries,
                    isRefresh)))
    return corrupt("nothing computes " + who);
  if (isOfDivided &&
      (artifact.states[state.of].tensor.dtype != SINTER_F32 ||
       (state.tensor.dtype != SINTER_F16 && state.tensor.dtype != SINTER_BF16)))
    return corrupt(who + " is not a rounding to 16 bits");
  return {};
}

/// Checks a state that replicas divide.
Status checkPart(const sinter_artifact &artifact,
                 const sinter_state_desc &state) {
  const std::string who = std::string("state '") + state.tensor.name + "'";
  const uint64_t replicas = artifact.training ? artifact.training->replicas : 1,
                 size = state.tensor.sizeBytes,
                 element = dtypeBytes(state.tensor.dtype);
  if (state.role != SINTER_STATE_SLOT && state.role != SINTER_STATE_PARAM)
    return corrupt(who + " is divided, but is not an optimizer slot or a "
                         "parameter");
  // Equal parts of whole elements, the last one with zeros at its end.
  const uint64_t elements = size / element;
  if (replicas < 2 ||
      state.partBytes != (elements + replicas - 1) / replicas * element)
    return corrupt(who + " has " + number(size) + " bytes, each of " +
                   number(replicas) + " replicas holds " +
                   number(state.partBytes));
  return {};
}

Status checkStates(const sinter_artifact &artifact) {
  std::vector<const sinter_state_desc *> byOffset;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_state_desc &state = artifact.states[i];
    SINTER_RETURN_IF_ERROR(checkTensor(state.tensor, "state"));
    std::string who = std::string("state '") + state.tensor.name + "'";
    uint64_t size = sinter_held_bytes(&state);
    if (state.partBytes)
      SINTER_RETURN_IF_ERROR(checkPart(artifact, state));
    if (state.role < SINTER_STATE_PARAM || state.role > SINTER_STATE_ROUNDED)
      return corrupt(who + " has the unknown role " + number(state.role));
    if (state.offsetBytes % 64 != 0 ||
        !rangeFits(state.offsetBytes, size, artifact.stateBytes))
      return corrupt(who + " lies at " + number(state.offsetBytes) + " + " +
                     number(size) + " of a state block of " +
                     number(artifact.stateBytes) + " bytes");
    if (state.initOffsetBytes != UINT64_MAX &&
        !rangeFits(state.initOffsetBytes, state.tensor.sizeBytes,
                   artifact.constantsBytes))
      return corrupt(who + " has initial bytes outside the constants");
    if (state.role == SINTER_STATE_SLOT) {
      if (!state.slot)
        return corrupt(who + " is an optimizer slot without a slot name");
      if (state.of != SINTER_NONE && state.of >= artifact.numStates)
        return corrupt(who + " belongs to state " + number(state.of) + " of " +
                       number(artifact.numStates));
    }
    SINTER_RETURN_IF_ERROR(checkRounded(artifact, i));
    if (size)
      byOffset.push_back(&state);
  }
  std::sort(byOffset.begin(), byOffset.end(), [](auto *a, auto *b) {
    return a->place != b->place ? a->place < b->place
                                : a->offsetBytes < b->offsetBytes;
  });
  for (size_t i = 1; i < byOffset.size(); ++i)
    if (byOffset[i - 1]->place == byOffset[i]->place &&
        byOffset[i - 1]->offsetBytes + sinter_held_bytes(byOffset[i - 1]) >
            byOffset[i]->offsetBytes)
      return corrupt(std::string("states '") + byOffset[i - 1]->tensor.name +
                     "' and '" + byOffset[i]->tensor.name + "' overlap");
  return {};
}

Status checkIndexChecks(const sinter_artifact &artifact,
                        const sinter_entry &entry, const std::string &who) {
  if (!entry.numIndexChecks)
    return {};
  if (!artifact.indexChecks)
    return corrupt(who + " lacks the table of its index checks");
  const sinter_tensor_desc &found = entry.outputs[entry.numOutputs];
  if (found.dtype != SINTER_I64 || found.rank != 2 ||
      found.dims[0] != entry.numIndexChecks || found.dims[1] != 2)
    return corrupt(who + " has " + number(entry.numIndexChecks) +
                   " index checks and no output for them");
  for (const sinter_index_check &check : indexChecks(artifact, entry))
    if (!check.node || check.lower >= check.upper || check.rows < 0 ||
        (check.rows > 0 && check.stride < 1))
      return corrupt(who + " has a meaningless index check");
  return {};
}

Status checkEntry(const sinter_artifact &artifact, const sinter_entry &entry) {
  std::string who = std::string("entry '") + entry.name + "'";
  if ((entry.numInputs && !entry.inputs) ||
      (writtenOutputs(entry) && !entry.outputs) ||
      (entry.numCommands && !entry.commands))
    return corrupt(who + " lacks a table");
  if (entry.arenaBytes > INT64_MAX)
    return corrupt(who + " has an arena of " + number(entry.arenaBytes) +
                   " bytes");
  // Inputs and outputs may be laid out in one block.
  constexpr uint64_t mostBytes = uint64_t(1) << 60;
  uint64_t totalBytes = 0;
  auto checkTensors = [&](const sinter_tensor_desc *tensors, uint32_t count,
                          const char *what) -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      SINTER_RETURN_IF_ERROR(checkTensor(tensors[i], who + ": " + what));
      totalBytes += std::min(tensors[i].sizeBytes, mostBytes);
      if (totalBytes >= mostBytes)
        return corrupt(who + " has inputs and outputs of more than 2^60 bytes");
    }
    return {};
  };
  SINTER_RETURN_IF_ERROR(checkTensors(entry.inputs, entry.numInputs, "input"));
  SINTER_RETURN_IF_ERROR(
      checkTensors(entry.outputs, writtenOutputs(entry), "output"));
  SINTER_RETURN_IF_ERROR(checkIndexChecks(artifact, entry, who));
  std::vector<bool> recorded(entry.numCommands, false);
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    Status status = checkCommand(artifact, entry, command);
    bool isWait = command.kind == SINTER_CMD_WAIT;
    if (status.ok() && (isWait || command.kind == SINTER_CMD_RECORD)) {
      if (recorded[command.event] != isWait)
        status =
            Status::invalid("event " + number(command.event) +
                            (isWait ? " is waited for before it is recorded"
                                    : " is recorded twice"));
      recorded[command.event] = true;
    }
    if (!status.ok())
      return corrupt(who + ", command " + number(i) +
                     (command.label ? std::string(" (") + command.label + ")"
                                    : std::string()) +
                     ": " + status.message());
  }
  for (const Status &status : {checkWaits(entry), checkChains(artifact, entry)})
    if (!status.ok())
      return corrupt(who + ": " + status.message());
  return {};
}

Status checkExportPieces(const sinter_artifact &artifact) {
  for (uint32_t i = 0; i < artifact.numExportPieces; ++i) {
    const sinter_export_piece &piece = artifact.exportPieces[i];
    if (piece.bytes)
      continue;
    if (piece.state >= artifact.numStates)
      return corrupt("export piece " + number(i) + " is state " +
                     number(piece.state) + " of " + number(artifact.numStates));
    if (artifact.states[piece.state].tensor.sizeBytes != piece.sizeBytes)
      return corrupt("export piece " + number(i) + " has " +
                     number(piece.sizeBytes) + " bytes, its state '" +
                     artifact.states[piece.state].tensor.name + "' " +
                     number(artifact.states[piece.state].tensor.sizeBytes));
  }
  return {};
}

} // namespace

uint64_t sinter::rt::dtypeBytes(uint32_t dtype) {
  switch (dtype) {
  case SINTER_BOOL:
  case SINTER_U8:
  case SINTER_I8:
    return 1;
  case SINTER_U16:
  case SINTER_I16:
  case SINTER_F16:
  case SINTER_BF16:
    return 2;
  case SINTER_U32:
  case SINTER_I32:
  case SINTER_F32:
    return 4;
  case SINTER_U64:
  case SINTER_I64:
  case SINTER_F64:
    return 8;
  default:
    return 0;
  }
}

bool sinter::rt::hasCodeFor(const sinter_artifact &artifact,
                            const sinter_kernel_desc &kernel,
                            const char *kind) {
  if (std::strcmp(kind, "cpu") == 0)
    return kernel.cpu != nullptr;
  if (std::strcmp(kind, "sim") == 0)
    return kernel.sim != nullptr;
  // Kernels that have no function here are in the images.
  bool isFunction = artifact.numPlaces > 1 && (kernel.cpu || kernel.sim);
  return !isFunction && artifact.numImages != 0;
}

/// Every kernel has code for the artifact's target, and a grid if that is a
/// GPU.
static Status checkKernels(const sinter_artifact &artifact) {
  // The commands decide which kernels run where; checkCommand checks that.
  bool spans = artifact.numPlaces > 1;
  bool isCpu = std::strcmp(artifact.target, "cpu") == 0;
  for (uint32_t i = 0; i < artifact.numKernels; ++i) {
    const sinter_kernel_desc &kernel = artifact.kernels[i];
    bool hasCode = spans ? kernel.cpu || kernel.sim || artifact.numImages
                         : hasCodeFor(artifact, kernel, artifact.target);
    if (!kernel.name || !hasCode)
      return corrupt("kernel " + number(i) + " has no name or no code");
    bool isOnCpu = spans ? kernel.cpu != nullptr : isCpu;
    constexpr uint32_t known = SINTER_KERNEL_WAITS | SINTER_KERNEL_PERSISTENT;
    if (kernel.flags & (isOnCpu ? ~0u : ~known))
      return corrupt("kernel " + number(i) + " has an unknown flag");
    if (isOnCpu)
      continue;
    for (int d = 0; d < 3; ++d)
      if (!kernel.grid[d] || !kernel.block[d])
        return corrupt("kernel " + number(i) + " has an empty grid or block");
  }
  for (uint32_t i = 0; i < artifact.numImages; ++i)
    if (!artifact.images[i].bytes || !artifact.images[i].sizeBytes)
      return corrupt("kernel image " + number(i) + " is empty");
  return {};
}

const char *sinter::rt::commandName(const sinter_command &command) {
  switch (command.kind) {
  case SINTER_CMD_LAUNCH:
    return "launch";
  case SINTER_CMD_MATMUL:
    return "matmul";
  case SINTER_CMD_CONV:
    return "conv";
  case SINTER_CMD_COPY:
    return "copy";
  case SINTER_CMD_FILL:
    return "fill";
  case SINTER_CMD_ATTENTION:
    return "attention";
  case SINTER_CMD_SCAN:
    return "scan";
  case SINTER_CMD_COLLECTIVE:
    switch (command.collective.op) {
    case SINTER_ALL_REDUCE:
      return "all_reduce";
    case SINTER_REDUCE_SCATTER:
      return "reduce_scatter";
    case SINTER_ALL_GATHER:
      return "all_gather";
    }
    break;
  case SINTER_CMD_AWAIT:
    return "await";
  case SINTER_CMD_RECORD:
    return "record";
  case SINTER_CMD_WAIT:
    return "wait";
  }
  return "unknown";
}

std::string sinter::rt::dtypeName(uint32_t dtype) {
  static const char *const names[] = {"bool", "u8",  "i8",  "u16", "i16",
                                      "u32",  "i32", "u64", "i64", "f16",
                                      "bf16", "f32", "f64"};
  if (dtype < SINTER_BOOL || dtype > SINTER_F64)
    return "dtype " + std::to_string(dtype);
  return names[dtype - SINTER_BOOL];
}

Status sinter::rt::checkArtifact(const sinter_artifact &artifact) {
  SINTER_RETURN_IF_ERROR(checkHeader(artifact));
  SINTER_RETURN_IF_ERROR(checkStates(artifact));
  SINTER_RETURN_IF_ERROR(checkPlaces(artifact));
  SINTER_RETURN_IF_ERROR(checkKernels(artifact));
  for (uint32_t i = 0; i < artifact.numEntries; ++i) {
    const sinter_entry &entry = artifact.entries[i];
    if (!entry.name)
      return corrupt("entry " + number(i) + " has no name");
    for (uint32_t j = 0; j < i; ++j)
      if (std::strcmp(artifact.entries[j].name, entry.name) == 0)
        return corrupt(std::string("two entries are called '") + entry.name +
                       "'");
    SINTER_RETURN_IF_ERROR(checkEntry(artifact, entry));
  }
  SINTER_RETURN_IF_ERROR(checkExportPieces(artifact));
  if (artifact.training &&
      (!artifact.training->optimizer || !artifact.training->loss ||
       artifact.training->batch < 0))
    return corrupt("the training defaults are incomplete");
  return {};
}

//===----------------------------------------------------------------------===//
// Programs for several targets
//===----------------------------------------------------------------------===//

/// More than the number of targets that exist.
static constexpr int mostTargets = 8;

static Status checkSameStates(const sinter_artifact &a,
                              const sinter_artifact &b) {
  const uint32_t numA = numOwnStates(a), numB = numOwnStates(b);
  bool same = numA == numB;
  for (uint32_t i = 0; same && i < numA; ++i) {
    const sinter_state_desc &x = a.states[i], &y = b.states[i];
    same = std::strcmp(x.tensor.name, y.tensor.name) == 0 &&
           x.tensor.dtype == y.tensor.dtype && x.tensor.rank == y.tensor.rank &&
           std::equal(x.tensor.dims, x.tensor.dims + x.tensor.rank,
                      y.tensor.dims) &&
           x.role == y.role && x.of == y.of;
    if (!same)
      return corrupt(std::string("state ") + number(i) + " is '" +
                     x.tensor.name + "' for " + a.target + " and '" +
                     y.tensor.name + "' for " + b.target);
  }
  return same ? Status()
              : corrupt("it has " + number(numA) + " states for " + a.target +
                        " and " + number(numB) + " for " + b.target);
}

Status sinter::rt::checkArtifacts(const sinter_artifact &artifact) {
  int count = 0;
  for (const sinter_artifact *one = &artifact; one; one = one->next) {
    if (++count > mostTargets)
      return corrupt("its chain of targets does not end");
    SINTER_RETURN_IF_ERROR(checkArtifact(*one));
    for (const sinter_artifact *other = &artifact; other != one;
         other = other->next)
      if (std::strcmp(other->target, one->target) == 0)
        return corrupt(std::string("two of its parts are for ") + one->target);
    SINTER_RETURN_IF_ERROR(checkSameStates(artifact, *one));
  }
  return {};
}

Result<const sinter_artifact *>
sinter::rt::artifactFor(const sinter_artifact &artifact,
                        const std::string &kind, const std::string &device) {
  std::string targets;
  for (const sinter_artifact *one = &artifact; one; one = one->next) {
    if (kind == one->target)
      return one;
    targets += (targets.empty() ? ""
                : one->next     ? ", "
                                : " and ") +
               std::string(one->target);
  }
  return Status::invalid("the program was compiled for " + targets +
                         "; it cannot run on " + device);
}
