//===- SharedPool.cpp - one thread pool for all copies of the runtime -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each inference library contains a copy of the runtime and exports none of its
// symbols, so copies in one process cannot find each other by symbols. Each
// copy therefore has an ELF note that says where its pool slot is; all of them
// use the slot of the copy that was loaded first. The note's type is the
// version of ThreadPool's layout: change it whenever that class changes.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ThreadPool.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

using namespace sinter::rt;

/// Holds a ThreadPool once there is one. Null in all copies but the first.
extern "C" {
__attribute__((visibility("hidden"), used)) std::atomic<void *> sinterPoolSlot{
    nullptr};
}

// The note's content is the distance from itself to the slot.
__asm__(R"(
  .pushsection .note.sinter,"a",@note
  .balign 4
  .long 7
  .long 8
  .long 3
  .asciz "Sinter"
  .balign 4
  .quad sinterPoolSlot - .
  .popsection
)");

namespace {

constexpr uint32_t poolLayoutVersion = 3;
constexpr char noteName[] = "Sinter";

struct FoundSlot {
  std::atomic<void *> *slot = nullptr;
  std::string library; // empty: the program itself
};

uint64_t align4(uint64_t size) { return (size + 3) & ~uint64_t(3); }

/// The slot that the notes in [at, end) lead to, or null.
std::atomic<void *> *findInNotes(const char *at, const char *end) {
  while (end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, at, sizeof(header));
    const char *name = at + sizeof(header);
    uint64_t nameBytes = align4(header.n_namesz);
    uint64_t contentBytes = align4(header.n_descsz);
    if (static_cast<uint64_t>(end - name) < nameBytes + contentBytes)
      return nullptr;
    const char *content = name + nameBytes;
    if (header.n_type == poolLayoutVersion &&
        header.n_namesz == sizeof(noteName) && header.n_descsz == 8 &&
        std::memcmp(name, noteName, sizeof(noteName)) == 0) {
      int64_t distance;
      std::memcpy(&distance, content, sizeof(distance));
      return reinterpret_cast<std::atomic<void *> *>(
          reinterpret_cast<intptr_t>(content) + distance);
    }
    at = content + contentBytes;
  }
  return nullptr;
}

/// Called by dl_iterate_phdr, which visits objects in the order in which they
/// were loaded; stops at the first one with a slot.
int visitObject(dl_phdr_info *info, size_t, void *result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const char *begin =
        reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr);
    if (std::atomic<void *> *slot =
            findInNotes(begin, begin + segment.p_memsz)) {
      auto *found = static_cast<FoundSlot *>(result);
      found->slot = slot;
      found->library = info->dlpi_name ? info->dlpi_name : "";
      return 1;
    }
  }
  return 0;
}

ThreadPool *findOrMake() {
  FoundSlot found;
  dl_iterate_phdr(visitObject, &found);
  if (!found.slot) // an object without program headers: code that was injected
    found.slot = &sinterPoolSlot;
  // The slot must outlive its library's last dlclose.
  if (!found.library.empty())
    (void)dlopen(found.library.c_str(),
                 RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (void *pool = found.slot->load())
    return static_cast<ThreadPool *>(pool);
  auto *mine = new ThreadPool;
  void *expected = nullptr;
  if (found.slot->compare_exchange_strong(expected, mine))
    return mine;
  delete mine; // another copy of the runtime was faster
  return static_cast<ThreadPool *>(expected);
}

} // namespace

ThreadPool &ThreadPool::shared() {
  // Never destroyed: its workers outlive main, and the order in which libraries
  // are torn down is unknown.
  static ThreadPool *pool = findOrMake();
  return *pool;
}
