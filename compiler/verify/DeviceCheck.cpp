//===- DeviceCheck.cpp - the numbers of every command ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/DeviceCheck.h"

#include "compiler/base/Text.h"
#include "compiler/verify/CommandCheck.h"
#include "ir/exec/Exec.h"

#include "sinter/program_names.h"

#include "llvm/Support/Format.h"

#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

FindingFields DeviceFinding::fields() const {
  return {{"device", what},
          {"kernel", name},
          {"command", command},
          {"nodes", nodes},
          {"result", text}};
}

/// A run that failed. The runtime's messages begin with the nodes of the
/// command and the kernel: "a,b: kernel k0_add, block ...".
static DeviceFinding failedRun(StringRef message) {
  DeviceFinding finding{"device", "", "", "", message.str()};
  auto [nodes, rest] = message.split(": kernel ");
  if (rest.empty())
    return finding;
  finding.nodes = nodes.str();
  finding.name = rest.split(',').first.str();
  finding.text = rest.split(", ").second.str();
  return finding;
}

/// The number of the fusion that a command was made of; -1: of none.
static int64_t numberOf(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto number = fused ? dyn_cast_if_present<IntegerAttr>(fused.getMetadata())
                      : IntegerAttr();
  return number ? number.getInt() : -1;
}

/// Copies may have the location of what they copy.
static bool isComputed(Operation &command) {
  return isa<exec::LaunchOp, exec::MatmulOp, exec::ConvOp, exec::AttentionOp>(
      command);
}

DeviceCheck::DeviceCheck(ModuleOp fused) {
  int64_t number = 0;
  Builder builder(fused.getContext());
  for (auto function : fused.getOps<func::FuncOp>())
    for (auto fusion :
         function.getBody().front().getOps<ir::FusionOpInterface>())
      fusion->setLoc(FusedLoc::get(fused.getContext(), {fusion->getLoc()},
                                   builder.getI64IntegerAttr(number++)));
  graph_ = fused.clone();
}

namespace {

class DeviceRun {
public:
  DeviceRun(ModuleOp graph, ModuleOp planned, const sinter_artifact &artifact,
            ProgramInputs &inputs)
      : graph(graph), artifact(artifact), inputs(inputs) {
    llvm::DenseMap<int64_t, Operation *> numbered;
    graph.walk([&](ir::FusionOpInterface fusion) {
      if (int64_t number = numberOf(fusion->getLoc()); number >= 0)
        numbered[number] = fusion;
    });
    llvm::StringMap<ir::ScanCallOp> scans; // by body
    graph.walk([&](ir::ScanCallOp scan) { scans[scan.getBody()] = scan; });
    auto add = [&](exec::ProgramOp program, CommandFusions &list) {
      unsigned number = 0;
      for (Operation &op : program.getBody().front()) {
        if (!isa<exec::CommandOpInterface>(op))
          continue;
        const std::string text = std::to_string(number++);
        if (auto scan = dyn_cast<exec::ScanOp>(op))
          addTrips(scan, scans.lookup(scan.getBody()), fusions[scan.getBody()],
                   text, list);
        else
          list.push_back({isComputed(op)
                              ? numbered.lookup(numberOf(op.getLoc()))
                              : nullptr,
                          text});
      }
    };
    for (auto program : planned.getOps<exec::ProgramOp>())
      add(program, fusions[program.getSymName()]);
    for (auto state : graph.getOps<ir::StateOp>()) {
      stateIndex[state.getSymName()] = stateNames.size();
      stateNames.push_back(state.getSymName().str());
      states[state.getSymName()] = inputs.state(graph, state.getSymName());
    }
  }

  /// Runs the program's entries. Returns what went wrong on the device.
  std::string run(DeviceProgram &program, bool isObserved) {
    for (auto state : graph.getOps<ir::StateOp>()) {
      const std::string name = state.getSymName().str();
      if (state.getRole() == ir::StateRole::rounded)
        continue;
      std::string wrong =
          program.writeState(stateIndex[name], states[name].toBytes());
      if (!wrong.empty())
        return wrong;
    }
    if (isObserved)
      program.observe = [&](const ObservedCommand &command) {
        return observe(command);
      };
    std::vector<std::pair<const char *, int64_t>> runs = {
        {SINTER_ENTRY_MAIN, 0}, {SINTER_ENTRY_STEP, 0}};
    for (int64_t part = 0; part < inputs.accumulate(); ++part)
      runs.emplace_back(SINTER_ENTRY_GRAD, part);
    runs.emplace_back(SINTER_ENTRY_APPLY, 0);
    runs.emplace_back(SINTER_ENTRY_EVAL, 0);
    for (auto [name, part] : runs) {
      std::string wrong = runEntry(program, name, part, isObserved);
      if (finding || !wrong.empty())
        return wrong;
    }
    for (size_t i = 0; i < stateNames.size(); ++i)
      if (std::string wrong = program.readState(i, results.emplace_back());
          !wrong.empty())
        return wrong;
    return "";
  }

