//===- LibraryCallChecks.cpp - parameters of calls against their slices ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactChecks.h"

#include <algorithm>
#include <vector>

using namespace sinter::rt;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// One strided dimension of an operand.
struct Dim {
  int64_t size, stride;
};

/// The operand must lie in its slice; a written one must not overlap itself.
Status checkOperand(const char *what, const std::vector<Dim> &dims,
                    uint32_t dtype, const sinter_slice &slice, bool written) {
  int64_t last = 0;
  for (const Dim &dim : dims) {
    if (dim.size == 0)
      return {};
    int64_t reach = 0;
    if (dim.stride < 0)
      return Status::invalid(std::string(what) + " has the negative stride " +
                             number(dim.stride));
    if (!multiplyInto(dim.size - 1, dim.stride, reach) ||
        !addInto(last, reach, last))
      return Status::invalid(std::string(what) + " is larger than 2^63");
  }
  int64_t bytes = 0;
  if (!addInto(last, 1, bytes) ||
      !multiplyInto(bytes, static_cast<int64_t>(dtypeBytes(dtype)), bytes) ||
      static_cast<uint64_t>(bytes) > slice.sizeBytes)
    return Status::invalid(std::string(what) + " ends at element " +
                           number(last) + " of " + dtypeName(dtype) +
                           ", its slice has " +
                           std::to_string(slice.sizeBytes) + " bytes");
  if (!written)
    return {};
  std::vector<Dim> sorted = dims;
  std::sort(sorted.begin(), sorted.end(),
            [](const Dim &a, const Dim &b) { return a.stride < b.stride; });
  int64_t reach = 0;
  for (const Dim &dim : sorted) {
    if (dim.size == 1)
      continue;
    if (dim.stride <= reach)
      return Status::invalid(std::string(what) +
                             " is written with strides that overlap");
    reach += (dim.size - 1) * dim.stride; // no overflow: part of `last`
  }
  return {};
}

sinter_post_slice sliceUse(const sinter_post_op &op) {
  const sinter_post_op_traits *traits = sinter_post_op_row(op.kind);
  return traits ? traits->slice : SINTER_POST_SLICE_NONE;
}

bool isByte(uint32_t dtype) { return dtype == SINTER_U8 || dtype == SINTER_I8; }

bool hasPostOp(const sinter_post_op *ops, uint32_t count, uint32_t kind) {
  return std::any_of(ops, ops + count,
                     [&](const sinter_post_op &op) { return op.kind == kind; });
}

/// Checks the places of DEQUANTIZE, QUANTIZE and what is between them, and the
/// type of the result.
Status checkQuantisation(const sinter_post_op *ops, uint32_t count,
                         uint32_t outDtype) {
  bool isFloat = false, isCoded = false, needsCodes = false;
  for (uint32_t i = 0; i < count; ++i) {
    const bool begins = ops[i].kind == SINTER_POST_DEQUANTIZE,
               ends = ops[i].kind == SINTER_POST_QUANTIZE,
               isBetween = ops[i].kind == SINTER_POST_FAKE_QUANTIZE ||
                           ops[i].kind == SINTER_POST_ADD_CODES;
    if (isCoded || (begins && isFloat) || ((ends || isBetween) && !isFloat))
      return Status::invalid("has DEQUANTIZE and QUANTIZE out of order");
    needsCodes |= isBetween;
    isFloat |= begins;
    isCoded |= ends;
  }
  if (needsCodes && !isCoded)
    return Status::invalid("has FAKE_QUANTIZE or ADD_CODES without QUANTIZE");
  if (isFloat && !(isCoded ? isByte(outDtype) : outDtype == SINTER_F32))
    return Status::invalid(std::string("has a result of ") +
                           dtypeName(outDtype) + " after " +
                           (isCoded ? "QUANTIZE" : "DEQUANTIZE"));
  return {};
}

/// Whether `command`, a contraction, may have post-ops of `scope`.
bool isInScope(const sinter_command &command, sinter_post_scope scope) {
  const bool isMatmul = command.kind == SINTER_CMD_MATMUL;
  switch (scope) {
  case SINTER_POST_SCOPE_ALL:
    return true;
  case SINTER_POST_SCOPE_MATMUL:
    return isMatmul;
  case SINTER_POST_SCOPE_SINGLE:
    return isMatmul && command.matmul.params->batchRank == 0;
  case SINTER_POST_SCOPE_FORWARD:
    return command.kind == SINTER_CMD_CONV &&
           command.conv.params->direction == SINTER_CONV_FORWARD;
  case SINTER_POST_SCOPE_BYTES: {
    const uint32_t dtype =
        isMatmul ? command.matmul.params->dtype : command.conv.params->dtype;
    return isByte(dtype) &&
           (isMatmul || command.conv.params->direction == SINTER_CONV_FORWARD);
  }
  }
  return false;
}

