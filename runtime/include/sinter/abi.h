/* The artifact: the interface between the MLIR tower, which writes these
 * structs as constant data, and the run tower, which walks them.
 *
 * The runtime gets the same `sinter_artifact` from JIT memory, an inference
 * library or a training binary. Everything in it is constant and owned by the
 * artifact; the runtime never writes to it and never frees it.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#ifndef SINTER_ABI_H
#define SINTER_ABI_H

#include "sinter/kernel.h"
#include "sinter/post_ops.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_ABI_MAGIC 0x5245544e49530001ull /* "\1\0SINTER" */
#define SINTER_ABI_MAJOR 7                     /* another major is refused */
#define SINTER_ABI_MINOR 0
#define SINTER_MAX_RANK 32
#define SINTER_MAX_BATCH_DIMS 4
#define SINTER_MAX_SPATIAL_DIMS 3
#define SINTER_MAX_POST_OPS 8
#define SINTER_MAX_SCAN_COMMANDS 0x400000 /* of all trips of a scan */

/* Element types. BOOL is one byte holding 0 or 1. */
typedef enum sinter_dtype {
  SINTER_BOOL = 1,
  SINTER_U8,
  SINTER_I8,
  SINTER_U16,
  SINTER_I16,
  SINTER_U32,
  SINTER_I32,
  SINTER_U64,
  SINTER_I64,
  SINTER_F16,
  SINTER_BF16,
  SINTER_F32,
  SINTER_F64,
  /* For contractions only: float32 in memory; the device may round operands to
   * ten bits of mantissa before it multiplies them. */
  SINTER_TF32
} sinter_dtype;

/* A named dense row-major tensor. `dims` has `rank` entries. */
typedef struct sinter_tensor_desc {
  const char *name;
  const int64_t *dims;
  uint64_t sizeBytes;
  uint32_t dtype; /* sinter_dtype */
  uint32_t rank;
} sinter_tensor_desc;

/* ---- State: tensors that outlive a run, declared once, by name ------------
 */

typedef enum sinter_state_role {
  SINTER_STATE_PARAM = 1, /* learned */
  SINTER_STATE_BUFFER,    /* updated by the program without a gradient */
  SINTER_STATE_SLOT,      /* optimizer state that belongs to a parameter */
  SINTER_STATE_ACCUM,     /* gradient accumulator */
  SINTER_STATE_ROUNDED    /* a parameter rounded to 16 bits, computed by the
                             entry "refresh" and by those that update the
                             parameter; after all states of other roles */
} sinter_state_role;

#define SINTER_NONE 0xffffffffu

typedef struct sinter_state_desc {
  sinter_tensor_desc tensor; /* the ONNX name, shape and dtype; fixed */
  uint32_t role;             /* sinter_state_role */
  uint32_t trainable;        /* 1: an optimizer updates it */
  const char *slot; /* SLOT: "m", "v", "momentum", "t", ...; else NULL */
  uint32_t of;      /* SLOT, ROUNDED: index of its parameter; SLOT:
                       SINTER_NONE for program-wide counters such as Adam's
                       t */
  uint32_t place;   /* that holds it; 0 unless the artifact has places */
  /* 0; or the replicas of the program divide the state: each holds this many
   * bytes, replica r those from r * partBytes on, in the order of the elements.
   * What lies beyond the tensor is zero. Only for roles SLOT and PARAM. Of a
   * parameter, all have the rounding (role ROUNDED) as a whole. */
  uint64_t partBytes;
  uint64_t offsetBytes;     /* in its place's state block; a multiple of 64 */
  uint64_t initOffsetBytes; /* initial bytes of the whole tensor in `constants`;
                               UINT64_MAX: zeros */
  /* other names of the same tensor, one per line; NULL: none. Weight files
   * hold the tensor under each of them. */
  const char *aliases;
} sinter_state_desc;

/* The bytes of the state that one program holds. */
static inline uint64_t sinter_held_bytes(const sinter_state_desc *state) {
  return state->partBytes ? state->partBytes : state->tensor.sizeBytes;
}

