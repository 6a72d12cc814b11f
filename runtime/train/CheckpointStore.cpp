//===- CheckpointStore.cpp - writing checkpoints --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/OutOfMemory.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace sinter::rt;

namespace {

const char leftoverPrefix[] = ".tmp-";
const char lockName[] = ".lock";

Result<std::vector<std::string>> listNames(const std::string &directory) {
  const std::unique_ptr<DIR, int (*)(DIR *)> handle(
      ::opendir(directory.c_str()), ::closedir);
  if (!handle)
    return fileError(directory, errno);
  std::vector<std::string> names;
  while (const dirent *entry = ::readdir(handle.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(std::move(name));
  }
  return names;
}

/// Removes a checkpoint directory: its files and itself, nothing deeper. The
/// manifest goes first, so that an interrupted removal leaves no checkpoint.
Status removeCheckpoint(const std::string &path) {
  ::unlink((path + "/manifest.json").c_str());
  Result<std::vector<std::string>> names = listNames(path);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names)
    ::unlink((path + "/" + name).c_str());
  if (::rmdir(path.c_str()) != 0)
    return fileError(path, errno);
  return {};
}

/// The same for what may remain because another try follows.
void tryToRemove(const std::string &path) {
  (void)orOutOfMemory([&] { return removeCheckpoint(path); }).ok();
}

std::string onThisHost() {
  char name[256] = {};
  (void)::gethostname(name, sizeof(name) - 1);
  return std::string(" on ") + name;
}

/// Takes the lock and writes the holder to the file, for the error message of
/// the next process.
Status takeLock(const std::string &directory, int &fd) {
  std::string path = directory + "/" + lockName;
  fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    return fileError(path, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      std::fprintf(stderr,
                   "warning: %s: no lock on this file system: nothing keeps "
                   "another run from using it too\n",
                   directory.c_str());
      return {};
    }
    char holder[320] = {};
    ssize_t count = ::pread(fd, holder, sizeof(holder) - 1, 0);
    ::close(fd);
    fd = -1;
    std::string text(holder, count > 0 ? static_cast<size_t>(count) : 0);
    if (const std::string here = onThisHost(); text.ends_with(here))
      text.resize(text.size() - here.size());
    return Status::failed(directory + ": another run is using it" +
                          (text.empty() ? "" : " (" + text + ")"));
  }
  std::string text = "process " + std::to_string(::getpid()) + onThisHost();
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0)
    return {}; // a full disk: the lock itself is held
  return {};
}

/// Whether `path` is the file or directory that `fd` holds open.
bool isFileOf(const std::string &path, int fd) {
  struct stat held, named;
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// Gives the finished directory its name. A rename does not replace a directory
/// with files in it, so an existing one of that name is exchanged with it.
bool publish(const std::string &temporary, const std::string &path) {
  if (::rename(temporary.c_str(), path.c_str()) == 0)
    return true;
  return (errno == ENOTEMPTY || errno == EEXIST) &&
         ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(),
                     RENAME_EXCHANGE) == 0;
}

} // namespace

Result<std::unique_ptr<CheckpointStore>>
CheckpointStore::open(const std::string &directory, bool mayContain,
                      int32_t keep) {
  std::unique_ptr<CheckpointStore> store(new CheckpointStore);
  store->directory_ = directory;
  while (store->directory_.size() > 1 && store->directory_.back() == '/')
    store->directory_.pop_back();
  store->keep_ = keep;
  SINTER_RETURN_IF_ERROR(makeDirectories(store->directory_));
  // Before the lock file is made: a directory that is not ours stays untouched.
  Result<std::vector<std::string>> names = listNames(store->directory_);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names)
    if (!mayContain && name != lockName && !name.starts_with(leftoverPrefix))
      return Status::invalid(
          directory + ": is not empty (it has \"" + name +
          "\"); continue with --resume or name another --out");
  SINTER_RETURN_IF_ERROR(store->takeDirectory());
  SINTER_RETURN_IF_ERROR(store->removeLeftovers());
  store->removeIncomplete();
  return store;
}

std::string CheckpointStore::temporaryName(const std::string &directory,
                                           const std::string &name) {
  return directory + "/" + leftoverPrefix + name;
}

CheckpointStore::~CheckpointStore() {
  for (int fd : {lockFd_, directoryFd_}) // releases the lock
    if (fd >= 0)
      ::close(fd);
}

Status CheckpointStore::removeLeftovers() {
  Result<std::vector<std::string>> names = listNames(directory_);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names)
    if (name.starts_with(leftoverPrefix) &&
        ::unlink((directory_ + "/" + name).c_str()) != 0)
      SINTER_RETURN_IF_ERROR(removeCheckpoint(directory_ + "/" + name));
  return {};
}

