//===- HostTensor.h - a named array in memory -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_HOSTTENSOR_H
#define SINTER_TOOLS_LIB_HOSTTENSOR_H

#include "runtime/base/AlignedBlock.h"
#include "runtime/base/Status.h"
#include "runtime/data/ElementType.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::tools {

/// A dense, row-major, little-endian array.
struct HostTensor {
  std::string name;
  sinter_dtype dtype = SINTER_F32;
  std::vector<int64_t> dims;
  rt::AlignedBlock bytes;

  /// Zeros. Fails if the sizes are too large or memory runs out.
  static rt::Result<std::shared_ptr<HostTensor>>
  zeros(std::string name, sinter_dtype dtype, std::vector<int64_t> dims);
  /// Zeros of the shape and type of `desc`.
  static rt::Result<std::shared_ptr<HostTensor>>
  zeros(const sinter_tensor_desc &desc);

  int64_t elements() const {
    return static_cast<int64_t>(bytes.sizeBytes() / rt::elementBytes(dtype));
  }
  /// Element `index` as a number; 64-bit integers are rounded.
  double number(int64_t index) const;
  /// "float32 [1, 10]".
  std::string typeText() const;
};

using HostTensors = std::vector<std::shared_ptr<HostTensor>>;

/// The tensor called `name`, or null.
const HostTensor *find(const HostTensors &tensors, const std::string &name);
/// "float32 [1, 10]" of a descriptor.
std::string typeText(const sinter_tensor_desc &desc);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_HOSTTENSOR_H
