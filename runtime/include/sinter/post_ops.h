//===- sinter/post_ops.h - what follows a contraction -------------*- C -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The post-ops of matrix products and convolutions: operations on the fp32
// result x, applied in order before it is stored. With DEQUANTIZE, x is int32
// before it and fp32 after it, and so are the slices of post-ops. One row for
// each; the compiler's and the runtime's checks, names and enums are made from
// the rows, so a new kind begins with a row here. docs/extend.md lists the
// other places.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_POST_OPS_H
#define SINTER_POST_OPS_H

#include <stdint.h>

/* What a post-op does with its slice of the command. */
typedef enum sinter_post_slice {
  SINTER_POST_SLICE_NONE, /* has none */
  SINTER_POST_SLICE_READ,
  SINTER_POST_SLICE_WRITTEN
} sinter_post_slice;

/* The elements of the slice, of the result's dtype if nothing else is said. */
typedef enum sinter_post_extent {
  SINTER_POST_EXTENT_NONE,
  SINTER_POST_EXTENT_RESULT,  /* the result's shape and layout */
  SINTER_POST_EXTENT_COLUMN,  /* one for each column or channel j */
  SINTER_POST_EXTENT_ROW,     /* one for each row i */
  SINTER_POST_EXTENT_BITS,    /* bytes: lines of n bits, padded to a multiple of
                                 128, one for each row of each batch, in
                                 row-major order */
  SINTER_POST_EXTENT_CHANNEL, /* one fp32 for each channel j */
  SINTER_POST_EXTENT_CODES    /* 8-bit integers, in the result's shape, layout
                                 and dtype */
} sinter_post_extent;

/* Which commands may have it, on devices whose library has it. */
typedef enum sinter_post_scope {
  SINTER_POST_SCOPE_ALL,     /* every contraction, on every device */
  SINTER_POST_SCOPE_MATMUL,  /* products */
  SINTER_POST_SCOPE_SINGLE,  /* products without batch dimensions */
  SINTER_POST_SCOPE_FORWARD, /* forward convolutions, CHANNEL_SUM and
                                CHANNEL_SQUARES together and last */
  SINTER_POST_SCOPE_BYTES    /* products and forward convolutions of 8-bit
                                integers. DEQUANTIZE comes once, QUANTIZE last
                                and after it. The result is fp32, with QUANTIZE
                                U8 or I8. FAKE_QUANTIZE and ADD_CODES are
                                between the two */
} sinter_post_scope;

/* How x changes. */
typedef enum sinter_post_rounding {
  SINTER_POST_KEEPS,   /* x stays as it is */
  SINTER_POST_EXACT,   /* one rounding: the same bits by every implementation */
  SINTER_POST_FUNCTION /* the bits are the implementation's */
} sinter_post_rounding;

/* X(KIND, name, slice, extent, scope, numbers, rounding, what the slice is);
 * `numbers`: how many of alpha and beta it takes. */
