//===- ByteSource.cpp - random access to the bytes of a data file ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ByteSource.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/data/Inflate.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::rt;

ByteSource::~ByteSource() = default;

static int64_t modificationNs(const struct stat &info) {
  return int64_t(info.st_mtim.tv_sec) * 1000000000 + info.st_mtim.tv_nsec;
}

Result<std::shared_ptr<InputFile>> InputFile::open(const std::string &path) {
  // Without O_NONBLOCK, opening a FIFO that has no writer would hang.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fileError(path, errno);
  std::shared_ptr<InputFile> file(new InputFile);
  file->fd_ = fd;
  file->path_ = path;
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return fileError(path, errno);
  if (!S_ISREG(info.st_mode))
    return Status::invalid(path + ": is not a regular file");
  file->sizeBytes_ = static_cast<uint64_t>(info.st_size);
  file->modifiedNs_ = modificationNs(info);
  file->reportedNs_ = file->modifiedNs_;
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0)
    ::close(fd_);
}

Status InputFile::read(uint64_t offsetBytes, std::span<uint8_t> out) const {
  while (!out.empty()) {
    ssize_t count =
        ::pread(fd_, out.data(), std::min<size_t>(out.size(), 1u << 30),
                static_cast<off_t>(offsetBytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(path_, errno);
    if (count == 0)
      return Status::failed(path_ + ": ends at byte " +
                            std::to_string(offsetBytes) +
                            "; it was longer when it was opened (" +
                            std::to_string(sizeBytes_) + " bytes)");
    out = out.subspan(static_cast<size_t>(count));
    offsetBytes += static_cast<uint64_t>(count);
  }
  return {};
}

// Files of at most twice this size are hashed whole.
static constexpr uint64_t edgeBytes = 64 << 10;

bool InputFile::isSampled() const { return sizeBytes_ > 2 * edgeBytes; }

Status InputFile::remember() {
  Result<uint64_t> hash = sampledHash();
  if (hash.ok())
    rememberedHash_ = *hash;
  return hash.status();
}

Status InputFile::checkUnchanged() const {
  struct stat info;
  if (::fstat(fd_, &info) != 0)
    return fileError(path_, errno);
  bool isChanged = static_cast<uint64_t>(info.st_size) != sizeBytes_;
  if (!isChanged && rememberedHash_) {
    Result<uint64_t> now = sampledHash();
    if (!now.ok())
      return now.status();
    isChanged = *now != *rememberedHash_;
  }
  return isChanged ? Status::failed(path_ + ": was changed") : Status();
}

bool InputFile::takeModified() {
  struct stat info;
  if (::fstat(fd_, &info) != 0)
    return false;
  const int64_t now = modificationNs(info);
  return reportedNs_.exchange(now) != now;
}

Result<uint64_t> InputFile::sampledHash() const {
  constexpr uint64_t sampleBytes = 4 << 10;
  constexpr uint64_t numSamples = 64;
  Hasher64 hasher;
  hasher.update(std::to_string(sizeBytes_));
  std::vector<uint8_t> buffer(edgeBytes);
  auto addRange = [&](uint64_t offset, uint64_t size) -> Status {
    std::span<uint8_t> out(buffer.data(), size);
    SINTER_RETURN_IF_ERROR(read(offset, out));
    hasher.update(out);
    return {};
  };
  if (sizeBytes_ <= 2 * edgeBytes) {
    for (uint64_t offset = 0; offset < sizeBytes_; offset += edgeBytes)
      SINTER_RETURN_IF_ERROR(
          addRange(offset, std::min(edgeBytes, sizeBytes_ - offset)));
    return hasher.digest();
  }
  SINTER_RETURN_IF_ERROR(addRange(0, edgeBytes));
  SINTER_RETURN_IF_ERROR(addRange(sizeBytes_ - edgeBytes, edgeBytes));
  for (uint64_t i = 1; i <= numSamples; ++i)
    SINTER_RETURN_IF_ERROR(addRange(
        (sizeBytes_ - sampleBytes) / (numSamples + 1) * i, sampleBytes));
  return hasher.digest();
}

Status MemoryBytes::read(uint64_t offsetBytes, std::span<uint8_t> out) {
  std::memcpy(out.data(), bytes_.data() + offsetBytes, out.size());
  return {};
}

Status CheckedBytes::check() {
  std::vector<uint8_t> block(std::min<uint64_t>(sizeBytes(), 1 << 20));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < sizeBytes(); done += block.size()) {
    block.resize(std::min<uint64_t>(block.size(), sizeBytes() - done));
    SINTER_RETURN_IF_ERROR(bytes_.read(done, block));
    crc = crc32(crc, block);
  }
  if (crc != crc_)
    return Status::invalid(name_ + ": its checksum does not match its data");
  return {};
}

Status CheckedBytes::read(uint64_t offsetBytes, std::span<uint8_t> out) {
  std::call_once(checked_, [&] { status_ = check(); });
  return status_.ok() ? bytes_.read(offsetBytes, out) : status_;
}
