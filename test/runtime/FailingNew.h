//===- FailingNew.h - allocations that fail in tests ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_FAILINGNEW_H
#define SINTER_TEST_RUNTIME_FAILINGNEW_H

#include <string>

namespace sinter::test {

/// Number `count` (from 1) of the allocations with operator new that this
/// thread makes from now on fails.
void failAllocation(int count);
/// Ends that; whether the allocation was made.
bool takeFailure();

/// Each time that `path` has come to exist, the next allocation of the first
/// thread fails.
void failAllocationsAt(const std::string &path);

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_FAILINGNEW_H
