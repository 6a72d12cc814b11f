//===- CpuLibrary.h - contractions of the CPU -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What multiplies: our own panels where they are faster, oneDNN for the rest of
// fp32, always as single-threaded calls on slices that the shape determines,
// and plain loops for the other types.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CPULIBRARY_H
#define SINTER_BACKENDS_CPU_DEVICE_CPULIBRARY_H

#include "backends/cpu/device/OneDnnPrimitive.h"
#include "runtime/device/Library.h"

#include <memory>

namespace sinter::cpu {

namespace coded_panels {
struct Source;
}

rt::Result<std::unique_ptr<rt::Library>> createCpuLibrary();

using LibraryCallResult = rt::Result<std::unique_ptr<rt::LibraryCall>>;
/// Makes the call of a command.
using PrepareCall = LibraryCallResult (*)(OneDnnContext &context,
                                          const sinter_command &command,
                                          const uint8_t *constants);

/// fp32 MATMUL by AVX-512 or AVX2; null for few rows or columns, without either
/// of the two, or if it would take more scratch than the context allows.
LibraryCallResult prepareFloatProduct(OneDnnContext &context,
                                      const sinter_command &command,
                                      const uint8_t *constants);

/// fp32 MATMUL. `constants` as for Library::prepare. May throw dnnl::error.
LibraryCallResult prepareOneDnnMatmul(OneDnnContext &context,
                                      const sinter_command &command,
                                      const uint8_t *constants);

/// fp32 MATMUL by the first of the two that takes it. May throw dnnl::error.
LibraryCallResult prepareFloatMatmul(OneDnnContext &context,
                                     const sinter_command &command,
                                     const uint8_t *constants);

/// MATMUL of up to four rows by AVX-512 or AVX2: with a constant matrix, of
/// fp32, or of bf16 into bf16 or fp32; of fp32 with another matrix, one of
/// whose strides is 1; null for others.
LibraryCallResult prepareRowProduct(OneDnnContext &context,
                                    const sinter_command &command,
                                    const uint8_t *constants);

/// MATMUL of fp32 by coded weights. They must be constants. `prepareFloat`
/// makes the product of fp32 where the codes are not multiplied themselves.
LibraryCallResult prepareCodedProduct(OneDnnContext &context,
                                      const sinter_command &command,
                                      const uint8_t *constants,
                                      PrepareCall prepareFloat, bool byLoops);
/// Up to 16 rows by the codes; null for more, or if this CPU lacks AVX2.
LibraryCallResult prepareCodedRowProduct(OneDnnContext &context,
                                         const sinter_command &command,
                                         const coded_panels::Source &source);

/// fp32 CONV, forward and input gradient. May throw dnnl::error.
LibraryCallResult prepareOneDnnConv(OneDnnContext &context,
                                    const sinter_command &command,
                                    const uint8_t *constants);

/// Whether a CONV is forward or an input gradient and has a kernel of 1 and no
/// groups, pads or strides: then it is a product. With strides, it is if lines
/// of points are copied fast.
bool isPointwiseProduct(const sinter_conv &params);
/// Such a CONV in fp32 as a product. Null if oneDNN's convolution is faster;
/// with channels first it never is.
LibraryCallResult preparePointwise(OneDnnContext &context,
                                   const sinter_command &command,
                                   const uint8_t *constants);

/// fp32 CONV, filter gradient. May throw dnnl::error.
LibraryCallResult prepareOneDnnFilterGrad(OneDnnContext &context,
                                          const sinter_command &command);

/// MATMUL of bf16 into bf16 or fp32 by AMX or vdpbf16ps; null if neither is
/// faster than fp32 on this CPU, for an empty sum, or if no dimension of the
/// result is contiguous.
LibraryCallResult prepareBfloatProduct(OneDnnContext &context,
                                       const sinter_command &command,
                                       const uint8_t *constants);

/// Forward CONV of bf16 into bf16 or fp32 by AMX or vdpbf16ps, in two
/// dimensions on channels-last activations without groups; null for others, for
/// most with fewer than 12 channels, or if neither is faster than fp32 on this
/// CPU.
LibraryCallResult prepareBfloatWindow(OneDnnContext &context,
                                      const sinter_command &command,
                                      const uint8_t *constants);

/// The same with one filter for each channel, by vdpbf16ps or in float32
/// arithmetic.
LibraryCallResult prepareBfloatDepthwise(OneDnnContext &context,
                                         const sinter_command &command,
                                         const uint8_t *constants);

/// True for a CONV of the two functions above, whatever its groups and numbers
/// of channels.
bool fitsBfloatStore(const sinter_command &command);

/// By the library: CONV of bf16 on channels-last activations into bf16 or fp32
/// (gradients of filters: fp32); null as above. May throw dnnl::error.
LibraryCallResult prepareBfloatConv(OneDnnContext &context,
                                    const sinter_command &command,
                                    const uint8_t *constants);

/// MATMUL or CONV of 16-bit floats, computed in fp32: operands are widened in
/// scratch (constants only once), and the result is rounded when it is stored.
/// `prepareWide` makes the fp32 call.
LibraryCallResult prepareWidened(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants,
                                 PrepareCall prepareWide);

/// MATMUL of 8-bit integers of any signs by AMX, AVX512-VNNI, AVX-VNNI or AVX2,
/// into int32 or, with DEQUANTIZE, also by loops into fp32 or 8 bits; null for
/// others.
LibraryCallResult prepareByteProduct(OneDnnContext &context,
                                     const sinter_command &command,
                                     const uint8_t *constants);

/// Forward CONV of 8-bit integers in two dimensions on channels-last
/// activations, without groups or with one filter for each channel; units and
/// types as above, null for others.
LibraryCallResult prepareByteWindow(OneDnnContext &context,
                                    const sinter_command &command,
                                    const uint8_t *constants);
LibraryCallResult prepareByteDepthwise(OneDnnContext &context,
                                       const sinter_command &command,
                                       const uint8_t *constants);
/// True for the window of one of the two, whatever its groups.
bool isByteWindow(const sinter_conv &params);

/// MATMUL of fp32, fp64 and integers by loops, each sum in ascending order.
LibraryCallResult preparePlainMatmul(const sinter_command &command);

/// CONV of fp32 by the product of AVX2, forward, of two dimensions, with
/// channels last, a constant filter and no groups; null for others, and where
/// oneDNN is faster.
LibraryCallResult prepareFloatWindow(OneDnnContext &context,
                                     const sinter_command &command,
                                     const uint8_t *constants);

/// The same by AVX-512, for convolutions of few points whose time is that of
/// reading the filter; null for others.
LibraryCallResult prepareFloatTaps(OneDnnContext &context,
                                   const sinter_command &command,
                                   const uint8_t *constants);

/// CONV of fp32 for windows of 3x3 by Winograd's algorithms, which round
/// otherwise; null for others, and where direct sums are as fast.
LibraryCallResult prepareWinogradConv(OneDnnContext &context,
                                      const sinter_command &command,
                                      const uint8_t *constants);

/// CONV of fp32 and fp64 by loops, and forward CONV of int32 and 8-bit integers
/// into int32.
LibraryCallResult preparePlainConv(const sinter_command &command);

/// ATTENTION up to a depth of 128: forward of fp32, fp16 or bf16, backward of
/// fp32.
LibraryCallResult prepareAttention(const sinter_command &command);
/// The backward part of it.
LibraryCallResult prepareAttentionGrad(const sinter_command &command);

/// The start of constant slice `slice`; null if it is in another space.
const float *constantAddress(const sinter_slice &slice,
                             const uint8_t *constants);

/// True if the two slices share a byte.
bool overlaps(const sinter_slice &a, const sinter_slice &b);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CPULIBRARY_H
