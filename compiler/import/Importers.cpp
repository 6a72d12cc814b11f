//===- Importers.cpp - the list of input formats --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The only file outside of the folder of a format that includes its headers.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Importer.h"
#include "compiler/import/ReducibleModel.h"
#include "compiler/import/onnx/Import.h"
#include "compiler/import/sinter/ModuleFile.h"

using namespace sinter::compiler;

llvm::ArrayRef<const Importer *> sinter::compiler::importers() {
  static const Importer *const list[] = {
      &moduleImporter(),
      &onnxImporter(), // the last: protobuf has no signature
  };
  return list;
}

std::unique_ptr<ReducibleModel> Importer::readReducible(ModelFile,
                                                        ImportErrors &) const {
  return nullptr;
}

const Importer *
sinter::compiler::findImporter(llvm::ArrayRef<const Importer *> importers,
                               const ModelFile &file) {
  for (const Importer *importer : importers)
    if (importer->recognizes(file))
      return importer;
  return nullptr;
}
