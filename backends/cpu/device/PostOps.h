//===- PostOps.h - steps applied to a contraction's result ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The post-ops of abi.h in two forms: passed to oneDNN, which fuses them, or as
// our own loops where oneDNN cannot (sums of partial results, gradients,
// operands that share memory with the result, empty sums).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_POSTOPS_H
#define SINTER_BACKENDS_CPU_DEVICE_POSTOPS_H

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/OneDnnShim.h"
#include "sinter/abi.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter::cpu {

/// The operand of a BIAS or ADD. For element (row, col) of the result's block,
/// it is at address[row * rowStride + col * colStride]. A bias has one stride
/// of 0.
struct PostOpOperand {
  const float *address = nullptr;
  int64_t rowStride = 0, colStride = 0;
};

/// Whether the functions below know the sinter_post_op_kind; others must not
/// reach them.
bool hasPostOp(uint32_t kind);

/// Whether the post-op is a function of many operations, each of which waits
/// for the one before.
bool isLongFunction(uint32_t kind);
/// Applies such a function to `count` elements.
void applyLongFunction(uint32_t kind, float *data, int64_t count);

/// Applies `ops` in order to every element. operands[i] belongs to ops[i]; only
/// BIAS and ADD use it.
void applyPostOps(std::span<const sinter_post_op> ops, const Block &block,
                  const PostOpOperand *operands);

/// Appends `op` to a oneDNN list. `operand` is the layout of the operand of
/// BIAS or ADD; its broadcast dimensions have size 1. Throws dnnl::error.
void appendPostOp(dnnl::post_ops &list, const sinter_post_op &op,
                  const dnnl::memory::desc &operand);

/// How many of the first `ops` the library may apply. Its relu and clip turn
/// NaN into a number, which would hide a diverged run, so our loops apply those
/// and all ops after them.
size_t fusablePostOps(std::span<const sinter_post_op> ops);

/// Whether the operand of `op` has the shape of the result.
inline bool readsResultShape(const sinter_post_op &op) {
  return op.kind == SINTER_POST_ADD || op.kind == SINTER_POST_ADD_CODES;
}

inline bool readsOperand(const sinter_post_op &op) {
  const sinter_post_op_traits *traits = sinter_post_op_row(op.kind);
  return traits && traits->slice == SINTER_POST_SLICE_READ;
}

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_POSTOPS_H
