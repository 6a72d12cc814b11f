//===- ExplainFusion.cpp - pairs that no pass could join ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Kernel.h"
#include "ir/Remarks.h"
#include "passes/fuse/Fusion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <set>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_EXPLAINFUSION
#include "passes/Passes.h.inc"

namespace {

/// A kernel or a library call of the function, by its name in messages.
std::string nameOf(Operation *op) {
  if (auto kernel = dyn_cast<ir::KernelOp>(op))
    return ("a generated " + ir::stringifyKernelKind(kernel.getKind()) +
            " kernel")
        .str();
  if (auto call = dyn_cast<ir::LibraryCallOp>(op))
    return ("a library call (" + ir::stringifyLibraryCallKind(call.getKind()) +
            ")")
        .str();
  return op->getName().stripDialect().str();
}

bool isContractionKernel(Operation *op) {
  auto kernel = dyn_cast<ir::KernelOp>(op);
  return kernel && (kernel.getKind() == ir::KernelKind::matmul ||
                    kernel.getKind() == ir::KernelKind::conv ||
                    kernel.getKind() == ir::KernelKind::rows);
}

/// Why `first` and `second` are not one kernel; "" if it was decided by the
/// loops or the epilogue, where it is reported. `isRead`: `second` reads a
/// result of `first`.
std::string whyApart(Operation *first, Operation *second, bool isRead) {
  bool isCall[] = {isa<ir::LibraryCallOp>(first),
                   isa<ir::LibraryCallOp>(second)};
  for (Operation *op : {first, second})
    if (op->hasTrait<ir::Transfer>())
      return nameOf(op) + " moves data between devices, which no kernel does";
    else if (!isa<ir::FusionOpInterface>(op))
      return nameOf(op) + " is no kernel";
  if (isCall[0] && isCall[1])
    return "each is " + nameOf(first) +
           (nameOf(first) == nameOf(second) ? "" : " or " + nameOf(second)) +
           ": a call computes one contraction";
  if (isCall[1] && isRead)
    return "the reader is " + nameOf(second) +
           ", which reads its operands from memory; it includes only casts and "
           "views of them";
  if (isContractionKernel(second) && isRead)
    return "the reader is " + nameOf(second) +
           ", which reads each element of its operands several times: they are "
           "computed once, before it";
  if (auto call = dyn_cast<ir::LibraryCallOp>(first);
      call && isRead && call.getKind() != ir::LibraryCallKind::matmul &&
      call.getKind() != ir::LibraryCallKind::conv)
    return "the producer is " + nameOf(first) +
           ", which stores its results: it applies no other ops to them";
  if (isRead)
    return ""; // the epilogue, or the loops
  for (unsigned i : {0, 1})
    if (isCall[i] || isContractionKernel(i ? second : first))
      return "one is " + nameOf(i ? second : first) +
             ", which computes its contraction and what follows from the "
             "result; the other does not follow from it";
  return "";
}

/// The ops of `fusion` that follow from `value`, but not from a result of
/// `source`, which the fusion reads, too: their location; nothing if there are
/// none.
std::optional<Location> readersBeside(ir::FusionOpInterface fusion, Value value,
                                      Operation *source) {
  Block &body = fusion.getBody().front();
  llvm::DenseSet<Value> readers, followers;
  for (auto [input, argument] :
       llvm::zip_equal(fusion.getInputs(), body.getArguments())) {
    Value outside = withoutAliases(input);
    if (outside == value)
      readers.insert(argument);
    if (outside.getDefiningOp() == source)
      followers.insert(argument);
  }
  SmallVector<Location> parts;
  for (Operation &op : body.without_terminator()) {
    auto isIn = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(),
                          [&](Value each) { return values.contains(each); });
    };
    if (isIn(followers)) {
      followers.insert(op.result_begin(), op.result_end());
    } else if (isIn(readers)) {
      readers.insert(op.result_begin(), op.result_end());
      parts.push_back(op.getLoc());
    }
  }
  if (parts.empty())
    return std::nullopt;
  return FusedLoc::get(fusion->getContext(), parts);
}

struct ExplainFusionPass : impl::ExplainFusionBase<ExplainFusionPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!ir::RemarkSink::takesDetails(&getContext()))
      return;
    std::set<std::pair<Operation *, Operation *>> read, told;
    auto tellRead = [&](Operation *first, Operation *second) {
      if (!read.insert({first, second}).second)
        return;
      if (std::string why = whyApart(first, second, /*isRead=*/true);
          !why.empty())
        ir::explain("explain-fusion", "not-fused", first->getLoc(),
                    second->getLoc(), why);
    };
    auto tellShared = [&](Operation *first, Operation *second, Value value) {
      std::string why = whyApart(first, second, /*isRead=*/false);
      if (why.empty())
        return;
      if (!read.count({first, second})) {
        if (told.insert({first, second}).second)
          ir::explain("explain-fusion", "not-fused", first->getLoc(),
                      second->getLoc(), why);
        return;
      }
      // Parts of a kernel may become kernels of their own later.
      auto fusion = dyn_cast<ir::FusionOpInterface>(second);
      if (auto of = fusion ? readersBeside(fusion, value, first) : std::nullopt)
        ir::explain("explain-fusion", "not-fused", first->getLoc(), *of, why);
    };
    // More readers of one value than these are named together.
    constexpr size_t kMostReaders = 12;
    llvm::MapVector<Value, llvm::SmallSetVector<Operation *, 4>> readers;
    for (Operation &op : getOperation().getBody().front().without_terminator())
      if (!op.hasTrait<ir::Alias>())
        for (Value operand : op.getOperands())
          readers[withoutAliases(operand)].insert(&op);
    // Two ops may read one value, and one of them a result of the other, too.
    for (auto &[value, ops] : readers)
      if (Operation *source = value.getDefiningOp();
          source && !isa<ir::ConstantOp>(source))
        for (Operation *op : ops)
          tellRead(source, op);
    for (auto &[value, ops] : readers) {
      if (ops.size() <= kMostReaders) {
        for (size_t i = 0; i < ops.size(); ++i)
          for (size_t j = i + 1; j < ops.size(); ++j)
            tellShared(ops[i], ops[j], value);
        continue;
      }
      SmallVector<Location> parts;
      for (Operation *op : ops)
        parts.push_back(op->getLoc());
      Location all = FusedLoc::get(&getContext(), parts);
      ir::explain("explain-fusion", "not-fused", all, all,
                  "they are among " + std::to_string(ops.size()) +
                      " that read one value, but not results of each other: "
                      "more than " +
                      std::to_string(kMostReaders) + " are not tried in pairs");
    }
  }
};

} // namespace
} // namespace sinter::passes