/// Whether `command`, a contraction, may have the post-op at `at`.
bool isKnownPostOp(const sinter_command &command, const sinter_post_op *ops,
                   uint32_t count, uint32_t at) {
  const uint32_t kind = ops[at].kind;
  const sinter_post_op_traits *traits = sinter_post_op_row(kind);
  if (!traits || !isInScope(command, traits->scope))
    return false;
  // The two sums over channels come together, at the end.
  if (kind == SINTER_POST_CHANNEL_SUM)
    return at + 2 == count && ops[at + 1].kind == SINTER_POST_CHANNEL_SQUARES;
  return kind != SINTER_POST_CHANNEL_SQUARES ||
         (at > 0 && at + 1 == count &&
          ops[at - 1].kind == SINTER_POST_CHANNEL_SUM);
}

/// Shared by MATMUL and CONV: slices 2 .. last-1 belong to the post-ops.
/// `lines` is the product of the result's sizes without that along the bias,
/// `dtype` the type of the result.
Status checkPostOps(const sinter_command &command, const sinter_post_op *ops,
                    uint32_t count, const std::vector<Dim> &result,
                    int64_t biasSize, int64_t lines, uint32_t dtype) {
  if (count > SINTER_MAX_POST_OPS)
    return Status::invalid("has " + number(count) + " post-ops, at most " +
                           number(SINTER_MAX_POST_OPS) + " are allowed");
  const uint32_t outDtype = dtype;
  if (hasPostOp(ops, count, SINTER_POST_DEQUANTIZE))
    dtype = SINTER_I32;
  for (uint32_t i = 0; i < count; ++i) {
    const sinter_post_op &op = ops[i];
    if (op.kind == SINTER_POST_DEQUANTIZE)
      dtype = SINTER_F32;
    if (!isKnownPostOp(command, ops, count, i))
      return Status::invalid("has the unknown post-op " + number(op.kind));
    const sinter_post_op_traits &traits = *sinter_post_op_row(op.kind);
    if (traits.slice == SINTER_POST_SLICE_NONE)
      continue;
    bool written = traits.slice == SINTER_POST_SLICE_WRITTEN;
    if (op.slice < 2 || op.slice + 1 >= command.numSlices)
      return Status::invalid("a post-op reads slice " + number(op.slice) +
                             " of " + number(command.numSlices));
    if (written != (op.slice >= command.numReads))
      return Status::invalid("a post-op " +
                             std::string(written ? "writes" : "reads") +
                             " slice " + number(op.slice) + "; the first " +
                             number(command.numReads) + " are those to read");
    const sinter_slice &slice = command.slices[op.slice];
    auto check = [&](const std::vector<Dim> &dims, uint32_t sliceDtype) {
      return checkOperand(traits.what, dims, sliceDtype, slice, written);
    };
    switch (traits.extent) {
    case SINTER_POST_EXTENT_NONE:
      break;
    case SINTER_POST_EXTENT_RESULT:
      SINTER_RETURN_IF_ERROR(check(result, dtype));
      break;
    case SINTER_POST_EXTENT_CODES:
      SINTER_RETURN_IF_ERROR(check(result, outDtype));
      break;
    case SINTER_POST_EXTENT_COLUMN:
      SINTER_RETURN_IF_ERROR(check({{biasSize, 1}}, dtype));
      break;
    case SINTER_POST_EXTENT_CHANNEL:
      SINTER_RETURN_IF_ERROR(check({{biasSize, 1}}, SINTER_F32));
      break;
    case SINTER_POST_EXTENT_ROW:
      SINTER_RETURN_IF_ERROR(check({{lines, 1}}, dtype));
      break;
    case SINTER_POST_EXTENT_BITS: {
      int64_t bytes = 0;
      if (!multiplyInto((biasSize + 127) / 128 * 16, lines, bytes))
        return Status::invalid("the bits are larger than 2^63");
      SINTER_RETURN_IF_ERROR(check({{bytes, 1}}, SINTER_U8));
      break;
    }
    }
  }
  return checkQuantisation(ops, count, outDtype);
}