  std::vector<std::vector<char>> results; // of all runs, then the states
  std::optional<DeviceFinding> finding;
  int numCommands = 0;
  double largestRatio = 0;
  std::string largestAt;

private:
  /// Adds those of `body` for each trip.
  static void addTrips(exec::ScanOp scan, ir::ScanCallOp call,
                       const CommandFusions &body, const std::string &number,
                       CommandFusions &list) {
    for (uint64_t trip = 0; trip < scan.getTrips(); ++trip)
      for (size_t i = 0; i < body.size(); ++i)
        list.push_back(
            {body[i].fusion,
             number + "." + body[i].number + ", trip " + std::to_string(trip),
             call, static_cast<int64_t>(trip), i == 0, i + 1 == body.size()});
  }

  const sinter_entry *find(StringRef name) {
    for (uint32_t i = 0; i < artifact.numEntries; ++i)
      if (name == artifact.entries[i].name)
        return &artifact.entries[i];
    return nullptr;
  }

  sinter_control controlOf(func::FuncOp function, int64_t microBatch) {
    sinter_control control = {};
    Builder builder(function.getContext());
    auto rows = ProgramInputs::validRows(function);
    for (const exec::ControlField &field : exec::controlFields()) {
      Type element = field.size == 4 ? Type(builder.getF32Type())
                                     : Type(builder.getI64Type());
      std::vector<char> bytes =
          ProgramInputs::control(field.name, RankedTensorType::get({}, element),
                                 rows, microBatch)
              .toBytes();
      std::memcpy(reinterpret_cast<char *>(&control) + field.offset,
                  bytes.data(), bytes.size());
    }
    return control;
  }

  std::string runEntry(DeviceProgram &program, StringRef name,
                       int64_t microBatch, bool isObserved) {
    auto function = graph.lookupSymbol<func::FuncOp>(name);
    const sinter_entry *entry = find(name);
    if (!function || !entry)
      return "";
    part = microBatch;
    std::vector<std::vector<char>> given, outputs;
    for (uint32_t i = 0; i < entry->numInputs; ++i)
      for (unsigned k = 0; k < function.getNumArguments(); ++k)
        if (auto input = function.getArgAttrOfType<StringAttr>(
                k, ir::SinterDialect::kInputAttr);
            input && input.getValue() == entry->inputs[i].name) {
          auto value = inputs.argument(function, k);
          given.push_back(failed(value) ? std::vector<char>()
                                        : value->toBytes());
        }
    std::string wrong =
        program.run(*entry, controlOf(function, microBatch), given, outputs);
    if (finding || !wrong.empty())
      return wrong;
    if (isObserved)
      wrong = checkEnd(program, *entry, outputs);
    llvm::append_range(results, outputs);
    return wrong;
  }

  /// The runtime runs @refresh by itself before another entry.
  std::string observe(const ObservedCommand &command) {
    if (!current || currentEntry != &command.entry || command.index == 0)
      begin(command.entry);
    ++numCommands;
    finding = current->check(command);
    noteLargest();
    const bool isLast = command.index + 1 == command.entry.numCommands;
    if (isLast && StringRef(command.entry.name) == SINTER_ENTRY_REFRESH)
      takeStates();
    return finding ? "a command is wrong" : "";
  }

