//===- ModuleFile.h - Sinter's own modules as a format ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// MLIR text (.mlir) and bytecode (.mlirbc). Such a file comes from a phase, or
// is written by hand; its shapes are static.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_SINTER_MODULEFILE_H
#define SINTER_COMPILER_IMPORT_SINTER_MODULEFILE_H

#include "compiler/import/Importer.h"

namespace sinter::compiler {

/// The format's entry in compiler/import/Importers.cpp.
const Importer &moduleImporter();

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_SINTER_MODULEFILE_H
