//===- MemoryChart.h - charts of the arena over time ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_MEMORYCHART_H
#define SINTER_RUNTIME_HARNESS_MEMORYCHART_H

#include "sinter/abi.h"

#include <string>

namespace sinter::rt {

/// Lines of text: the most bytes that are live in each stretch of an entry's
/// commands, with a bar, and the command at the peak. "" without values.
std::string memoryChart(const sinter_entry &entry, uint32_t place);

/// A page of HTML without scripts: each value of each entry is a rectangle,
/// with commands to the right, bytes upwards, and a tooltip that names it. It
/// does not share the memory panel of the inspector's page, which is 160 KB of
/// JavaScript in the compiler and would be in every trainer; `sinter-inspect
/// plan TRAINER -o page.html` draws a trainer in that panel.
std::string memoryPage(const sinter_artifact &artifact);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_MEMORYCHART_H