/* ---- The control block: what a step reads and what differs in each step ----
 */

/* One small block, uploaded by one copy at the start of a run. Kernels read its
 * fields through SINTER_SPACE_CONTROL slices. */
typedef struct sinter_control {
  float lr;           /* offset 0 */
  float weightDecay;  /* offset 4 */
  float clipNorm;     /* offset 8 */
  float reserved0;    /* offset 12 */
  int64_t step;       /* offset 16; 0 for the first step */
  int64_t seed;       /* offset 24 */
  int64_t validRows;  /* offset 32; rows of the batch that count (eval) */
  int64_t microBatch; /* offset 40 */
  int64_t replica;    /* offset 48; this replica's number */
  uint32_t ticket;    /* offset 56; 0. A kernel with stages counts its blocks
                         here and resets it to 0; only tickets are written */
  uint32_t gradientTicket; /* offset 60; 0. The same for the kernels on
                              SINTER_STREAM_GRADIENT, which run beside others */
} sinter_control;          /* 64 bytes */

/* ---- Buffers ---------------------------------------------------------------
 */

typedef enum sinter_space {
  SINTER_SPACE_ARENA = 1, /* index: the place whose arena it is */
  SINTER_SPACE_STATE,     /* index: state; offsetBytes is inside that state */
  SINTER_SPACE_INPUT,     /* index: input of the entry */
  SINTER_SPACE_OUTPUT,    /* index: output of the entry */
  SINTER_SPACE_CONSTANT,  /* index 0; offsetBytes into `constants` */
  SINTER_SPACE_CONTROL,   /* index 0; offsetBytes into sinter_control */
  SINTER_SPACE_SCAN,      /* only in the commands of a scan; index: the
                             sinter_scan_value; offsetBytes is inside it */
  SINTER_SPACE_CHAIN /* between two convolutions of a chain; index: how many
                        slices of this space the chain has before it;
                        offsetBytes is 0 */
} sinter_space;

/* A chain are forward CONVs, each the next command of the one before it, on its
 * place, a CPU, and its stream. It alone reads the result of that one, as its
 * input, in SINTER_SPACE_CHAIN, where no other slices are. What a chain reads
 * from other spaces is not overwritten before its last command has run: so the
 * commands may run together, part by part, and a slice between them needs no
 * memory of its own. */
#define SINTER_MAX_CHAIN 4 /* commands */

typedef struct sinter_slice {
  uint32_t space; /* sinter_space */
  uint32_t index;
  uint64_t offsetBytes;
  uint64_t sizeBytes;
} sinter_slice;

/* ---- Commands: what one run does, in order ---------------------------------
 */

/* Each kind has its own member of sinter_command's union. */
typedef enum sinter_command_kind {
  SINTER_CMD_LAUNCH = 1, /* `launch`: a generated kernel */
  SINTER_CMD_MATMUL,     /* `matmul` */
  SINTER_CMD_CONV,       /* `conv` */
  SINTER_CMD_COPY,       /* `copy`: slices[1] = slices[0] (same size) */
  SINTER_CMD_FILL,       /* no member: slices[0] = zeros */
  SINTER_CMD_ATTENTION,  /* `attention` */
  /* `collective`: all replicas sum or gather arrays. It starts when the
   * commands before it are done and overlaps with those after it, up to the
   * AWAIT with its event. */
  SINTER_CMD_COLLECTIVE,
  /* waits for the COLLECTIVE with the same `event`. Commands between the
   * two neither change what it reads nor touch what it writes. No slices. */
  SINTER_CMD_AWAIT,
  SINTER_CMD_SCAN, /* `scan`: other commands, once for each trip */
  /* Order between streams. No slices. */
  SINTER_CMD_RECORD = 16, /* `event` = the stream's commands so far */
  SINTER_CMD_WAIT         /* the stream continues after `event`, which an
                             earlier command of the entry recorded */
} sinter_command_kind;

/* Every command runs on one of its place's streams. Commands on different
 * streams or places run in any order that the events allow. */
