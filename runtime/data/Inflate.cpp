//===- Inflate.cpp - a deflate stream, inflated in the background ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Inflate.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <zlib.h>
#ifdef SINTER_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

using namespace sinter::rt;

/// The longest compressed stream that is inflated in one go.
#ifdef SINTER_HAVE_LIBDEFLATE
static constexpr uint64_t maxAtOnceBytes = 128 << 20;
#else
static constexpr uint64_t maxAtOnceBytes = 0;
#endif

struct InflatedBytes::Stream {
  z_stream z = {};
  bool initialized = false;
  bool gzip = false;
  bool ended = false;      // the last member is complete
  uint64_t nextOffset = 0; // of the compressed bytes not read yet
  uint64_t endOffset = 0;
  std::vector<uint8_t> input;
  ~Stream() {
    if (initialized)
      inflateEnd(&z);
  }
};

uint32_t sinter::rt::crc32(uint32_t crc, std::span<const uint8_t> bytes) {
  if (bytes.empty()) // both libraries take a null pointer for a new checksum
    return crc;
#ifdef SINTER_HAVE_LIBDEFLATE
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
#else
  return static_cast<uint32_t>(crc32_z(crc, bytes.data(), bytes.size()));
#endif
}

InflatedBytes::InflatedBytes() : stream_(std::make_unique<Stream>()) {}

InflatedBytes::~InflatedBytes() {
  stop_ = true;
  if (thread_.joinable())
    thread_.join();
  if (data_)
    ::munmap(data_, sizeBytes_);
}

Status InflatedBytes::damaged(const char *what) const {
  return Status::invalid(name_ + ": " + what);
}

Result<std::shared_ptr<InflatedBytes>>
InflatedBytes::open(std::shared_ptr<InputFile> file, std::string name,
                    uint64_t offsetBytes, uint64_t compressedBytes,
                    Wrapping wrapping) {
  std::shared_ptr<InflatedBytes> source(new InflatedBytes);
  source->file_ = std::move(file);
  source->name_ = std::move(name);
  source->offsetBytes_ = offsetBytes;
  source->compressedBytes_ = compressedBytes;
  Stream &stream = *source->stream_;
  stream.gzip = wrapping == Wrapping::Gzip;
  stream.nextOffset = offsetBytes;
  stream.endOffset = offsetBytes + compressedBytes;
  stream.input.resize(256 << 10);
  if (inflateInit2(&stream.z, stream.gzip ? 15 + 16 : -15) != Z_OK)
    return Status(SINTER_OUT_OF_MEMORY,
                  source->name_ + ": no memory to decompress it");
  stream.initialized = true;
  source->head_.resize(headBytes);
  uint64_t produced = 0;
  SINTER_RETURN_IF_ERROR(
      source->inflateTo(source->head_.data(), headBytes, produced));
  source->head_.resize(produced);
  return source;
}

