//===- CommandChecks.cpp - slices, matmul and convolution parameters ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

using namespace sinter::rt;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// Bytes of the space that `slice`, of a command on `place`, lies in; an error
/// when there is none such.
Result<uint64_t> spaceBytes(const sinter_artifact &artifact,
                            const sinter_entry &entry,
                            const sinter_slice &slice, int64_t place) {
  auto here = [&](uint32_t other, const char *what) -> Status {
    if (other == place)
      return {};
    return Status::invalid(std::string(what) + " of place " + number(other) +
                           " in a command on place " + number(place));
  };
  auto single = [&](uint64_t size) -> Result<uint64_t> {
    if (slice.index != 0)
      return Status::invalid("index " + number(slice.index) +
                             " in a space that has only index 0");
    return size;
  };
  auto indexed = [&](uint32_t count, const char *what) -> Status {
    if (slice.index < count)
      return {};
    return Status::invalid(std::string(what) + " " + number(slice.index) +
                           " of " + number(count));
  };
  switch (slice.space) {
  case SINTER_SPACE_ARENA:
    SINTER_RETURN_IF_ERROR(here(slice.index, "the arena"));
    return arenaBytes(artifact, entry, slice.index);
  case SINTER_SPACE_CONSTANT:
    return single(artifact.constantsBytes);
  case SINTER_SPACE_CONTROL:
    return single(sizeof(sinter_control));
  case SINTER_SPACE_STATE:
    SINTER_RETURN_IF_ERROR(indexed(artifact.numStates, "state"));
    SINTER_RETURN_IF_ERROR(here(artifact.states[slice.index].place, "a state"));
    return artifact.states[slice.index].tensor.sizeBytes;
  case SINTER_SPACE_INPUT:
    SINTER_RETURN_IF_ERROR(indexed(entry.numInputs, "input"));
    return entry.inputs[slice.index].sizeBytes;
  case SINTER_SPACE_OUTPUT:
    SINTER_RETURN_IF_ERROR(indexed(entry.numOutputs, "output"));
    return entry.outputs[slice.index].sizeBytes;
  default:
    return Status::invalid("the unknown space " + number(slice.space));
  }
}

Status checkSlice(const sinter_artifact &artifact, const sinter_entry &entry,
                  const sinter_slice &slice, bool written, int64_t place) {
  Result<uint64_t> total = spaceBytes(artifact, entry, slice, place);
  if (!total.ok())
    return total.status();
  if (slice.offsetBytes > *total ||
      slice.sizeBytes > *total - slice.offsetBytes)
    return Status::invalid("bytes " + std::to_string(slice.offsetBytes) +
                           " + " + std::to_string(slice.sizeBytes) +
                           " exceed its space of " + std::to_string(*total));
  bool readOnly = slice.space == SINTER_SPACE_INPUT ||
                  slice.space == SINTER_SPACE_CONSTANT ||
                  slice.space == SINTER_SPACE_CONTROL;
  if (written && readOnly)
    return Status::invalid("writes an input, a constant or the control block");
  return {};
}

/// One strided dimension of an operand.
struct Dim {
  int64_t size, stride;
};

/// The operand must lie in its slice; a written one must not meet itself.
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

/// What a post-op does with its slice.
enum class PostOpSlice { None, Read, Written };

PostOpSlice sliceUse(const sinter_post_op &op) {
  switch (op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
  case SINTER_POST_RELU_GRAD:
  case SINTER_POST_GELU_TANH_GRAD:
    return PostOpSlice::Read;
  case SINTER_POST_STORE:
  case SINTER_POST_RELU_BITS:
  case SINTER_POST_BIAS_GRAD:
  case SINTER_POST_A_SUM:
  case SINTER_POST_B_SUM:
    return PostOpSlice::Written;
  default:
    return PostOpSlice::None;
  }
}

