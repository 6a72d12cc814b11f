//===- ArtifactImage.h - the artifact in a file, not run --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Libraries and trainers are ELF files that contain a sinter_artifact. This
// lays the file out in memory as the dynamic loader would, but executes nothing
// in it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_ARTIFACTIMAGE_H
#define SINTER_COMPILER_INSPECT_ARTIFACTIMAGE_H

#include "sinter/abi.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::compiler {

class ArtifactImage {
public:
  /// Fails, in one line without the path, when `path` is not a library or
  /// trainer of this version, or is damaged. Every pointer in the tables has
  /// been checked to point into the file; the numbers in them are unchecked.
  static llvm::Expected<std::unique_ptr<ArtifactImage>>
  read(llvm::StringRef path);

  /// One per target of the file, the default target first; never empty.
  llvm::ArrayRef<const sinter_artifact *> artifacts() const {
    return artifacts_;
  }

  /// True if the `bytes` bytes at `address` are within the image.
  bool holds(const void *address, uint64_t bytes) const {
    return contains(address, bytes, 1);
  }

private:
  llvm::Error load(llvm::StringRef bytes);
  llvm::Error relocate(llvm::StringRef bytes);
  llvm::Error findArtifact(llvm::StringRef bytes);
  llvm::Error check(const sinter_artifact &artifact) const;
  bool checkTables(const sinter_artifact &artifact) const;

  /// Whether `count` records of `sizeBytes` at `address` lie in the image. With
  /// a count of 0, any address will do.
  bool contains(const void *address, uint64_t count, uint64_t sizeBytes) const;
  bool isText(const char *text) const;
  bool isTensor(const sinter_tensor_desc &tensor) const;
  bool refersInside(const sinter_artifact &artifact,
                    const sinter_command &command) const;
  bool isScan(const sinter_artifact &artifact,
              const sinter_command &command) const;
  bool isCommand(const sinter_artifact &artifact,
                 const sinter_command &command) const;

  std::vector<uint64_t> memory_; // aligned; ends with zeros
  uint64_t sizeBytes_ = 0;
  llvm::SmallVector<const sinter_artifact *> artifacts_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_ARTIFACTIMAGE_H
