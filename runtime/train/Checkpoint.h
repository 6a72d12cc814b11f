//===- Checkpoint.h - directories that hold a run's state -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//   OUT/step-00000123/state.safetensors   every state by name (StateTable.h)
//   OUT/step-00000123/state-00001-of-00004.safetensors
//                        with divided states in several processes: each one's
//                        part (CheckpointFile.h), not in state.safetensors
//   OUT/step-00000123/manifest.json       written last (Manifest.h)
//   OUT/.lock                             held by the run that writes to OUT
//
// A checkpoint is written to OUT/.tmp-*, synced, renamed and the rename synced:
// after a crash or a power failure each one is complete or absent. Older
// checkpoints are removed only after a newer one is safe.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_CHECKPOINT_H
#define SINTER_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/train/Manifest.h"
#include "runtime/train/StateTable.h"
#include "sinter/sinter.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt {

/// "OUT/step-00000123".
std::string checkpointPath(const std::string &directory, int64_t step);

/// The steps of the checkpoints in `directory`, newest first; only names are
/// looked at.
Result<std::vector<int64_t>> listCheckpoints(const std::string &directory);

/// Whether the checkpoint at `path` has no manifest. Saving writes it before
/// the checkpoint gets its name, so this is what a removal has left.
bool isIncomplete(const std::string &path);

/// The manifest of the checkpoint at `path`. SINTER_FAILED if it is damaged.
Result<Manifest> readManifest(const std::string &path);

/// How a checkpoint is read.
struct CheckpointReading {
  /// Whether an older checkpoint is taken where the newest is damaged or
  /// incomplete.
  bool fallsBack = false;
  /// Gets a line for each checkpoint that is not taken, with fallsBack.
  std::function<void(const std::string &)> warn = nullptr;
  /// Called before states are changed; its error ends the search. May be null.
  std::function<Status(const Manifest &)> accept = nullptr;
  /// Parameters and buffers are required, the optimizer's slots are not.
  bool weightsOnly = false;
  /// Gets the slots that were missing, with weightsOnly. May be null.
  std::vector<std::string> *missingSlots = nullptr;
};

/// Reads the checkpoint at `path` into the program. Everything is verified:
/// manifest, payload size, state table, one checksum for each tensor.
Result<Manifest> loadCheckpoint(const std::string &path,
                                const StateTable &table,
                                sinter_program *program,
                                const CheckpointReading &reading);

/// Loads the newest checkpoint of `directory`; with fallsBack, the newest that
/// is not damaged. Errors: one cannot be read (that is not damage, and trying
/// again may help), it is damaged, it belongs to another model, or it has a
/// value that is not finite. The message names the newest older one that is
/// sound. `directory` may also be one checkpoint itself. Without any checkpoint
/// the result is SINTER_INVALID.
Result<Manifest> loadNewestCheckpoint(const std::string &directory,
                                      const StateTable &table,
                                      sinter_program *program,
                                      const CheckpointReading &reading);

/// Writes the parts of divided states that this process holds to the file
/// `name` in `directory`, and says what is in it.
Result<Manifest::PartFile> writePartFile(const std::string &directory,
                                         const std::string &name,
                                         const StateTable &table);

/// Lets every process of a job call writePartFile() for a directory that all of
/// them see; returns what each has written.
using WriteParts = std::function<Result<std::vector<Manifest::PartFile>>(
    const std::string &directory)>;

/// The --out directory of a run, locked for its lifetime.
class CheckpointStore {
public:
  /// Creates `directory` if needed, takes its lock (SINTER_FAILED if another
  /// run has it) and removes what an interrupted save left. Unless
  /// `mayContain`, any other content is an error.
  static Result<std::unique_ptr<CheckpointStore>>
  open(const std::string &directory, bool mayContain, int32_t keep);
  ~CheckpointStore();

  /// A name in `directory` for a file of a few moments; if it is left there,
  /// the next open() removes it.
  static std::string temporaryName(const std::string &directory,
                                   const std::string &name);
  const std::string &directory() const { return directory_; }
  /// Saves the program's state, which the caller has found to be finite, as
  /// step `manifest.step` and fills in the fields about the payload. On failure
  /// (also of an allocation) the older checkpoints are unchanged; the error is
  /// that of notSaved(). `writeParts` is for states of which this process holds
  /// only some parts; null: there are none.
  Status save(Manifest manifest, const StateTable &table,
              sinter_program *program, const WriteParts &writeParts = nullptr);
  /// "checkpoint of step 7 not saved: ..." SINTER_DEVICE_FAILED if that is why,
  /// else SINTER_FAILED.
  static Status notSaved(int64_t step, const Status &why);
  /// How many checkpoints to keep from the next save on; 0: all.
  void setKeep(int32_t keep) { keep_ = keep; }
  /// Renames checkpoints newer than `step`, which are damaged or incomplete, so
  /// that they are out of the way; nothing is removed. Gives a line for each.
  std::vector<std::string> setAsideNewer(int64_t step);

private:
  CheckpointStore() = default;
  Status removeLeftovers();
  void removeIncomplete();
  Status takeDirectory();
  Status makeAgain();
  Status writeAndPublish(Manifest &manifest, const StateTable &table,
                         sinter_program *program, const WriteParts &writeParts);
  Status write(const std::string &temporary, Manifest &manifest,
               const StateTable &table, sinter_program *program,
               const WriteParts &writeParts);
  void prune();

  std::string directory_;
  int lockFd_ = -1, directoryFd_ = -1; // held for the whole run
  int32_t keep_ = 3;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_CHECKPOINT_H
