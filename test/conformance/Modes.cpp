//===- Modes.cpp - the ways of running a test's model ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/conformance/Case.h"

#include "ir/eval/Evaluate.h"
#include "test/compiled/CompiledModule.h"

using namespace mlir;

namespace sinter::conformance {

/// By reference evaluation: tests the importer and the meaning of the ops.
static std::optional<std::vector<ir::Tensor>>
evaluate(ModuleOp module, llvm::ArrayRef<ir::Tensor> inputs, std::string &why) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    if (why.empty())
      why = d.str();
    return success();
  });
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto results = ir::evaluateFunction(main, inputs, ir::Rounding::each_op);
  if (failed(results))
    return std::nullopt;
  return std::vector<ir::Tensor>(results->begin(), results->end());
}

/// As a product runs it: all phases, the target's kernels, the runtime.
static std::optional<std::vector<ir::Tensor>>
runOn(const char *target, ModuleOp module, llvm::ArrayRef<ir::Tensor> inputs,
      std::string &why) {
  test::CompileSettings settings;
  settings.target = target;
  std::unique_ptr<test::CompiledModule> compiled =
      test::CompiledModule::create(module, settings, why);
  if (!compiled)
    return std::nullopt;
  return compiled->run(inputs, why);
}

static std::optional<std::vector<ir::Tensor>>
runCompiled(ModuleOp module, llvm::ArrayRef<ir::Tensor> inputs,
            std::string &why) {
  return runOn("cpu", module, inputs, why);
}

static std::optional<std::vector<ir::Tensor>>
runSimulated(ModuleOp module, llvm::ArrayRef<ir::Tensor> inputs,
             std::string &why) {
  return runOn("sim", module, inputs, why);
}

RunFn findMode(llvm::StringRef name) {
  if (name == "jit")
    return runCompiled;
  if (name == "sim")
    return runSimulated;
  if (name == "eval")
    return evaluate;
  return nullptr;
}

} // namespace sinter::conformance
