//===- PassReplay.cpp - a phase once more, pass by pass -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/PassReplay.h"

#include "ir/Locations.h"

#include "mlir/IR/Action.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Rewrite/PatternApplicator.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

namespace {

class ReplayWatch : public PassInstrumentation {
public:
  ReplayWatch(PassReplay &replay, ModuleOp module)
      : replay(replay), module(module), print(module) {}

  void runBeforePass(Pass *pass, Operation *) override {
    if (!isAdaptor(pass))
      isLimited = number == replay.limitedPass;
  }
  void runAfterPass(Pass *pass, Operation *) override {
    if (isAdaptor(pass))
      return;
    isLimited = false;
    const unsigned own = number++;
    if (hasEnded)
      return;
    OperationFingerPrint now(module);
    if (now == print)
      return;
    print = now;
    StringRef name = pass->getArgument();
    name.consume_front("sinter-");
    hasEnded = !replay.after(own, name, module);
  }
  void runAfterPassFailed(Pass *pass, Operation *) override {
    isLimited = isLimited && isAdaptor(pass);
  }

  /// Whether an application is allowed now; counts those of the limited pass.
  bool allows(ArrayRef<IRUnit> units, const tracing::Action &action) {
    if (!isLimited)
      return true;
    if (replay.numTried++ >= replay.limit)
      return false;
    replay.lastPattern.clear();
    llvm::raw_string_ostream os(replay.lastPattern);
    action.print(os);
    replay.lastOp.clear();
    if (auto *op = units.empty()
                       ? nullptr
                       : llvm::dyn_cast_if_present<Operation *>(units.front()))
      replay.lastOp = op->getName().getStringRef().str() + " of '" +
                      ir::joinedNodeNames(op->getLoc()) + "'";
    return true;
  }

private:
  // Adaptors only run the passes of functions.
  static bool isAdaptor(Pass *pass) { return pass->getArgument().empty(); }

  PassReplay &replay;
  ModuleOp module;
  OperationFingerPrint print;
  unsigned number = 0;
  bool isLimited = false, hasEnded = false;
};

} // namespace

LogicalResult PassReplay::run() {
  MLIRContext *own = module.getContext();
  OwningOpRef<ModuleOp> copy = module.clone();
  const bool isThreaded = own->isMultithreadingEnabled();
  own->disableMultithreading();
  // Errors are those of the compilation, or of a pass that lacks a pattern.
  ScopedDiagnosticHandler silence(own, [](Diagnostic &) { return success(); });
  PassManager pm(own);
  phase.build(pm, context);
  pm.enableVerifier(limitedPass != ~0u);
  auto watch = std::make_unique<ReplayWatch>(*this, *copy);
  ReplayWatch *watched = watch.get();
  pm.addInstrumentation(std::move(watch));
  own->registerActionHandler(
      [&](llvm::function_ref<void()> apply, const tracing::Action &action) {
        if (!isa<ApplyPatternAction>(action) ||
            watched->allows(action.getContextIRUnits(), action))
          apply();
      });
  LogicalResult result = pm.run(*copy);
  own->registerActionHandler(nullptr);
  if (isThreaded)
    own->enableMultithreading();
  return result;
}
