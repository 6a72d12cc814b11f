//===- ExportPiece.h - a piece of an exported model -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_EXPORTPIECE_H
#define SINTER_COMPILER_IMPORT_EXPORTPIECE_H

#include <string>

namespace sinter::compiler {

/// A piece of the exported model file: literal bytes, or the bytes of a state.
struct ExportPiece {
  std::string bytes;
  std::string state; // name of a state; empty: `bytes`
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_EXPORTPIECE_H
