//===- SafetensorsFile.h - named tensors in a file --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// https://github.com/huggingface/safetensors: 8 bytes of the header's size, the
// header as JSON, the bytes of the tensors.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_SAFETENSORSFILE_H
#define SINTER_COMPILER_IMPORT_SAFETENSORSFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::compiler {

class SafetensorsFile {
public:
  struct Tensor {
    std::string name, dtype; // "F32", or what the format may have one day
    llvm::SmallVector<int64_t> shape;
    llvm::ArrayRef<char> bytes; // of the file; neither read nor checked
  };

  /// Whether `path` is a regular file that begins as one of safetensors does.
  static bool isOne(llvm::StringRef path);
  /// An error without the path for a file that cannot be read, is none, or
  /// whose header does not fit to its size. The size of an element is not
  /// checked against its type.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  /// In the order of their bytes.
  const std::vector<Tensor> &tensors() const { return tensors_; }
  /// Text that its writer left.
  const llvm::StringMap<std::string> &metadata() const { return metadata_; }

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  std::vector<Tensor> tensors_;
  llvm::StringMap<std::string> metadata_;
};

/// Whether brackets of `json` nest deeper than `levels`. LLVM's parser calls
/// itself for each.
bool isNestedDeeply(llvm::StringRef json, int levels);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_SAFETENSORSFILE_H
