//===- ThreadCode.h - a kernel on its way to x86-64 -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the steps of retargeting share: the function, how it reaches the table
// of the simulated device, and the sites that it has so far. The steps are the
// free functions below, in the order in which compileForSim calls them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_CODEGEN_THREADCODE_H
#define SINTER_BACKENDS_SIM_CODEGEN_THREADCODE_H

#include "sinter/sim.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace sinter::sim {

/// A comparison of indices that guards something; `forced` is the value that
/// opens the guard.
struct Predicate {
  llvm::ICmpInst *compare;
  bool forced;
};

class ThreadCode {
public:
  ThreadCode(llvm::Module &module, llvm::Function *function)
      : module(module), function(function) {}

  llvm::Module &module;
  llvm::Function *function; // from enterThread: void(ptr, ptr)
  uint32_t numBuffers = 0;
  uint64_t staticSharedBytes = 0;
  uint32_t numYields = 0; // where a thread lets others run

  /// Remembers the instructions as they are written now, for the sites' texts.
  void recordTexts();

  /// Makes the function void(ptr buffers, ptr functions).
  void enterThread();

  /// A new site at `instruction`; the number for the table's functions.
  uint32_t addSite(sinter_sim_site_kind kind,
                   const llvm::Instruction *instruction);

  /// A field of the table, loaded once, when the thread starts.
  llvm::Value *field(size_t offset, llvm::Type *type);
  llvm::Value *sharedBase();

  /// Calls the function at `offset` of the table with the table itself and
  /// `arguments`.
  llvm::CallInst *call(llvm::IRBuilderBase &builder, size_t offset,
                       llvm::Type *result,
                       llvm::ArrayRef<llvm::Value *> arguments);
  /// The same for functions that do not get the table.
  llvm::CallInst *callPure(llvm::IRBuilderBase &builder, size_t offset,
                           llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> arguments);
  /// Ends the launch where `before` stands if `condition` holds.
  void faultIf(llvm::Value *condition, llvm::Instruction *before,
               sinter_sim_fault kind, uint32_t site);

  /// Writes sinter_sim_kernel_info, and the answer to a call without buffers.
  void describe(uint32_t flags);

private:
  struct Site {
    sinter_sim_site_kind kind;
    uint32_t number;
    std::string text;
    uint32_t buffer; // as in sinter_sim_site
  };
  uint32_t bufferOf(const llvm::Instruction *instruction) const;

  llvm::BasicBlock *entry = nullptr;  // loads of fields, allocas
  llvm::BasicBlock *params = nullptr; // loads of the buffers' addresses
  llvm::DenseMap<size_t, llvm::Value *> fields;
  llvm::DenseMap<const llvm::Instruction *, std::string> texts;
  std::vector<Site> sites;
  uint32_t numOfKind[SINTER_SIM_TRAP + 1] = {};
};

/// The only kernel of `module`, with all that it calls inlined and everything
/// else removed.
llvm::Expected<llvm::Function *> isolateKernel(llvm::Module &module);

/// Comparisons that guard accesses, selections of indices and loops: those of
/// thread numbers, loop counters and constants, never of loaded values.
std::vector<Predicate> findPredicates(llvm::Function &function);

/// Address spaces become one; shared memory becomes an arena.
llvm::Error flattenSpaces(ThreadCode &code);

/// Calls of llvm.nvvm.* and inline PTX become calls of the table.
llvm::Error lowerIntrinsics(ThreadCode &code);

/// Gives an intrinsic, which is named after its types, those of its operands.
void redeclare(llvm::Module &module, llvm::CallInst &call);

/// 16-bit floats that are only moved become integers, for which x86 needs no
/// library.
llvm::Error moveHalvesAsIntegers(ThreadCode &code);

/// Arithmetic that x86 does otherwise than PTX, or has no instruction for.
llvm::Error makeArithmeticExact(ThreadCode &code);

void routePredicates(ThreadCode &code, llvm::ArrayRef<Predicate> predicates);

/// Reports accesses (`isChecked`), or only guards their alignment.
void guardAccesses(ThreadCode &code, llvm::TargetMachine &machine,
                   bool isChecked);

/// An error of one line.
template <typename... Parts> llvm::Error cannot(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  (stream << ... << parts);
  return llvm::createStringError(text);
}

/// `function(lane values of operands)` for each lane of a vector, or once.
llvm::Value *perLane(
    llvm::IRBuilderBase &builder, llvm::Type *resultType,
    llvm::ArrayRef<llvm::Value *> operands,
    llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> function);

/// PTX's min and max: the operand that is a number, and -0 below +0. With
/// `propagatesNaN` a NaN if there is one.
llvm::Value *emitMinMax(llvm::IRBuilderBase &builder, bool isMax,
                        bool propagatesNaN, llvm::Value *a, llvm::Value *b);

/// sinter_sim_math on float or double scalars.
llvm::Value *emitMath(ThreadCode &code, llvm::IRBuilderBase &builder,
                      sinter_sim_math op, sinter_sim_rounding rounding,
                      llvm::ArrayRef<llvm::Value *> operands);

/// half or bfloat to float, float or double to half or bfloat: scalars.
llvm::Value *emitWiden(ThreadCode &code, llvm::IRBuilderBase &builder,
                       llvm::Value *value);
llvm::Value *emitNarrow(ThreadCode &code, llvm::IRBuilderBase &builder,
                        llvm::Value *value, llvm::Type *to,
                        sinter_sim_rounding rounding = SINTER_SIM_NEAREST);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_THREADCODE_H
