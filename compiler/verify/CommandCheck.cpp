//===- CommandCheck.cpp - one run of an entry, command by command ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/CommandCheck.h"
#include "ir/eval/Trips.h"

#include "compiler/base/Text.h"

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

static constexpr int kTrials = 6;
/// Functions are computed with an error of up to five roundings.
static constexpr double kRoundings = 4;

static bool overlap(const sinter_slice &a, const sinter_slice &b) {
  return a.space == b.space && a.index == b.index &&
         a.offsetBytes < b.offsetBytes + b.sizeBytes &&
         b.offsetBytes < a.offsetBytes + a.sizeBytes;
}

static bool isWrittenBy(const sinter_command &command,
                        const sinter_slice &slice) {
  for (uint32_t k = command.numReads; k < command.numSlices; ++k)
    if (overlap(command.slices[k], slice))
      return true;
  return false;
}

/// Whether a slice holds the last bytes of a value: contractions may read from
/// an offset.
static bool endsWith(const std::vector<char> &value,
                     const std::vector<char> &slice) {
  return slice.size() <= value.size() &&
         std::equal(slice.rbegin(), slice.rend(), value.rbegin());
}

/// Whether a slice may hold the truth values of `operand`, which library calls
/// pack.
static bool isPacked(Value operand, const std::vector<char> &value,
                     const std::vector<char> &slice) {
  return ir::tensorType(operand).getElementType().isInteger(1) &&
         value.size() > slice.size() && value.size() / 8 <= slice.size();
}

CommandCheck::CommandCheck(func::FuncOp function, const CommandFusions &fusions,
                           const sinter_artifact &artifact,
                           llvm::ArrayRef<Tensor> arguments)
    : function(function), fusions(fusions), artifact(artifact) {
  for (auto [argument, value] :
       llvm::zip_equal(function.getArguments(), arguments))
    values[argument] = value;
}

/// Constants and reshapes are not computed by commands.
const Tensor *CommandCheck::valueOf(Value value) {
  auto known = values.find(value);
  if (known != values.end())
    return &known->second;
  Operation *op = value.getDefiningOp();
  if (!op || isa<ir::FusionOpInterface>(op))
    return nullptr;
  SmallVector<Tensor> operands, results;
  for (Value operand : op->getOperands()) {
    const Tensor *one = valueOf(operand);
    if (!one)
      return nullptr;
    operands.push_back(*one);
  }
  if (failed(ir::evaluateOp(op, operands, results)))
    return nullptr;
  for (auto [result, computed] : llvm::zip_equal(op->getResults(), results))
    values[result] = std::move(computed);
  return &values[value];
}

DeviceFinding CommandCheck::describe(const sinter_entry &entry,
                                     uint32_t command, StringRef what,
                                     const std::string &text) {
  const sinter_command &row = entry.commands[command];
  DeviceFinding finding{what.str(), "", "", row.label, text};
  finding.command = fusions[command].number + " of " + entry.name;
  switch (row.kind) {
  case SINTER_CMD_LAUNCH:
    finding.name = artifact.kernels[row.launch.kernel].name;
    break;
  case SINTER_CMD_MATMUL:
    finding.name = "matmul";
    break;
  case SINTER_CMD_CONV:
    finding.name = "conv";
    break;
  case SINTER_CMD_ATTENTION:
    finding.name = "attention";
    break;
  default:
    break;
  }
  return finding;
}

DeviceFinding CommandCheck::planFinding(const sinter_entry &entry,
                                        uint32_t before,
                                        const sinter_slice &slice,
                                        const std::string &text) {
  for (uint32_t k = before; k-- > 0;)
    if (isWrittenBy(entry.commands[k], slice)) {
      std::string name = entry.commands[k].label;
      return describe(entry, before < entry.numCommands ? before : k, "plan",
                      text + "; command " + fusions[k].number + " (" +
                          shown(name) + ") wrote there last");
    }
  return describe(entry, before < entry.numCommands ? before : 0, "plan",
                  text + "; no command wrote there");
}

std::optional<uint32_t> CommandCheck::producerOf(Value value) const {
  Operation *op = value.getDefiningOp();
  while (op && !isa<ir::FusionOpInterface>(op) && op->getNumOperands() > 0)
    op = op->getOperand(0).getDefiningOp();
  auto found = commandOf.find(op);
  return found == commandOf.end() ? std::nullopt : std::optional(found->second);
}

