//===- UserCache.cpp - the user's folder for caches -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/UserCache.h"
#include "runtime/base/File.h"

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>

using namespace sinter::rt;

std::string sinter::rt::userCacheFolder(const std::string &name) {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/')
    return std::string(cache) + "/sinter/" + name;
  const char *home = std::getenv("HOME");
  if (home && home[0] == '/')
    return std::string(home) + "/.cache/sinter/" + name;
  return {};
}

static bool isFolder(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status sinter::rt::makeUserFolder(const std::string &path) {
  if (isFolder(path))
    return {};
  const std::string above = parentDirectory(path);
  if (above != path)
    SINTER_RETURN_IF_ERROR(makeUserFolder(above));
  if (::mkdir(path.c_str(), 0700) == 0 || isFolder(path))
    return {};
  return fileError(path, errno == EEXIST ? ENOTDIR : errno);
}
