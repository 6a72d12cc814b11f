//===- OutputFile.cpp - files that a command may replace ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/OutputFile.h"

#include "runtime/base/File.h"
#include "runtime/train/TensorFile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sys/stat.h>

using namespace sinter::rt;

InputFiles::InputFiles() { add("this program", "/proc/self/exe"); }

void InputFiles::add(const std::string &what, const std::string &path) {
  struct stat info;
  if (path.empty() || ::stat(path.c_str(), &info) != 0)
    return;
  if (S_ISREG(info.st_mode))
    files_.push_back({info.st_dev, info.st_ino, what});
  if (!S_ISDIR(info.st_mode))
    return;
  Result<std::vector<std::string>> names = listFiles(path);
  if (!names.ok())
    return;
  for (const std::string &name : *names)
    if (::stat((path + "/" + name).c_str(), &info) == 0)
      files_.push_back({info.st_dev, info.st_ino, what});
}

void InputFiles::addWeights(const std::string &what, const std::string &path) {
  Result<std::optional<std::string>> checkpoint = checkpointAt(path);
  add(what, checkpoint.ok() && *checkpoint ? **checkpoint : path);
}

std::string InputFiles::find(const std::string &path) const {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return "";
  for (const File &file : files_)
    if (file.device == info.st_dev && file.inode == info.st_ino)
      return file.what;
  return "";
}

/// The first bytes of a regular file; "" if it is empty, of another kind, or
/// cannot be read.
static std::string beginningOf(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return "";
  std::FILE *file = std::fopen(path.c_str(), "rbe");
  if (!file)
    return "";
  std::array<char, 64> bytes;
  const size_t count = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return std::string(bytes.data(), count);
}

Status sinter::rt::checkOutput(const std::string &option,
                               const std::string &path,
                               const InputFiles &inputs,
                               const OutputKind *kind) {
  const std::string self =
      option + (option.size() == 2 ? " " : "=") + path + ": ";
  if (const std::string what = inputs.find(path); !what.empty())
    return Status::invalid(self + "would replace " + what +
                           "; name another file");
  const std::string text = beginningOf(path);
  if (!kind || text.empty() ||
      std::any_of(kind->beginnings.begin(), kind->beginnings.end(),
                  [&](std::string_view known) {
                    return std::string_view(text).starts_with(known);
                  }))
    return {};
  return Status::invalid(self + "exists and is not " + kind->name +
                         "; remove it or name another file");
}