/// The operand was right when `producer` had computed it.
DeviceFinding CommandCheck::changedOperand(const ObservedCommand &command,
                                           uint32_t slice,
                                           std::optional<uint32_t> producer) {
  const sinter_command *rows = command.entry.commands;
  const std::string operand = "operand " + std::to_string(slice);
  bool isWrittenSince = !producer;
  for (uint32_t k = producer ? *producer + 1 : 0; k < command.index; ++k)
    isWrittenSince |= isWrittenBy(rows[k], rows[command.index].slices[slice]);
  if (isWrittenSince)
    return planFinding(command.entry, command.index,
                       rows[command.index].slices[slice],
                       operand + " does not hold the value that was computed "
                                 "for it");
  const std::string since = " has changed since command " +
                            fusions[*producer].number +
                            " computed it, and the plan lets no command write "
                            "there: ";
  return describe(command.entry, command.index, "kernel",
                  operand + since +
                      (*producer + 1 == command.index
                           ? "this command writes"
                           : "this command or one since then writes") +
                      " outside of its results");
}

std::optional<DeviceFinding>
CommandCheck::checkOperands(const ObservedCommand &command, Operation *fusion) {
  const sinter_command &row = command.entry.commands[command.index];
  const bool isLaunch = row.kind == SINTER_CMD_LAUNCH;
  std::vector<std::vector<char>> operands;
  for (Value input : fusion->getOperands())
    operands.push_back(valueOf(input)->toBytes());
  for (uint32_t k = 0; k < row.numReads; ++k) {
    const sinter_slice &slice = row.slices[k];
    if (isWrittenBy(row, slice) || (isLaunch && k >= operands.size()))
      continue;
    std::vector<char> bytes;
    if (std::string wrong = command.read(k, bytes); !wrong.empty())
      return describe(command.entry, command.index, "device", wrong);
    bool isRight = isLaunch &&
                   (bytes.size() != operands[k].size() || bytes == operands[k]);
    for (size_t i = 0; !isLaunch && i < operands.size(); ++i)
      isRight |= endsWith(operands[i], bytes) ||
                 isPacked(fusion->getOperand(i), operands[i], bytes);
    if (!isRight)
      return changedOperand(command, k,
                            isLaunch ? producerOf(fusion->getOperand(k))
                                     : std::nullopt);
  }
  return std::nullopt;
}

std::optional<DeviceFinding>
CommandCheck::checkResults(const ObservedCommand &command, Operation *fusion,
                           llvm::ArrayRef<Tensor> operands) {
  Block &body = cast<ir::FusionOpInterface>(fusion).getBody().front();
  const sinter_command &row = command.entry.commands[command.index];
  EvaluationOptions options;
  options.rounding = ir::Rounding::each_op;
  auto expected = evaluate(body, operands, options);
  if (failed(expected))
    return describe(command.entry, command.index, "device",
                    "its fusion cannot be evaluated");
  std::vector<SmallVector<Tensor>> trials;
  for (int trial = 0; trial < kTrials; ++trial) {
    options.noise = Noise{static_cast<uint64_t>(trial) + 1, kRoundings, true};
    auto noisy = evaluate(body, operands, options);
    if (failed(noisy))
      return std::nullopt;
    trials.push_back(std::move(*noisy));
  }

  std::vector<std::vector<char>> written;
  for (uint32_t k = row.numReads; k < row.numSlices; ++k)
    if (row.slices[k].space != SINTER_SPACE_CONTROL) // not a ticket
      if (std::string wrong = command.read(k, written.emplace_back());
          !wrong.empty())
        return describe(command.entry, command.index, "device", wrong);
  const bool isLaunch = row.kind == SINTER_CMD_LAUNCH;
  for (auto [number, result] : llvm::enumerate(fusion->getResults())) {
    SmallVector<Tensor> noisy;
    for (SmallVector<Tensor> &trial : trials)
      noisy.push_back(std::move(trial[number]));
    Bounded bounded = Bounded::of((*expected)[number], noisy);
    std::optional<Difference> best;
    const auto type = bounded.value.type();
    for (auto [k, bytes] : llvm::enumerate(written)) {
      // Library calls have an order of their own.
      if ((isLaunch && k != number) ||
          static_cast<int64_t>(bytes.size()) !=
              type.getNumElements() *
                  ir::elementSizeBytes(type.getElementType()))
        continue;
      Tensor value = Tensor::fromBytes(type, bytes.data());
      Difference difference = compare(value, bounded);
      if (best && best->ratio <= difference.ratio)
        continue;
      best = difference;
      values[result] = std::move(value);
    }
    if (!best) { // stored in another form, which only other calls read
      values[result] = bounded.value;
      continue;
    }
    if (best->ratio > 1)
      return describe(command.entry, command.index,
                      isLaunch ? "kernel" : "library call",
                      "result " + std::to_string(number) + ": " +
                          best->text(type.getShape()));
    if (best->ratio > largestRatio) {
      largestRatio = best->ratio;
      largestAt = row.label;
    }
  }
  return std::nullopt;
}

