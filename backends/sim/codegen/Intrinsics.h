//===- Intrinsics.h - what becomes of llvm.nvvm.* ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Families of intrinsics, each in its own file. A family returns null if the
// intrinsic does not belong to it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_CODEGEN_INTRINSICS_H
#define SINTER_BACKENDS_SIM_CODEGEN_INTRINSICS_H

#include "backends/sim/codegen/ThreadCode.h"

namespace sinter::sim {

/// A call to replace. `name` is the intrinsic's without "llvm.nvvm."; `type` is
/// the type of the result.
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

/// Returned for an intrinsic without a result.
llvm::Value *nothing(const IntrinsicCall &call);

/// Numbers of threads and blocks, clocks.
llvm::Value *lowerRegister(const IntrinsicCall &call);
/// Barriers and operations of all threads of a warp.
llvm::Value *lowerMeeting(const IntrinsicCall &call);
/// ldmatrix, mma.sync, cp.async.
llvm::Value *lowerMatrix(const IntrinsicCall &call);
/// Arithmetic, approximations, conversions.
llvm::Value *lowerMath(const IntrinsicCall &call);
/// Loads, atomics, queries of addresses.
llvm::Value *lowerMemory(const IntrinsicCall &call);

/// The intrinsic's name for inline PTX ("tanh.approx.f"); "" if it is unknown.
std::string inlinePtxName(llvm::StringRef text);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_INTRINSICS_H
