//===- ContractCounts.cpp - what contracts count in a program -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/ContractCounts.h"

#include "ir/Locations.h"
#include "passes/OpClasses.h"
#include "passes/place/PlacementReport.h"
#include "passes/precision/PrecisionReport.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

/// Calls `visit` for every command, and for those in the bodies of scans, with
/// the number of times that a run of the program runs it.
static void
forEachCommand(exec::ProgramOp program,
               llvm::function_ref<void(Operation *, double)> visit) {
  for (Operation &op : program.getBody().front()) {
    if (isa<exec::CommandOpInterface>(op))
      visit(&op, 1);
    auto scan = dyn_cast<exec::ScanOp>(op);
    auto body = scan ? SymbolTable::lookupNearestSymbolFrom<exec::ProgramOp>(
                           program->getParentOp(), scan.getBodyAttr())
                     : nullptr;
    if (body)
      forEachCommand(body, [&](Operation *inner, double times) {
        visit(inner, times * static_cast<double>(scan.getTrips()));
      });
  }
}

template <class... Ops> static Count countOps(exec::ProgramOp program) {
  Count count;
  forEachCommand(program, [&](Operation *op, double times) {
    if (isa<Ops...>(op))
      count.add(op, times);
  });
  return count;
}

Count compiler::countLibraryCalls(exec::ProgramOp program) {
  return countOps<exec::MatmulOp, exec::ConvOp, exec::AttentionOp>(program);
}

Count compiler::countLaunches(exec::ProgramOp program) {
  return countOps<exec::LaunchOp>(program);
}

Count compiler::countKernels(exec::ProgramOp program) {
  return countOps<exec::LaunchOp, exec::MatmulOp, exec::ConvOp,
                  exec::AttentionOp, exec::CollectiveOp>(program);
}

Count compiler::countCopies(exec::ProgramOp program) {
  return countOps<exec::CopyOp>(program);
}

Count compiler::countFills(exec::ProgramOp program) {
  return countOps<exec::FillOp>(program);
}

/// Calls `visit` for every op of every kernel, for each command that launches
/// it, with the number of launches.
static void forEachComputed(
    exec::ProgramOp program,
    llvm::function_ref<void(exec::LaunchOp, Operation *, double)> visit) {
  SymbolTable kernels(program->getParentOp());
  forEachCommand(program, [&](Operation *command, double times) {
    auto launch = dyn_cast<exec::LaunchOp>(command);
    auto kernel =
        launch ? kernels.lookup<exec::KernelOp>(launch.getKernel()) : nullptr;
    if (kernel)
      kernel.getBody().walk([&](Operation *op) { visit(launch, op, times); });
  });
}

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

Count compiler::countCasts(exec::ProgramOp program) {
  Count count;
  forEachComputed(program,
                  [&](exec::LaunchOp launch, Operation *op, double times) {
                    auto cast = dyn_cast<ir::CastOp>(op);
                    if (cast && isa<FloatType>(elementOf(cast.getX())) &&
                        isa<FloatType>(elementOf(cast.getResult())))
                      count.add(launch, times);
                  });
  return count;
}

Count compiler::countF64(exec::ProgramOp program) {
  Count count;
  auto isF64 = [](Value value) { return elementOf(value).isF64(); };
  forEachComputed(program,
                  [&](exec::LaunchOp launch, Operation *op, double times) {
                    if (llvm::any_of(op->getResults(), isF64))
                      count.add(launch, times);
                  });
  forEachCommand(program, [&](Operation *op, double times) {
    if (isa<exec::MatmulOp, exec::ConvOp>(op) &&
        exec::bufferOp(op->getOperand(0))
            .getTensorType()
            .getElementType()
            .isF64())
      count.add(op, times);
  });
  return count;
}

static double product(ArrayRef<int64_t> sizes) {
  double result = 1;
  for (int64_t size : sizes)
    result *= static_cast<double>(size);
  return result;
}

/// Multiplications of a library call.
static double multiplicationsOfCall(Operation *op) {
  if (auto matmul = dyn_cast<exec::MatmulOp>(op))
    return product(matmul.getBatch()) * static_cast<double>(matmul.getM()) *
           static_cast<double>(matmul.getN()) *
           static_cast<double>(matmul.getK());
  if (auto conv = dyn_cast<exec::ConvOp>(op))
    return static_cast<double>(conv.getBatch()) *
           static_cast<double>(conv.getFilters()) *
           static_cast<double>(conv.getChannels()) /
           static_cast<double>(conv.getGroups()) *
           product(conv.getOutputDims()) * product(conv.getKernel());
  if (auto attention = dyn_cast<exec::AttentionOp>(op)) {
    bool isForward =
        attention.getDirection() == exec::AttentionDirection::forward;
    double size = 1;
    for (int64_t factor : {static_cast<int64_t>(attention.getBatch()),
                           static_cast<int64_t>(attention.getNumHeads()),
                           static_cast<int64_t>(attention.getQueries()),
                           static_cast<int64_t>(attention.getKeys()),
                           static_cast<int64_t>(attention.getDepth())})
      size *= static_cast<double>(factor);
    return (isForward ? 2 : 5) * size;
  }
  return 0;
}

