//===- CommandDiff.cpp - which command is which of another program --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/CommandDiff.h"

#include "compiler/inspect/ArtifactFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

// Rows of a signature with hashes, which are not shown.
static constexpr llvm::StringLiteral kCodeRow = "code",
                                     kMachineRow = "machine code",
                                     kConstantsRow = "constants";
// Of a scan, and of the commands in its body.
static constexpr llvm::StringLiteral kTripsRow = "trips";

template <typename Numbers> static std::string joined(const Numbers &numbers) {
  std::string text;
  for (auto number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
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
    default:
      break;
    }
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
    std::string text;
    for (const sinter_post_op &op : ops)
      if (const sinter_post_op_traits *row = sinter_post_op_row(op.kind))
        text += (text.empty() ? "" : ", ") + std::string(row->name);
    add("post-ops", text.empty() ? "none" : text);
  }

  void addMatmul(const sinter_matmul &p) {
    auto batch = llvm::ArrayRef(p.batch).take_front(p.batchRank);
    add("product", std::string(dtypeName(p.dtype)) + " " +
                       (batch.empty() ? "" : joined(batch) + " of ") +
                       std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
                       std::to_string(p.k) + " into " + dtypeName(p.outDtype));
    addPostOps(llvm::ArrayRef(p.postOps).take_front(p.numPostOps));
    add("by", command_.matmul.byLoops ? "loops" : "library");
  }

  void addConv(const sinter_conv &p) {
    auto of = [&](const int64_t(&list)[SINTER_MAX_SPATIAL_DIMS]) {
      return joined(llvm::ArrayRef(list).take_front(p.spatialRank));
    };
    add("convolution", std::string(dtypeName(p.dtype)) + " batch " +
                           std::to_string(p.batch) + ", " +
                           std::to_string(p.channels) + " to " +
                           std::to_string(p.filters) + " channels");
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
    addPostOps(llvm::ArrayRef(p.postOps).take_front(p.numPostOps));
    add("by", command_.conv.byLoops ? "loops" : "library");
  }

  void addAttention(const sinter_attention &p) {
    int64_t sizes[] = {p.batch, p.heads, p.queries, p.keys, p.depth};
    add("attention", std::string(dtypeName(p.dtype)) + " " + joined(sizes) +
                         (p.causal ? ", causal" : "") +
                         (p.hasMask ? ", mask" : ""));
    add("direction", std::to_string(p.direction));
    add("scale", std::to_string(p.scale));
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
  for (const sinter_entry &entry : entries(artifact))
    for (const ShownCommand &command : commands(entry)) {
      CommandFacts facts;
      facts.entry = entry.name;
      facts.trips = command.trips;
      facts.isScan = command.kind == SINTER_CMD_SCAN;
      if (artifact.numPlaces)
        facts.device = deviceName(artifact, command.place);
      facts.target = targetName(artifact, command).str();
      facts.kind = commandName(command.kind);
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
      if (command.kind != SINTER_CMD_RECORD &&
          command.kind != SINTER_CMD_WAIT && command.kind != SINTER_CMD_AWAIT)
        list.push_back(std::move(facts));
    }
  return list;
}

