//===- ByteSource.h - random access to a file's bytes -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Where the rows of a column come from: a range of a file, bytes in memory, or
// a compressed stream (Inflate.h). Reading is thread-safe, and a file that is
// truncated meanwhile causes an error, never a signal (nothing is mapped).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_BYTESOURCE_H
#define SINTER_RUNTIME_DATA_BYTESOURCE_H

#include "runtime/base/Status.h"
#include "runtime/data/HeldMemory.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

class InputFile;

class ByteSource {
public:
  virtual ~ByteSource();
  /// Copies the bytes from `offsetBytes` on into all of `out`. The caller keeps
  /// the range inside sizeBytes().
  virtual Status read(uint64_t offsetBytes, std::span<uint8_t> out) = 0;
  virtual uint64_t sizeBytes() const = 0;
  /// Announces that rows will be read soon: a compressed source starts to
  /// decompress.
  virtual void prefetch() {}
  /// The file that reads still depend on; null once all bytes are in memory.
  virtual const InputFile *file() const { return nullptr; }
};

/// An open regular file. The descriptor stays open, so if another file takes
/// its name, the old content is still read.
class InputFile {
public:
  static Result<std::shared_ptr<InputFile>> open(const std::string &path);
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;
  ~InputFile();

  Status read(uint64_t offsetBytes, std::span<uint8_t> out) const;
  const std::string &path() const { return path_; }
  uint64_t sizeBytes() const { return sizeBytes_; }
  int64_t modifiedNs() const { return modifiedNs_; }
  /// Whether sampledHash() is of a part of the file only.
  bool isSampled() const;
  /// Keeps the sampledHash(), which checkUnchanged() compares with.
  Status remember();
  /// What remember() kept.
  uint64_t rememberedHash() const { return rememberedHash_.value_or(0); }
  /// SINTER_FAILED if the file was written to after remember(), as far as its
  /// size and sampledHash() tell.
  Status checkUnchanged() const;
  /// Whether its modification time changed since it was opened or since the
  /// last call.
  bool takeModified();
  /// A hash of the size and of samples from all over the file (at most 384 KiB
  /// are read, so it is quick for a file of any size).
  Result<uint64_t> sampledHash() const;

private:
  InputFile() = default;
  std::string path_;
  int fd_ = -1;
  uint64_t sizeBytes_ = 0;
  int64_t modifiedNs_ = 0;
  std::optional<uint64_t> rememberedHash_;
  std::atomic<int64_t> reportedNs_ = 0; // by takeModified()
};

/// `sizeBytes` of a file from `offsetBytes` on; the caller has checked that the
/// file holds them.
class FileBytes final : public ByteSource {
public:
  FileBytes(std::shared_ptr<InputFile> file, uint64_t offsetBytes,
            uint64_t sizeBytes)
      : file_(std::move(file)), offsetBytes_(offsetBytes),
        sizeBytes_(sizeBytes) {}
  Status read(uint64_t offsetBytes, std::span<uint8_t> out) override {
    return file_->read(offsetBytes_ + offsetBytes, out);
  }
  uint64_t sizeBytes() const override { return sizeBytes_; }
  const InputFile *file() const override { return file_.get(); }

private:
  std::shared_ptr<InputFile> file_;
  uint64_t offsetBytes_;
  uint64_t sizeBytes_;
};

/// Bytes of a file that have a CRC-32. The first read checks all of them, once;
/// if they do not match, every read fails.
class CheckedBytes final : public ByteSource {
public:
  /// `name` is what error messages call the bytes.
  CheckedBytes(FileBytes bytes, std::string name, uint32_t crc)
      : bytes_(std::move(bytes)), name_(std::move(name)), crc_(crc) {}
  Status read(uint64_t offsetBytes, std::span<uint8_t> out) override;
  uint64_t sizeBytes() const override { return bytes_.sizeBytes(); }
  const InputFile *file() const override { return bytes_.file(); }

private:
  Status check();
  FileBytes bytes_;
  std::string name_;
  uint32_t crc_;
  std::once_flag checked_;
  Status status_; // of the check
};

class MemoryBytes final : public ByteSource {
public:
  /// `held` has the size of `bytes`.
  MemoryBytes(std::vector<uint8_t> bytes, HeldMemory held)
      : bytes_(std::move(bytes)), held_(std::move(held)) {}
  Status read(uint64_t offsetBytes, std::span<uint8_t> out) override;
  uint64_t sizeBytes() const override { return bytes_.size(); }

private:
  std::vector<uint8_t> bytes_;
  HeldMemory held_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_BYTESOURCE_H
