//===- Process.cpp - fatal errors and memory of a tool --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Process.h"

#include "compiler/ExitCode.h"

#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::compiler;

static const char *toolName = "sinter";
// The message for lack of memory; null: without a MemoryLimit.
static std::atomic<const char *> limitReason{nullptr};

// Must not allocate.
[[noreturn]] static void end(const char *message, int code) {
  for (const char *text : {toolName, ": error: ", message, "\n"})
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
      break;
  _exit(code);
}

static void outOfMemory() {
  const char *reason = limitReason.load();
  end(reason ? reason : "out of memory", reason ? kExitUsage : kExitMemory);
}

static void outOfMemory(void *, const char *, bool) { outOfMemory(); }

static void fatalError(void *, const char *reason, bool) {
  end(reason, kExitFailed);
}

// The compiler throws nothing; the C++ library throws for impossible sizes.
static void terminated() {
  const char *reason = limitReason.load();
  end(reason ? reason : "internal error", reason ? kExitUsage : kExitFailed);
}

void compiler::prepareProcess(const char *tool) {
  toolName = tool;
  // Writes then fail with an error.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(outOfMemory);
  std::set_terminate(terminated);
  llvm::install_bad_alloc_error_handler(outOfMemory);
  llvm::install_fatal_error_handler(fatalError);
}

// Address space in use, in bytes; 0 if that is unknown.
static uint64_t usedBytes() {
  unsigned long long pages = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "re");
  if (!file)
    return 0;
  if (std::fscanf(file, "%llu", &pages) != 1)
    pages = 0;
  std::fclose(file);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

MemoryLimit::MemoryLimit(uint64_t bytes, std::string why)
    : why_(std::move(why)) {
  rlimit limit;
  uint64_t used = usedBytes();
  if (!used || getrlimit(RLIMIT_AS, &limit) != 0 ||
      limit.rlim_cur <= used + bytes)
    return;
  before_ = limit.rlim_cur;
  limit.rlim_cur = used + bytes;
  isSet_ = setrlimit(RLIMIT_AS, &limit) == 0;
  if (isSet_)
    limitReason = why_.c_str();
}

MemoryLimit::~MemoryLimit() {
  if (!isSet_)
    return;
  limitReason = nullptr;
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0)
    return;
  limit.rlim_cur = before_;
  setrlimit(RLIMIT_AS, &limit);
}