std::optional<DeviceFinding>
CommandCheck::check(const ObservedCommand &command) {
  const CommandFusion &what = fusions[command.index];
  return what.scan ? checkInTrip(command, what)
                   : checkFusion(command, what.fusion);
}

/// The arguments of the body are what the commands before have computed.
/// False if one has not run.
bool CommandCheck::beginTrip(const CommandFusion &what) {
  ir::ScanCallOp scan = what.scan;
  const size_t stacks = scan.getStacks().size(),
               carried = scan.getInitial().size();
  SmallVector<Tensor> arguments;
  for (Value operand : scan->getOperands()) {
    const Tensor *value = valueOf(operand);
    if (!value)
      return false;
    arguments.push_back(*value);
  }
  if (what.trip == 0) {
    scanResults.assign(arguments.begin() + stacks,
                       arguments.begin() + stacks + carried);
    for (Value stack : scan.getStacked())
      scanResults.emplace_back(ir::tensorType(stack));
  }
  auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      scan, scan.getBodyAttr());
  const int64_t slice = scan.sliceOfTrip(what.trip);
  for (size_t i = 0; i < stacks; ++i)
    arguments[i] = ir::sliceOfStack(arguments[i],
                                    ir::tensorType(body.getArgument(i)), slice);
  std::copy(scanResults.begin(), scanResults.begin() + carried,
            arguments.begin() + stacks);
  trip = std::make_unique<CommandCheck>(body, fusions, artifact, arguments);
  return true;
}

void CommandCheck::endTrip(const CommandFusion &what) {
  ir::ScanCallOp scan = what.scan;
  const size_t carried = scan.getInitial().size();
  for (size_t i = 0; i < scanResults.size(); ++i) {
    std::optional<Tensor> value = trip->result(i);
    if (value && i < carried)
      scanResults[i] = std::move(*value);
    else if (value)
      ir::setSliceOfStack(scanResults[i], *value, scan.sliceOfTrip(what.trip));
  }
  if (what.trip + 1 == static_cast<int64_t>(scan.getTrips()))
    for (auto [result, value] : llvm::zip_equal(scan.getOutputs(), scanResults))
      values[result] = value;
}

std::optional<DeviceFinding>
CommandCheck::checkInTrip(const ObservedCommand &command,
                          const CommandFusion &what) {
  if (what.beginsTrip && !beginTrip(what))
    return describe(command.entry, command.index, "plan",
                    "its scan runs before a command that computes an operand");
  if (auto finding = trip->checkFusion(command, what.fusion))
    return finding;
  if (trip->largestRatio > largestRatio) {
    largestRatio = trip->largestRatio;
    largestAt = trip->largestAt;
  }
  if (what.endsTrip)
    endTrip(what);
  return std::nullopt;
}

std::optional<DeviceFinding>
CommandCheck::checkFusion(const ObservedCommand &command, Operation *fusion) {
  if (!fusion)
    return std::nullopt;
  SmallVector<Tensor> operands;
  for (Value input : fusion->getOperands()) {
    const Tensor *value = valueOf(input);
    if (!value)
      return describe(command.entry, command.index, "plan",
                      "it runs before a command that computes an operand");
    operands.push_back(*value);
  }
  if (auto finding = checkOperands(command, fusion))
    return finding;
  commandOf[fusion] = command.index;
  return checkResults(command, fusion, operands);
}

std::optional<Tensor> CommandCheck::result(unsigned index) {
  const Tensor *value =
      valueOf(function.getBody().front().getTerminator()->getOperand(index));
  return value ? std::optional(*value) : std::nullopt;
}
