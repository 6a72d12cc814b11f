//===- Safetensors.h - named tensors in a file ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The safetensors format: 8 bytes little-endian header length, a JSON header
// {name: {dtype, shape, data_offsets}}, then the tensors' bytes without gaps.
// Our files also have one checksum per tensor in the metadata ("xxh3:NAME"),
// which is verified if it is present.
//
// The reader trusts nothing: header length, JSON depth and duplicate keys,
// types, shape times element size, overlaps, gaps and the end of the file are
// checked before a byte of a tensor is read.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_SAFETENSORS_H
#define SINTER_RUNTIME_TRAIN_SAFETENSORS_H

#include "runtime/base/Status.h"
#include "runtime/data/ByteSource.h"
#include "runtime/train/TensorFile.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

/// A tensor to be written; it does not own the bytes.
struct NamedTensor {
  std::string name;
  sinter_dtype dtype;
  std::span<const int64_t> dims;
  std::span<const uint8_t> bytes;
};

/// Writes `tensors` in their order, atomically (File.h).
Status writeSafetensors(const std::string &path,
                        std::span<const NamedTensor> tensors);

/// Its entries are in the order of their bytes.
class SafetensorsFile final : public TensorFile {
public:
  /// Errors are SINTER_INVALID and name the file and what is wrong in it.
  static Result<SafetensorsFile> open(const std::string &path);

  const std::string &path() const override { return file_->path(); }

  /// Verifies the checksum, too.
  Status read(const Entry &entry, std::span<uint8_t> out) const override;

private:
  std::shared_ptr<InputFile> file_;
};

/// The names of the tensors that differ in dtype, shape or bytes, or that only
/// one of the files has. Reads both.
Result<std::vector<std::string>> differentTensors(const TensorFile &a,
                                                  const TensorFile &b);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_SAFETENSORS_H