void compiler::addCodeHashes(const std::map<std::string, std::string> &hashes,
                             std::vector<CommandFacts> &commands) {
  for (CommandFacts &command : commands)
    if (auto found = hashes.find(command.target); found != hashes.end())
      command.signature.emplace_back(kMachineRow, found->second);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

// What must be equal for two commands to match.
enum class Key { All, Nodes, AllButNodes };

static std::string keyOf(const CommandFacts &command, Key part) {
  std::string key = command.entry + "\n" + command.kind;
  if (part != Key::AllButNodes)
    for (const std::string &node : command.nodes)
      key += "\n" + node;
  if (part == Key::Nodes)
    return key;
  key += "\n\n" + command.device + "\n" + command.ops;
  for (auto &[name, value] : command.signature)
    key += "\n" + name + "=" + value;
  return key;
}

// How well two commands fit each other; 0: not at all. Those of one kind fit if
// one has half the nodes of the other, others if they share a fourth of all.
static double fit(const CommandFacts &a, const CommandFacts &b) {
  std::set<std::string> x(a.nodes.begin(), a.nodes.end()),
      y(b.nodes.begin(), b.nodes.end());
  double common = llvm::count_if(
      x, [&](const std::string &node) { return y.count(node) != 0; });
  double all = x.size() + y.size() - common;
  if (a.kind == b.kind && 2 * common >= std::min(x.size(), y.size()))
    return 1 + common / all;
  return 4 * common >= all ? common / all : 0;
}

static std::string differenceOf(const std::vector<std::string> &from,
                                const std::vector<std::string> &of) {
  std::set<std::string> known(of.begin(), of.end());
  std::string text;
  for (const std::string &node : from)
    if (!known.count(node))
      text += (text.empty() ? "" : ", ") + node;
  return text;
}

static std::vector<std::string> detailsOf(const CommandFacts &a,
                                          const CommandFacts &b) {
  std::vector<std::string> details;
  auto change = [&](const std::string &what, const std::string &from,
                    const std::string &to) {
    if (from != to)
      details.push_back(what + (what.empty() ? "" : " ") +
                        (from.empty() ? "none" : from) + " -> " +
                        (to.empty() ? "none" : to));
  };
  if (std::string left = differenceOf(a.nodes, b.nodes); !left.empty())
    details.push_back("without " + left);
  if (std::string joined = differenceOf(b.nodes, a.nodes); !joined.empty())
    details.push_back("with " + joined);
  change("", a.kind, b.kind);
  change("device", a.device, b.device);
  if (a.kind != b.kind)
    return details;
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (auto &[name, value] : a.signature)
    rows[name].first = value;
  for (auto &[name, value] : b.signature)
    rows[name].second = value;
  for (auto &[name, values] : rows)
    if (name == kConstantsRow && values.first != values.second)
      details.push_back("other constants");
    else if (name != kCodeRow && name != kMachineRow)
      change(name, values.first, values.second);
  // The body of a kernel has the sizes of its operands.
  auto differs = [&](StringRef row) {
    return rows[row.str()].first != rows[row.str()].second;
  };
  if (details.empty() && differs(kCodeRow))
    details.push_back("other code");
  if (details.empty() && differs(kMachineRow))
    details.push_back("other machine code for the same ops");
  if (details.empty())
    change("code", a.ops, b.ops);
  if (details.empty() && a.nodes != b.nodes)
    details.push_back("another order of nodes");
  return details;
}

namespace {

class CommandMatcher {
public:
  CommandMatcher(std::vector<CommandFacts> a, std::vector<CommandFacts> b,
                 ArtifactDifference &result)
      : a_(std::move(a)), b_(std::move(b)), result_(result), doneA_(a_.size()),
        doneB_(b_.size()) {}

  void run() {
    matchEqual(Key::All);
    matchEqual(Key::Nodes);
    matchEqual(Key::AllButNodes);
    matchOverlapping();
    for (size_t i = 0; i < a_.size(); ++i)
      if (!doneA_[i])
        add(result_.gone, a_[i], {});
    for (size_t i = 0; i < b_.size(); ++i)
      if (!doneB_[i])
        add(result_.added, b_[i], {});
    result_.commands = llvm::count_if(
        b_, [](const CommandFacts &command) { return !command.isScan; });
  }

private:
  // Matches commands with equal keys, in their order. Without nodes only those
  // whose nodes the other program does not have: they were renamed.
  void matchEqual(Key part) {
    std::set<std::string> nodesA = nodesOf(a_), nodesB = nodesOf(b_);
    auto isOut = [&](const CommandFacts &command,
                     const std::set<std::string> &others) {
      return part == Key::AllButNodes &&
             llvm::any_of(command.nodes, [&](const std::string &node) {
               return others.count(node) != 0;
             });
    };
    std::map<std::string, std::vector<size_t>> free;
    for (size_t i = b_.size(); i-- > 0;)
      if (!doneB_[i] && !isOut(b_[i], nodesA))
        free[keyOf(b_[i], part)].push_back(i);
    for (size_t i = 0; i < a_.size(); ++i) {
      if (doneA_[i] || isOut(a_[i], nodesB))
        continue;
      auto found = free.find(keyOf(a_[i], part));
      if (found == free.end() || found->second.empty())
        continue;
      size_t j = found->second.back();
      found->second.pop_back();
      if (part == Key::AllButNodes) {
        doneA_[i] = doneB_[j] = true;
        result_.same += !b_[j].isScan;
        result_.renamed += !b_[j].isScan;
      } else {
        match(i, j);
      }
    }
  }

  static std::set<std::string> nodesOf(llvm::ArrayRef<CommandFacts> commands) {
    std::set<std::string> nodes;
    for (const CommandFacts &command : commands)
      nodes.insert(command.nodes.begin(), command.nodes.end());
    return nodes;
  }

  // The pair that fits best first.
  void matchOverlapping() {
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> byNode;
    for (size_t j = 0; j < b_.size(); ++j)
      if (!doneB_[j])
        for (const std::string &node : b_[j].nodes)
          byNode[{b_[j].entry, node}].push_back(j);
    std::vector<std::tuple<double, size_t, size_t>> pairs;
    for (size_t i = 0; i < a_.size(); ++i) {
      if (doneA_[i])
        continue;
      std::set<size_t> near;
      for (const std::string &node : a_[i].nodes)
        if (auto found = byNode.find({a_[i].entry, node});
            found != byNode.end())
          near.insert(found->second.begin(), found->second.end());
      for (size_t j : near)
        if (double share = fit(a_[i], b_[j]); share > 0)
          pairs.emplace_back(-share, i, j);
    }
    llvm::sort(pairs);
    for (auto [share, i, j] : pairs)
      if (!doneA_[i] && !doneB_[j])
        match(i, j);
  }

  void match(size_t i, size_t j) {
    doneA_[i] = doneB_[j] = true;
    std::vector<std::string> details = detailsOf(a_[i], b_[j]);
    if (details.empty())
      result_.same += !b_[j].isScan;
    else
      add(result_.changed, b_[j], std::move(details));
  }

  // Layers that differ in the same way become one line.
  static void add(std::vector<CommandChange> &list, const CommandFacts &command,
                  std::vector<std::string> details) {
    for (CommandChange &change : list)
      if (change.entry == command.entry && change.target == command.target &&
          change.trips == command.trips && change.details == details) {
        ++change.count;
        llvm::append_range(change.nodes, command.nodes);
        return;
      }
    list.push_back({command.entry, command.target, command.nodes,
                    std::move(details), 1, command.trips, command.isScan});
  }

  std::vector<CommandFacts> a_, b_;
  ArtifactDifference &result_;
  std::vector<bool> doneA_, doneB_;
};

} // namespace

void compiler::diffCommands(std::vector<CommandFacts> a,
                            std::vector<CommandFacts> b,
                            ArtifactDifference &result) {
  CommandMatcher(std::move(a), std::move(b), result).run();
}