  void begin(const sinter_entry &entry) {
    auto function = graph.lookupSymbol<func::FuncOp>(entry.name);
    SmallVector<Tensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(
              i, ir::SinterDialect::kStateAttr))
        arguments.push_back(states[state.getValue()]);
      else if (auto field = function.getArgAttrOfType<StringAttr>(
                   i, ir::SinterDialect::kControlAttr))
        arguments.push_back(ProgramInputs::control(
            field.getValue(), ir::tensorType(function.getArgument(i)),
            ProgramInputs::validRows(function), part));
      else
        arguments.push_back(*inputs.argument(function, i));
    }
    current.emplace(function, fusions[entry.name], artifact, arguments);
    currentFunction = function;
    currentEntry = &entry;
  }

  void noteLargest() {
    if (current->largestRatio > largestRatio) {
      largestRatio = current->largestRatio;
      largestAt = current->largestAt;
    }
  }

  /// The states that the function returns are those of the next run.
  void takeStates() {
    for (unsigned i = 0; i < currentFunction.getNumResults(); ++i)
      if (auto state = currentFunction.getResultAttrOfType<FlatSymbolRefAttr>(
              i, ir::SinterDialect::kStateAttr))
        if (auto value = current->result(i)) {
          Tensor &kept = states[state.getValue()];
          for (int64_t k = 0; k < value->size(); ++k)
            kept.copyElement(k, *value, k);
        }
  }

  /// Outputs and states hold what was computed for them.
  std::string checkEnd(DeviceProgram &program, const sinter_entry &entry,
                       llvm::ArrayRef<std::vector<char>> outputs) {
    // The entry that ran has its scans expanded.
    if (!current || StringRef(currentEntry->name) != entry.name)
      begin(entry); // no command ran
    takeStates();
    for (unsigned i = 0; i < currentFunction.getNumResults(); ++i) {
      auto value = current->result(i);
      if (auto state = currentFunction.getResultAttrOfType<FlatSymbolRefAttr>(
              i, ir::SinterDialect::kStateAttr)) {
        std::vector<char> bytes;
        const unsigned index = stateIndex[state.getValue()];
        if (std::string wrong = program.readState(index, bytes); !wrong.empty())
          return wrong;
        if (value && bytes != states[state.getValue()].toBytes())
          return report(*currentEntry,
                        {SINTER_SPACE_STATE, index, 0, bytes.size()},
                        "state " + quoted(state.getValue()));
      }
      auto name = currentFunction.getResultAttrOfType<StringAttr>(
          i, ir::SinterDialect::kOutputAttr);
      for (uint32_t k = 0; name && k < entry.numOutputs; ++k)
        if (value && name.getValue() == entry.outputs[k].name &&
            outputs[k] != value->toBytes())
          return report(*currentEntry,
                        {SINTER_SPACE_OUTPUT, k, 0, outputs[k].size()},
                        "output " + quoted(name.getValue()));
    }
    return "";
  }

  std::string report(const sinter_entry &entry, const sinter_slice &slice,
                     const std::string &what) {
    finding = current->planFinding(
        entry, entry.numCommands, slice,
        what + " does not hold the value that was computed for it");
    return "";
  }

  ModuleOp graph;
  const sinter_artifact &artifact;
  ProgramInputs &inputs;
  llvm::StringMap<CommandFusions> fusions; // by entry
  std::vector<std::string> stateNames;
  llvm::StringMap<unsigned> stateIndex;
  llvm::StringMap<Tensor> states;
  std::optional<CommandCheck> current;
  func::FuncOp currentFunction;
  const sinter_entry *currentEntry = nullptr;
  int64_t part = 0; // the micro-batch
};

} // namespace

LogicalResult DeviceCheck::run(ModuleOp planned,
                               const sinter_artifact &artifact,
                               ProgramInputs &inputs, const LoadProgram &load,
                               const std::string &device,
                               std::string &problem) {
  std::unique_ptr<DeviceProgram> program = load(artifact, device, problem);
  if (!program)
    return failure();
  DeviceRun observed(*graph_, planned, artifact, inputs);
  std::string wrong = observed.run(*program, true);
  finding_ = observed.finding;
  numCommands_ = observed.numCommands;
  largest_ = observed.largestRatio;
  largestAt_ = observed.largestAt;
  if (finding_)
    return success();
  if (!wrong.empty()) {
    finding_ = failedRun(wrong);
    return success();
  }
  program = load(artifact, device, problem);
  if (!program)
    return failure();
  DeviceRun free(*graph_, planned, artifact, inputs);
  wrong = free.run(*program, false);
  if (!wrong.empty())
    finding_ = failedRun(wrong);
  else if (free.results != observed.results)
    finding_ = DeviceFinding{
        "order", "", "", "",
        "the results differ when the program does not wait for each command"};
  return success();
}
