//===- CheckpointFile.h - the tensors of a checkpoint -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Those of state.safetensors, and the states of which every process of a job
// has written its part to a file of its own. Readers see whole tensors.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_CHECKPOINTFILE_H
#define SINTER_RUNTIME_TRAIN_CHECKPOINTFILE_H

#include "runtime/train/Manifest.h"
#include "runtime/train/Safetensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt {

/// The file with the states that are not divided.
inline constexpr const char *payloadName = "state.safetensors";
/// "state-00001-of-00004.safetensors": what process 1 of 4 has written.
std::string partFileName(uint32_t process, uint32_t processes);

class CheckpointFile final : public TensorFile {
public:
  /// The checkpoint at `path`, with its manifest. SINTER_FAILED if a file is
  /// not the one that the manifest was written for.
  static Result<std::unique_ptr<CheckpointFile>> open(const std::string &path,
                                                      const Manifest &manifest);

  const std::string &path() const override { return path_; }
  /// Verifies the checksums, too.
  Status read(const Entry &entry, std::span<uint8_t> out) const override;

private:
  CheckpointFile() = default;
  Status addWhole(const Manifest &manifest);
  Status addParts(const Manifest &manifest);

  /// Where some elements of a tensor are.
  struct Piece {
    size_t file; // in `files_`
    Entry entry;
    uint64_t firstElement;
  };
  std::string path_;
  std::vector<SafetensorsFile> files_; // the payload, then part files
  std::map<std::string, std::vector<Piece>> pieces_; // by tensor, in order
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_CHECKPOINTFILE_H
