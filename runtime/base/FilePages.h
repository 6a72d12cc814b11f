//===- FilePages.h - pages of the files of a process ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The constants of a program are part of its file, which the loader maps: what
// is read of them counts as memory of the process, though the file has the same
// bytes. Weights that were copied in another order need not stay in memory
// twice.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FILEPAGES_H
#define SINTER_RUNTIME_BASE_FILEPAGES_H

#include <cstdint>
#include <span>

namespace sinter::rt {

/// Takes the whole pages of `bytes` out of the memory of this process, if they
/// are read-only in a file that the loader mapped; whoever reads them gets them
/// from the file again. Does nothing to other memory.
void releaseFilePages(std::span<const uint8_t> bytes);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FILEPAGES_H