/// Visits all contractions with the type of their operands and the number of
/// their multiplications.
static void
forEachContraction(exec::ProgramOp program,
                   llvm::function_ref<void(Operation *, Type, double)> visit) {
  forEachCommand(program, [&](Operation *op, double times) {
    if (double count = multiplicationsOfCall(op))
      visit(op,
            exec::bufferOp(op->getOperand(0)).getTensorType().getElementType(),
            times * count);
  });
  forEachComputed(
      program, [&](exec::LaunchOp launch, Operation *op, double times) {
        if (double count = passes::countMultiplyAdds(op))
          visit(launch, elementOf(passes::multiplied(op).first), times * count);
      });
}

Count compiler::countOthers(exec::ProgramOp program, StringRef types) {
  SmallVector<StringRef> names;
  types.split(names, '|');
  Count count;
  forEachContraction(program, [&](Operation *op, Type type, double amount) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    if (!llvm::is_contained(names, StringRef(name)))
      count.add(op, amount);
  });
  return count;
}

double compiler::multiplications(exec::ProgramOp program) {
  double total = 0;
  forEachContraction(
      program, [&](Operation *, Type, double amount) { total += amount; });
  return total;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// For each place whether it is the CPU; empty for a program that names no
/// devices.
static SmallVector<bool> cpuPlaces(ModuleOp module) {
  SmallVector<bool> places;
  for (StringRef name : ir::deviceNames(module))
    places.push_back(ir::isHostDevice(name));
  return places;
}

Count compiler::countFallbacks(exec::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  SmallVector<bool> isCpu = cpuPlaces(module);
  // In a program for a CPU alone, nodes are on the CPU by default.
  bool hasGpu = llvm::is_contained(isCpu, false);
  llvm::StringSet<> chosen;
  for (const passes::PlacementRegion &region : passes::placementReport(module))
    if (ir::isHostDevice(region.device) &&
        (hasGpu ? !region.isPinned() : region.isOwnChoice()))
      for (const std::string &node : region.nodes)
        chosen.insert(node);
  Count count;
  for (Operation &op : program.getBody().front()) {
    if (!isa<exec::CommandOpInterface>(op) ||
        isa<exec::RecordOp, exec::WaitOp>(op) || isCpu.empty() ||
        !isCpu[exec::placeOf(&op).place])
      continue;
    llvm::SmallSetVector<StringRef, 4> names;
    ir::collectNodeNames(op.getLoc(), names);
    if (llvm::any_of(names,
                     [&](StringRef name) { return chosen.contains(name); }))
      count.add(&op);
  }
  return count;
}

Count compiler::countHostSyncs(exec::ProgramOp program) {
  SmallVector<bool> isCpu = cpuPlaces(program->getParentOfType<ModuleOp>());
  llvm::DenseMap<int64_t, int64_t> recordedOn;
  Count count;
  for (Operation &op : program.getBody().front()) {
    int64_t place = exec::placeOf(&op).place;
    if (auto record = dyn_cast<exec::RecordOp>(op))
      recordedOn[record.getEvent()] = place;
    if (auto wait = dyn_cast<exec::WaitOp>(op);
        wait && !isCpu.empty() && isCpu[place] &&
        !isCpu[recordedOn.lookup(wait.getEvent())])
      count.add(wait);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The total size of the arenas of all devices; the findings are their buffers.
Count compiler::countArena(exec::ProgramOp program) {
  Count count;
  for (auto buffer : program.getBody().getOps<exec::BufferOp>())
    if (buffer.getSlice().getSpace() == exec::Space::arena)
      count.findings.push_back(
          {buffer, static_cast<double>(buffer.getSlice().getSize())});
  for (int64_t bytes : exec::arenaBytes(program))
    count.total += static_cast<double>(bytes);
  return count;
}

Count compiler::countStates(exec::ProgramOp program) {
  Count count;
  auto module = program->getParentOfType<ModuleOp>();
  for (auto state : module.getOps<ir::StateOp>())
    count.add(state, static_cast<double>(exec::sizeBytes(state.getType())));
  return count;
}

/// Only constants that a program reads: others are initial values of states.
Count compiler::countConstants(exec::ProgramOp program) {
  Count count;
  auto module = program->getParentOfType<ModuleOp>();
  llvm::SmallVector<exec::SliceAttr> read;
  module.walk([&](exec::BufferOp buffer) {
    if (buffer.getSlice().getSpace() == exec::Space::constant)
      read.push_back(buffer.getSlice());
  });
  for (auto constant : module.getOps<exec::ConstantOp>()) {
    const auto begin = static_cast<int64_t>(constant.getOffset());
    const int64_t end = begin + constant.getSizeBytes();
    if (llvm::any_of(read, [&](exec::SliceAttr slice) {
          return slice.getOffset() < end &&
                 begin < slice.getOffset() + slice.getSize();
        }))
      count.add(constant, static_cast<double>(end - begin));
  }
  return count;
}

/// All bytes that the plan puts on the devices: arena, states, constants that a
/// program reads.
Count compiler::countPeak(exec::ProgramOp program) {
  Count count = countArena(program);
  for (const Count &other : {countStates(program), countConstants(program)}) {
    count.total += other.total;
    count.findings.append(other.findings);
  }
  return count;
}
