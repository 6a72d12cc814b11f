//===- StateTable.h - a program's states by file names ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Checkpoints and weight files identify states by name: a parameter or buffer
// by its ONNX name, an optimizer slot as "SLOT/NAME" with its parameter's name
// (a counter of the whole program with its own). Accumulators of micro-batches
// have no use between two steps, and rounded parameters are computed from the
// parameters: files neither contain nor need them.
//
// Of a state that replicas divide, each program holds a part; files have the
// whole, in one tensor or in several (CheckpointFile.h).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_STATETABLE_H
#define SINTER_RUNTIME_TRAIN_STATETABLE_H

#include "runtime/train/Safetensors.h"
#include "sinter/sinter.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

class StateTable {
public:
  /// Fails if two states have the same name.
  static Result<StateTable> create(const sinter_artifact &artifact);

  size_t size() const { return names_.size(); }
  const std::string &name(size_t index) const { return names_[index]; }
  const sinter_state_desc &desc(size_t index) const { return states_[index]; }
  /// The index of the state for the whole program that is called `slot`, such
  /// as "skipped_steps"; nothing if there is none.
  std::optional<size_t> counter(std::string_view slot) const;
  /// Other names of the same tensor.
  std::vector<std::string> aliases(size_t index) const;
  std::span<const int64_t> dims(size_t index) const {
    return {states_[index].tensor.dims, states_[index].tensor.rank};
  }
  /// Whether files hold the state.
  bool isKept(size_t index) const {
    return states_[index].role != SINTER_STATE_ACCUM &&
           states_[index].role != SINTER_STATE_ROUNDED;
  }
  /// Whether replicas divide the state.
  bool isDivided(size_t index) const { return states_[index].partBytes != 0; }
  bool hasDivided() const;
  /// Says which programs hold the parts of divided states: those of the
  /// replicas from `first` on, which are in this process. They outlive the
  /// table. Until then, the table itself keeps what is loaded of such states,
  /// which have no use but in training.
  void holdParts(std::vector<sinter_program *> replicas, uint32_t first) {
    holders_ = std::move(replicas);
    firstHolder_ = first;
  }

  /// Hash of the names, dtypes and shapes of what is kept: equal for two builds
  /// of one training program, whatever their target, precision or layout.
  uint64_t hash() const;

  /// The current bytes of every state that is kept, in table order: views of
  /// the program's own memory if the host can access it, else copies.
  struct Snapshot {
    std::vector<NamedTensor> tensors;
    std::vector<std::vector<uint8_t>> copies; // what `tensors` may refer to
  };
  /// Without states of which this process holds only some parts.
  Result<Snapshot> snapshot(sinter_program *program) const;

  /// What this process holds of divided states, each as one tensor of one
  /// dimension, in table order.
  struct Part {
    size_t index;              // of the state
    uint64_t firstElement;     // of the whole
    std::vector<int64_t> dims; // one: the number of elements, maybe 0
    std::vector<uint8_t> bytes;
  };
  Result<std::vector<Part>> parts() const;

  /// Adds the tensors of `snapshot` again under their other names. A program
  /// has a tensor that two modules share only once; files for other programs
  /// have it under both names.
  void addAliases(Snapshot &snapshot) const;

  /// Names the first state with an element that is not finite and differs from
  /// its compiled value (a mask may have infinities): 'state "w" has NaN ...';
  /// nothing if there is none. An error means that the states cannot be read.
  Result<std::optional<std::string>>
  findNonFinite(sinter_program *program) const;
  /// The same as an error, SINTER_FAILED.
  Status checkFinite(sinter_program *program) const;

  /// What keeps `file` from being loaded as a whole: states that are missing or
  /// unknown, or have another shape or dtype; empty if nothing does.
  std::vector<std::string> differences(const TensorFile &file) const;

  /// Loads every state that is kept; the file must have exactly these. The
  /// error lists the differences in one line.
  Status load(const TensorFile &file, sinter_program *program) const;

  /// Loads all parameters and buffers, which the file must have, and those
  /// slots that it has in the same shape; an averaged weight that is missing
  /// gets the weight. Returns the names of the other slots, which are
  /// unchanged.
  Result<std::vector<std::string>> loadWeights(const TensorFile &file,
                                               sinter_program *program) const;

  struct InitOptions {
    bool slots = false; // also optimizer slots
    /// Says which states stay as they are; may be null.
    std::function<bool(const std::string &)> skips;
    /// Maps a tensor's name to a state's name; null: the same name.
    std::function<std::string(const std::string &)> rename;
  };
  struct InitReport {
    size_t numLoaded = 0;
    size_t numSlots = 0;              // in the file, not asked for
    bool hasAverages = false;         // of weights (--ema), among these
    std::vector<std::string> missing; // parameters and buffers not in the file
    std::vector<std::string> extra;   // in the file only
  };
  /// Loads those states that `file` has; an averaged weight that is not loaded
  /// gets the weight. Errors are a state of another shape or dtype, a file with
  /// nothing in common, and tensors that differ under two names of one state.
  Result<InitReport> init(const TensorFile &file, sinter_program *program,
                          const InitOptions &options) const;

private:
  /// Reads all parts of a divided state that this process holds.
  Result<Part> heldPart(size_t index) const;
  Status writeDivided(size_t index, std::span<const uint8_t> whole,
                      sinter_program *program) const;
  std::string mismatch(size_t index, const TensorFile::Entry &entry) const;
  bool hasWeights(const TensorFile &file) const;
  bool isWeight(size_t index) const {
    return states_[index].role == SINTER_STATE_PARAM ||
           states_[index].role == SINTER_STATE_BUFFER;
  }
  using Chosen = std::vector<std::pair<size_t, const TensorFile::Entry *>>;
  void addAverages(Chosen &chosen) const;
  Status write(const TensorFile &file, const Chosen &chosen,
               sinter_program *program) const;

  const sinter_state_desc *states_ = nullptr;
  std::vector<std::string> names_;
  std::vector<sinter_program *> holders_; // of parts of divided states
  /// By state: the bytes of divided ones that were loaded without holders.
  mutable std::map<size_t, std::vector<uint8_t>> wholes_;
  uint32_t firstHolder_ = 0;
};

/// The current bytes of state `index`: in place if the host can access them,
/// else a copy in `copy`.
Result<std::span<const uint8_t>>
stateBytes(sinter_program *program, uint32_t index, std::vector<uint8_t> &copy);

/// "a, b, c and 12 more": at most `most` of `items`.
std::string listText(const std::vector<std::string> &items, size_t most = 8);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_STATETABLE_H
