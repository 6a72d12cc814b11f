//===- FormVerifiers.cpp - what holds after each phase --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/FormVerifiers.h"

#include "ir/Dialect.h"
#include "ir/Locations.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/place/Devices.h"
#include "passes/precision/AssignPrecision.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// A violation tends to occur in many places; the first few are enough.
static constexpr unsigned kMaxReports = 8;

namespace {
class Reports {
public:
  mlir::InFlightDiagnostic report(mlir::Operation *op) {
    ++count_;
    return op->emitError();
  }
  bool full() const { return count_ >= kMaxReports; }
  mlir::LogicalResult result() const { return mlir::success(count_ == 0); }

private:
  unsigned count_ = 0;
};
} // namespace

llvm::SmallVector<StringRef> compiler::nodeNames(mlir::Location location) {
  llvm::SmallSetVector<StringRef, 4> names;
  ir::collectNodeNames(location, names);
  return llvm::SmallVector<StringRef>(names.begin(), names.end());
}

static StringRef dialectOf(mlir::Operation *op) {
  return op->getName().getDialectNamespace();
}

static bool isConstant(mlir::Operation *op) {
  return op->hasTrait<mlir::OpTrait::ConstantLike>();
}

static bool isStatic(mlir::Type type) {
  auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
  return !shaped || shaped.hasStaticShape();
}

// Visits the ops of the graph functions. A planned module has none.
static void walkGraph(mlir::ModuleOp module,
                      llvm::function_ref<void(mlir::Operation *)> visit) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    function.walk([&](mlir::Operation *op) {
      if (op != function)
        visit(op);
    });
}

mlir::LogicalResult compiler::verifyImported(mlir::ModuleOp module,
                                             const PhaseContext &context) {
  Reports reports;
  // Modules in text form, written by hand or by tests, need not name nodes.
  bool named = !context.isModule;
  walkGraph(module, [&](mlir::Operation *op) {
    if (reports.full())
      return;
    if (dialectOf(op) != "sinter" && dialectOf(op) != "func")
      reports.report(op) << "'" << op->getName() << "' is not an op of a graph";
    else if (!llvm::all_of(op->getResultTypes(), isStatic))
      reports.report(op) << "has a result of dynamic shape";
    else if (named && !isConstant(op) && dialectOf(op) == "sinter" &&
             nodeNames(op->getLoc()).empty())
      reports.report(op) << "'" << op->getName()
                         << "' has lost the name of its node";
  });
  return reports.result();
}

mlir::LogicalResult compiler::verifySimplified(mlir::ModuleOp module,
                                               const PhaseContext &) {
  Reports reports;
  walkGraph(module, [&](mlir::Operation *op) {
    if (!reports.full() && dialectOf(op) == "sinter" &&
        mlir::isOpTriviallyDead(op))
      reports.report(op) << "the result of '" << op->getName()
                         << "' has no user";
  });
  return reports.result();
}

static bool hasFunction(mlir::ModuleOp module, StringRef name) {
  return module.lookupSymbol<mlir::func::FuncOp>(name) != nullptr;
}

mlir::LogicalResult compiler::verifyTrained(mlir::ModuleOp module,
                                            const PhaseContext &context) {
  if (module.getOps<mlir::func::FuncOp>().empty())
    return mlir::success(); // planned
  if (context.options.train.enabled) {
    bool hasStep = context.state.accumulate > 1
                       ? hasFunction(module, SINTER_ENTRY_GRAD) &&
                             hasFunction(module, SINTER_ENTRY_APPLY)
                       : hasFunction(module, SINTER_ENTRY_STEP);
    if (!hasStep || !hasFunction(module, SINTER_ENTRY_EVAL) ||
        hasFunction(module, SINTER_ENTRY_MAIN))
      return module.emitError("a training program has @step (with "
                              "micro-batches @grad and @apply) and @eval only");
    return mlir::success();
  }
  if (!hasFunction(module, SINTER_ENTRY_MAIN))
    return module.emitError("the model has no function @main");
  return mlir::success();
}

