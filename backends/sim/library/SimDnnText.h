//===- SimDnnText.h - descriptors of cuDNN as text --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The counterpart of the JSON text of the vendor's plans: a later process can
// restore a plan from it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMDNNTEXT_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMDNNTEXT_H

#include "backends/sim/library/SimDnnGraph.h"

namespace sinter::sim {

/// Writes a finalized descriptor with all descriptors that it refers to, except
/// handles.
std::string writeObject(const DnnObject &object);

/// Restores the descriptor; null if writeObject did not write the text.
std::shared_ptr<DnnObject> readObject(const std::string &text);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMDNNTEXT_H
