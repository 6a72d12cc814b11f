//===- Inflate.h - a deflate stream, read in the background -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Random access to a .gz file or a deflated zip member: one thread inflates it
// from front to back into memory and readers wait for the bytes they need, so
// the first batch of an unshuffled epoch does not wait for the end. A stream of
// up to 128 MiB is inflated in one go instead where libdeflate is built in:
// three times as fast as zlib, which decides how soon a shuffled run can begin.
//
// Memory is bounded before it is allocated: by deflate's largest expansion
// (1032:1) and by the limit of HeldMemory.h. If the compressed bytes do not fit
// as well, the stream is inflated in blocks.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_INFLATE_H
#define SINTER_RUNTIME_DATA_INFLATE_H

#include "runtime/data/ByteSource.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace sinter::rt {

/// Continues `crc`, a CRC-32 as in gzip and zip, over `bytes` (begin with 0).
uint32_t crc32(uint32_t crc, std::span<const uint8_t> bytes);

class InflatedBytes final : public ByteSource {
public:
  enum class Wrapping { Gzip, Raw };
  /// The first `headBytes` of every stream are inflated by open() itself.
  static constexpr uint64_t headBytes = 128 << 10;

  /// `name` is what error messages call the stream; the compressed bytes are
  /// [offsetBytes, offsetBytes + compressedBytes) of `file`.
  static Result<std::shared_ptr<InflatedBytes>>
  open(std::shared_ptr<InputFile> file, std::string name, uint64_t offsetBytes,
       uint64_t compressedBytes, Wrapping wrapping);
  ~InflatedBytes() override;

  /// The first bytes, for reading a header: up to headBytes.
  std::span<const uint8_t> head() const { return head_; }
  /// Sets how long the stream must be, according to its header, and, for a raw
  /// stream, its CRC-32. Must be called once, before read().
  Status expect(uint64_t sizeBytes, std::optional<uint32_t> crc = {});

  Status read(uint64_t offsetBytes, std::span<uint8_t> out) override;
  uint64_t sizeBytes() const override { return sizeBytes_; }
  void prefetch() override;
  const InputFile *file() const override {
    return isWhole_ ? nullptr : file_.get();
  }

private:
  struct Stream;
  InflatedBytes();
  void inflateAll();
  void inflateStream();
  bool inflateAtOnce();
  void finishWith(Status status);
  Status checkSource();
  Status inflateTo(uint8_t *out, uint64_t sizeBytes, uint64_t &produced);
  Status checkEnd(uint64_t produced);
  Status damaged(const char *what) const;

  std::shared_ptr<InputFile> file_;
  std::string name_;
  uint64_t offsetBytes_ = 0;
  uint64_t compressedBytes_ = 0;
  std::unique_ptr<Stream> stream_;
  std::vector<uint8_t> head_;
  uint8_t *data_ = nullptr; // an anonymous mapping of sizeBytes_
  uint64_t sizeBytes_ = 0;
  HeldMemory held_; // also the compressed bytes with inflatesAtOnce_
  bool inflatesAtOnce_ = false;
  std::optional<uint32_t> crc_;

  std::once_flag started_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> isWhole_{false}; // all bytes are in data_, and checked
  std::atomic<uint64_t> available_{0};
  std::mutex mutex_; // guards done_, status_ and waiting for available_
  std::condition_variable grew_;
  bool done_ = false;
  Status status_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_INFLATE_H
