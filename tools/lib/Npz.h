//===- Npz.h - NumPy's .npz files -------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A .npz file is a zip archive of .npy files. The readers of training data
// stream rows of files of any size; this reader loads whole arrays of any rank
// and either order into memory. It checks every size in the file before it
// relies on it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_NPZ_H
#define SINTER_TOOLS_LIB_NPZ_H

#include "tools/lib/HostTensor.h"

#include <span>

namespace sinter::tools {

/// All arrays of the file. Arrays of two-byte voids ("V2") are bfloat16.
rt::Result<HostTensors> readNpz(const std::string &path);
/// Writes an uncompressed file, atomically.
rt::Status writeNpz(const std::string &path, const HostTensors &tensors);

/// One .npy file.
rt::Result<std::shared_ptr<HostTensor>>
parseNpy(const std::string &name, std::span<const uint8_t> bytes);
std::string npyHeader(const HostTensor &tensor);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_NPZ_H