/// Shared by MATMUL and CONV: slices 2 .. last-1 belong to the post-ops.
/// `lines` is the product of the result's sizes but that along the bias.
Status checkPostOps(const sinter_command &command, const sinter_post_op *ops,
                    uint32_t count, const std::vector<Dim> &result,
                    int64_t biasSize, int64_t lines, uint32_t dtype) {
  if (count > SINTER_MAX_POST_OPS)
    return Status::invalid("has " + number(count) + " post-ops, at most " +
                           number(SINTER_MAX_POST_OPS) + " are allowed");
  for (uint32_t i = 0; i < count; ++i) {
    const sinter_post_op &op = ops[i];
    if (op.kind < SINTER_POST_BIAS || op.kind > SINTER_POST_B_SUM ||
        (op.kind > SINTER_POST_HARD_SWISH && command.kind != SINTER_CMD_MATMUL))
      return Status::invalid("has the unknown post-op " + number(op.kind));
    PostOpSlice use = sliceUse(op);
    if (use == PostOpSlice::None)
      continue;
    bool written = use == PostOpSlice::Written;
    if (op.slice < 2 || op.slice + 1 >= command.numSlices)
      return Status::invalid("a post-op reads slice " + number(op.slice) +
                             " of " + number(command.numSlices));
    if (written != (op.slice >= command.numReads))
      return Status::invalid("a post-op " +
                             std::string(written ? "writes" : "reads") +
                             " slice " + number(op.slice) + ", the first " +
                             number(command.numReads) + " are the read ones");
    const sinter_slice &slice = command.slices[op.slice];
    switch (op.kind) {
    case SINTER_POST_BIAS:
    case SINTER_POST_BIAS_GRAD:
    case SINTER_POST_B_SUM:
      SINTER_RETURN_IF_ERROR(
          checkOperand("the bias", {{biasSize, 1}}, dtype, slice, written));
      break;
    case SINTER_POST_A_SUM:
      SINTER_RETURN_IF_ERROR(
          checkOperand("the sum", {{lines, 1}}, dtype, slice, written));
      break;
    case SINTER_POST_RELU_BITS:
    case SINTER_POST_RELU_GRAD: {
      int64_t bytes = 0;
      if (!multiplyInto((biasSize + 127) / 128 * 16, lines, bytes))
        return Status::invalid("the bits are larger than 2^63");
      SINTER_RETURN_IF_ERROR(
          checkOperand("the bits", {{bytes, 1}}, SINTER_U8, slice, written));
      break;
    }
    default:
      SINTER_RETURN_IF_ERROR(checkOperand(op.kind == SINTER_POST_ADD
                                              ? "the added operand"
                                              : "the operand of a post-op",
                                          result, dtype, slice, written));
      break;
    }
  }
  return {};
}

/// How many slices the post-ops write.
uint32_t writtenByPostOps(const sinter_post_op *ops, uint32_t count) {
  uint32_t written = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(count, SINTER_MAX_POST_OPS); ++i)
    written += sliceUse(ops[i]) == PostOpSlice::Written;
  return written;
}

