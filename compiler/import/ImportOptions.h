//===- ImportOptions.h - what an importer is told and tells -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_IMPORTOPTIONS_H
#define SINTER_COMPILER_IMPORT_IMPORTOPTIONS_H

#include "ir/Tensor.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::compiler {

/// Errors and warnings of an importer: lines ready for the user, without a
/// trailing newline.
class ImportErrors {
public:
  void invalid(std::string line) {
    lines_.push_back(std::move(line));
    invalid_ = true;
  }
  /// The error is a diagnostic of the context already, and needs no line here.
  void diagnosed() { invalid_ = true; }
  void unsupported(std::string line) { lines_.push_back(std::move(line)); }
  /// Reports equal lines only once.
  void warn(std::string line) {
    if (!llvm::is_contained(warnings_, line))
      warnings_.push_back(std::move(line));
  }

  bool empty() const { return lines_.empty() && !invalid_; }
  /// 0 without errors, 2 for unreadable input or wrong options, 3 if all errors
  /// are unsupported operators.
  int exitCode() const { return empty() ? 0 : invalid_ ? 2 : 3; }
  llvm::ArrayRef<std::string> lines() const { return lines_; }
  llvm::ArrayRef<std::string> warnings() const { return warnings_; }

private:
  std::vector<std::string> lines_, warnings_;
  bool invalid_ = false;
};

/// What an importer needs to know of the command line. An importer reads what
/// its format has; ModelFile.cpp fills it.
struct ImportOptions {
  /// Weights become states, and ops that know training are imported for it.
  bool train = false;
  /// The module will only be shown: nodes in training mode are imported as for
  /// inference, with a warning.
  bool isOnlyShown = false;
  /// Regular expressions for names of states. If empty, `trainable` means all
  /// and `freeze` means none.
  std::string trainable, freeze;
  /// A safetensors file with the weights of the module that was exported;
  /// empty: none.
  std::string parameters;
  /// BatchNormalization keeps its running statistics.
  bool freezeBatchNorm = false;
  /// Constants that stand for parameters of the module are trained.
  bool allowRewritten = false;
  /// Indices are not checked when the program runs.
  bool uncheckedIndices = false;
  /// The leading dimension of every input of rank >= 1.
  std::optional<int64_t> batch;
  /// Symbolic dimension -> size.
  llvm::StringMap<int64_t> dims;
  /// Input -> its whole shape.
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  /// Of the module; empty: the file's stem.
  std::string name;
  /// Inputs that are known at compile time. They are removed from the signature
  /// of @main. The tensor has the input's type.
  llvm::StringMap<ir::Tensor> constantInputs;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_IMPORTOPTIONS_H
