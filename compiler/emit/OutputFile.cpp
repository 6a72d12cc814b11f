//===- OutputFile.cpp - files written completely or not at all ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/OutputFile.h"

#include "compiler/base/Text.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

static std::string message(StringRef path, StringRef what) {
  return shown(path) + ": " + what.str();
}

static std::string message(StringRef path, std::error_code error) {
  return message(path, error.message());
}

// Creates the temporary file: beside `path`, so that it can be renamed to it,
// or in the folder for temporary files if `path` is not a regular file.
static std::error_code makeTemporary(StringRef path, bool direct, int &fd,
                                     llvm::SmallString<128> &temporary) {
  if (direct)
    return fs::createTemporaryFile("sinter", "out", fd, temporary);
  return fs::createUniqueFile(path + ".tmp-%%%%%%%%", fd, temporary);
}

static bool isSpecial(StringRef path) {
  fs::file_status status;
  return !fs::status(path, status) && fs::exists(status) &&
         !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string compiler::whyNotWritable(StringRef path,
                                     llvm::ArrayRef<std::string> inputs) {
  if (path == "-")
    return "";
  if (path.empty())
    return "no output file given";
  fs::file_status status;
  std::error_code error = fs::status(path, status);
  if (!error && fs::is_directory(status))
    return message(path, "is a directory");
  for (const std::string &input : inputs)
    if (!error && fs::is_regular_file(status) && fs::equivalent(path, input))
      return message(path, "would overwrite " +
                               (path == input ? "the input" : shown(input)) +
                               ", which is read");
  // The superuser may write every file; a read-only file is respected all the
  // same.
  if (!error &&
      (!(status.permissions() & fs::perms::all_write) || !fs::can_write(path)))
    return message(path, "is read-only");
  if (error && error != std::errc::no_such_file_or_directory)
    return message(path, error);
  StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (error && !fs::is_directory(folder))
    return message(path, "there is no folder " + shown(folder));
  if (error && !fs::can_write(folder))
    return message(path, "the folder is read-only");
  return "";
}

// Renames `temporary` to `path`, or copies it into the special file `path`.
static std::string moveInto(StringRef temporary, StringRef path, bool direct) {
  if (!direct) {
    std::error_code error = fs::rename(temporary, path);
    return error ? message(path, error) : "";
  }
  auto bytes = llvm::MemoryBuffer::getFile(temporary, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return message(temporary, bytes.getError());
  std::error_code error;
  llvm::raw_fd_ostream os(path, error, fs::CD_OpenExisting);
  if (error)
    return message(path, error);
  os << (*bytes)->getBuffer();
  os.close();
  if (!os.has_error())
    return "";
  error = os.error();
  os.clear_error();
  return message(path, error);
}

std::string
compiler::writeFile(StringRef path,
                    llvm::function_ref<void(llvm::raw_pwrite_stream &)> write) {
  if (path == "-") {
    write(llvm::outs());
    llvm::outs().flush();
    if (!llvm::outs().has_error())
      return "";
    std::error_code error = llvm::outs().error();
    llvm::outs().clear_error();
    return message("stdout", error);
  }
  bool direct = isSpecial(path);
  int fd = -1;
  llvm::SmallString<128> temporary;
  if (std::error_code error = makeTemporary(path, direct, fd, temporary))
    return message(path, error);
  llvm::sys::RemoveFileOnSignal(temporary);
  auto cleanUp = llvm::make_scope_exit([&] {
    fs::remove(temporary);
    llvm::sys::DontRemoveFileOnSignal(temporary);
  });
  llvm::raw_fd_ostream os(fd, /*shouldClose=*/true);
  write(os);
  os.close();
  if (os.has_error()) {
    std::error_code error = os.error();
    os.clear_error();
    return message(path, error);
  }
  unsigned mask = fs::getUmask();
  fs::setPermissions(temporary, static_cast<fs::perms>(0666 & ~mask));
  return moveInto(temporary, path, direct);
}

std::string
compiler::makeFile(StringRef path,
                   llvm::function_ref<std::string(StringRef)> make) {
  bool direct = isSpecial(path);
  int fd = -1;
  llvm::SmallString<128> temporary;
  if (std::error_code error = makeTemporary(path, direct, fd, temporary))
    return message(path, error);
  llvm::raw_fd_ostream(fd, /*shouldClose=*/true).close();
  llvm::sys::RemoveFileOnSignal(temporary);
  auto cleanUp = llvm::make_scope_exit([&] {
    fs::remove(temporary);
    llvm::sys::DontRemoveFileOnSignal(temporary);
  });
  std::string wrong = make(temporary);
  if (!wrong.empty())
    return wrong;
  unsigned mask = fs::getUmask();
  fs::setPermissions(temporary, static_cast<fs::perms>(0777 & ~mask));
  return moveInto(temporary, path, direct);
}