Status checkContractionSlices(const sinter_command &command) {
  if (!command.params)
    return Status::invalid("has no parameters");
  uint32_t results = 1;
  if (command.kind == SINTER_CMD_MATMUL) {
    const auto &p = *static_cast<const sinter_matmul *>(command.params);
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

} // namespace

Status sinter::rt::checkMatmul(const sinter_command &command) {
  SINTER_RETURN_IF_ERROR(checkContractionSlices(command));
  const auto &p = *static_cast<const sinter_matmul *>(command.params);
  const uint32_t dtype = storedDtype(p.dtype);
  if (!dtypeBytes(dtype) || !dtypeBytes(p.outDtype))
    return Status::invalid("has the unknown " +
                           dtypeName(dtypeBytes(dtype) ? p.outDtype : p.dtype));
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
  SINTER_RETURN_IF_ERROR(checkOperand("B", b, dtype, command.slices[1], false));
  SINTER_RETURN_IF_ERROR(checkOperand("C", c, p.outDtype, result, true));
  int64_t lines = p.m;
  for (uint32_t i = 0; i < p.batchRank; ++i)
    if (!multiplyInto(lines, p.batch[i], lines))
      return Status::invalid("C is larger than 2^63");
  return checkPostOps(command, p.postOps, p.numPostOps, c, p.n, lines,
                      p.outDtype);
}

Status sinter::rt::checkAttention(const sinter_command &command) {
  if (!command.params)
    return Status::invalid("has no parameters");
  const auto &p = *static_cast<const sinter_attention *>(command.params);
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
  const auto &p = *static_cast<const sinter_conv *>(command.params);
  SINTER_RETURN_IF_ERROR(checkConvShape(p));
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

static Status checkAllReduce(const sinter_command &command) {
  if (!command.params)
    return Status::invalid("has no parameters");
  const uint32_t count = command.numReads;
  if (count == 0 || command.numSlices != 2 * count)
    return Status::invalid("an all_reduce needs as many written slices as read "
                           "ones");
  const auto &params = *static_cast<const sinter_all_reduce *>(command.params);
  const uint64_t elementBytes = dtypeBytes(params.dtype);
  if (elementBytes == 0 || params.dtype == SINTER_BOOL)
    return Status::invalid("sums elements of " + dtypeName(params.dtype));
  for (uint32_t i = 0; i < count; ++i)
    if (command.slices[i].sizeBytes != command.slices[count + i].sizeBytes ||
        command.slices[i].sizeBytes % elementBytes != 0)
      return Status::invalid(
          "sums " + std::to_string(command.slices[i].sizeBytes) +
          " bytes into " + std::to_string(command.slices[count + i].sizeBytes));
  return {};
}

Status sinter::rt::checkWaits(const sinter_entry &entry) {
  std::set<uint32_t> begun, known;
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    if (command.kind == SINTER_CMD_ALL_REDUCE) {
      if (command.target >= entry.numCommands ||
          !known.insert(command.target).second)
        return Status::invalid("command " + number(i) + " has the event " +
                               number(command.target) +
                               " of another all_reduce");
      begun.insert(command.target);
    } else if (command.kind == SINTER_CMD_AWAIT &&
               begun.erase(command.target) == 0) {
      return Status::invalid("command " + number(i) + " waits for event " +
                             number(command.target) +
                             ", which no all_reduce before it has");
    }
  }
  if (!begun.empty())
    return Status::invalid("nothing waits for the all_reduce of event " +
                           number(*begun.begin()));
  return {};
}

Status sinter::rt::checkCommand(const sinter_artifact &artifact,
                                const sinter_entry &entry,
                                const sinter_command &command) {
  if (!command.label)
    return Status::invalid("has no label");
  const uint32_t places = numPlaces(artifact);
  if (command.device >= places)
    return Status::invalid("runs on device " + number(command.device) + " of " +
                           number(places));
  if (command.stream > SINTER_STREAM_TRANSFER)
    return Status::invalid("runs on stream " + number(command.stream) +
                           " of 2");
  if (command.numSlices && !command.slices)
    return Status::invalid("has no slice table");
  if (command.numReads > command.numSlices)
    return Status::invalid("reads " + number(command.numReads) + " of " +
                           number(command.numSlices) + " slices");
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    int64_t place = command.device;
    if (command.kind == SINTER_CMD_COPY)
      place = i == 0 ? command.target : command.tiles;
    if (place < 0 || place >= int64_t(places))
      return Status::invalid("copies from or to place " + number(place) +
                             " of " + number(places));
    Status status = checkSlice(artifact, entry, command.slices[i],
                               i >= command.numReads, place);
    if (!status.ok())
      return Status::invalid("slice " + number(i) + ": " + status.message());
  }
  switch (command.kind) {
  case SINTER_CMD_LAUNCH:
    if (command.target >= artifact.numKernels)
      return Status::invalid("launches kernel " + number(command.target) +
                             " of " + number(artifact.numKernels));
    if (command.tiles < 0)
      return Status::invalid("has " + number(command.tiles) + " tiles");
    if (!hasCodeFor(artifact, artifact.kernels[command.target],
                    placeKind(artifact, command.device)))
      return Status::invalid("launches kernel " + number(command.target) +
                             ", which has no code for " +
                             placeKind(artifact, command.device));
    // A GPU takes as many parameters as the kernel says.
    if (std::strcmp(placeKind(artifact, command.device), "cpu") != 0 &&
        command.numSlices != artifact.kernels[command.target].numBuffers)
      return Status::invalid(
          "gives " + number(command.numSlices) + " buffers to a kernel of " +
          number(artifact.kernels[command.target].numBuffers));
    return {};
  case SINTER_CMD_MATMUL:
    return checkMatmul(command);
  case SINTER_CMD_CONV:
    return checkConv(command);
  case SINTER_CMD_ATTENTION:
    return checkAttention(command);
  case SINTER_CMD_COPY:
    if (command.numSlices != 2 || command.numReads != 1 ||
        command.slices[0].sizeBytes != command.slices[1].sizeBytes)
      return Status::invalid("a copy needs two slices of one size");
    if (command.device != command.target && command.device != command.tiles)
      return Status::invalid("a copy runs on neither of its places");
    return {};
  case SINTER_CMD_FILL:
    if (command.numSlices != 1 || command.numReads != 0)
      return Status::invalid("a fill needs one written slice");
    return {};
  case SINTER_CMD_ALL_REDUCE:
    return checkAllReduce(command);
  case SINTER_CMD_AWAIT:
    if (command.numSlices != 0)
      return Status::invalid("a wait has no slices");
    return {};
  case SINTER_CMD_RECORD:
  case SINTER_CMD_WAIT:
    if (command.numSlices != 0 || command.target >= entry.numCommands)
      return Status::invalid("an event has slices, or a number beyond " +
                             number(entry.numCommands));
    return {};
  default:
    return Status::invalid("has the unknown kind " + number(command.kind));
  }
}
