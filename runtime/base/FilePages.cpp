//===- FilePages.cpp - pages of the files of a process --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/FilePages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sinter;

namespace {
struct Range {
  uintptr_t begin, end;
  bool isReadOnlyFile = false;
};
} // namespace

/// Of dl_iterate_phdr: looks for a read-only segment around the range.
static int findSegment(dl_phdr_info *object, size_t, void *given) {
  auto &range = *static_cast<Range *>(given);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && begin <= range.begin &&
        range.end <= begin + segment.p_filesz) {
      range.isReadOnlyFile = !(segment.p_flags & PF_W);
      return 1;
    }
  }
  return 0;
}

void rt::releaseFilePages(std::span<const uint8_t> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  Range range{(begin + page - 1) / page * page,
              (begin + bytes.size()) / page * page};
  if (range.begin >= range.end)
    return;
  dl_iterate_phdr(findSegment, &range);
  // Read-only pages are unchanged, so the file still has their contents.
  if (range.isReadOnlyFile)
    madvise(reinterpret_cast<void *>(range.begin), range.end - range.begin,
            MADV_DONTNEED);
}
