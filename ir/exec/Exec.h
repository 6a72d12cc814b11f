//===- Exec.h - the exec dialect --------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Planned programs. Made by the plan phase; read by code generators
// (`exec.kernel`), by the emission of tables, and by inspection.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EXEC_EXEC_H
#define SINTER_IR_EXEC_EXEC_H

#include "ir/Dialect.h"

#include "ir/exec/ExecDialect.h.inc"
#include "ir/exec/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/exec/ExecAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/exec/ExecTypes.h.inc"

#include "ir/exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/exec/ExecOps.h.inc"

namespace sinter::exec {

/// Buffers begin at multiples of this many bytes, and are counted in them.
inline constexpr int64_t kBufferAlignment = 64;

inline int64_t alignedBytes(int64_t sizeBytes,
                            int64_t alignment = kBufferAlignment) {
  return (sizeBytes + alignment - 1) / alignment * alignment;
}

/// Bytes of a tensor type that sinter values may have.
int64_t sizeBytes(mlir::Type tensorType);

/// Bytes at which the fields of the control block (sinter_control of abi.h)
/// lie.
namespace control_offset {
inline constexpr int64_t kLr = 0, kWeightDecay = 4, kClipNorm = 8, kStep = 16,
                         kSeed = 24, kValidRows = 32, kMicroBatch = 40,
                         kReplica = 48, kTicket = 56;
} // namespace control_offset

/// A field of the control block.
struct ControlField {
  llvm::StringLiteral name; // of `sinter.control`
  int64_t offset, size;     // bytes
};
llvm::ArrayRef<ControlField> controlFields();
inline constexpr int64_t kControlBytes = 64;

/// The type of the ticket, which is no value of a program.
mlir::RankedTensorType ticketType(mlir::MLIRContext *context);

/// A contraction's most post-ops (SINTER_MAX_POST_OPS of abi.h).
inline constexpr unsigned kMaxPostOps = 6;

/// The op that declares `buffer`, an operand of a command.
BufferOp bufferOp(mlir::Value buffer);

/// Whose stream runs a command, and the places of what it touches: 0 without
/// attributes. `from` is that of its reads, `to` that of its writes.
struct CommandPlace {
  int64_t place = 0, stream = 0, from = 0, to = 0;
};
CommandPlace placeOf(mlir::Operation *command);
/// Streams of a place, as the numbers of sinter_stream.
inline constexpr int64_t kCompute = 0, kTransfer = 1, kStreams = 2;

/// The checks of indices that the last output of the program is of; null where
/// it has none.
mlir::ArrayAttr indexChecks(ProgramOp program);
/// The bytes of the arenas of all places, in order.
llvm::SmallVector<int64_t> arenaBytes(ProgramOp program);

/// Checks C6 and C7 of `exec.program`; reports the first violation.
mlir::LogicalResult verifyOrder(ProgramOp program, int64_t numPlaces,
                                llvm::ArrayRef<int64_t> placeOfState);

/// Checks C3 and C4 of `exec.program`; reports the first violation at the
/// command. The ops in the program must have been verified.
mlir::LogicalResult verifyLifetimes(ProgramOp program);
/// Checks the sizes of what a command reads and writes; likewise. (A launch is
/// checked against its kernel as a user of symbols.)
mlir::LogicalResult verifyCommand(mlir::Operation *command);

} // namespace sinter::exec

#endif // SINTER_IR_EXEC_EXEC_H
