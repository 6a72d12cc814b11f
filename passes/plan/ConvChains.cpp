//===- ConvChains.cpp - convolutions that may run together ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/ConvChains.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// Bytes of a result that a chain does not write and read again. What is
/// smaller mostly is in a cache of level 2 anyway.
constexpr int64_t kLeastResultBytes = 512 << 10;
/// What a chain saves in all. Less comes from a cache of level 3 as fast as the
/// convolutions need it.
constexpr int64_t kLeastSavedBytes = 2 << 20;
/// Filters stay in the cache of level 2 beside the bands.
constexpr int64_t kMostFilterBytes = 256 << 10;
/// Operations for each byte that is saved: with more, the caches deliver what
/// is not saved meanwhile.
constexpr double kMostFlopsPerByte = 32;
/// More convolutions leave too little of the cache for each.
constexpr size_t kMostConvolutions = 3;

/// A forward convolution of float32 that runs in bands: a pointwise or a
/// depthwise one.
struct BandedConv {
  ir::ConvOp op;
  unsigned input, filter; // buffers
  bool readsInputOnce;    // else its sum or another step reads it, too
};

std::optional<BandedConv> bandedConv(const CommandGraph &graph,
                                     const Command &command) {
  ir::FusionOpInterface fusion = command.fusion;
  auto call = fusion ? dyn_cast<ir::LibraryCallOp>(*fusion) : nullptr;
  if (!call || call.getKind() != ir::LibraryCallKind::conv ||
      command.writes.size() != 1)
    return std::nullopt;
  Block &body = call.getBody().front();
  auto convs = body.getOps<ir::ConvOp>();
  if (convs.empty())
    return std::nullopt;
  ir::ConvOp conv = *convs.begin();
  auto input = dyn_cast<BlockArgument>(conv.getInput()),
       filter = dyn_cast<BlockArgument>(conv.getFilter());
  if (!input || !filter || !conv.getChannelsLast() || input.getArgNumber() != 0)
    return std::nullopt;
  ArrayRef<int64_t> dims = ir::tensorType(conv.getFilter()).getShape();
  int64_t groups = conv.getGroups();
  bool isDepthwise = groups == dims[0] && dims[1] == 1,
       isPointwise =
           groups == 1 && llvm::all_of(dims.drop_front(2),
                                       [](int64_t size) { return size == 1; });
  if (!isDepthwise && !isPointwise)
    return std::nullopt;
  BandedConv found{conv, command.reads[input.getArgNumber()],
                   command.reads[filter.getArgNumber()], input.hasOneUse()};
  const Buffer &result = graph.buffers[command.writes[0]];
  // A reshape may be between the buffers and the convolution.
  auto isFloat = [](Value value, RankedTensorType stored) {
    return value.getType() == stored && stored.getRank() == 4 &&
           stored.getElementType().isF32();
  };
  if (!isFloat(input, graph.buffers[found.input].type) ||
      !isFloat(conv.getResult(), result.type) ||
      !graph.buffers[found.filter].constant)
    return std::nullopt;
  return found;
}

/// Whether all that `conv` reads beside its input is one number for each
/// channel.
bool readsOnlyChannels(const CommandGraph &graph, const Command &command,
                       BandedConv conv) {
  int64_t channels = ir::tensorType(conv.op.getFilter()).getDimSize(0);
  return conv.readsInputOnce && llvm::all_of(command.reads, [&](unsigned read) {
           return read == conv.input || read == conv.filter ||
                  graph.buffers[read].type.getNumElements() <= channels;
         });
}

/// The convolution that may run together with `command`, if it comes next.
unsigned nextInChain(const CommandGraph &graph, const Command &command) {
  std::optional<BandedConv> conv = bandedConv(graph, command);
  if (!conv)
    return kNoCommand;
  const Buffer &result = graph.buffers[command.writes[0]];
  if (!result.isInArena() || result.readers.size() != 1 ||
      result.bytes() < kLeastResultBytes ||
      !readsOnlyChannels(graph, command, *conv))
    return kNoCommand;
  unsigned next = result.readers.front();
  const Command &reader = graph.commands[next];
  std::optional<BandedConv> second = bandedConv(graph, reader);
  bool isChain = second && second->input == command.writes[0] &&
                 second->readsInputOnce &&
                 graph.buffers[conv->filter].bytes() <= kMostFilterBytes &&
                 graph.buffers[second->filter].bytes() <= kMostFilterBytes;
  return isChain ? next : kNoCommand;
}

/// The bytes that `chain` does not write and read again, with those that
/// several of its convolutions read.
int64_t savedBytes(const CommandGraph &graph, ArrayRef<unsigned> chain) {
  int64_t saved = 0;
  llvm::SmallDenseSet<unsigned> read;
  for (unsigned number : chain) {
    const Command &command = graph.commands[number];
    if (number != chain.back())
      saved += graph.buffers[command.writes[0]].bytes();
    for (unsigned buffer : command.reads)
      if (!read.insert(buffer).second)
        saved += graph.buffers[buffer].bytes();
  }
  return saved;
}

double flopsOf(const CommandGraph &graph, const Command &command) {
  ir::ConvOp conv = bandedConv(graph, command)->op;
  RankedTensorType filter = ir::tensorType(conv.getFilter());
  return 2.0 * double(ir::tensorType(conv.getResult()).getNumElements()) *
         double(filter.getNumElements()) / double(filter.getDimSize(0));
}

/// Whether computing these convolutions together is faster.
bool isGain(const CommandGraph &graph, ArrayRef<unsigned> chain) {
  if (chain.size() < 2)
    return false;
  const int64_t saved = savedBytes(graph, chain);
  double flops = 0;
  for (unsigned command : chain)
    flops += flopsOf(graph, graph.commands[command]);
  return saved >= kLeastSavedBytes &&
         flops <= kMostFlopsPerByte * double(saved);
}

} // namespace

void chainConvolutions(CommandGraph &graph) {
  std::vector<bool> isInChain(graph.commands.size(), false);
  for (unsigned first = 0; first < graph.commands.size(); ++first) {
    if (isInChain[first])
      continue;
    SmallVector<unsigned> chain{first};
    while (chain.size() < kMostConvolutions) {
      unsigned next = nextInChain(graph, graph.commands[chain.back()]);
      if (next == kNoCommand)
        break;
      chain.push_back(next);
    }
    if (!isGain(graph, chain))
      continue;
    for (auto [command, next] : llvm::zip(chain, ArrayRef(chain).drop_front()))
      graph.commands[command].chained = next;
    for (unsigned command : chain)
      isInChain[command] = true;
  }
}

} // namespace sinter::passes::plan
