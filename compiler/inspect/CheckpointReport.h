//===- CheckpointReport.h - what a checkpoint holds -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_CHECKPOINTREPORT_H
#define SINTER_COMPILER_INSPECT_CHECKPOINTREPORT_H

#include "compiler/import/SafetensorsFile.h"
#include "llvm/ADT/StringRef.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// The manifest of a checkpoint and the header of its payload. The bytes of the
/// tensors are neither read nor checked; a trainer does that.
struct CheckpointSummary {
  std::string path;
  llvm::json::Object manifest; // empty for a .safetensors file
  SafetensorsFile payload;
  /// What processes have written of states that they divide, by file name.
  std::vector<std::pair<std::string, SafetensorsFile>> parts;

  /// `path` is a checkpoint, an --out directory with checkpoints (the newest is
  /// read), or a .safetensors file.
  static llvm::Expected<CheckpointSummary> read(llvm::StringRef path);
};

void reportCheckpoint(const CheckpointSummary &checkpoint, bool json,
                      llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_CHECKPOINTREPORT_H
