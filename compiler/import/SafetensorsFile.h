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
    std::string name, dtype; // "F32", or any type that the format may add
    llvm::SmallVector<int64_t> shape;
    llvm::ArrayRef<char> bytes; // in the file; neither read nor checked
  };

  /// Whether `path` is a regular file that begins like a safetensors file.
  static bool isOne(llvm::StringRef path);
  /// Fails, in a message without the path, for a file that cannot be read, is
  /// not in the format, or has a header that contradicts its size. The size of
  /// an element is not checked against its type.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  /// In the order of their bytes.
  const std::vector<Tensor> &tensors() const { return tensors_; }
  /// Free text from the file's writer.
  const llvm::StringMap<std::string> &metadata() const { return metadata_; }

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  std::vector<Tensor> tensors_;
  llvm::StringMap<std::string> metadata_;
};

/// Whether brackets of `json` nest deeper than `levels`. LLVM's parser recurses
/// at each level.
bool isNestedDeeply(llvm::StringRef json, int levels);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_SAFETENSORSFILE_H
