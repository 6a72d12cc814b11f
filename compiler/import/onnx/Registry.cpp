//===- Registry.cpp - which ONNX operators there are ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Registry.h"

namespace sinter::compiler {

Registry makeRegistry() {
  Registry registry;
  for (llvm::ArrayRef<OpRow> family :
       {activationOps(), attentionOps(),   controlOps(),    convOps(),
        einsumOps(),     elementwiseOps(), gridSampleOps(), indexOps(),
        linearOps(),     loopOps(),        lossOps(),       normOps(),
        padOps(),        poolOps(),        quantizeOps(),   recurrentOps(),
        reduceOps(),     resizeOps(),      shapeOps(),      signalOps()})
    for (const OpRow &row : family)
      registry.try_emplace(row.name, &row);
  return registry;
}

} // namespace sinter::compiler
