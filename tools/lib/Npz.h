//===- Npz.h - NumPy's .npz files -------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A .npz is a zip of .npy files. Unlike the readers of training data, which see
// rows of a file of any size, this one takes whole arrays of any rank and
// either order into memory. Every size in the file is checked before it is
// believed.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_NPZ_H
#define SINTER_TOOLS_LIB_NPZ_H

#include "tools/lib/HostTensor.h"

#include <span>

namespace sinter::tools {

/// All arrays of the file. bfloat16 arrays are those of two-byte voids ("V2").
rt::Result<HostTensors> readNpz(const std::string &path);
/// Writes an uncompressed file; it appears whole or not at all.
rt::Status writeNpz(const std::string &path, const HostTensors &tensors);

/// One .npy file.
rt::Result<std::shared_ptr<HostTensor>>
parseNpy(const std::string &name, std::span<const uint8_t> bytes);
std::string npyHeader(const HostTensor &tensor);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_NPZ_H