/// Whether a checkpoint has its tensors in a file of this name.
static bool isPayload(const std::string &name) {
  return name == payloadName ||
         (name.starts_with("state-") && name.ends_with(".safetensors"));
}

/// Removes what interrupted removals have left of checkpoints that are older
/// than a complete one, unless there is more than a payload in it.
void CheckpointStore::removeIncomplete() {
  Result<std::vector<int64_t>> steps = listCheckpoints(directory_);
  bool isOlder = false;
  for (int64_t step : steps.ok() ? *steps : std::vector<int64_t>()) {
    const std::string path = checkpointPath(directory_, step);
    if (!isIncomplete(path)) {
      isOlder = true;
      continue;
    }
    Result<std::vector<std::string>> names = listNames(path);
    if (isOlder && names.ok() && std::ranges::all_of(*names, isPayload) &&
        removeCheckpoint(path).ok())
      std::fprintf(stderr,
                   "note: %s: removed the rest of this checkpoint, whose "
                   "removal had been interrupted\n",
                   path.c_str());
  }
}

Status CheckpointStore::takeDirectory() {
  int lock = -1;
  SINTER_RETURN_IF_ERROR(takeLock(directory_, lock));
  for (int fd : {lockFd_, directoryFd_})
    if (fd >= 0)
      ::close(fd);
  lockFd_ = lock;
  directoryFd_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return directoryFd_ >= 0 ? Status() : fileError(directory_, errno);
}

/// A directory or lock file that was removed during the run is made again. A
/// directory that another run has taken, or that has other files, is refused.
Status CheckpointStore::makeAgain() {
  const std::string lock = directory_ + "/" + lockName;
  const bool isThere = ::access(directory_.c_str(), F_OK) == 0;
  if (!isThere && errno != ENOENT)
    return {}; // the save says why it fails
  const bool isSame = isThere && isFileOf(directory_, directoryFd_);
  if (isSame && isFileOf(lock, lockFd_))
    return {};
  // The other run may have ended since.
  if (isThere && ::access(lock.c_str(), F_OK) == 0)
    return Status::failed(directory_ + ": another run has taken it");
  if (isThere && !isSame) {
    Result<std::vector<std::string>> names = listNames(directory_);
    if (!names.ok())
      return names.status();
    if (!names->empty())
      return Status::failed(directory_ + ": was replaced during the run by a "
                                         "directory with other files");
  }
  struct stat before = {}, after = {};
  (void)::fstat(directoryFd_, &before);
  SINTER_RETURN_IF_ERROR(makeDirectories(directory_));
  SINTER_RETURN_IF_ERROR(takeDirectory());
  (void)::fstat(directoryFd_, &after);
  std::fprintf(
      stderr,
      isSame ? "warning: %s: its lock file was removed during the run; it was "
               "created again\n"
      : before.st_dev != after.st_dev
          ? "warning: %s: is on another file system now, as after an unmount; "
            "checkpoints go there from now on, without the older ones\n"
          : "warning: %s: was removed or renamed during the run; it was "
            "created again, without the older checkpoints\n",
      directory_.c_str());
  return {};
}

Result<Manifest::PartFile>
sinter::rt::writePartFile(const std::string &directory, const std::string &name,
                          const StateTable &table) {
  Result<std::vector<StateTable::Part>> parts = table.parts();
  if (!parts.ok())
    return parts.status();
  Manifest::PartFile file;
  file.name = name;
  std::vector<NamedTensor> tensors;
  for (const StateTable::Part &part : *parts) {
    const auto dtype =
        static_cast<sinter_dtype>(table.desc(part.index).tensor.dtype);
    const std::span<const int64_t> dims = table.dims(part.index);
    tensors.push_back({table.name(part.index), dtype, part.dims, part.bytes});
    file.parts.push_back({table.name(part.index),
                          {dims.begin(), dims.end()},
                          part.firstElement,
                          static_cast<uint64_t>(part.dims.front()),
                          hash64(part.bytes)});
  }
  const std::string path = directory + "/" + name;
  SINTER_RETURN_IF_ERROR(writeSafetensors(path, tensors));
  Result<uint64_t> bytes = fileSize(path);
  if (!bytes.ok())
    return bytes.status();
  file.bytes = *bytes;
  return file;
}

/// All processes write; what they have written must be here, too.
static Status addParts(const std::string &directory,
                       const WriteParts &writeParts, Manifest &manifest) {
  Result<std::vector<Manifest::PartFile>> files = writeParts(directory);
  if (!files.ok())
    return files.status();
  for (const Manifest::PartFile &file : *files) {
    Result<uint64_t> bytes = fileSize(directory + "/" + file.name);
    if (!bytes.ok() || *bytes != file.bytes)
      return Status::failed(
          directory + ": has no " + file.name +
          " as another process has written it: --out must be one directory "
          "that all processes share");
  }
  manifest.partFiles = std::move(*files);
  return {};
}