/// How many slices the post-ops write.
uint32_t writtenByPostOps(const sinter_post_op *ops, uint32_t count) {
  uint32_t written = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(count, SINTER_MAX_POST_OPS); ++i)
    written += sliceUse(ops[i]) == SINTER_POST_SLICE_WRITTEN;
  return written;
}

Status checkContractionSlices(const sinter_command &command) {
  const bool isMatmul = command.kind == SINTER_CMD_MATMUL;
  if (isMatmul ? !command.matmul.params : !command.conv.params)
    return Status::invalid("has no parameters");
  uint32_t results = 1;
  if (isMatmul) {
    const auto &p = *command.matmul.params;
    results += writtenByPostOps(p.postOps, p.numPostOps);
  } else {
    const auto &p = *command.conv.params;
    results += writtenByPostOps(p.postOps, p.numPostOps);
  }
  if (command.numReads < 2 || command.numReads + results != command.numSlices)
    return Status::invalid("has " + number(command.numSlices) +
                           " slices of which " + number(command.numReads) +
                           " are read; " + number(results) +
                           (results == 1 ? " result" : " results") +
                           " after two or more operands are expected");
  return {};
}

/// Dims of the activation {batch, channels, spatial..} in `layout`.
Result<std::vector<Dim>> activationDims(const sinter_conv &conv,
                                        int64_t channels,
                                        const int64_t *spatial) {
  std::vector<int64_t> sizes = {conv.batch};
  if (conv.layout == SINTER_CHANNELS_FIRST)
    sizes.push_back(channels);
  sizes.insert(sizes.end(), spatial, spatial + conv.spatialRank);
  if (conv.layout == SINTER_CHANNELS_LAST)
    sizes.push_back(channels);
  std::vector<Dim> dims(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    dims[i] = {sizes[i], stride};
    if (sizes[i] > 0 && !multiplyInto(stride, sizes[i], stride))
      return Status::invalid("an activation is larger than 2^63");
  }
  return dims;
}

/// The dtype of a contraction's operands in memory.
uint32_t storedDtype(uint32_t dtype) {
  return dtype == SINTER_TF32 ? uint32_t(SINTER_F32) : dtype;
}

Status checkConvShape(const sinter_conv &conv) {
  if (conv.direction < SINTER_CONV_FORWARD ||
      conv.direction > SINTER_CONV_FILTER_GRAD)
    return Status::invalid("has the unknown direction " +
                           number(conv.direction));
  if (conv.layout != SINTER_CHANNELS_FIRST &&
      conv.layout != SINTER_CHANNELS_LAST)
    return Status::invalid("has the unknown layout " + number(conv.layout));
  if (conv.filterLayout > SINTER_CHANNELS_LAST)
    return Status::invalid("has the unknown filter layout " +
                           number(conv.filterLayout));
  if (conv.spatialRank < 1 || conv.spatialRank > SINTER_MAX_SPATIAL_DIMS)
    return Status::invalid("has " + number(conv.spatialRank) +
                           " spatial dimensions");
  if (!dtypeBytes(storedDtype(conv.dtype)))
    return Status::invalid("has the unknown " + dtypeName(conv.dtype));
  if (conv.outDtype && !dtypeBytes(conv.outDtype))
    return Status::invalid("has the unknown " + dtypeName(conv.outDtype));
  if (conv.batch < 0 || conv.channels < 0 || conv.filters < 0 ||
      conv.groups < 1 || conv.channels % conv.groups != 0 ||
      conv.filters % conv.groups != 0)
    return Status::invalid("has batch " + number(conv.batch) + ", " +
                           number(conv.channels) + " channels, " +
                           number(conv.filters) + " filters in " +
                           number(conv.groups) + " groups");
  // Everything below 2^31 leaves room for the sums here and in the library.
  auto inRange = [](int64_t value, int64_t low) {
    return value >= low && value <= INT32_MAX;
  };
  for (uint32_t i = 0; i < conv.spatialRank; ++i) {
    if (!inRange(conv.inputDims[i], 0) || !inRange(conv.outputDims[i], 0) ||
        !inRange(conv.kernel[i], 1) || !inRange(conv.strides[i], 1) ||
        !inRange(conv.dilations[i], 1) ||
        !inRange(conv.padsLow[i], -INT32_MAX) ||
        !inRange(conv.padsHigh[i], -INT32_MAX))
      return Status::invalid(
          "spatial dimension " + number(i) +
          " has a size, stride, dilation or pad out of range");
    int64_t window = (conv.kernel[i] - 1) * conv.dilations[i] + 1;
    int64_t room =
        conv.inputDims[i] + conv.padsLow[i] + conv.padsHigh[i] - window;
    int64_t expected = room < 0 ? 0 : room / conv.strides[i] + 1;
    if (conv.outputDims[i] != expected)
      return Status::invalid("spatial dimension " + number(i) + " gives " +
                             number(expected) + " outputs, not " +
                             number(conv.outputDims[i]));
  }
  return {};
}

