//===- CommandFacts.cpp - commands without addresses ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/CommandDiff.h"

#include "compiler/inspect/ArtifactFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

// Of a scan, and of the commands in its body.
static constexpr llvm::StringLiteral kTripsRow = "trips";

template <typename Numbers> static std::string joined(const Numbers &numbers) {
  std::string text;
  for (auto number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
}

// sinter_contraction_way.
static const char *wayText(uint32_t way) {
  return way == SINTER_BY_LOOPS          ? "loops"
         : way == SINTER_BY_FAST_LIBRARY ? "library, fast"
                                         : "library";
}

namespace {

// Collects the signature of one command.
class Signature {
public:
  Signature(const sinter_artifact &artifact, const sinter_command &command,
            const uint8_t *dtypes)
      : artifact_(artifact), command_(command), dtypes_(dtypes) {}

  std::vector<std::pair<std::string, std::string>> build() {
    addSlices("reads", 0, command_.numReads);
    addSlices("writes", command_.numReads, command_.numSlices);
    addConstants();
    switch (command_.kind) {
    case SINTER_CMD_LAUNCH:
      addLaunch(artifact_.kernels[command_.launch.kernel]);
      break;
    case SINTER_CMD_MATMUL:
      addMatmul(*command_.matmul.params);
      break;
    case SINTER_CMD_CONV:
      addConv(*command_.conv.params);
      break;
    case SINTER_CMD_ATTENTION:
      addAttention(*command_.attention.params);
      break;
    case SINTER_CMD_COLLECTIVE:
      add(command_.collective.op == SINTER_ALL_GATHER ? "gather of" : "sum of",
          dtypeName(command_.collective.dtype));
      break;
    default:
      break;
    }
    if (command_.stream)
      add("stream", std::to_string(command_.stream));
    return std::move(rows_);
  }

private:
  void add(const char *key, std::string value) {
    rows_.emplace_back(key, std::move(value));
  }

  // "float32 64, float32 256": dtypes and bytes.
  void addSlices(const char *key, uint32_t begin, uint32_t end) {
    std::string text;
    for (uint32_t i = begin; i < end; ++i) {
      text += i == begin ? "" : ", ";
      if (dtypes_)
        text += std::string(dtypeName(dtypes_[i])) + " ";
      text += std::to_string(command_.slices[i].sizeBytes) + " B";
    }
    add(key, text);
  }

  // A hash of the constant bytes that it reads.
  void addConstants() {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < command_.numReads; ++i) {
      const sinter_slice &slice = command_.slices[i];
      if (slice.space != SINTER_SPACE_CONSTANT ||
          slice.offsetBytes > artifact_.constantsBytes ||
          slice.sizeBytes > artifact_.constantsBytes - slice.offsetBytes)
        continue;
      StringRef bytes(reinterpret_cast<const char *>(artifact_.constants) +
                          slice.offsetBytes,
                      slice.sizeBytes);
      hash = hash * 31 + llvm::xxh3_64bits(bytes);
    }
    if (hash)
      add(kConstantsRow.data(), llvm::utohexstr(hash, true).substr(0, 8));
  }

  void addLaunch(const sinter_kernel_desc &kernel) {
    if (!kernel.grid[0]) {
      add("tiles", std::to_string(command_.launch.tiles));
      return;
    }
    add("grid", joined(kernel.grid));
    add("block", joined(kernel.block));
    add("shared bytes", std::to_string(kernel.sharedBytes));
  }

  void addPostOps(llvm::ArrayRef<sinter_post_op> ops) {
    std::string text, operands, numbers;
    auto append = [](std::string &to, const std::string &more) {
      to += (to.empty() ? "" : ", ") + more;
    };
    for (const sinter_post_op &op : ops)
      if (const sinter_post_op_traits *row = sinter_post_op_row(op.kind)) {
        append(text, row->name);
        append(operands, std::to_string(op.slice));
        append(numbers,
               llvm::formatv("{0:e8}, {1:e8}", op.alpha, op.beta).str());
      }
    add("post-ops", text.empty() ? "none" : text);
    add("post-ops' operands", operands);
    add("post-ops' numbers", numbers);
  }

  void addWeights(const sinter_coded_weights &w) {
    auto perBlock = [](uint32_t slice, float one) {
      return slice ? "operand " + std::to_string(slice)
                   : llvm::formatv("{0}", one).str();
    };
    add("weights", std::to_string(w.bits) + "-bit codes, blocks of " +
                       std::to_string(w.block) + ", scales " +
                       perBlock(w.scales, w.scale) + ", zero points " +
                       perBlock(w.zeros, w.zero));
  }

  void addMatmul(const sinter_matmul &p) {
    auto batch = llvm::ArrayRef(p.batch).take_front(p.batchRank);
    const uint32_t dtypeOfB = command_.matmul.dtypeOfB;
    add("product",
        std::string(dtypeName(p.dtype)) + " " +
            (dtypeOfB ? std::string("by ") + dtypeName(dtypeOfB) + " " : "") +
            (batch.empty() ? "" : joined(batch) + " of ") +
            std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
            std::to_string(p.k) + " into " + dtypeName(p.outDtype));
    const size_t rank = batch.size();
    auto of = [&](const int64_t(&list)[SINTER_MAX_BATCH_DIMS], int64_t row,
                  int64_t column) {
      std::string text = joined(llvm::ArrayRef(list).take_front(rank));
      return text + (text.empty() ? "" : "x") + std::to_string(row) + "x" +
             std::to_string(column);
    };
    add(kLayoutRow.data(), of(p.aBatchStrides, p.aStrideM, p.aStrideK) + ", " +
                               of(p.bBatchStrides, p.bStrideK, p.bStrideN) +
                               ", " +
                               of(p.cBatchStrides, p.cStrideM, p.cStrideN));
    if (p.weights.bits)
      addWeights(p.weights);
    addPostOps(llvm::ArrayRef(p.postOps).take_front(p.numPostOps));
    add("by", wayText(command_.matmul.way));
  }

  void addConv(const sinter_conv &p) {
    auto of = [&](const int64_t(&list)[SINTER_MAX_SPATIAL_DIMS]) {
      return joined(llvm::ArrayRef(list).take_front(p.spatialRank));
    };
    const uint32_t filter = command_.conv.dtypeOfFilter;
    add("convolution",
        std::string(dtypeName(p.dtype)) +
            (filter ? std::string(" by ") + dtypeName(filter) : std::string()) +
            " batch " + std::to_string(p.batch) + ", " +
            std::to_string(p.channels) + " to " + std::to_string(p.filters) +
            " channels");
    add("direction", std::to_string(p.direction));
    add("groups", std::to_string(p.groups));
    add("input", of(p.inputDims));
    add("output", of(p.outputDims));
    add("kernel", of(p.kernel));
    add("strides", of(p.strides));
    add("dilations", of(p.dilations));
    add("pads", of(p.padsLow) + "," + of(p.padsHigh));
    add("layout",
        p.layout == SINTER_CHANNELS_LAST ? "channels last" : "channels first");
    add("filter layout", p.filterLayout == SINTER_CHANNELS_LAST
                             ? "channels last"
                             : "channels first");
    add("result", dtypeName(p.outDtype ? p.outDtype : p.dtype));
    addPostOps(llvm::ArrayRef(p.postOps).take_front(p.numPostOps));
    add("by", wayText(command_.conv.way));
  }

  void addAttention(const sinter_attention &p) {
    int64_t sizes[] = {p.batch, p.heads, p.queries, p.keys, p.depth};
    add("attention", std::string(dtypeName(p.dtype)) + " " + joined(sizes) +
                         (p.causal ? ", causal" : "") +
                         (p.hasMask ? ", mask" : ""));
    add("direction", std::to_string(p.direction));
    add("scale", llvm::formatv("{0:e8}", p.scale).str());
    std::string strides;
    for (const sinter_heads *heads :
         {&p.query, &p.key, &p.value, &p.output, &p.outputGrad, &p.queryGrad,
          &p.keyGrad, &p.valueGrad, &p.mask})
      strides += (strides.empty() ? "" : ", ") +
                 joined(std::initializer_list<int64_t>{
                     heads->batchStride, heads->headStride, heads->rowStride});
    add(kLayoutRow.data(), strides);
    add("statistics", p.hasStats ? "yes" : "no");
  }

  const sinter_artifact &artifact_;
  const sinter_command &command_;
  const uint8_t *dtypes_;
  std::vector<std::pair<std::string, std::string>> rows_;
};

} // namespace

