//===- Manifest.h - what a checkpoint says about itself ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// manifest.json is written last: a directory without it is not a checkpoint. It
// covers the payload by its size and one checksum per tensor, and itself by a
// checksum in its last line, so that a flipped bit anywhere is found.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_MANIFEST_H
#define SINTER_RUNTIME_TRAIN_MANIFEST_H

#include "runtime/base/Status.h"
#include "runtime/data/Dataset.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sinter::rt {

struct Manifest {
  /// 1 has no options and no recipe, 2 no parts. Written without parts, a
  /// manifest has version 2.
  static constexpr int64_t formatVersion = 3;

  std::string model;
  std::string buildId; // informational: a checkpoint outlives a recompilation
  int64_t step = 0;    // steps that are done; also the data cursor, with:
  int64_t epoch = 0;   // the epoch of the next step
  int64_t batchInEpoch = 0;
  int64_t batch = 0;
  int64_t rows = 0; // of the training data
  int64_t seed = 0;
  bool shuffle = true;
  bool evaluated = false; // the evaluation that follows this step is done
  int64_t totalSteps = 0; // requested for the run
  /// Of the last step, finite; checkpoints before the first one have none, nor
  /// have those of older programs.
  std::optional<float> loss;
  DatasetFingerprint data;
  TableHeader header; // of the training data
  /// Names with values as text: the options that shape the run
  /// (TrainerOptions.h), and what was compiled in that shapes it (Recipe.h).
  using Texts = std::vector<std::pair<std::string, std::string>>;
  Texts options, recipe;
  uint64_t stateTableHash = 0;
  uint64_t payloadBytes = 0;
  struct Tensor {
    std::string name;
    uint64_t hash = 0; // XXH3-64
  };
  std::vector<Tensor> tensors;
  /// The files of processes that each hold a part of some states, as one
  /// dimension. The parts of a state are the whole, without gap or overlap.
  struct PartOfState {
    std::string name;
    std::vector<int64_t> dims; // of the whole
    uint64_t firstElement = 0, elements = 0;
    uint64_t hash = 0; // XXH3-64
  };
  struct PartFile {
    std::string name; // in the directory of the checkpoint
    uint64_t bytes = 0;
    std::vector<PartOfState> parts;
  };
  std::vector<PartFile> partFiles;
};

/// The text of manifest.json.
std::string manifestText(const Manifest &manifest);

/// A part file as an object of the manifest, and back.
std::string partFileText(const Manifest::PartFile &file);
Result<Manifest::PartFile> parsePartFile(const std::string &text);

/// Parses and verifies it; errors do not begin with a file name. The error for
/// a newer format names its version.
Result<Manifest> parseManifest(const std::string &text);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_MANIFEST_H
