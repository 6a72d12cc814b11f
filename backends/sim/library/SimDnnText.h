//===- SimDnnText.h - descriptors of cuDNN as text --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a plan's JSON is to the vendor's library: a later process can go on with
// it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMDNNTEXT_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMDNNTEXT_H

#include "backends/sim/library/SimDnnGraph.h"

namespace sinter::sim {

/// A finalized descriptor with all those it is made of, but for handles.
std::string writeObject(const DnnObject &object);

/// The same again; null when the text is none of writeObject's.
std::shared_ptr<DnnObject> readObject(const std::string &text);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMDNNTEXT_H
