//===- FileKind.cpp - what a file of sinter-inspect is --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/FileKind.h"

#include "compiler/inspect/CheckpointReport.h"
#include "compiler/inspect/run/Run.h"
#include "compiler/trace/Trace.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

FileKind compiler::fileKindOf(StringRef path) {
  if (Run::hasLog(path))
    return FileKind::Run;
  if (llvm::sys::fs::is_directory(path) || SafetensorsFile::isOne(path))
    return FileKind::Weights;
  if (!llvm::sys::fs::is_regular_file(path))
    return FileKind::Model;
  auto start =
      llvm::MemoryBuffer::getFileSlice(path, Trace::kAnyVersion.size(), 0);
  if (start && (*start)->getBuffer() == Trace::kAnyVersion)
    return FileKind::Trace;
  if (start && (*start)->getBuffer().starts_with("{")) {
    auto text = llvm::MemoryBuffer::getFile(path);
    if (text && (*text)->getBuffer().contains("\"decisions\"") &&
        (*text)->getBuffer().contains("\"sinter\""))
      return FileKind::Lock;
  }
  llvm::file_magic magic;
  bool isElf = !llvm::identify_magic(path, magic) &&
               magic >= llvm::file_magic::elf &&
               magic <= llvm::file_magic::elf_core;
  return isElf ? FileKind::Program : FileKind::Model;
}
