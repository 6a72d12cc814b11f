//===- File.h - whole-file reads and durable writes -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Used by checkpoints, exports and data readers. Every error message names the
// path and the reason ("PATH: No such file or directory"). Nothing here is for
// the hot path.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FILE_H
#define SINTER_RUNTIME_BASE_FILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

/// The bytes of the regular file `path`. Directories, FIFOs and devices are
/// refused, and so is a file of more than `maxBytes`.
Result<std::vector<uint8_t>> readFile(const std::string &path,
                                      uint64_t maxBytes = UINT64_MAX);

/// Size in bytes of the regular file `path`.
Result<uint64_t> fileSize(const std::string &path);

/// Writes `pieces` one after the other to a temporary file beside `path`, syncs
/// it, renames it over `path` and syncs the directory: afterwards `path` holds
/// either its old content or all of the new one, whatever happens meanwhile.
/// On failure nothing is left behind. A pipe or device is written in place; of
/// a symbolic link, the file that it leads to is replaced.
Status writeFileAtomic(const std::string &path,
                       std::span<const std::span<const uint8_t>> pieces);
Status writeFileAtomic(const std::string &path, std::span<const uint8_t> bytes);
Status writeFileAtomic(const std::string &path, const std::string &text);

/// Creates `path` and its missing parents. Each new directory is durable: its
/// parent is synced. SINTER_INVALID if `path` is not a directory.
Status makeDirectories(const std::string &path);

/// The sorted names of the regular files in `directory`.
Result<std::vector<std::string>> listFiles(const std::string &directory);

/// Makes renames and removals inside `path` durable.
Status fsyncDirectory(const std::string &path);

/// The folder part of `path`: "a/b" -> "a", "b" -> ".", "/b" -> "/".
std::string parentDirectory(const std::string &path);

/// "PATH: strerror(errnoValue)" as a Status; ENOMEM and ENOSPC are named too.
Status fileError(const std::string &path, int errnoValue);

/// A read-only mapping of a whole regular file; unmapped on destruction.
/// A file that is shortened while mapped faults when read: map only what this
/// process or its user owns.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data_, sizeBytes_}; }

private:
  const uint8_t *data_ = nullptr;
  uint64_t sizeBytes_ = 0;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FILE_H