/// Whether the result of a MATMUL or CONV, or what DEQUANTIZE reads, is int32.
template <class Params> bool hasIntegerSums(const Params &p) {
  return p.outDtype == SINTER_I32 ||
         hasPostOp(p.postOps,
                   std::min<uint32_t>(p.numPostOps, SINTER_MAX_POST_OPS),
                   SINTER_POST_DEQUANTIZE);
}

/// Checks what pads the input.
Status checkPadValue(const sinter_conv &p) {
  const int32_t least = p.dtype == SINTER_U8 ? 0 : -128;
  if (p.padValue == 0 ||
      (isByte(p.dtype) &&
       hasPostOp(p.postOps,
                 std::min<uint32_t>(p.numPostOps, SINTER_MAX_POST_OPS),
                 SINTER_POST_DEQUANTIZE) &&
       p.padValue >= least && p.padValue <= least + 255))
    return {};
  return Status::invalid("pads " + dtypeName(p.dtype) + " with " +
                         number(p.padValue));
}

/// Checks the dtype of the second operand, which differs from the first.
/// `hasSums`: the sums, or the result, are int32.
Status checkOtherFactor(uint32_t dtype, uint32_t other, uint32_t outDtype,
                        bool hasSums) {
  if (other && (!isByte(other) || !isByte(dtype) || !hasSums))
    return Status::invalid("multiplies " + dtypeName(dtype) + " by " +
                           dtypeName(other) + " into " + dtypeName(outDtype));
  return {};
}

/// Checks coded weights and the slices that they are in.
Status checkCodedWeights(const sinter_command &command) {
  const auto &p = *command.matmul.params;
  const sinter_coded_weights &w = p.weights;
  const uint32_t dtype = command.matmul.dtypeOfB;
  if (w.bits != 4 && w.bits != 8)
    return Status::invalid("has weights of " + number(w.bits) + " bits");
  if (p.dtype != SINTER_F32 || p.outDtype != SINTER_F32 || !isByte(dtype) ||
      (w.bits == 4 && dtype != SINTER_U8))
    return Status::invalid("multiplies " + dtypeName(p.dtype) + " by " +
                           number(w.bits) + "-bit codes in " +
                           dtypeName(dtype) + " into " + dtypeName(p.outDtype));
  if (w.block < 1 || p.k % w.block != 0 || (w.bits == 4 && w.block % 2 != 0))
    return Status::invalid("has blocks of " + number(w.block) +
                           " weights, k is " + number(p.k));
  if (p.batchRank || p.bStrideK != p.n || p.bStrideN != 1)
    return Status::invalid("has coded weights with a batch or other strides "
                           "than n and 1");
  SINTER_RETURN_IF_ERROR(
      checkOperand("B", {{w.bits == 4 ? p.k / 2 : p.k, p.n}, {p.n, 1}}, dtype,
                   command.slices[1], false));
  for (uint32_t slice : {w.scales, w.zeros}) {
    if (slice == 0)
      continue;
    if (slice < 2 || slice >= command.numReads)
      return Status::invalid("has scales or zero points of slice " +
                             number(slice) + "; the first " +
                             number(command.numReads) + " are read");
    SINTER_RETURN_IF_ERROR(checkOperand(
        slice == w.scales ? "the table of scales" : "the table of zero points",
        {{p.k / w.block, p.n}, {p.n, 1}}, SINTER_F32, command.slices[slice],
        false));
  }
  return {};
}

} // namespace