typedef enum sinter_stream {
  SINTER_STREAM_COMPUTE = 0,
  SINTER_STREAM_TRANSFER, /* copies from and to other places */
  /* Gradients of weights, and what only they are needed for. It starts when
   * the compute stream does, and the run ends when both have. */
  SINTER_STREAM_GRADIENT
} sinter_stream;

/* Operations on a contraction's fp32 result, applied in order before it is
 * stored: sinter/post_ops.h. */
typedef struct sinter_post_op {
  uint32_t kind;  /* sinter_post_op_kind */
  uint32_t slice; /* index into the command's slices; only for some kinds */
  float alpha;
  float beta;
} sinter_post_op;

/* Constant weights as integers of 4 or 8 bits, with a scale and a zero point
 * for each `block` of rows of a column:
 *   B[k,n] = (code[k,n] - zero[k / block, n]) * scale[k / block, n]
 * Scales and zero points are dense fp32 [K / block, N]. Codes of 4 bits, all
 * >= 0, are U8 [K / 2, N]: the low half of a byte is that of an even k, the
 * high half that of the next one. */
typedef struct sinter_coded_weights {
  uint32_t bits;          /* 4 or 8; 0: B has no codes, the rest is zero */
  uint32_t scales, zeros; /* slices that are read; 0: one number for all */
  float scale, zero;      /* this number */
  uint32_t reserved;
  int64_t block; /* divides K; even for 4 bits */
} sinter_coded_weights;

/* C[b,m,n] = sum over k of A[b,m,k] * B[b,k,n], then the post-ops.
 * Slices: 0 = A, 1 = B, 2.. = operands of post-ops and of coded weights (those
 * that are written after those that are only read), last = C.
 * Strides are in elements; a batch stride of 0 broadcasts. Coded weights are
 * for fp32 without batch, with strides n and 1 of B: those of the weights, not
 * of the codes. */
typedef struct sinter_matmul {
  uint32_t dtype;     /* of A and, if its call says no other, B */
  uint32_t outDtype;  /* of C and of post-ops' operands */
  uint32_t batchRank; /* 0..SINTER_MAX_BATCH_DIMS */
  uint32_t numPostOps;
  int64_t batch[SINTER_MAX_BATCH_DIMS];
  int64_t m, n, k;
  int64_t aBatchStrides[SINTER_MAX_BATCH_DIMS], aStrideM, aStrideK;
  int64_t bBatchStrides[SINTER_MAX_BATCH_DIMS], bStrideK, bStrideN;
  int64_t cBatchStrides[SINTER_MAX_BATCH_DIMS], cStrideM, cStrideN;
  sinter_post_op postOps[SINTER_MAX_POST_OPS];
  sinter_coded_weights weights;
} sinter_matmul;

typedef enum sinter_conv_direction {
  SINTER_CONV_FORWARD =
      1, /* slices: input, filter, post-op operands.., output */
  SINTER_CONV_INPUT_GRAD, /* slices: output grad, filter, post-op operands..,
                             input grad */
  SINTER_CONV_FILTER_GRAD /* slices: input, output grad, filter grad */
} sinter_conv_direction;

typedef enum sinter_conv_layout {
  SINTER_CHANNELS_FIRST = 1, /* N C spatial.. */
  SINTER_CHANNELS_LAST       /* N spatial.. C */
} sinter_conv_layout;

/* Cross-correlation as ONNX and PyTorch define it. `inputDims` and `outputDims`
 * are the spatial sizes of the forward convolution in all three directions;
 * `channels` are its input and `filters` its output channels. */
