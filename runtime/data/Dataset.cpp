//===- Dataset.cpp - from a data SPEC to a dataset ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Dataset.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/data/Readers.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <sys/stat.h>

using namespace sinter::rt;

const Column *Dataset::find(const std::string &name) const {
  for (const Column &column : columns)
    if (column.name == name)
      return &column;
  return nullptr;
}

namespace {

bool isDirectory(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool exists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Status notYet(const std::string &kind) {
  return Status::invalid("--data: " + kind + " is not supported yet");
}

/// The file names that end in `extension`.
std::vector<std::string> withExtension(const std::vector<std::string> &names,
                                       const std::string &extension) {
  std::vector<std::string> found;
  std::copy_if(
      names.begin(), names.end(), std::back_inserter(found),
      [&](const std::string &name) { return name.ends_with(extension); });
  return found;
}

Status readDirectory(const std::string &directory, DataUse use,
                     const DataOptions &options, Dataset &dataset) {
  Result<std::vector<std::string>> listed = listFiles(directory);
  if (!listed.ok())
    return listed.status();
  const std::vector<std::string> &names = *listed;
  if (hasIdxFiles(names))
    return readIdx(directory, "", use, dataset);
  if (!withExtension(names, ".npy").empty())
    return readNpyDirectory(directory, dataset);
  for (const char *extension : {".npz", ".csv"}) {
    std::vector<std::string> found = withExtension(names, extension);
    if (found.size() > 1)
      return Status::invalid(directory + ": holds " +
                             std::to_string(found.size()) + " " + extension +
                             " files; name one of them, such as " + directory +
                             "/" + found.front());
    if (found.empty())
      continue;
    std::string path = directory + "/" + found.front();
    return extension == std::string(".npz") ? readNpz(path, dataset)
                                            : readCsv(path, options, dataset);
  }
  if (!withExtension(names, ".tfrecord").empty())
    return notYet("a directory of .tfrecord files");
  return Status::invalid(directory +
                         ": no data recognised in it (expected IDX files, .npy "
                         "files, one .npz or one .csv file)");
}

/// An IDX pair given as DIR/NAME.
Status readIdxPair(const std::string &path, DataUse use, Dataset &dataset) {
  size_t slash = path.find_last_of('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return readIdx(parentDirectory(path), name, use, dataset);
}

Status readPath(const std::string &path, DataUse use,
                const DataOptions &options, Dataset &dataset) {
  if (isDirectory(path))
    return readDirectory(path, use, options, dataset);
  if (!exists(path)) {
    // DIR/NAME of an IDX pair?
    Result<std::vector<std::string>> names = listFiles(parentDirectory(path));
    if (names.ok() && hasIdxFiles(*names))
      return readIdxPair(path, use, dataset);
    return Status::invalid(path + ": no such file or directory");
  }
  if (path.ends_with(".npz"))
    return readNpz(path, dataset);
  if (path.ends_with(".csv"))
    return readCsv(path, options, dataset);
  if (path.ends_with(".tfrecord"))
    return notYet("a .tfrecord file");
  return Status::invalid(path + ": not recognised by its name; say what it is "
                                "with npz:FILE or csv:FILE");
}

Status readSpec(const std::string &spec, DataUse use,
                const DataOptions &options, Dataset &dataset) {
  size_t colon = spec.find(':');
  std::string kind = colon == std::string::npos ? "" : spec.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (kind == "idx")
    return isDirectory(rest) ? readIdx(rest, "", use, dataset)
                             : readIdxPair(rest, use, dataset);
  if (kind == "npy")
    return readNpyDirectory(rest, dataset);
  if (kind == "npz")
    return readNpz(rest, dataset);
  if (kind == "csv")
    return readCsv(rest, options, dataset);
  if (kind == "tfrecord" || kind == "tokens" || kind == "images")
    return notYet(kind + ":");
  return readPath(spec, use, options, dataset);
}

} // namespace

Result<std::shared_ptr<const Dataset>>
sinter::rt::openDataset(const std::string &spec, DataUse use,
                        const DataOptions &options) {
  auto dataset = std::make_shared<Dataset>();
  dataset->spec = spec;
  if (spec.empty())
    return Status::invalid("--data: is empty");
  try {
    SINTER_RETURN_IF_ERROR(readSpec(spec, use, options, *dataset));
  } catch (const std::bad_alloc &) {
    return Status(SINTER_OUT_OF_MEMORY, spec + ": no memory to read it");
  }
  for (const Column &column : dataset->columns) {
    if (column.isScalar)
      return Status::invalid(column.origin +
                             ": is a scalar; an array of rows is needed");
    if (column.rows == 0)
      return Status::invalid(column.origin + ": holds no rows");
  }
  // What is in memory now must be what the fingerprint is of.
  for (const auto &file : dataset->files)
    if (Status same = file->checkUnchanged(); !same.ok())
      return same.systemError() != 0
                 ? same
                 : Status::failed(same.message() + " while it was opened");
  return std::shared_ptr<const Dataset>(dataset);
}

Result<std::shared_ptr<InputFile>>
sinter::rt::openDataFile(const std::string &path, Dataset &dataset) {
  Result<std::shared_ptr<InputFile>> file = InputFile::open(path);
  if (!file.ok())
    return file;
  SINTER_RETURN_IF_ERROR((*file)->remember());
  dataset.files.push_back(*file);
  return file;
}

DatasetFingerprint sinter::rt::fingerprint(const Dataset &dataset) {
  DatasetFingerprint result;
  Hasher64 hasher;
  for (const std::shared_ptr<InputFile> &file : dataset.files) {
    hasher.update(toHex(file->rememberedHash()));
    result.sizeBytes += file->sizeBytes();
    result.modifiedNs = std::max(result.modifiedNs, file->modifiedNs());
    result.isSampled |= file->isSampled();
  }
  result.contentHash = hasher.digest();
  return result;
}
