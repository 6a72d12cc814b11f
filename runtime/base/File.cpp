//===- File.cpp - whole-file reads and durable writes ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::rt;

namespace {

/// Owns a file descriptor.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int get() const { return fd_; }
  /// Closes now; false with errno set when the kernel reports a late error.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

private:
  int fd_;
};

/// Opens `path` for reading if it is a regular file; `size` is set to its size.
/// O_NONBLOCK keeps the open of a FIFO without a writer from hanging.
Result<int> openRegular(const std::string &path, uint64_t &size) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fileError(path, errno);
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    int error = errno;
    ::close(fd);
    return fileError(path, error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Status::invalid(path + (S_ISDIR(info.st_mode)
                                       ? ": is a directory, not a file"
                                       : ": is not a regular file"));
  }
  size = static_cast<uint64_t>(info.st_size);
  return fd;
}

bool writeAll(int fd, std::span<const uint8_t> bytes) {
  // One write call transfers at most about 2 GiB.
  constexpr size_t maxChunkBytes = size_t(1) << 30;
  while (!bytes.empty()) {
    ssize_t count =
        ::write(fd, bytes.data(), std::min(bytes.size(), maxChunkBytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

} // namespace

Status sinter::rt::fileError(const std::string &path, int errnoValue) {
  sinter_status code = errnoValue == ENOMEM ? SINTER_OUT_OF_MEMORY
                       : errnoValue == ENOENT || errnoValue == EACCES ||
                               errnoValue == ENOTDIR || errnoValue == EISDIR
                           ? SINTER_INVALID
                           : SINTER_FAILED;
  char buffer[128];
  // GNU's strerror_r may or may not use the buffer; it always returns text.
  return Status::ofSystem(
      code, path + ": " + strerror_r(errnoValue, buffer, sizeof(buffer)),
      errnoValue);
}

std::string sinter::rt::parentDirectory(const std::string &path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::vector<uint8_t>> sinter::rt::readFile(const std::string &path,
                                                  uint64_t maxBytes) {
  uint64_t size = 0;
  Result<int> fd = openRegular(path, size);
  if (!fd.ok())
    return fd.status();
  Descriptor file(*fd);
  if (size > maxBytes)
    return Status::invalid(path + ": has " + std::to_string(size) +
                           " bytes, at most " + std::to_string(maxBytes) +
                           " are accepted");
  std::vector<uint8_t> bytes(size);
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = ::read(file.get(), bytes.data() + done,
                           std::min<size_t>(bytes.size() - done, 1u << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(path, errno);
    if (count == 0)
      return Status::invalid(path + ": became shorter while it was read");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

Result<uint64_t> sinter::rt::fileSize(const std::string &path) {
  uint64_t size = 0;
  Result<int> fd = openRegular(path, size);
  if (!fd.ok())
    return fd.status();
  Descriptor file(*fd);
  return size;
}

/// Where `path` leads through symbolic links; `path` itself if it is none.
static std::string linkTarget(const std::string &path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode))
    return path;
  std::unique_ptr<char, decltype(&std::free)> target(
      ::realpath(path.c_str(), nullptr), &std::free);
  return target ? target.get() : path;
}

/// Whether `path` exists and is a pipe, a device or a socket.
static bool isSpecialFile(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
         !S_ISDIR(status.st_mode);
}

/// Writes into `path` itself: a rename would replace a device like /dev/null
/// with a regular file.
static Status writeInPlace(const std::string &path,
                           std::span<const std::span<const uint8_t>> pieces) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return fileError(path, errno);
  Descriptor file(fd);
  bool good = std::all_of(pieces.begin(), pieces.end(),
                          [&](auto piece) { return writeAll(fd, piece); });
  good = good && file.close();
  return good ? Status() : fileError(path, errno);
}

/// Gives the file `fd`, which has no name yet, the name `path`. False with
/// errno set if that cannot be done here.
static bool nameFile(int fd, const std::string &path) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
}

/// Writes a new file with the name `path`. Until it is whole it has no name,
/// where the file system has such files: a process that is killed leaves
/// nothing. False with errno set and without a file after a failure.
static bool writeNewFile(const std::string &path,
                         std::span<const std::span<const uint8_t>> pieces) {
  auto writeTo = [&](int fd) {
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](auto piece) { return writeAll(fd, piece); }) &&
           ::fsync(fd) == 0;
  };
  const int nameless = ::open(parentDirectory(path).c_str(),
                              O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (nameless >= 0) {
    Descriptor file(nameless);
    if (!writeTo(nameless))
      return false;
    if (nameFile(nameless, path))
      return true;
    // There is no /proc, or the file system gives such files no name.
  }
  const int named =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (named < 0)
    return false;
  Descriptor file(named);
  if (writeTo(named) && file.close())
    return true;
  const int error = errno;
  ::unlink(path.c_str());
  errno = error;
  return false;
}

Status
sinter::rt::writeFileAtomic(const std::string &link,
                            std::span<const std::span<const uint8_t>> pieces) {
  if (isSpecialFile(link))
    return writeInPlace(link, pieces);
  const std::string path = linkTarget(link);
  // Unique among the threads of this process and, by the pid, among processes;
  // by the time also among those of containers, whose pids are equal.
  static std::atomic<uint64_t> counter{0};
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::string temporary = path + ".tmp." + std::to_string(::getpid()) + "." +
                          std::to_string(counter.fetch_add(1)) + "." +
                          std::to_string(now.tv_sec) + "." +
                          std::to_string(now.tv_nsec);
  if (!writeNewFile(temporary, pieces))
    return fileError(path, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    int error = errno;
    ::unlink(temporary.c_str());
    return fileError(path, error);
  }
  return fsyncDirectory(parentDirectory(path));
}

Status sinter::rt::writeFileAtomic(const std::string &path,
                                   std::span<const uint8_t> bytes) {
  return writeFileAtomic(path, std::span(&bytes, 1));
}

Status sinter::rt::writeFileAtomic(const std::string &path,
                                   const std::string &text) {
  return writeFileAtomic(
      path,
      std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

Status sinter::rt::makeDirectories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) == 0) {
      SINTER_RETURN_IF_ERROR(fsyncDirectory(parentDirectory(part)));
    } else if (end == std::string::npos && errno != EEXIST) {
      return fileError(path, errno);
    }
    if (end == std::string::npos)
      break;
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return fileError(path, errno);
  if (!S_ISDIR(info.st_mode))
    return Status::invalid(path + ": is not a directory");
  return {};
}

Result<std::vector<std::string>>
sinter::rt::listFiles(const std::string &directory) {
  DIR *handle = ::opendir(directory.c_str());
  if (!handle)
    return fileError(directory, errno);
  std::vector<std::string> names;
  while (const dirent *entry = ::readdir(handle)) {
    struct stat info;
    std::string path = directory + "/" + entry->d_name;
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
      names.push_back(entry->d_name);
  }
  ::closedir(handle);
  std::sort(names.begin(), names.end());
  return names;
}

Status sinter::rt::fsyncDirectory(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fileError(path, errno);
  Descriptor directory(fd);
  // Some file systems cannot sync a directory and return EINVAL: ignore it.
  if (::fsync(fd) != 0 && errno != EINVAL)
    return fileError(path, errno);
  return {};
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  uint64_t size = 0;
  Result<int> fd = openRegular(path, size);
  if (!fd.ok())
    return fd.status();
  Descriptor file(*fd);
  MappedFile mapped;
  if (size == 0) // mmap refuses an empty range
    return mapped;
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED)
    return fileError(path, errno);
  mapped.data_ = static_cast<const uint8_t *>(address);
  mapped.sizeBytes_ = size;
  return mapped;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      sizeBytes_(std::exchange(other.sizeBytes_, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(sizeBytes_, other.sizeBytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(const_cast<uint8_t *>(data_), sizeBytes_);
}
