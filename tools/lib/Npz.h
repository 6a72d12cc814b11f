//===- Npz.h - NumPy's .npz files -------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The readers of training data stream rows of files of any size; readNpz loads
// whole arrays of any rank and either order into memory. Both open the archive
// through runtime/data/Zip.h and NpyHeader.h.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_NPZ_H
#define SINTER_TOOLS_LIB_NPZ_H

#include "tools/lib/HostTensor.h"

namespace sinter::tools {

/// All arrays of the file. Arrays of two-byte voids ("V2") are bfloat16.
rt::Result<HostTensors> readNpz(const std::string &path);
/// Writes an uncompressed file, atomically.
rt::Status writeNpz(const std::string &path, const HostTensors &tensors);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_NPZ_H