Status InflatedBytes::expect(uint64_t sizeBytes, std::optional<uint32_t> crc) {
  constexpr uint64_t maxRatio = 1032; // deflate cannot do better
  if (sizeBytes / maxRatio > compressedBytes_ + 64)
    return Status::invalid(name_ + ": its header promises " +
                           std::to_string(sizeBytes) + " bytes, which its " +
                           std::to_string(compressedBytes_) +
                           " compressed bytes cannot hold");
  if (sizeBytes < head_.size())
    return Status::invalid(name_ + ": its header promises " +
                           std::to_string(sizeBytes) +
                           " bytes, but more follow");
  // The compressed bytes count until the end: whether another file fits must
  // not depend on how far this thread is.
  inflatesAtOnce_ = head_.size() < sizeBytes &&
                    compressedBytes_ <= maxAtOnceBytes &&
                    held_.resize(sizeBytes + compressedBytes_);
  if (!inflatesAtOnce_ && !held_.resize(sizeBytes))
    return held_.refusal(name_, sizeBytes, "unpack it on disk");
  void *memory =
      ::mmap(nullptr, std::max<uint64_t>(sizeBytes, 1), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Status(SINTER_OUT_OF_MEMORY, name_ + ": no memory for its " +
                                            std::to_string(sizeBytes) +
                                            " bytes");
  // Fewer page faults; a refusal changes nothing.
  (void)::madvise(memory, sizeBytes, MADV_HUGEPAGE);
  data_ = static_cast<uint8_t *>(memory);
  sizeBytes_ = sizeBytes;
  crc_ = crc;
  if (head_.size() < sizeBytes)
    return {};
  // The head is all of it: nothing is left for the thread, errors show at once.
  std::memcpy(data_, head_.data(), head_.size());
  available_ = head_.size();
  done_ = true;
  SINTER_RETURN_IF_ERROR(checkEnd(sizeBytes));
  return checkSource();
}

/// The bytes are those of the file as it was opened, unless it was changed
/// meanwhile. A file that cannot be compared now may be compared later.
Status InflatedBytes::checkSource() {
  Status same = file_->checkUnchanged();
  isWhole_ = same.ok();
  return same.ok() || same.systemError() != 0
             ? Status()
             : Status::failed(same.message() + " while it was read");
}

/// Inflates until `sizeBytes` are in `out` or the stream ends; `produced` says
/// how many there are.
Status InflatedBytes::inflateTo(uint8_t *out, uint64_t sizeBytes,
                                uint64_t &produced) {
  Stream &stream = *stream_;
  produced = 0;
  while (produced < sizeBytes && !stream.ended) {
    if (stream.z.avail_in == 0) {
      uint64_t size = std::min<uint64_t>(stream.input.size(),
                                         stream.endOffset - stream.nextOffset);
      if (size == 0)
        return damaged("ends in the middle of its compressed data");
      SINTER_RETURN_IF_ERROR(
          file_->read(stream.nextOffset, std::span(stream.input.data(), size)));
      stream.nextOffset += size;
      stream.z.next_in = stream.input.data();
      stream.z.avail_in = static_cast<uInt>(size);
    }
    uInt room =
        static_cast<uInt>(std::min<uint64_t>(sizeBytes - produced, 1u << 30));
    stream.z.next_out = out + produced;
    stream.z.avail_out = room;
    int code = inflate(&stream.z, Z_NO_FLUSH);
    produced += room - stream.z.avail_out;
    if (code == Z_STREAM_END) {
      bool more = stream.z.avail_in > 0 || stream.nextOffset < stream.endOffset;
      // A gzip file may have several members, one after the other.
      if (stream.gzip && more) {
        if (inflateReset(&stream.z) != Z_OK)
          return damaged("cannot be decompressed");
      } else {
        stream.ended = true;
      }
    } else if (code == Z_DATA_ERROR || code == Z_NEED_DICT) {
      return damaged(stream.gzip && stream.z.total_out == 0
                         ? "is not a valid gzip file"
                         : "its compressed data is damaged");
    } else if (code == Z_MEM_ERROR) {
      return Status(SINTER_OUT_OF_MEMORY,
                    name_ + ": no memory to decompress it");
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return damaged("cannot be decompressed");
    }
  }
  return {};
}

/// After the expected bytes nothing may follow and all checksums must hold;
/// zlib looks at a gzip trailer only when it is asked for one byte more.
Status InflatedBytes::checkEnd(uint64_t produced) {
  if (produced < sizeBytes_)
    return Status::invalid(name_ + ": holds " + std::to_string(produced) +
                           " bytes where its header promises " +
                           std::to_string(sizeBytes_));
  uint8_t extra;
  uint64_t extraBytes = 0;
  SINTER_RETURN_IF_ERROR(inflateTo(&extra, 1, extraBytes));
  if (extraBytes != 0)
    return Status::invalid(name_ + ": its header promises " +
                           std::to_string(sizeBytes_) +
                           " bytes, but more follow");
  if (crc_ && sinter::rt::crc32(0, {data_, sizeBytes_}) != *crc_)
    return damaged("its checksum does not match its data");
  return {};
}

void InflatedBytes::finishWith(Status status) {
  std::lock_guard lock(mutex_);
  failed_ = !status.ok();
  status_ = std::move(status);
  done_ = true;
  grew_.notify_all();
}

#ifdef SINTER_HAVE_LIBDEFLATE
/// Returns false if memory is too small for this or the stream is damaged. The
/// stream is then inflated in blocks by zlib, which also reports the damage.
bool InflatedBytes::inflateAtOnce() {
  if (!inflatesAtOnce_)
    return false;
  // Not zeroed, because the read overwrites all of it.
  auto buffer = std::make_unique_for_overwrite<uint8_t[]>(compressedBytes_);
  std::span<uint8_t> input(buffer.get(), compressedBytes_);
  if (!file_->read(offsetBytes_, input).ok())
    return false;
  std::unique_ptr<libdeflate_decompressor,
                  decltype(&libdeflate_free_decompressor)>
      decompressor(libdeflate_alloc_decompressor(),
                   libdeflate_free_decompressor);
  if (!decompressor)
    return false;
  // A gzip file may have several members, one after the other.
  uint64_t read = 0, written = 0;
  do {
    auto inflateOne = stream_->gzip ? libdeflate_gzip_decompress_ex
                                    : libdeflate_deflate_decompress_ex;
    size_t memberIn = 0, memberOut = 0;
    if (inflateOne(decompressor.get(), input.data() + read, input.size() - read,
                   data_ + written, sizeBytes_ - written, &memberIn,
                   &memberOut) != LIBDEFLATE_SUCCESS)
      return false;
    read += memberIn;
    written += memberOut;
  } while (stream_->gzip && read < input.size());
  return written == sizeBytes_ &&
         (!crc_ || sinter::rt::crc32(0, {data_, sizeBytes_}) == *crc_);
}
#else
bool InflatedBytes::inflateAtOnce() { return false; }
#endif

/// Runs on a thread of its own: inflates from front to back and tells the
/// readers how far it is.
void InflatedBytes::inflateStream() {
  constexpr uint64_t chunkBytes = 1 << 20;
  std::memcpy(data_, head_.data(), head_.size());
  uint64_t done = head_.size();
  Status status;
  while (status.ok() && done < sizeBytes_ && !stop_) {
    uint64_t produced = 0;
    status = inflateTo(data_ + done, std::min(chunkBytes, sizeBytes_ - done),
                       produced);
    done += produced;
    // The last bytes are held back until the checksum was verified, so that no
    // reader of the whole stream misses an error.
    if (done < sizeBytes_) {
      std::lock_guard lock(mutex_);
      available_.store(done, std::memory_order_release);
      grew_.notify_all();
    }
    if (produced == 0)
      break;
  }
  if (status.ok() && !stop_)
    status = checkEnd(done);
  if (status.ok() && !stop_)
    status = checkSource();
  if (status.ok())
    available_.store(done, std::memory_order_release);
  finishWith(std::move(status));
}

void InflatedBytes::inflateAll() {
  try {
    if (inflateAtOnce()) {
      Status same = checkSource();
      if (same.ok())
        available_.store(sizeBytes_, std::memory_order_release);
      finishWith(std::move(same));
    } else {
      inflateStream();
    }
  } catch (const std::bad_alloc &) {
    finishWith(
        Status(SINTER_OUT_OF_MEMORY, name_ + ": no memory to decompress it"));
  }
  stream_.reset();
}

void InflatedBytes::prefetch() {
  std::call_once(started_, [this] {
    if (head_.size() == sizeBytes_)
      return;
    try {
      thread_ = std::thread([this] { inflateAll(); });
    } catch (const std::system_error &) { // no thread available: do it here
      inflateAll();
    }
  });
}

Status InflatedBytes::read(uint64_t offsetBytes, std::span<uint8_t> out) {
  prefetch();
  uint64_t end = offsetBytes + out.size();
  if (failed_ || available_.load(std::memory_order_acquire) < end) {
    std::unique_lock lock(mutex_);
    grew_.wait(lock, [&] { return done_ || available_ >= end; });
    // A wrong checksum also invalidates the rows before the stream's end.
    if (!status_.ok())
      return status_;
    if (available_ < end)
      return damaged("was closed while it was read");
  }
  std::memcpy(out.data(), data_ + offsetBytes, out.size());
  return {};
}
