//===- UserCache.h - the user's folder for caches ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a cache holds can be computed again. So no program fails because the
// folder is missing, full or read-only.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_USERCACHE_H
#define SINTER_RUNTIME_BASE_USERCACHE_H

#include "runtime/base/Status.h"

#include <string>

namespace sinter::rt {

/// "$XDG_CACHE_HOME/sinter/NAME", by default below ~/.cache; empty without a
/// home folder. Relative values of the variable are ignored, as its
/// specification demands. The folder may not exist.
std::string userCacheFolder(const std::string &name);

/// Makes the folder and those above it, accessible only to the user. Existing
/// folders stay as they are.
Status makeUserFolder(const std::string &path);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_USERCACHE_H
