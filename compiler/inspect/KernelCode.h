//===- KernelCode.h - the machine code and PTX of kernels -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_KERNELCODE_H
#define SINTER_COMPILER_INSPECT_KERNELCODE_H

#include "compiler/inspect/ArtifactImage.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>

namespace sinter::compiler {

/// Where the code of an artifact's kernels is. Refers to the artifact and the
/// image.
class KernelCode {
public:
  KernelCode() = default;
  /// Of a file, `path`, that was read into `image`.
  KernelCode(const sinter_artifact &artifact, const ArtifactImage &image,
             llvm::StringRef path);
  /// Of a program in this process that was made of these ELF files.
  KernelCode(const sinter_artifact &artifact,
             llvm::ArrayRef<std::string> objects);

  /// x86 code in Intel's syntax: of a kernel for the CPU, or of one simulated
  /// thread; "" if there is none or its size is unknown.
  std::string x86(const sinter_kernel_desc &kernel) const;
  /// The PTX of a kernel, from the first image that has PTX; "" without one.
  std::string ptx(llvm::StringRef kernel) const;
  /// The bytes of the first image of this sinter_image_kind; "" without one.
  llvm::StringRef image(uint32_t kind) const;

  /// A hash of the code of each kernel whose code is known. It does not depend
  /// on the kernel's name or on addresses.
  std::map<std::string, std::string> hashes() const;

private:
  bool mayRead(const void *address, uint64_t bytes) const {
    return !file_ || file_->holds(address, bytes);
  }

  const sinter_artifact *artifact_ = nullptr;
  const ArtifactImage *file_ = nullptr;   // null: all may be read
  std::map<std::string, uint64_t> sizes_; // of x86 functions
};

/// ".visible .entry NAME( ... }" in the PTX of all kernels.
std::string ptxOfKernel(llvm::StringRef all, llvm::StringRef kernel);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_KERNELCODE_H