Status CheckpointStore::write(const std::string &temporary, Manifest &manifest,
                              const StateTable &table, sinter_program *program,
                              const WriteParts &writeParts) {
  if (::mkdir(temporary.c_str(), 0777) != 0)
    return fileError(temporary, errno);
  Result<StateTable::Snapshot> snapshot = table.snapshot(program);
  if (!snapshot.ok())
    return snapshot.status();
  const std::vector<NamedTensor> &tensors = snapshot->tensors;
  std::string payload = temporary + "/" + payloadName;
  SINTER_RETURN_IF_ERROR(writeSafetensors(payload, tensors));
  Result<uint64_t> payloadBytes = fileSize(payload);
  if (!payloadBytes.ok())
    return payloadBytes.status();
  manifest.payloadBytes = *payloadBytes;
  manifest.stateTableHash = table.hash();
  manifest.tensors.clear();
  for (const NamedTensor &tensor : tensors)
    manifest.tensors.push_back({tensor.name, hash64(tensor.bytes)});
  if (writeParts)
    SINTER_RETURN_IF_ERROR(addParts(temporary, writeParts, manifest));
  // This also syncs the directory, with all names in it.
  return writeFileAtomic(temporary + "/manifest.json", manifestText(manifest));
}

/// save() without pruning; allocations may fail before and after the write.
Status CheckpointStore::writeAndPublish(Manifest &manifest,
                                        const StateTable &table,
                                        sinter_program *program,
                                        const WriteParts &writeParts) {
  SINTER_RETURN_IF_ERROR(makeAgain());
  std::string path = checkpointPath(directory_, manifest.step);
  std::string name = path.substr(directory_.size() + 1);
  std::string temporary = temporaryName(directory_, name);
  // What a failed save could not remove is in the way of the next one.
  tryToRemove(temporary);
  Status status = orOutOfMemory(
      [&] { return write(temporary, manifest, table, program, writeParts); });
  if (status.ok() && !publish(temporary, path))
    status = fileError(path, errno);
  if (status.ok())
    status = fsyncDirectory(directory_);
  // After an exchange this is the replaced checkpoint; after a plain rename it
  // is gone. What cannot be removed now is removed by the next run.
  tryToRemove(temporary);
  return status;
}

Status CheckpointStore::save(Manifest manifest, const StateTable &table,
                             sinter_program *program,
                             const WriteParts &writeParts) {
  Status status = orOutOfMemory(
      [&] { return writeAndPublish(manifest, table, program, writeParts); });
  if (!status.ok())
    return notSaved(manifest.step, status);
  // What cannot be removed now is tried again after the next save.
  (void)orOutOfMemory([&] {
    prune();
    return Status();
  }).ok();
  return {};
}

Status CheckpointStore::notSaved(int64_t step, const Status &why) {
  return Status(why.code() == SINTER_DEVICE_FAILED ? SINTER_DEVICE_FAILED
                                                   : SINTER_FAILED,
                "checkpoint of step " + std::to_string(step) +
                    " not saved: " + why.message());
}

void CheckpointStore::prune() {
  Result<std::vector<int64_t>> steps = listCheckpoints(directory_);
  if (!steps.ok() || keep_ <= 0)
    return;
  for (size_t i = static_cast<size_t>(keep_); i < steps->size(); ++i) {
    const std::string path = checkpointPath(directory_, (*steps)[i]);
    // Without its name first, so that an interruption leaves no part of a
    // checkpoint under the name of a whole one.
    const std::string unnamed =
        directory_ + "/" + leftoverPrefix + path.substr(directory_.size() + 1);
    tryToRemove(::rename(path.c_str(), unnamed.c_str()) == 0 ? unnamed : path);
  }
}

std::vector<std::string> CheckpointStore::setAsideNewer(int64_t step) {
  std::vector<std::string> lines;
  Result<std::vector<int64_t>> steps = listCheckpoints(directory_);
  if (!steps.ok())
    return lines;
  for (int64_t newer : *steps) {
    if (newer <= step)
      continue;
    const std::string path = checkpointPath(directory_, newer);
    const std::string first =
        directory_ + (isIncomplete(path) ? "/incomplete-" : "/damaged-") +
        path.substr(directory_.size() + 1);
    std::string aside = first;
    for (int number = 2; ::access(aside.c_str(), F_OK) == 0; ++number)
      aside = first + "-" + std::to_string(number);
    lines.push_back(::rename(path.c_str(), aside.c_str()) == 0
                        ? "note: " + path + " is now " + aside
                        : "warning: " + path + " cannot be renamed: " +
                              fileError(aside, errno).message());
  }
  return lines;
}
