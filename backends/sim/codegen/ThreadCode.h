//===- ThreadCode.h - the state of retargeting ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The state of retargeting, which all steps share: the function, its access to
// the table of the simulated device, and its sites so far. The steps are the
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

/// A comparison of indices that guards an operation; `forced` is the value that
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
  uint32_t numYields = 0;      // calls that let other threads run
  uint32_t numLaunchWaits = 0; // barriers that are waits for earlier launches

  /// Records the current text of the instructions, for the texts of sites.
  void recordTexts();

  /// Changes the function's type to void(ptr buffers, ptr functions).
  void enterThread();

  /// Adds a site at `instruction`; returns its number, for the table's
  /// functions.
  uint32_t addSite(sinter_sim_site_kind kind,
                   const llvm::Instruction *instruction);

  /// A field of the table, loaded once when the thread starts.
  llvm::Value *field(size_t offset, llvm::Type *type);
  llvm::Value *sharedBase();

  /// Calls the function at `offset` of the table with the table itself and
  /// `arguments`.
  llvm::CallInst *call(llvm::IRBuilderBase &builder, size_t offset,
                       llvm::Type *result,
                       llvm::ArrayRef<llvm::Value *> arguments);
  /// The same for functions that do not take the table.
  llvm::CallInst *callPure(llvm::IRBuilderBase &builder, size_t offset,
                           llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> arguments);
  /// Inserts code before `before` that ends the launch if `condition` holds.
  void faultIf(llvm::Value *condition, llvm::Instruction *before,
               sinter_sim_fault kind, uint32_t site);

  /// Emits sinter_sim_kernel_info, and the code that returns it for a call
  /// without buffers.
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

/// The only kernel of `module`: inlines all functions that it calls and removes
/// everything else.
llvm::Expected<llvm::Function *> isolateKernel(llvm::Module &module);

/// Finds comparisons that guard accesses, selections of indices and loops:
/// those of thread numbers, loop counters and constants, never of loaded
/// values.
std::vector<Predicate> findPredicates(llvm::Function &function);

/// Makes all address spaces one, and shared memory an arena.
llvm::Error flattenSpaces(ThreadCode &code);

/// Turns calls of llvm.nvvm.* and inline PTX into calls of the table.
llvm::Error lowerIntrinsics(ThreadCode &code);

/// Redeclares an intrinsic, whose name contains its types, for the types of its
/// operands.
void redeclare(llvm::Module &module, llvm::CallInst &call);

/// Turns 16-bit floats that are only moved into integers, for which x86 needs
/// no library.
llvm::Error moveHalvesAsIntegers(ThreadCode &code);

/// Replaces arithmetic that x86 does differently from PTX, or has no
/// instruction for.
llvm::Error makeArithmeticExact(ThreadCode &code);

void routePredicates(ThreadCode &code, llvm::ArrayRef<Predicate> predicates);

/// Reports accesses (`isChecked`), or only guards their alignment.
void guardAccesses(ThreadCode &code, llvm::TargetMachine &machine,
                   bool isChecked);

/// Makes an error of one line.
template <typename... Parts> llvm::Error cannot(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  (stream << ... << parts);
  return llvm::createStringError(text);
}

/// Calls `function` with the operands' values for each lane of a vector, or
/// once for scalars.
llvm::Value *perLane(
    llvm::IRBuilderBase &builder, llvm::Type *resultType,
    llvm::ArrayRef<llvm::Value *> operands,
    llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> function);

/// PTX's min and max: -0 is below +0. If one operand is a NaN, the result is
/// the other; with `propagatesNaN` it is a NaN.
llvm::Value *emitMinMax(llvm::IRBuilderBase &builder, bool isMax,
                        bool propagatesNaN, llvm::Value *a, llvm::Value *b);

/// sinter_sim_math on float or double scalars.
llvm::Value *emitMath(ThreadCode &code, llvm::IRBuilderBase &builder,
                      sinter_sim_math op, sinter_sim_rounding rounding,
                      llvm::ArrayRef<llvm::Value *> operands);

/// Convert scalars: half or bfloat to float; float or double to half or bfloat.
llvm::Value *emitWiden(ThreadCode &code, llvm::IRBuilderBase &builder,
                       llvm::Value *value);
llvm::Value *emitNarrow(ThreadCode &code, llvm::IRBuilderBase &builder,
                        llvm::Value *value, llvm::Type *to,
                        sinter_sim_rounding rounding = SINTER_SIM_NEAREST);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_THREADCODE_H