typedef struct sinter_conv {
  uint32_t direction; /* sinter_conv_direction */
  uint32_t dtype;
  uint32_t layout;      /* sinter_conv_layout of activations */
  uint32_t spatialRank; /* 1..3 */
  int64_t batch, channels, filters, groups;
  int64_t inputDims[SINTER_MAX_SPATIAL_DIMS];
  int64_t outputDims[SINTER_MAX_SPATIAL_DIMS];
  int64_t kernel[SINTER_MAX_SPATIAL_DIMS];
  int64_t strides[SINTER_MAX_SPATIAL_DIMS];
  int64_t dilations[SINTER_MAX_SPATIAL_DIMS]; /* 1 = dense */
  int64_t padsLow[SINTER_MAX_SPATIAL_DIMS];
  int64_t padsHigh[SINTER_MAX_SPATIAL_DIMS]; /* may be negative */
  uint32_t numPostOps;
  uint32_t filterLayout; /* SINTER_CHANNELS_LAST: O spatial.. I/g; else
                            O I/g spatial.. */
  sinter_post_op postOps[SINTER_MAX_POST_OPS];
  uint32_t outDtype; /* of the result and of post-ops' operands; 0: dtype */
  int32_t padValue;  /* of what pads the input; 0, if post-ops have no
                        DEQUANTIZE */
} sinter_conv;

/* Scaled dot-product attention: output = softmax(query * key^T * scale + mask)
 * value over [batch, heads, rows, depth], and its gradients; with `causal`,
 * keys beyond the query's position do not count. */
typedef enum sinter_attention_direction {
  SINTER_ATTENTION_FORWARD = 1, /* slices: query, key, value, mask, if hasMask;
                                   then stats, if hasStats, and output, written
                                 */
  SINTER_ATTENTION_BACKWARD     /* slices: query, key, value, output, output
                                   grad, stats, mask, if hasMask; then query
                                   grad, key grad, value grad, written */
} sinter_attention_direction;

/* Distances between the rows of one operand, in elements; the first row begins
 * its slice, and the elements of a row are adjacent. */
typedef struct sinter_heads {
  int64_t batchStride, headStride, rowStride;
} sinter_heads;

typedef struct sinter_attention {
  uint32_t direction; /* sinter_attention_direction */
  uint32_t dtype;     /* of all but the statistics, which are fp32, dense
                         [batch, heads, queries] */
  uint32_t causal, hasStats;
  int64_t batch, heads, queries, keys, depth;
  float scale;
  uint32_t hasMask;
  sinter_heads query, key, value, output, outputGrad, queryGrad, keyGrad,
      valueGrad;     /* the last four: BACKWARD only */
  sinter_heads mask; /* fp32 [batch, heads, queries, keys]; strides of 0 where
                        it repeats */
} sinter_attention;

/* ---- A command: a row of an entry's table -----------------------------------
 */

typedef struct sinter_launch {
  int64_t tiles;   /* CPU: tiles [0, tiles) are claimed by the workers */
  uint32_t kernel; /* index into the artifact's kernels */
  uint32_t reserved;
} sinter_launch;

/* Contractions: what to compute; CPU: how. */
typedef enum sinter_contraction_way {
  SINTER_BY_LIBRARY = 0,
  SINTER_BY_LOOPS,       /* plain loops */
  SINTER_BY_FAST_LIBRARY /* CONV: by the library, which may transform operands
                            to multiply less, with other rounding */
} sinter_contraction_way;

typedef struct sinter_matmul_call {
  const sinter_matmul *params;
  uint32_t way;      /* sinter_contraction_way */
  uint32_t dtypeOfB; /* 0: that of A. Else A is U8 or I8, B the other of these,
                        and C I32, or post-ops have DEQUANTIZE; or B are the
                        codes, U8 or I8, of coded weights */
} sinter_matmul_call;

typedef struct sinter_conv_call {
  const sinter_conv *params;
  uint32_t way;           /* sinter_contraction_way */
  uint32_t dtypeOfFilter; /* 0: that of the input. Else the input is U8 or I8,
                             the filter the other of these, the result I32, or
                             post-ops have DEQUANTIZE */
} sinter_conv_call;

typedef struct sinter_attention_call {
  const sinter_attention *params;
} sinter_attention_call;

typedef struct sinter_copy {
  uint32_t from, to; /* places of slices[0] and slices[1] */
} sinter_copy;

