//===- Exec.h - the exec dialect --------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Planned programs. The plan phase creates them. Code generators
// (`exec.kernel`), the emission of tables, and inspection read them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EXEC_EXEC_H
#define SINTER_IR_EXEC_EXEC_H

#include "ir/Dialect.h"

#include "sinter/post_ops.h"

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

/// The bytes of a tensor of a type that sinter values may have.
int64_t sizeBytes(mlir::Type tensorType);

/// The offsets of the fields of the control block (sinter_control of abi.h), in
/// bytes.
namespace control_offset {
inline constexpr int64_t kLr = 0, kWeightDecay = 4, kClipNorm = 8, kStep = 16,
                         kSeed = 24, kValidRows = 32, kMicroBatch = 40,
                         kReplica = 48, kTicket = 56, kGradientTicket = 60;
} // namespace control_offset

/// A field of the control block.
struct ControlField {
  llvm::StringLiteral name; // of `sinter.control`
  int64_t offset, size;     // bytes
};
llvm::ArrayRef<ControlField> controlFields();
inline constexpr int64_t kControlBytes = 64;

/// The type of the ticket, which is not a value of the program.
mlir::RankedTensorType ticketType(mlir::MLIRContext *context);

/// The most post-ops of a contraction (SINTER_MAX_POST_OPS of abi.h).
inline constexpr unsigned kMaxPostOps = 8;
inline constexpr unsigned kMaxChain = 4; // convolutions
/// The most commands of all trips of a scan: the runtime expands them.
inline constexpr int64_t kMaxScanCommands = 1 << 22;

/// The row of `kind` in sinter/post_ops.h.
const sinter_post_op_traits &traitsOf(PostOpKind kind);

/// The op that declares `buffer`, an operand of a command.
BufferOp bufferOp(mlir::Value buffer);

/// The device and stream that run a command, and the devices of its reads
/// (`from`) and writes (`to`); 0 without attributes.
struct CommandPlace {
  int64_t place = 0, stream = 0, from = 0, to = 0;
};
CommandPlace placeOf(mlir::Operation *command);
/// The streams of a place, numbered as in sinter_stream.
inline constexpr int64_t kCompute = 0, kTransfer = 1, kGradient = 2,
                         kStreams = 3;

/// The offset in the control block of the ticket for launches on `stream`.
/// Launches on different streams may run at once, so each stream has its own.
inline int64_t ticketOffset(int64_t stream) {
  return stream == kGradient ? control_offset::kGradientTicket
                             : control_offset::kTicket;
}

/// The bytes of the scratch of a scan: the arena of its body, and two places
/// for each of the `outputs` (ScanOutputAttrs) of kind last. `types` are the
/// TypeAttrs of the outputs.
int64_t scanScratchBytes(int64_t arenaBytes,
                         mlir::ArrayRef<mlir::Attribute> types,
                         mlir::ArrayAttr outputs);

/// Describes the index checks in the last output of the program; null if there
/// are none.
mlir::ArrayAttr indexChecks(ProgramOp program);
/// The bytes of the arenas of all places, in order.
llvm::SmallVector<int64_t> arenaBytes(ProgramOp program);

/// Checks C7 and C8 of `exec.program`; reports the first violation.
mlir::LogicalResult verifyOrder(ProgramOp program, int64_t numPlaces,
                                llvm::ArrayRef<int64_t> placeOfState);

/// Checks C3, C4 and C6 of `exec.program`; reports the first violation at the
/// command. The ops in the program must be verified.
mlir::LogicalResult verifyLifetimes(ProgramOp program);
/// Checks the sizes of the reads and writes of a command, which must be
/// verified. (A launch is checked against its kernel as a user of symbols.)
mlir::LogicalResult verifyCommand(mlir::Operation *command);

} // namespace sinter::exec

#endif // SINTER_IR_EXEC_EXEC_H
