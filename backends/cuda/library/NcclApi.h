//===- NcclApi.h - the parts of NCCL that Sinter uses -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Our own declarations of the part of NCCL 2 that we use, as a table of
// functions. The CUDA device fills the table from the vendor's library; the
// simulated device and tests fill it with functions that check their arguments.
// Numbers are those of the vendor's header.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_NCCLAPI_H
#define SINTER_BACKENDS_CUDA_LIBRARY_NCCLAPI_H

#include <cstddef>
#include <cstdint>

namespace sinter::cuda::nccl {

/// ncclResult_t.
enum Status : int {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7,
};

/// ncclDataType_t.
enum DataType : int {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
};

/// ncclRedOp_t.
inline constexpr int sum = 0;

/// ncclUniqueId.
struct UniqueId {
  char bytes[128];
};

/// ncclComm_t.
using Comm = struct CommState *;

/// All except the first return a Status.
struct Api {
  const char *(*getErrorString)(int status);
  int (*getVersion)(int *version);
  int (*getUniqueId)(UniqueId *id);
  int (*commInitRank)(Comm *comm, int replicas, UniqueId id, int rank);
  int (*commDestroy)(Comm comm);
  int (*commAbort)(Comm comm);
  int (*commGetAsyncError)(Comm comm, int *status);
  int (*groupStart)();
  int (*groupEnd)();
  int (*allReduce)(const void *from, void *to, size_t count, int type, int op,
                   Comm comm, void *stream);
  int (*reduceScatter)(const void *from, void *to, size_t toCount, int type,
                       int op, Comm comm, void *stream);
  int (*allGather)(const void *from, void *to, size_t fromCount, int type,
                   Comm comm, void *stream);
};

} // namespace sinter::cuda::nccl

#endif // SINTER_BACKENDS_CUDA_LIBRARY_NCCLAPI_H