/* Slices [0, k) are read, [k, 2k) written. R is the number of replicas, r the
 * number of this one. Parts are R equal ones of a slice, in order. */
typedef enum sinter_collective_op {
  /* slice k + i = the sum of slice i over all replicas. The two have the same
   * size; slice k + i is either the same bytes or overlaps with no other. */
  SINTER_ALL_REDUCE = 0,
  /* slice k + i = part r of the sum of slice i over all replicas. Slice i is R
   * times as large; no slice overlaps with another. */
  SINTER_REDUCE_SCATTER,
  /* part q of slice k + i = slice i of replica q, for each q. Slice k + i is R
   * times as large; no slice overlaps with another. */
  SINTER_ALL_GATHER
} sinter_collective_op;

/* Which replicas a collective is over. */
typedef enum sinter_mesh_axis {
  SINTER_AXIS_DATA = 0 /* replicas that train on different rows of one batch */
} sinter_mesh_axis;

typedef struct sinter_collective {
  uint32_t event; /* its number; AWAIT has the same */
  uint32_t dtype; /* of all slices; ALL_GATHER: any, else one with sums: not
                     BOOL */
  uint32_t op;    /* sinter_collective_op */
  uint32_t axis;  /* sinter_mesh_axis */
} sinter_collective;

/* Where a value of the body of a scan lies: trip 0 has `first`, the last trip
 * has `last`, and trip t between them has `middle`, moved by
 * ((t - 1) % period) * strideBytes. The three have the same size. Of a single
 * trip, which is both, `last` counts. */
typedef struct sinter_scan_value {
  sinter_slice first, middle, last; /* of any other space */
  int64_t strideBytes;              /* may be negative */
  int64_t period;                   /* 1 or more */
} sinter_scan_value;

/* Runs `commands` `trips` times, one trip after the other. They are LAUNCH,
 * MATMUL, CONV, ATTENTION, COPY and FILL, on the scan's place and stream. The
 * slices of the scan itself are everything that they touch. */
typedef struct sinter_scan {
  const struct sinter_command *commands;
  const sinter_scan_value *values;
  uint32_t numCommands, numValues;
  int64_t trips; /* 1 or more */
} sinter_scan;

/* What `slice`, of a command in the body of `scan`, is in trip `trip`. */
static inline sinter_slice sinter_slice_in_trip(const sinter_scan *scan,
                                                sinter_slice slice,
                                                int64_t trip) {
  const sinter_scan_value *value;
  sinter_slice found;
  if (slice.space != SINTER_SPACE_SCAN)
    return slice;
  value = &scan->values[slice.index];
  found = trip + 1 == scan->trips ? value->last
          : trip == 0             ? value->first
                                  : value->middle;
  /* Unsigned: steps backwards wrap around. */
  if (trip > 0 && trip + 1 < scan->trips)
    found.offsetBytes +=
        (uint64_t)((trip - 1) % value->period) * (uint64_t)value->strideBytes;
  found.offsetBytes += slice.offsetBytes;
  found.sizeBytes = slice.sizeBytes;
  return found;
}

typedef struct sinter_scan_call {
  const sinter_scan *params;
} sinter_scan_call;

typedef struct sinter_command {
  uint32_t kind;   /* sinter_command_kind */
  uint32_t place;  /* whose stream runs it */
  uint32_t stream; /* sinter_stream; commands of one stream run in order */
  uint32_t numSlices;
  uint32_t
      numReads; /* slices [0, numReads) are only read; the others are written
                   (a slice that is both is listed in both parts) */
  uint32_t reserved;
  const sinter_slice *slices;
  const char
      *label; /* names of its ONNX nodes, separated by commas; "grad(NODE)" if
                 it computes a gradient of the node; never NULL */
  union {     /* the member that `kind` names; the rest is zero */
    sinter_launch launch;
    sinter_matmul_call matmul;
    sinter_conv_call conv;
    sinter_attention_call attention;
    sinter_copy copy;
    sinter_collective collective;
    sinter_scan_call scan;
    uint32_t event; /* AWAIT, RECORD, WAIT */
  };
} sinter_command;

