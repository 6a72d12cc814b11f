//===- PlanCache.cpp - stored choices for library calls -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/PlanCache.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/UserCache.h"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

constexpr const char *firstLine = "sinter plan 1\n";
/// Plans have at most a few hundred kB.
constexpr uint64_t maxFileBytes = uint64_t(64) << 20;

/// "hash size\n" of a value.
std::string sealOf(const std::string &value) {
  return toHex(hash64(value)) + " " + std::to_string(value.size()) + "\n";
}

std::string headOf(const std::string &key) { return firstLine + key + "\n"; }

/// A name next to `path` that no other process or thread uses.
std::string nameBeside(const std::string &path) {
  static std::atomic<unsigned> count{0};
  return path + "." + std::to_string(::getpid()) + "." +
         std::to_string(count++) + ".new";
}

} // namespace

PlanCache::PlanCache(std::string folder, std::string device, Note note)
    : folder_(std::move(folder)), device_(std::move(device)),
      note_(std::move(note)) {}

std::string PlanCache::userFolder() { return userCacheFolder("plans"); }

void PlanCache::tell(const std::string &reason) {
  if (note_)
    note_("choices of CUDA's libraries are not stored (" + reason +
          "): each run uses the first choice of their heuristics");
  note_ = nullptr;
}

bool PlanCache::isWritable() {
  if (isWritable_)
    return *isWritable_;
  isWritable_ = false;
  if (folder_.empty()) {
    tell("neither XDG_CACHE_HOME nor HOME names a folder");
    return false;
  }
  Status made = makeUserFolder(folder_);
  // Root may write anywhere, except on read-only file systems.
  if (made.ok() && ::access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    made = fileError(folder_, errno);
  if (!made.ok())
    tell(made.message());
  isWritable_ = made.ok();
  return made.ok();
}

std::string PlanCache::keyOf(const std::string &problem) const {
  std::string key = device_ + "; " + problem;
  for (char &c : key)
    if (c == '\n')
      c = ' ';
  return key;
}

std::string PlanCache::pathOf(const std::string &key) const {
  return folder_ + "/" + toHex(hash64(key)) + ".plan";
}

std::optional<std::string> PlanCache::load(const std::string &key,
                                           bool &isDamaged) {
  isDamaged = false;
  const std::string path = pathOf(key), head = headOf(key);
  if (::access(path.c_str(), F_OK) != 0)
    return std::nullopt;
  Result<std::vector<uint8_t>> bytes = readFile(path, maxFileBytes);
  if (!bytes.ok()) {
    isDamaged = true;
    return std::nullopt;
  }
  const std::string text(bytes->begin(), bytes->end());
  const size_t sealEnd =
      text.starts_with(head) ? text.find('\n', head.size()) : std::string::npos;
  if (sealEnd != std::string::npos) {
    std::string value = text.substr(sealEnd + 1);
    if (text.compare(head.size(), sealEnd + 1 - head.size(), sealOf(value)) ==
        0)
      return value;
  }
  isDamaged = true;
  return std::nullopt;
}

/// Two processes may find the same damage, and one may have stored a good file
/// by the time the other gets here. So the damaged file is locked, and only
/// that file is removed.
void PlanCache::removeDamaged(const std::string &key) {
  const std::string path = pathOf(key);
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return;
  struct stat opened, there;
  bool isDamaged = false;
  if (::flock(file, LOCK_EX) == 0 && !load(key, isDamaged) && isDamaged &&
      ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
      opened.st_dev == there.st_dev && opened.st_ino == there.st_ino)
    ::unlink(path.c_str());
  ::close(file);
}

std::optional<std::string> PlanCache::find(const std::string &problem) {
  const std::string key = keyOf(problem);
  if (auto known = known_.find(key); known != known_.end())
    return known->second;
  if (folder_.empty())
    return std::nullopt;
  bool isDamaged = false;
  std::optional<std::string> value = load(key, isDamaged);
  if (value)
    known_.emplace(key, *value);
  return value;
}

/// Writes `content` atomically unless the file exists; false if it exists.
Result<bool> PlanCache::publish(const std::string &path,
                                const std::string &content) {
  const std::string fresh = nameBeside(path);
  if (Status written = writeFileAtomic(fresh, content); !written.ok())
    return written;
  int error = ::link(fresh.c_str(), path.c_str()) == 0 ? 0 : errno;
  // On a file system without links, the last writer wins.
  if ((error == EPERM || error == EOPNOTSUPP || error == ENOSYS) &&
      ::access(path.c_str(), F_OK) != 0)
    error = ::rename(fresh.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(fresh.c_str());
  if (error != 0 && error != EEXIST)
    return fileError(path, error);
  return error == 0;
}

std::optional<std::string> PlanCache::store(const std::string &problem,
                                            std::string value) {
  if (!isWritable())
    return std::nullopt;
  const std::string key = keyOf(problem), path = pathOf(key);
  const std::string content = headOf(key) + sealOf(value) + value;
  // A damaged file needs a second try; damage by others, a few more.
  for (int tries = 0; tries < 5; ++tries) {
    Result<bool> published = publish(path, content);
    if (!published.ok()) {
      isWritable_ = false;
      tell(published.status().message());
      return std::nullopt;
    }
    if (*published)
      return known_[key] = std::move(value);
    bool isDamaged = false;
    if (std::optional<std::string> other = load(key, isDamaged))
      return known_[key] = std::move(*other);
    removeDamaged(key);
  }
  isWritable_ = false;
  tell(path + ": cannot be replaced");
  return std::nullopt;
}

void PlanCache::discard(const std::string &problem) {
  const std::string key = keyOf(problem);
  known_.erase(key);
  ::unlink(pathOf(key).c_str());
}

int sinter::cuda::fastest(std::span<const double> leastUs) {
  constexpr double noise = 1.02;
  double best = *std::min_element(leastUs.begin(), leastUs.end());
  auto first = std::find_if(leastUs.begin(), leastUs.end(),
                            [&](double us) { return us <= best * noise; });
  return static_cast<int>(first - leastUs.begin());
}