Status sinter::rt::checkMatmul(const sinter_command &command) {
  SINTER_RETURN_IF_ERROR(checkContractionSlices(command));
  const auto &p = *command.matmul.params;
  const uint32_t dtype = storedDtype(p.dtype);
  if (!dtypeBytes(dtype) || !dtypeBytes(p.outDtype))
    return Status::invalid("has the unknown " +
                           dtypeName(dtypeBytes(dtype) ? p.outDtype : p.dtype));
  const bool isCoded = p.weights.bits != 0;
  if (!isCoded)
    SINTER_RETURN_IF_ERROR(checkOtherFactor(dtype, command.matmul.dtypeOfB,
                                            p.outDtype, hasIntegerSums(p)));
  if (p.batchRank > SINTER_MAX_BATCH_DIMS)
    return Status::invalid("has " + number(p.batchRank) + " batch dimensions");
  if (p.m < 0 || p.n < 0 || p.k < 0)
    return Status::invalid("has m, n, k = " + number(p.m) + ", " + number(p.n) +
                           ", " + number(p.k));
  std::vector<Dim> a = {{p.m, p.aStrideM}, {p.k, p.aStrideK}};
  std::vector<Dim> b = {{p.k, p.bStrideK}, {p.n, p.bStrideN}};
  std::vector<Dim> c = {{p.m, p.cStrideM}, {p.n, p.cStrideN}};
  for (uint32_t i = 0; i < p.batchRank; ++i) {
    if (p.batch[i] < 0)
      return Status::invalid("has the batch dimension " + number(p.batch[i]));
    a.push_back({p.batch[i], p.aBatchStrides[i]});
    b.push_back({p.batch[i], p.bBatchStrides[i]});
    c.push_back({p.batch[i], p.cBatchStrides[i]});
  }
  const sinter_slice &result = command.slices[command.numSlices - 1];
  SINTER_RETURN_IF_ERROR(checkOperand("A", a, dtype, command.slices[0], false));
  SINTER_RETURN_IF_ERROR(
      isCoded ? checkCodedWeights(command)
              : checkOperand("B", b, dtype, command.slices[1], false));
  SINTER_RETURN_IF_ERROR(checkOperand("C", c, p.outDtype, result, true));
  int64_t lines = p.m;
  for (uint32_t i = 0; i < p.batchRank; ++i)
    if (!multiplyInto(lines, p.batch[i], lines))
      return Status::invalid("C is larger than 2^63");
  return checkPostOps(command, p.postOps, p.numPostOps, c, p.n, lines,
                      p.outDtype);
}

Status sinter::rt::checkAttention(const sinter_command &command) {
  if (!command.attention.params)
    return Status::invalid("has no parameters");
  const auto &p = *command.attention.params;
  if (p.direction < SINTER_ATTENTION_FORWARD ||
      p.direction > SINTER_ATTENTION_BACKWARD)
    return Status::invalid("has the unknown direction " + number(p.direction));
  bool isForward = p.direction == SINTER_ATTENTION_FORWARD;
  if (p.hasMask > 1)
    return Status::invalid("has " + number(p.hasMask) + " masks");
  uint32_t reads = (isForward ? 3 : 6) + p.hasMask,
           slices = reads + (isForward ? (p.hasStats ? 2 : 1) : 3);
  if (command.numReads != reads || command.numSlices != slices)
    return Status::invalid("has " + number(command.numSlices) +
                           " slices of which " + number(command.numReads) +
                           " are read; " + number(slices) + " and " +
                           number(reads) + " are expected");
  if (!isForward && !p.hasStats)
    return Status::invalid("has no statistics");
  if (!dtypeBytes(p.dtype))
    return Status::invalid("has the unknown " + dtypeName(p.dtype));
  for (int64_t size : {p.batch, p.heads, p.queries, p.keys, p.depth})
    if (size < 1 || size > INT32_MAX)
      return Status::invalid("has the size " + number(size));
  struct Operand {
    const char *name;
    const sinter_heads &at;
    int64_t rows;
    uint32_t slice;
  };
  std::vector<Operand> operands = {{"the query", p.query, p.queries, 0},
                                   {"the key", p.key, p.keys, 1},
                                   {"the value", p.value, p.keys, 2}};
  if (isForward) {
    operands.push_back({"the output", p.output, p.queries, slices - 1});
  } else {
    operands.push_back({"the output", p.output, p.queries, 3});
    operands.push_back({"the output grad", p.outputGrad, p.queries, 4});
    operands.push_back({"the query grad", p.queryGrad, p.queries, reads});
    operands.push_back({"the key grad", p.keyGrad, p.keys, reads + 1});
    operands.push_back({"the value grad", p.valueGrad, p.keys, reads + 2});
  }
  for (const Operand &operand : operands)
    SINTER_RETURN_IF_ERROR(checkOperand(operand.name,
                                        {{p.batch, operand.at.batchStride},
                                         {p.heads, operand.at.headStride},
                                         {operand.rows, operand.at.rowStride},
                                         {p.depth, 1}},
                                        p.dtype, command.slices[operand.slice],
                                        operand.slice >= reads));
  if (p.hasMask)
    SINTER_RETURN_IF_ERROR(checkOperand("the mask",
                                        {{p.batch, p.mask.batchStride},
                                         {p.heads, p.mask.headStride},
                                         {p.queries, p.mask.rowStride},
                                         {p.keys, 1}},
                                        SINTER_F32, command.slices[reads - 1],
                                        /*written=*/false));
  if (!p.hasStats)
    return {};
  uint32_t stats = isForward ? reads : 5;
  return checkOperand(
      "the softmax statistic",
      {{p.batch, p.heads * p.queries}, {p.heads, p.queries}, {p.queries, 1}},
      SINTER_F32, command.slices[stats], isForward);
}