/* ---- Kernels, entries, artifact
 * ---------------------------------------------- */

typedef enum sinter_kernel_flag {
  /* On sm_90 and newer, every thread waits for the launches before it on its
   * stream before it accesses global memory. A launch may then begin before
   * those have ended. */
  SINTER_KERNEL_WAITS = 1,
  /* All blocks run at once, since they wait for each other. The grid is the
   * largest useful one; a device launches at most as many blocks as it can run
   * at once. */
  SINTER_KERNEL_PERSISTENT = 2
} sinter_kernel_flag;

/* A kernel has code for one kind of device: a function for the CPU, a function
 * in the images for CUDA, or the function of one thread for the simulated
 * device. */
typedef struct sinter_kernel_desc {
  const char *name;      /* also in the images */
  sinter_cpu_kernel cpu; /* NULL: none */
  sinter_sim_kernel sim; /* NULL: none */
  /* CUDA and sim: blocks, threads of a block; 0 for the CPU. Parameters are the
   * addresses of the launch's slices, in order. */
  uint32_t grid[3], block[3];
  /* Dynamic shared memory that a block can use; a device with less gives less,
   * and the kernel asks how much it has. */
  uint32_t sharedBytes;
  uint32_t numBuffers; /* slices of a launch */
  uint32_t flags;      /* of sinter_kernel_flag; 0 for the CPU */
  uint32_t reserved;
} sinter_kernel_desc;

/* All CUDA kernels of an artifact, for one architecture. */
typedef enum sinter_image_kind {
  SINTER_IMAGE_PTX = 1, /* text, NUL-terminated; sizeBytes counts the NUL */
  SINTER_IMAGE_CUBIN
} sinter_image_kind;

typedef struct sinter_image {
  uint32_t kind; /* sinter_image_kind */
  uint32_t arch; /* 80: compute capability 8.0 */
  const uint8_t *bytes;
  uint64_t sizeBytes;
} sinter_image;

/* a check that indices lie in [lower, upper). The index at position p
 * belongs to row (p / stride) % rows of the batch; rows 0: unknown. */
typedef struct sinter_index_check {
  const char *node; /* ONNX node that reads them; never NULL */
  int64_t lower, upper;
  int64_t rows, stride;
} sinter_index_check;

/* One function of the program (names: sinter/program_names.h): "main"
 * (inference), or "step" and "eval". With
 * micro-batches, "step" is replaced by "grad", which has its inputs and no
 * outputs, and "apply", which has its outputs and no inputs.
 * "step" has the graph's inputs, then "labels", and the output "loss" (fp32
 * scalar). "eval" has the same inputs and the outputs "loss_sum", "loss_count",
 * "correct", "correct_count" (fp32 scalars; only rows below control.validRows
 * count; the last two are absent when accuracy has no meaning). */
typedef struct sinter_entry {
  const char *name;
  const sinter_tensor_desc *inputs;
  const sinter_tensor_desc *outputs;
  const sinter_command *commands;
  uint32_t numInputs, numOutputs, numCommands;
  /* if not 0, `outputs` has one more row, for the runtime: an int64
   * [numIndexChecks][2] with, for each of the entry's checks, position + 1 and
   * value of the first index out of range, or zeros. */
  uint32_t numIndexChecks;
  uint64_t arenaBytes; /* of place 0 */
  uint64_t
      unsharedBytes;     /* what the arenas' buffers would take without reuse */
  uint64_t maxLiveBytes; /* the largest sum of live buffers in this order, of
                            all places together */
} sinter_entry;

/* The ONNX model for `export`: the pieces in order, each either literal bytes
 * or the current raw bytes of a state. Concatenated they are one valid file. */
typedef struct sinter_export_piece {
  const uint8_t *bytes; /* NULL: the bytes of `state` */
  uint64_t sizeBytes;
  uint32_t state;
  uint32_t reserved;
} sinter_export_piece;

