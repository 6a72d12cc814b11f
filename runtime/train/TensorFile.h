//===- TensorFile.h - a file of named tensors -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// States are loaded from such files, whatever the format: checkpoints and
// .safetensors (Safetensors.h), NumPy's .npz, the initializers of an .onnx
// model.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_TENSORFILE_H
#define SINTER_RUNTIME_TRAIN_TENSORFILE_H

#include "runtime/base/Status.h"
#include "runtime/data/ElementType.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

class TensorFile {
public:
  struct Entry {
    std::string name;
    sinter_dtype dtype = SINTER_F32;
    std::vector<int64_t> dims;
    uint64_t offsetBytes = 0; // in the file
    uint64_t sizeBytes = 0;
    bool hasHash = false;
    uint64_t hash = 0; // XXH3-64 of the bytes
  };

  virtual ~TensorFile() = default;
  const std::vector<Entry> &entries() const { return entries_; }
  const Entry *find(const std::string &name) const;
  virtual const std::string &path() const = 0;
  /// Reads all bytes of `entry`, one of entries(), into `out` (of
  /// entry.sizeBytes bytes); the error names the tensor.
  virtual Status read(const Entry &entry, std::span<uint8_t> out) const = 0;

protected:
  std::vector<Entry> entries_;
};

/// The checkpoint that `path` is, or the newest one in it; nothing for a file.
/// SINTER_INVALID for a directory without one.
Result<std::optional<std::string>> checkpointAt(const std::string &path);

/// Opens an --out directory (its newest checkpoint), a checkpoint, a
/// .safetensors, .npz or .onnx file, each recognised by its content.
/// SINTER_INVALID names any other format that is known.
Result<std::unique_ptr<TensorFile>> openTensorFile(const std::string &path);

/// The initializers of an ONNX model, external data included.
Result<std::unique_ptr<TensorFile>> openOnnxTensors(const std::string &path);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_TENSORFILE_H
