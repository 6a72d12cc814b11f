//===- Nest.h - a kernel's loops and what they compute ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The loop nest of kernels of kind loop, reduce and concat, and of the ops that
// follow a contraction in its kernel; all mappings use it. A Nest knows which
// element of every value one step of the loops reads, joins loops where
// possible, and chooses the loop along which neighbouring elements are computed
// together. All of this depends only on shapes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_NEST_H
#define SINTER_BACKENDS_COMMON_CODEGEN_NEST_H

#include "ir/Kernel.h"

#include <memory>
#include <vector>

namespace sinter::codegen {

/// One element of a result: computed as `value` at `read`, stored at `write`.
struct Root {
  mlir::Value value;
  ir::IndexVector read;
  mlir::RankedTensorType type; // of the whole result
  ir::IndexVector write;
  mlir::Value pointer; // set when code is emitted
  unsigned output;     // number of the result in its part
};

/// The row-major address, in elements, as an index over the loops.
ir::Index linearIndex(mlir::RankedTensorType type,
                      llvm::ArrayRef<ir::Index> index);

/// Whether `value` is one of `sources` or computed from one.
bool dependsOn(mlir::Value value, mlir::ValueRange sources);

class Nest {
public:
  /// A nest that reads all arguments of the body.
  Nest(mlir::Block &body, ir::Domain domain, std::vector<Root> roots);
  Nest(mlir::Block &body, ir::Domain domain, std::vector<Root> roots,
       llvm::ArrayRef<mlir::BlockArgument> arguments);

  mlir::Block &body;
  /// The arguments that it reads, in the order of its part's inputs.
  llvm::SmallVector<mlir::BlockArgument> arguments;
  ir::Domain domain;
  std::vector<Root> roots;
  /// The indices of values that are read at only one affine index, without
  /// values that only a contraction reads.
  llvm::DenseMap<mlir::Value, ir::IndexVector> indices;
  /// The contraction whose result the nest reads; null: none.
  mlir::Operation *contraction;

  bool hasReduction() const { return !domain.reduced.empty(); }
  /// Whether a result has an element per step of the reduced loops.
  bool isOverAllLoops(const Root &root) const;

  /// The innermost loop of the operand of the first reduction. The choice does
  /// not depend on other ops in the kernel, so neither does the tree of the
  /// sum.
  std::optional<unsigned> reductionLoop() const;

  /// The reductions that have one index, in order, in groups of at most `most`
  /// that do not depend on each other. One for which `isAlone` holds is a group
  /// of its own.
  std::vector<llvm::SmallVector<ir::ReduceOp>> independentSums(
      size_t most,
      llvm::function_ref<bool(ir::ReduceOp)> isAlone = nullptr) const;

  /// The kept loop along which most elements that are read and written are
  /// contiguous. If two are equal, as in a transpose, the one that fills
  /// `lanes`.
  std::optional<unsigned> contiguousLoop(int64_t lanes) const;

  /// The approximate number of operations per step of the loops; the number of
  /// steps of the reduced loops.
  int64_t stepCost() const;
  int64_t reducedSteps() const;

private:
  void collapseLoops();
  bool isReadByContractionOnly(mlir::Value value) const;
};

/// The kernel's buffers, by number, for the arguments and results of a nest, or
/// for the operands and results of an op.
struct PartBuffers {
  llvm::SmallVector<unsigned> inputs, outputs;
  /// The distance in the result from where the part's first buffers write; a
  /// multiple of 16, below 2^31.
  int64_t shiftBytes = 0;
};

/// A part of a kernel: a nest, or an op that is compiled by itself. Parts that
/// differ only in their buffers, such as the updates of parameters of one
/// shape, are one part with several PartBuffers; its code is generated once.
struct KernelPart {
  std::shared_ptr<Nest> nest;
  mlir::Operation *solo = nullptr; // if there is no nest
  llvm::SmallVector<PartBuffers, 1> buffers;
  /// The kernels of a kernel of kind rows, in order; it has neither of the
  /// above. Their buffers are those of this part by number: its inputs, its
  /// outputs, and then `kept`, the results that only the chain reads.
  std::vector<KernelPart> chain{};
  llvm::SmallVector<mlir::Value> kept{};
};

/// The parts of an exec.kernel that has one stage, in the order of their first
/// occurrence. They are independent of each other.
std::vector<KernelPart> kernelParts(ir::KernelOpInterface kernel);

/// The parts of each stage of an exec.kernel. If an earlier stage computes an
/// input of a later stage, the input's number is that of the result, counted
/// after all inputs of the kernel.
std::vector<std::vector<KernelPart>> kernelStages(ir::KernelOpInterface kernel);

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_NEST_H