// clang-format off
#define SINTER_POST_OPS(X)                                                     \
  /* x + slice[j] */                                                           \
  X(BIAS, bias, READ, COLUMN, ALL, 0, EXACT, "the bias")                       \
  /* x + slice */                                                              \
  X(ADD, add, READ, RESULT, ALL, 0, EXACT, "the added operand")                \
  X(RELU, relu, NONE, NONE, ALL, 0, EXACT, "")                                 \
  X(GELU_ERF, gelu_erf, NONE, NONE, ALL, 0, FUNCTION, "")                      \
  X(GELU_TANH, gelu_tanh, NONE, NONE, ALL, 0, FUNCTION, "")                    \
  X(SIGMOID, sigmoid, NONE, NONE, ALL, 0, FUNCTION, "")                        \
  X(TANH, tanh, NONE, NONE, ALL, 0, FUNCTION, "")                              \
  /* clamp to [alpha, beta] */                                                 \
  X(CLIP, clip, NONE, NONE, ALL, 2, EXACT, "")                                 \
  /* x * alpha */                                                              \
  X(SCALE, scale, NONE, NONE, ALL, 1, EXACT, "")                               \
  /* x * sigmoid(x) */                                                         \
  X(SWISH, swish, NONE, NONE, ALL, 0, FUNCTION, "")                            \
  /* x * min(max(x / 6 + 0.5, 0), 1) */                                        \
  X(HARD_SWISH, hard_swish, NONE, NONE, ALL, 0, FUNCTION, "")                  \
  /* slice = x */                                                              \
  X(STORE, store, WRITTEN, RESULT, MATMUL, 0, KEEPS, "the stored result")      \
  /* relu; slice = the bits x > 0, which only RELU_GRAD may read */            \
  X(RELU_BITS, relu_bits, WRITTEN, BITS, MATMUL, 0, EXACT, "the bits")         \
  /* x where slice's bit is 1, else 0 */                                       \
  X(RELU_GRAD, relu_grad, READ, BITS, MATMUL, 0, EXACT, "the bits")            \
  /* x * gelu'(slice) */                                                       \
  X(GELU_TANH_GRAD, gelu_tanh_grad, READ, RESULT, MATMUL, 0, FUNCTION,         \
    "the operand of a GELU")                                                   \
  /* slice[j] = the sum of x over the rows */                                  \
  X(BIAS_GRAD, bias_grad, WRITTEN, COLUMN, MATMUL, 0, KEEPS,                   \
    "the bias gradient")                                                       \
  /* slice[i] = the sum over k of A[i,k]; slice[j] = that of B[k,j] */         \
  X(A_SUM, a_sum, WRITTEN, ROW, SINGLE, 0, KEEPS, "the sum of A")              \
  X(B_SUM, b_sum, WRITTEN, COLUMN, SINGLE, 0, KEEPS, "the sum of B")           \
  /* slice[j] = the sum of channel j, and that of its squares */               \
  X(CHANNEL_SUM, channel_sum, WRITTEN, CHANNEL, FORWARD, 0, KEEPS,             \
    "the sum of a channel")                                                    \
  X(CHANNEL_SQUARES, channel_squares, WRITTEN, CHANNEL, FORWARD, 0, KEEPS,     \
    "the sum of a channel's squares")                                          \
  /* fp32(x) * slice[j] */                                                     \
  X(DEQUANTIZE, dequantize, READ, CHANNEL, BYTES, 0, EXACT, "the scales")      \
  /* round(x / alpha) + beta, to nearest even, clamped to the result's type;   \
     0 for NaN */                                                              \
  X(QUANTIZE, quantize, NONE, NONE, BYTES, 2, EXACT, "")                       \
  /* (q - beta) * alpha, where q is what QUANTIZE makes of x */                \
  X(FAKE_QUANTIZE, fake_quantize, NONE, NONE, BYTES, 2, EXACT, "")             \
  /* x + fp32(slice - beta) * alpha */                                         \
  X(ADD_CODES, add_codes, READ, CODES, BYTES, 2, EXACT, "the added codes")
// clang-format on

#define SINTER_POST_OP_KIND(KIND, ...) SINTER_POST_##KIND,
typedef enum sinter_post_op_kind {
  SINTER_POST_NONE, /* not a post-op */
  SINTER_POST_OPS(SINTER_POST_OP_KIND) SINTER_NUM_POST_OPS
} sinter_post_op_kind;
#undef SINTER_POST_OP_KIND

/* A row of the table. */
typedef struct sinter_post_op_traits {
  const char *name; /* "gelu_erf" */
  const char *what; /* the slice is, for messages: "the bias" */
  sinter_post_op_kind kind;
  sinter_post_slice slice;
  sinter_post_extent extent;
  sinter_post_scope scope;
  sinter_post_rounding rounding;
  uint32_t numbers; /* of alpha and beta */
} sinter_post_op_traits;

/* The row of `kind`; null for what is not a sinter_post_op_kind. */
static inline const sinter_post_op_traits *sinter_post_op_row(uint32_t kind) {
#define SINTER_POST_OP_ROW(KIND, NAME, SLICE, EXTENT, SCOPE, NUMBERS,          \
                           ROUNDING, WHAT)                                     \
  {#NAME,                                                                      \
   WHAT,                                                                       \
   SINTER_POST_##KIND,                                                         \
   SINTER_POST_SLICE_##SLICE,                                                  \
   SINTER_POST_EXTENT_##EXTENT,                                                \
   SINTER_POST_SCOPE_##SCOPE,                                                  \
   SINTER_POST_##ROUNDING,                                                     \
   NUMBERS},
  static const sinter_post_op_traits rows[] = {
      SINTER_POST_OPS(SINTER_POST_OP_ROW)};
#undef SINTER_POST_OP_ROW
  return kind > SINTER_POST_NONE && kind < SINTER_NUM_POST_OPS ? &rows[kind - 1]
                                                               : 0;
}

#endif /* SINTER_POST_OPS_H */