// Kernels are numbered in a program, and in files for several targets they end
// in the target: "k12_relu_add_sim" -> "relu_add".
static std::string opsOf(const sinter_artifact &artifact,
                         const json::Object *kinds, StringRef kernel) {
  auto [head, ops] = kernel.split('_');
  if (!kinds || !kinds->get(kernel))
    ops.consume_back("_" + std::string(artifact.target));
  bool isNumbered = head.consume_front("k") && !ops.empty() &&
                    llvm::all_of(head, llvm::isDigit);
  return isNumbered ? ops.str() : kernel.str();
}

std::vector<CommandFacts>
compiler::commandFacts(const sinter_artifact &artifact,
                       const json::Object &manifest) {
  const json::Object *kinds = manifest.getObject("kernels"),
                     *hashes = manifest.getObject("kernel_hashes");
  std::vector<CommandFacts> list;
  const uint8_t *dtypes = artifact.sliceDtypes;
  for (const sinter_entry &entry : entries(artifact)) {
    std::vector<std::vector<Wire>> wires = commandWires(artifact, entry);
    std::vector<std::vector<Wait>> waits = commandWaits(entry);
    std::vector<int64_t> placeOf; // in `list`; of order between streams -1
    const size_t first = list.size();
    for (const auto &[i, command] : llvm::enumerate(commands(entry))) {
      CommandFacts facts;
      facts.number = command.number();
      facts.wires = std::move(wires[i]);
      facts.waits = std::move(waits[i]);
      facts.entry = entry.name;
      facts.trips = command.trips;
      facts.isScan = command.kind == SINTER_CMD_SCAN;
      if (artifact.numPlaces)
        facts.device = deviceName(artifact, command.place);
      facts.target = targetName(artifact, command).str();
      facts.kind = commandName(command);
      if (command.kind == SINTER_CMD_LAUNCH) {
        facts.ops = opsOf(artifact, kinds, facts.target);
        facts.kind = kernelText(kinds, artifact, facts.target, "kernel");
      }
      llvm::SmallVector<StringRef> nodes;
      StringRef(command.label).split(nodes, ',', -1, false);
      facts.nodes.assign(nodes.begin(), nodes.end());
      facts.signature = Signature(artifact, command, dtypes).build();
      if (facts.isScan || command.isInScan())
        facts.signature.emplace_back(
            kTripsRow, std::to_string(facts.isScan ? command.scan.params->trips
                                                   : command.trips));
      if (command.kind == SINTER_CMD_LAUNCH)
        if (std::string hash = kernelText(hashes, artifact, facts.target, "");
            !hash.empty())
          facts.signature.emplace_back(kCodeRow, hash);
      if (dtypes)
        dtypes += command.numSlices;
      placeOf.push_back(isOrder(command) ? -1
                                         : static_cast<int64_t>(list.size()));
      if (!isOrder(command))
        list.push_back(std::move(facts));
    }
    for (CommandFacts &facts : llvm::drop_begin(list, first)) {
      for (Wait &wait : facts.waits)
        wait.command = placeOf[wait.command];
      for (Wire &wire : facts.wires)
        for (int64_t *place : {&wire.command, &wire.scan})
          *place = *place >= 0 ? placeOf[*place] : -1;
    }
  }
  return list;
}

void compiler::addCodeHashes(const std::map<std::string, std::string> &hashes,
                             std::vector<CommandFacts> &commands) {
  for (CommandFacts &command : commands)
    if (auto found = hashes.find(command.target); found != hashes.end())
      command.signature.emplace_back(kMachineRow, found->second);
}
