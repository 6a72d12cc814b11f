//===- Intrinsics.h - what becomes of llvm.nvvm.* ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Families of intrinsics, each in a file of its own. A family answers null when
// the intrinsic is none of its own.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_CODEGEN_INTRINSICS_H
#define SINTER_BACKENDS_SIM_CODEGEN_INTRINSICS_H

#include "backends/sim/codegen/ThreadCode.h"

namespace sinter::sim {

/// One call that is to be replaced. `name` is without "llvm.nvvm."; `type` is
/// that of the result.
struct IntrinsicCall {
  ThreadCode &code;
  llvm::IRBuilder<> &builder;
  llvm::CallInst *call;
  llvm::StringRef name;
  llvm::SmallVector<llvm::Value *> operands;
  llvm::Type *type;

  llvm::Value *i32(uint32_t value) const { return builder.getInt32(value); }
  /// A site for this call.
  llvm::Value *site(sinter_sim_site_kind kind) const {
    return i32(code.addSite(kind, call));
  }
  llvm::Value *table(size_t offset, llvm::Type *result,
                     llvm::ArrayRef<llvm::Value *> arguments) const {
    return code.call(builder, offset, result, arguments);
  }
};

/// What stands for an intrinsic without a result.
llvm::Value *nothing(const IntrinsicCall &call);

/// Numbers of threads and blocks, clocks.
llvm::Value *lowerRegister(const IntrinsicCall &call);
/// Barriers and what threads of a warp do together.
llvm::Value *lowerMeeting(const IntrinsicCall &call);
/// ldmatrix, mma.sync, cp.async.
llvm::Value *lowerMatrix(const IntrinsicCall &call);
/// Arithmetic, approximations, conversions.
llvm::Value *lowerMath(const IntrinsicCall &call);
/// Loads, atomics, questions about addresses.
llvm::Value *lowerMemory(const IntrinsicCall &call);

/// What inline PTX is called as an intrinsic ("tanh.approx.f"); "" when it is
/// unknown.
std::string inlinePtxName(llvm::StringRef text);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_INTRINSICS_H