Status sinter::rt::checkConv(const sinter_command &command) {
  SINTER_RETURN_IF_ERROR(checkContractionSlices(command));
  const auto &p = *command.conv.params;
  SINTER_RETURN_IF_ERROR(checkConvShape(p));
  SINTER_RETURN_IF_ERROR(checkPadValue(p));
  Result<std::vector<Dim>> input = activationDims(p, p.channels, p.inputDims);
  Result<std::vector<Dim>> output = activationDims(p, p.filters, p.outputDims);
  if (!input.ok() || !output.ok())
    return !input.ok() ? input.status() : output.status();
  int64_t filterSize = p.channels / p.groups;
  bool fits = multiplyInto(filterSize, p.filters, filterSize);
  for (uint32_t i = 0; i < p.spatialRank; ++i)
    fits = fits && multiplyInto(filterSize, p.kernel[i], filterSize);
  if (!fits)
    return Status::invalid("the filter is larger than 2^63");
  std::vector<Dim> filter = {{filterSize, 1}};

  const sinter_slice *slices = command.slices;
  const sinter_slice &result = slices[command.numSlices - 1];
  const uint32_t outDtype = p.outDtype ? p.outDtype : storedDtype(p.dtype);
  SINTER_RETURN_IF_ERROR(checkOtherFactor(storedDtype(p.dtype),
                                          command.conv.dtypeOfFilter, outDtype,
                                          hasIntegerSums(p)));
  auto check = [&](const char *what, const std::vector<Dim> &dims,
                   const sinter_slice &slice, bool written) {
    return checkOperand(what, dims, written ? outDtype : storedDtype(p.dtype),
                        slice, written);
  };
  const std::vector<Dim> *resultDims = &*output;
  int64_t biasSize = p.filters;
  switch (p.direction) {
  case SINTER_CONV_FORWARD:
    SINTER_RETURN_IF_ERROR(check("the input", *input, slices[0], false));
    SINTER_RETURN_IF_ERROR(check("the filter", filter, slices[1], false));
    SINTER_RETURN_IF_ERROR(check("the output", *output, result, true));
    break;
  case SINTER_CONV_INPUT_GRAD:
    SINTER_RETURN_IF_ERROR(check("the output grad", *output, slices[0], false));
    SINTER_RETURN_IF_ERROR(check("the filter", filter, slices[1], false));
    SINTER_RETURN_IF_ERROR(check("the input grad", *input, result, true));
    resultDims = &*input;
    biasSize = p.channels;
    break;
  default:
    SINTER_RETURN_IF_ERROR(check("the input", *input, slices[0], false));
    SINTER_RETURN_IF_ERROR(check("the output grad", *output, slices[1], false));
    SINTER_RETURN_IF_ERROR(check("the filter grad", filter, result, true));
    if (p.numPostOps != 0)
      return Status::invalid("a filter gradient has no post-ops");
    break;
  }
  return checkPostOps(command, p.postOps, p.numPostOps, *resultDims, biasSize,
                      0, outDtype);
}