mlir::LogicalResult compiler::verifyPlaced(mlir::ModuleOp module,
                                           const PhaseContext &context) {
  Reports reports;
  mlir::FloatType narrow = passes::narrowType(
      module.getContext(), context.options.precisionPolicy());
  std::map<mlir::Operation *, passes::DeviceMap> maps; // by function
  // A function on one device has an attribute with its number; in other
  // functions the operands determine the device.
  auto targetOf = [&](mlir::Operation *op) -> const passes::Target & {
    auto function = op->getParentOfType<mlir::func::FuncOp>();
    int64_t device = ir::deviceNumber(function);
    if (!function.isPrivate() && ir::numDevices(module) > 1 &&
        op->getParentOp() == function)
      device =
          maps.try_emplace(function, function).first->second.of(op).value_or(0);
    return *passes::targetOf(module, device, context.devices, &context.target);
  };
  walkGraph(module, [&](mlir::Operation *op) {
    if (reports.full() || dialectOf(op) != "sinter")
      return;
    // A library call's body says what the library computes whole.
    if (mlir::isa<ir::CompositeOpInterface>(op) &&
        !op->getParentOfType<ir::LibraryCallOp>() &&
        !targetOf(op).keepsComposite(op, narrow))
      reports.report(op) << "composite '" << op->getName()
                         << "' was not decomposed";
  });
  return reports.result();
}

mlir::LogicalResult compiler::verifyPrecision(mlir::ModuleOp module,
                                              const PhaseContext &context) {
  Reports reports;
  const Options &options = context.options;
  // Nodes that are kept in fp32 may read values that others read rounded.
  if (options.precisionPolicy() == "fp32" || !options.keepFp32.empty() ||
      !options.plannedPrecisions.empty() || !context.state.calibrated.empty())
    return mlir::success();
  walkGraph(module, [&](mlir::Operation *op) {
    if (reports.full() || dialectOf(op) != "sinter" ||
        !op->hasTrait<ir::PrecisionAllow>() || op->getNumOperands() != 2)
      return;
    // Folding may have replaced the cast of a constant by a wider constant.
    auto isWidened = [](mlir::Value value) {
      return passes::widened(value) != nullptr;
    };
    bool hasConstant = llvm::any_of(op->getOperands(), [](mlir::Value value) {
      return value.getDefiningOp<ir::ConstantOp>() != nullptr;
    });
    if (isWidened(op->getOperand(0)) != isWidened(op->getOperand(1)) &&
        !hasConstant && !context.target.multipliesInPlace(op))
      reports.report(op) << "'" << op->getName()
                         << "' multiplies 16-bit floats by float32";
  });
  return reports.result();
}

mlir::LogicalResult compiler::verifyLayout(mlir::ModuleOp module,
                                           const PhaseContext &context) {
  Reports reports;
  // The operands of a program on several devices say where it runs; these are
  // not functions of one device yet.
  if (ir::numDevices(module) > 1)
    return mlir::success();
  walkGraph(module, [&](mlir::Operation *op) {
    auto dot = mlir::dyn_cast<ir::DotGeneralOp>(op);
    std::string reason;
    if (reports.full() || !dot ||
        context.target.implementationOf(op, reason) !=
            passes::Implementation::Library ||
        passes::isMatmulExpressible(dot))
      return;
    reports.report(op) << "'" << op->getName()
                       << "' has operands that no library call can read";
  });
  return reports.result();
}

mlir::LogicalResult compiler::verifyDistributed(mlir::ModuleOp module,
                                                const PhaseContext &context) {
  Reports reports;
  auto training = exec::TrainingAttr::of(module);
  const int64_t inProgram = training ? training.getReplicas() : 1;
  walkGraph(module, [&](mlir::Operation *op) {
    if (reports.full() || !mlir::isa<ir::CollectiveOpInterface>(op))
      return;
    const auto replicas = static_cast<int64_t>(
        mlir::cast<ir::CollectiveOpInterface>(op).getReplicas());
    if (replicas != inProgram)
      reports.report(op) << "'" << op->getName() << "' of " << replicas
                         << " replicas in a program of " << inProgram;
  });
  return reports.result();
}

mlir::LogicalResult compiler::verifyFused(mlir::ModuleOp module,
                                          const PhaseContext &context) {
  Reports reports;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (mlir::Block &block : function.getBody())
      for (mlir::Operation &op : block) {
        std::string reason;
        if (reports.full() || isConstant(&op) || dialectOf(&op) != "sinter" ||
            mlir::isa<ir::FusionOpInterface, ir::CollectiveOpInterface,
                      ir::CopyOp, ir::ScanCallOp>(op) ||
            passes::targetOf(module, ir::deviceNumber(function),
                             context.devices, &context.target)
                    ->implementationOf(&op, reason) ==
                passes::Implementation::Alias)
          continue;
        reports.report(&op) << "'" << op.getName() << "' is in no fusion";
      }
  return reports.result();
}

mlir::LogicalResult compiler::verifyPlanned(mlir::ModuleOp module,
                                            const PhaseContext &) {
  Reports reports;
  for (mlir::Operation &op : module.getOps())
    if (!reports.full() && dialectOf(&op) != "exec" &&
        !mlir::isa<ir::StateOp>(op))
      reports.report(&op) << "'" << op.getName() << "' is not planned";
  return reports.result();
}