/* Defaults that the trainer's command line may override, and what it reports.
 */
typedef struct sinter_training {
  const char *optimizer;           /* "sgd", "adam", "adamw", ... */
  const char *loss;                /* "cross-entropy", ... */
  float lr, weightDecay, clipNorm; /* clipNorm 0: no clipping was compiled in */
  float reserved0;
  int64_t batch;       /* leading dimension of inputs and labels,
                          of one replica */
  int64_t numClasses;  /* labels lie in [0, numClasses); 0: no range */
  int64_t ignoreIndex; /* one more label that is allowed; meaningful
                          if hasIgnoreIndex */
  uint32_t hasIgnoreIndex;
  uint32_t replicas;   /* how many run "step" together; 0 and 1: one */
  uint32_t accumulate; /* micro-batches of a step; 0 and 1: one, and the
                          entry "step"; else that many runs of "grad", whose
                          control.microBatch counts from 0, then "apply" */
  uint32_t reserved;
} sinter_training;

/* The handshake of replicas: a process-wide or world-wide group, made by
 * one of them, and the program's rank in it. */
#define SINTER_GROUP_BYTES 128
typedef struct sinter_rank {
  uint8_t group[SINTER_GROUP_BYTES];
  uint32_t rank, replicas; /* rank < replicas */
} sinter_rank;

/* A device of a program that spans several. Commands, arenas and states name
 * it by its number. Every place has the inputs, constants and control block; an
 * output is written on the place that computes it. */
typedef struct sinter_place_desc {
  const char *device; /* "cpu", "sim:1" */
  const char *target; /* its kind: "cpu", "cuda" or "sim" */
} sinter_place_desc;

typedef struct sinter_artifact {
  uint64_t magic;
  uint32_t major, minor;
  uint64_t sizeofArtifact, sizeofCommand, sizeofState; /* checked at load */
  const char *name;                                    /* of the model */
  const char *buildId; /* hash of program and options, hex */
  const char *target;  /* what the kernels are for: "cpu", "cuda" or "sim" */
  const char
      *manifest; /* JSON text: options, precision, ONNX node names, ... */
  const char
      *cpuFeatures; /* "+avx2,+fma,..." that the code needs; "" = baseline */
  const sinter_state_desc *states;
  const sinter_entry *entries;
  const sinter_kernel_desc *kernels;
  const sinter_image *images; /* CUDA: PTX for the lowest architecture first */
  const sinter_export_piece *exportPieces; /* NULL: not from ONNX */
  const sinter_training *training;         /* NULL: inference */
  const uint8_t *constants;                /* page aligned */
  uint64_t constantsBytes;
  uint64_t stateBytes; /* size of the state block, the largest one of places */
  uint32_t numStates, numEntries, numKernels, numExportPieces, numImages;
  /* 1: library calls may add in an order that changes from run to run
   * (--deterministic=none) */
  uint32_t isUnordered;
  /* The same program for another target, or NULL: same states (by name, dtype,
   * shape and number) but those of role ROUNDED, same inputs and outputs;
   * constants and export pieces are shared where they are equal. The first
   * one's target is the default. */
  const struct sinter_artifact *next;
  /* The devices of a program that names them. NULL: one device of kind
   * `target`, which the loader picks. The first place has kind `target`. */
  const sinter_place_desc *places;
  const uint64_t *arenas; /* arenas[entry * numPlaces + place] in bytes */
  uint32_t numPlaces;
  uint32_t reserved1;
  /* the sinter_dtype of each slice of each command of each entry, in this
   * order; NULL: unknown. */
  const uint8_t *sliceDtypes;
  /* how many bytes of scratch library calls may take, workspaces[place],
   * one entry if numPlaces is 0; NULL: none anywhere; UINT64_MAX: as many as
   * they want. No library call takes more. */
  const uint64_t *workspaces;
  /* the checks of all entries, in their order. */
  const sinter_index_check *indexChecks;
} sinter_artifact;

#ifdef __cplusplus
}
#endif
#endif /* SINTER_ABI_H */
