//===- TablesEntries.cpp - programs as command tables ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/ScanValues.h"
#include "compiler/emit/Tables.h"
#include "ir/Provenance.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

// The enums of the exec dialect have the numbers of abi.h, so that they are
// copied unchanged.
#define SAME(ABI, EXEC)                                                        \
  static_assert(static_cast<int64_t>(ABI) == static_cast<int64_t>(exec::EXEC))
SAME(SINTER_STREAM_COMPUTE, kCompute);
SAME(SINTER_STREAM_TRANSFER, kTransfer);
SAME(SINTER_SPACE_ARENA, Space::arena);
SAME(SINTER_SPACE_STATE, Space::state);
SAME(SINTER_SPACE_INPUT, Space::input);
SAME(SINTER_SPACE_OUTPUT, Space::output);
SAME(SINTER_SPACE_CONSTANT, Space::constant);
SAME(SINTER_SPACE_CONTROL, Space::control);
SAME(SINTER_SPACE_CHAIN, Space::chain);
#define SAME_POST_OP(KIND, NAME, ...)                                          \
  SAME(SINTER_POST_##KIND, PostOpKind::NAME);
SINTER_POST_OPS(SAME_POST_OP)
#undef SAME_POST_OP
static_assert(exec::getMaxEnumValForPostOpKind() + 1 == SINTER_NUM_POST_OPS);
SAME(SINTER_CONV_FORWARD, ConvDirection::forward);
SAME(SINTER_CONV_INPUT_GRAD, ConvDirection::input_grad);
SAME(SINTER_CONV_FILTER_GRAD, ConvDirection::filter_grad);
SAME(SINTER_ATTENTION_FORWARD, AttentionDirection::forward);
SAME(SINTER_ATTENTION_BACKWARD, AttentionDirection::backward);
SAME(sizeof(sinter_control), kControlBytes);
SAME(SINTER_MAX_POST_OPS, kMaxPostOps);
SAME(SINTER_MAX_CHAIN, kMaxChain);
SAME(SINTER_MAX_SCAN_COMMANDS, kMaxScanCommands);
#undef SAME

/// The exec dialect has the same offsets of the control block's fields.
static_assert(
    offsetof(sinter_control, lr) == exec::control_offset::kLr &&
    offsetof(sinter_control, weightDecay) ==
        exec::control_offset::kWeightDecay &&
    offsetof(sinter_control, clipNorm) == exec::control_offset::kClipNorm &&
    offsetof(sinter_control, step) == exec::control_offset::kStep &&
    offsetof(sinter_control, seed) == exec::control_offset::kSeed &&
    offsetof(sinter_control, validRows) == exec::control_offset::kValidRows &&
    offsetof(sinter_control, microBatch) == exec::control_offset::kMicroBatch &&
    offsetof(sinter_control, replica) == exec::control_offset::kReplica &&
    offsetof(sinter_control, ticket) == exec::control_offset::kTicket &&
    offsetof(sinter_control, gradientTicket) ==
        exec::control_offset::kGradientTicket);

namespace {

/// Builds the tables of one entry. During construction, commands refer to rows
/// of the other tables by number.
class EntryTables {
public:
  EntryTables(TableData &data, const KernelEntries &kernels,
              const ConstantPlaces &constants, sinter_contraction_way way,
              std::string &sliceDtypes)
      : data(data), kernels(kernels), constants(constants), way(way),
        sliceDtypes(sliceDtypes) {}
  Row<sinter_entry> build(exec::ProgramOp program);

private:
  struct Pending {
    Row<sinter_command> row;
    size_t firstSlice;
    int64_t params; // row in the table for the command's kind; -1: none
  };
  struct PendingScan {
    std::vector<Pending> commands;
    std::vector<Row<sinter_scan_value>> values;
    int64_t trips;
  };
  void addCommand(exec::CommandOpInterface command, std::vector<Pending> &to);
  int64_t addScan(exec::ScanOp op);
  int64_t addMatmul(exec::MatmulOp op);
  int64_t addConv(exec::ConvOp op);
  int64_t addAttention(exec::AttentionOp op);
  sinter_slice sliceOf(exec::BufferOp buffer) const;
  void addSlice(Value buffer, int64_t firstElement = 0);
  std::vector<Row<sinter_command>> commandRows(std::vector<Pending> &pending);
  static uint32_t addPostOps(ArrayAttr postOps, size_t numReads,
                             sinter_post_op *out);
  std::vector<Row<sinter_tensor_desc>> tensors(ArrayAttr names,
                                               ArrayAttr types);

  TableData &data;
  const KernelEntries &kernels;
  const ConstantPlaces &constants;
  sinter_contraction_way way;
  std::string &sliceDtypes;         // a byte for each of `slices`
  const ScanValues *scan = nullptr; // whose body is being added
  std::vector<Row<sinter_slice>> slices;
  std::vector<Row<sinter_matmul>> matmuls;
  std::vector<Row<sinter_conv>> convs;
  std::vector<Row<sinter_attention>> attentions;
  std::vector<PendingScan> scans;
  // These tables, when they are complete.
  llvm::Constant *sliceTable = nullptr, *matmulTable = nullptr,
                 *convTable = nullptr, *attentionTable = nullptr,
                 *scanTable = nullptr;
};

void copyTo(ArrayRef<int64_t> from, int64_t *to) { llvm::copy(from, to); }

} // namespace

/// Order of the slices: operands, what post-ops keep, the result.
uint32_t EntryTables::addPostOps(ArrayAttr postOps, size_t numReads,
                                 sinter_post_op *out) {
  for (auto [i, post] :
       llvm::enumerate(postOps.getAsRange<exec::PostOpAttr>())) {
    out[i].kind = static_cast<uint32_t>(post.getKind());
    out[i].slice = static_cast<uint32_t>(
        post.getWrite() ? numReads + post.getWrite() - 1 : post.getRead());
    auto number = [](FloatAttr attr) {
      return attr ? static_cast<float>(attr.getValueAsDouble()) : 0.0f;
    };
    out[i].alpha = number(post.getAlpha());
    out[i].beta = number(post.getBeta());
  }
  return postOps.size();
}

int64_t EntryTables::addMatmul(exec::MatmulOp op) {
  sinter_matmul &p = matmuls.emplace_back().value;
  size_t rank = op.getBatch().size();
  auto dtype = [](Value value) {
    return dtypeOf(exec::bufferOp(value).getTensorType().getElementType());
  };
  p.dtype = op.getTf32() ? SINTER_TF32 : dtype(op.getInputs()[0]);
  p.outDtype = dtype(op.getOutput());
  p.batchRank = rank;
  copyTo(op.getBatch(), p.batch);
  p.m = op.getM();
  p.n = op.getN();
  p.k = op.getK();
  copyTo(op.getAStrides().take_front(rank), p.aBatchStrides);
  p.aStrideM = op.getAStrides()[rank];
  p.aStrideK = op.getAStrides()[rank + 1];
  copyTo(op.getBStrides().take_front(rank), p.bBatchStrides);
  p.bStrideK = op.getBStrides()[rank];
  p.bStrideN = op.getBStrides()[rank + 1];
  copyTo(op.getCStrides().take_front(rank), p.cBatchStrides);
  p.cStrideM = op.getCStrides()[rank];
  p.cStrideN = op.getCStrides()[rank + 1];
  p.numPostOps = addPostOps(op.getPostOps(), op.getInputs().size(), p.postOps);
  if (std::optional<exec::CodedWeightsAttr> weights = op.getWeights()) {
    auto number = [](FloatAttr attr, float otherwise) {
      return attr ? static_cast<float>(attr.getValueAsDouble()) : otherwise;
    };
    p.weights.bits = weights->getBits();
    p.weights.scales = weights->getScales();
    p.weights.zeros = weights->getZeros();
    p.weights.scale = number(weights->getScale(), 1);
    p.weights.zero = number(weights->getZero(), 0);
    p.weights.block = weights->getBlock();
  }
  return matmuls.size() - 1;
}

int64_t EntryTables::addConv(exec::ConvOp op) {
  sinter_conv &p = convs.emplace_back().value;
  p.direction = static_cast<uint32_t>(op.getDirection());
  auto dtype = [](Value value) {
    return dtypeOf(exec::bufferOp(value).getTensorType().getElementType());
  };
  p.dtype = op.getTf32() ? SINTER_TF32 : dtype(op.getInputs()[0]);
  p.outDtype = dtype(op.getOutput());
  p.layout =
      op.getChannelsLast() ? SINTER_CHANNELS_LAST : SINTER_CHANNELS_FIRST;
  p.spatialRank = op.getKernel().size();
  p.batch = op.getBatch();
  p.channels = op.getChannels();
  p.filters = op.getFilters();
  p.groups = op.getGroups();
  copyTo(op.getInputDims(), p.inputDims);
  copyTo(op.getOutputDims(), p.outputDims);
  copyTo(op.getKernel(), p.kernel);
  copyTo(op.getStrides(), p.strides);
  copyTo(op.getDilations(), p.dilations);
  copyTo(op.getPadsLow(), p.padsLow);
  copyTo(op.getPadsHigh(), p.padsHigh);
  p.padValue = static_cast<int32_t>(op.getPadValue());
  p.numPostOps = addPostOps(op.getPostOps(), op.getInputs().size(), p.postOps);
  return convs.size() - 1;
}

/// The table has one slice per operand, although several may be in one buffer.
int64_t EntryTables::addAttention(exec::AttentionOp op) {
  sinter_attention &p = attentions.emplace_back().value;
  SmallVector<Value> buffers(op.getInputs());
  llvm::append_range(buffers, op.getOutputs());
  SmallVector<exec::HeadsAttr> heads(
      op.getHeads().getAsRange<exec::HeadsAttr>());
  bool isForward = op.getDirection() == exec::AttentionDirection::forward;
  p.direction = static_cast<uint32_t>(op.getDirection());
  p.dtype = dtypeOf(exec::bufferOp(buffers[heads[0].getBuffer()])
                        .getTensorType()
                        .getElementType());
  p.causal = op.getCausal();
  p.hasStats = op.getStats().has_value();
  p.batch = op.getBatch();
  p.heads = op.getNumHeads();
  p.queries = op.getQueries();
  p.keys = op.getKeys();
  p.depth = op.getDepth();
  p.scale = static_cast<float>(op.getScale().convertToDouble());
  sinter_heads *places[] = {&p.query,   &p.key,        &p.value,
                            &p.output,  &p.outputGrad, &p.queryGrad,
                            &p.keyGrad, &p.valueGrad};
  auto stridesOf = [](exec::HeadsAttr at) -> sinter_heads {
    return {at.getStrides()[0], at.getStrides()[1], at.getStrides()[2]};
  };
  // The mask is the last of `heads`. In the table it is the last slice that is
  // read; the statistics of the gradient come before it.
  std::optional<exec::HeadsAttr> mask;
  if (heads.size() > (isForward ? 4 : 8)) {
    mask = heads.pop_back_val();
    p.mask = stridesOf(*mask);
  }
  p.hasMask = mask.has_value();
  size_t firstWrite = isForward ? 3 : 5;
  for (auto [i, at] : llvm::enumerate(heads)) {
    *places[i] = stridesOf(at);
    if (i == firstWrite) {
      if (op.getStats() && !isForward)
        addSlice(buffers[*op.getStats()]);
      if (mask)
        addSlice(buffers[mask->getBuffer()], mask->getOffset());
      if (op.getStats() && isForward)
        addSlice(buffers[*op.getStats()]);
    }
    addSlice(buffers[at.getBuffer()], at.getOffset());
  }
  return attentions.size() - 1;
}

int64_t EntryTables::addScan(exec::ScanOp op) {
  ScanValues values(
      op, [&](Value buffer) { return sliceOf(exec::bufferOp(buffer)); });
  PendingScan pending;
  for (const sinter_scan_value &value : values.values())
    pending.values.push_back({value, {}});
  pending.trips = static_cast<int64_t>(op.getTrips());
  scan = &values;
  for (Operation &command : values.body().getBody().front())
    if (isa<exec::CommandOpInterface>(command))
      addCommand(cast<exec::CommandOpInterface>(command), pending.commands);
  scan = nullptr;
  scans.push_back(std::move(pending));
  return scans.size() - 1;
}

sinter_slice EntryTables::sliceOf(exec::BufferOp buffer) const {
  exec::SliceAttr slice = buffer.getSlice();
  auto offset = static_cast<uint64_t>(slice.getOffset());
  switch (slice.getSpace()) {
  case exec::Space::constant:
    offset = constants(offset);
    break;
  case exec::Space::arena:
  case exec::Space::input:
  case exec::Space::output:
    if (scan)
      return scan->place(slice);
    break;
  default:
    break;
  }
  return {static_cast<uint32_t>(slice.getSpace()),
          static_cast<uint32_t>(slice.getIndex()), offset,
          static_cast<uint64_t>(slice.getSize())};
}

void EntryTables::addSlice(Value buffer, int64_t firstElement) {
  exec::BufferOp declared = exec::bufferOp(buffer);
  uint64_t skipped =
      firstElement *
      ir::elementSizeBytes(declared.getTensorType().getElementType());
  sinter_slice slice = sliceOf(declared);
  slice.offsetBytes += skipped;
  slice.sizeBytes -= skipped;
  slices.push_back({slice, {}});
  sliceDtypes.push_back(
      static_cast<char>(dtypeOf(declared.getTensorType().getElementType())));
}

/// The dtype of the second operand of a contraction; 0 if it is that of the
/// first.
static uint32_t otherDtype(ValueRange inputs) {
  auto dtype = [](Value value) {
    return dtypeOf(exec::bufferOp(value).getTensorType().getElementType());
  };
  return dtype(inputs[0]) == dtype(inputs[1]) ? 0 : dtype(inputs[1]);
}

void EntryTables::addCommand(exec::CommandOpInterface command,
                             std::vector<Pending> &to) {
  Pending pending{{}, slices.size(), -1};
  sinter_command &c = pending.row.value;
  exec::CommandPlace place = exec::placeOf(command);
  c.place = place.place;
  c.stream = place.stream;
  if (auto attention = dyn_cast<exec::AttentionOp>(*command)) {
    c.kind = SINTER_CMD_ATTENTION;
    pending.params = addAttention(attention);
    bool isForward =
        attention.getDirection() == exec::AttentionDirection::forward;
    c.numReads = (isForward ? 3 : 6) + attentions.back().value.hasMask;
  } else {
    for (Value buffer : command.getReads())
      addSlice(buffer);
    // The result of a contraction follows what its post-ops keep.
    OperandRange writes = command.getWrites();
    bool isContraction = isa<exec::MatmulOp, exec::ConvOp>(*command);
    for (Value buffer : writes.drop_front(isContraction))
      addSlice(buffer);
    if (isContraction)
      addSlice(writes.front());
    c.numReads = command.getReads().size();
  }
  c.numSlices = slices.size() - pending.firstSlice;
  pending.row.pointers[1] = data.string(ir::joinedProvenance(command.getLoc()));
  llvm::TypeSwitch<Operation *>(command)
      .Case([&](exec::LaunchOp op) {
        c.kind = SINTER_CMD_LAUNCH;
        KernelEntry kernel = kernels.lookup(op.getKernel());
        c.launch = {kernel.tiles, kernel.number, 0};
      })
      .Case([&](exec::MatmulOp op) {
        c.kind = SINTER_CMD_MATMUL;
        c.matmul.way =
            way == SINTER_BY_LOOPS ? SINTER_BY_LOOPS : SINTER_BY_LIBRARY;
        c.matmul.dtypeOfB = otherDtype(op.getInputs());
        pending.params = addMatmul(op);
        auto begin = [&](size_t read, int64_t elements) {
          Type element = exec::bufferOp(op.getInputs()[read])
                             .getTensorType()
                             .getElementType();
          uint64_t bytes = elements * (element.getIntOrFloatBitWidth() / 8);
          sinter_slice &slice = slices[pending.firstSlice + read].value;
          slice.offsetBytes += bytes;
          slice.sizeBytes -= bytes;
        };
        begin(0, op.getAOffset());
        begin(1, op.getBOffset());
      })
      .Case([&](exec::ConvOp op) {
        c.kind = SINTER_CMD_CONV;
        c.conv.way = way;
        c.conv.dtypeOfFilter = otherDtype(op.getInputs());
        pending.params = addConv(op);
      })
      .Case([&](exec::CollectiveOp op) {
        c.kind = SINTER_CMD_COLLECTIVE;
        c.collective.event = op.getEvent();
        c.collective.dtype = dtypeOf(
            exec::bufferOp(op.getReads()[0]).getTensorType().getElementType());
        c.collective.op = static_cast<uint32_t>(op.getKind());
        c.collective.axis = static_cast<uint32_t>(op.getAxis());
      })
      .Case([&](exec::AwaitOp op) {
        c.kind = SINTER_CMD_AWAIT;
        c.event = op.getEvent();
      })
      .Case([&](exec::CopyOp) {
        c.kind = SINTER_CMD_COPY;
        c.copy.from = place.from;
        c.copy.to = place.to;
      })
      .Case([&](exec::RecordOp op) {
        c.kind = SINTER_CMD_RECORD;
        c.event = op.getEvent();
      })
      .Case([&](exec::WaitOp op) {
        c.kind = SINTER_CMD_WAIT;
        c.event = op.getEvent();
      })
      .Case([&](exec::FillOp) { c.kind = SINTER_CMD_FILL; })
      .Case([&](exec::ScanOp op) {
        c.kind = SINTER_CMD_SCAN;
        pending.params = addScan(op);
      });
  to.push_back(std::move(pending));
}

std::vector<Row<sinter_tensor_desc>> EntryTables::tensors(ArrayAttr names,
                                                          ArrayAttr types) {
  std::vector<Row<sinter_tensor_desc>> rows;
  for (auto [name, type] : llvm::zip_equal(names, types))
    rows.push_back(
        tensorRow(data, cast<StringAttr>(name).getValue(),
                  cast<RankedTensorType>(cast<TypeAttr>(type).getValue())));
  return rows;
}

std::vector<Row<sinter_command>>
EntryTables::commandRows(std::vector<Pending> &commands) {
  auto paramsOf = [&](const Pending &pending) -> llvm::Constant * {
    if (pending.params < 0)
      return nullptr;
    switch (pending.row.value.kind) {
    case SINTER_CMD_MATMUL:
      return data.offset(matmulTable, pending.params * sizeof(sinter_matmul));
    case SINTER_CMD_CONV:
      return data.offset(convTable, pending.params * sizeof(sinter_conv));
    case SINTER_CMD_SCAN:
      return data.offset(scanTable, pending.params * sizeof(sinter_scan));
    default:
      return data.offset(attentionTable,
                         pending.params * sizeof(sinter_attention));
    }
  };
  std::vector<Row<sinter_command>> rows;
  for (Pending &pending : commands) {
    pending.row.pointers[0] =
        data.offset(sliceTable, pending.firstSlice * sizeof(sinter_slice));
    pending.row.pointers[2] = paramsOf(pending);
    rows.push_back(pending.row);
  }
  return rows;
}

Row<sinter_entry> EntryTables::build(exec::ProgramOp program) {
  std::vector<Pending> commands;
  for (Operation &op : program.getBody().front())
    if (auto command = dyn_cast<exec::CommandOpInterface>(op))
      addCommand(command, commands);

  sliceTable = data.table<sinter_slice>(slices);
  matmulTable = data.table<sinter_matmul>(matmuls);
  convTable = data.table<sinter_conv>(convs);
  attentionTable = data.table<sinter_attention>(attentions);
  std::vector<Row<sinter_scan>> scanRows;
  for (PendingScan &pending : scans) {
    std::vector<Row<sinter_command>> body = commandRows(pending.commands);
    Row<sinter_scan> &row = scanRows.emplace_back();
    row.value.numCommands = body.size();
    row.value.numValues = pending.values.size();
    row.value.trips = pending.trips;
    row.pointers = {data.table<sinter_command>(body),
                    data.table<sinter_scan_value>(pending.values)};
  }
  scanTable = data.table<sinter_scan>(scanRows);
  std::vector<Row<sinter_command>> rows = commandRows(commands);

  auto inputs = tensors(program.getInputNames(), program.getInputTypes());
  auto outputs = tensors(program.getOutputNames(), program.getOutputTypes());
  Row<sinter_entry> entry;
  entry.value.numInputs = inputs.size();
  entry.value.numOutputs = outputs.size();
  if (ArrayAttr checks = exec::indexChecks(program)) {
    entry.value.numOutputs -= 1;
    entry.value.numIndexChecks = checks.size();
  }
  entry.value.numCommands = rows.size();
  entry.value.arenaBytes = program.getArenaBytes();
  entry.value.unsharedBytes = program.getUnsharedBytes();
  entry.value.maxLiveBytes = program.getMaxLiveBytes();
  entry.pointers = {data.string(program.getSymName()),
                    data.table<sinter_tensor_desc>(inputs),
                    data.table<sinter_tensor_desc>(outputs),
                    data.table<sinter_command>(rows)};
  return entry;
}

std::vector<Row<sinter_index_check>> compiler::indexCheckRows(TableData &data,
                                                              ModuleOp module) {
  std::vector<Row<sinter_index_check>> rows;
  for (auto program : module.getOps<exec::ProgramOp>()) {
    ArrayAttr checks = exec::indexChecks(program);
    if (!checks)
      continue;
    for (auto check : checks.getAsRange<DictionaryAttr>()) {
      auto number = [&](StringRef key) {
        auto value = check.getAs<IntegerAttr>(key);
        return value ? value.getInt() : 0;
      };
      Row<sinter_index_check> &row = rows.emplace_back();
      row.value.lower = number("lower");
      row.value.upper = number("upper");
      row.value.rows = number("rows");
      row.value.stride = number("stride");
      row.pointers = {data.string(check.getAs<StringAttr>("node").getValue())};
    }
  }
  return rows;
}

std::vector<Row<sinter_entry>>
compiler::entryRows(TableData &data, ModuleOp module,
                    const KernelEntries &kernels,
                    const ConstantPlaces &constants, sinter_contraction_way way,
                    std::string &sliceDtypes) {
  std::vector<Row<sinter_entry>> rows;
  // The body of a scan is part of another program.
  for (auto program : module.getOps<exec::ProgramOp>())
    if (!program.isPrivate())
      rows.push_back(EntryTables(data, kernels, constants, way, sliceDtypes)
                         .build(program));
  return rows;
}
