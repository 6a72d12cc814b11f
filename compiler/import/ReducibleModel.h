//===- ReducibleModel.h - a model file made smaller -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The edits of `sinter-inspect reduce`. An edit may make a model that means
// nothing; whether it is still of interest is for the caller's check to say.
// After each edit, what no output needs any more is gone.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_REDUCIBLEMODEL_H
#define SINTER_COMPILER_IMPORT_REDUCIBLEMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sinter::compiler {

/// The type of the first output of each node, by the node's name.
using NodeTypes = llvm::StringMap<mlir::RankedTensorType>;

/// Edits return false if they change nothing or are not possible.
class ReducibleModel {
public:
  virtual ~ReducibleModel() = default;
  virtual std::unique_ptr<ReducibleModel> clone() const = 0;
  /// The bytes of the file.
  virtual std::string bytes() const = 0;

  virtual size_t numNodes() const = 0;
  virtual size_t numOutputs() const = 0;
  virtual size_t numConstants() const = 0; // initializers
  /// The distinct sizes above 1 of inputs and initializers, largest first.
  virtual std::vector<int64_t> sizes() const = 0;

  virtual bool keepOutput(size_t output) = 0;
  /// The outputs of node `node` become those of the model.
  virtual bool endAt(size_t node, const NodeTypes &types) = 0;
  /// The values that these nodes compute become inputs.
  virtual bool replaceByInputs(llvm::ArrayRef<size_t> nodes,
                               const NodeTypes &types) = 0;
  /// Users of the node read its first operand instead.
  virtual bool bypass(size_t node) = 0;
  virtual bool makeInput(size_t constant) = 0;
  /// Every dimension of size `from` gets size `to`, of inputs, initializers,
  /// and numbers in integer constants.
  virtual bool shrink(int64_t from, int64_t to) = 0;
  /// Removes texts and the declared types of values between nodes.
  virtual bool dropMetadata() = 0;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_REDUCIBLEMODEL_H
