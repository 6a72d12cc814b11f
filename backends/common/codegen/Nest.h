//===- Nest.h - a fusion's loops and what they compute ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What all mappings of fusions of kind loop, reduce and concat start from, and
// what follows a contraction in its kernel: which element of every value one
// step of the loops reads, loops that are walked as one made one, and the
// choice of the loop along which neighbours are computed together. All of it
// depends on shapes alone.
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
  unsigned output;     // its number among the part's results
};

/// The row-major address, in elements, as an index over the loops.
ir::Index linearIndex(mlir::RankedTensorType type,
                      llvm::ArrayRef<ir::Index> index);

class Nest {
public:
  /// A nest that reads all of the body's arguments.
  Nest(mlir::Block &body, ir::Domain domain, std::vector<Root> roots);
  Nest(mlir::Block &body, ir::Domain domain, std::vector<Root> roots,
       llvm::ArrayRef<mlir::BlockArgument> arguments);

  mlir::Block &body;
  /// What it reads, in the order of its part's inputs.
  llvm::SmallVector<mlir::BlockArgument> arguments;
  ir::Domain domain;
  std::vector<Root> roots;
  /// Where the values lie that are read at one affine index only; what only a
  /// contraction reads is not among them.
  llvm::DenseMap<mlir::Value, ir::IndexVector> indices;
  /// The contraction whose result the nest goes on from; null: none.
  mlir::Operation *contraction;

  bool hasReduction() const { return !domain.reduced.empty(); }
  /// True for a result with an element per step of a reduced loop.
  bool isOverAllLoops(const Root &root) const;

  /// The loop along which what is reduced lies innermost: a choice that does
  /// not depend on what else is in the fusion, so that the tree of the sum does
  /// not either.
  std::optional<unsigned> reductionLoop() const;

  /// The kept loop along which most of what is read and written lies
  /// contiguous. Of two along which as much lies, as in a transpose, the one
  /// that fills `lanes`.
  std::optional<unsigned> contiguousLoop(int64_t lanes) const;

  /// Operations per step of the loops, roughly; steps of the reduced loops.
  int64_t stepCost() const;
  int64_t reducedSteps() const;

private:
  void collapseLoops();
  bool isReadByContractionOnly(mlir::Value value) const;
};

/// The numbers, among a kernel's, of what a nest's arguments and results are,
/// or an op's operands and results.
struct PartBuffers {
  llvm::SmallVector<unsigned> inputs, outputs;
  /// How much further on in the result it writes than the first of the part's;
  /// a multiple of 16, below 2^31.
  int64_t shiftBytes = 0;
};

/// A part of a kernel: a nest, or an op that is a kernel of its own. Parts that
/// differ in nothing but their buffers, as the updates of parameters of one
/// shape, are one part with several: its code is made once.
struct KernelPart {
  std::shared_ptr<Nest> nest;
  mlir::Operation *solo = nullptr; // when there is no nest
  llvm::SmallVector<PartBuffers, 1> buffers;
};

/// The parts of an exec.kernel that has one stage, in the order in which they
/// are first there. They are independent of each other.
std::vector<KernelPart> kernelParts(ir::KernelOpInterface kernel);

/// The parts of each stage of an exec.kernel. A later stage's input that an
/// earlier one computes has the number of that result behind all of the
/// kernel's inputs.
std::vector<std::vector<KernelPart>> kernelStages(ir::KernelOpInterface kernel);

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_NEST_H
