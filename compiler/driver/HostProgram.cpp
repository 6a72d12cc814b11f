//===- HostProgram.cpp - a program that calibration runs ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/HostProgram.h"

#include "compiler/Phases.h"

#include "llvm/Support/Error.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

void compiler::returnValues(func::FuncOp main, llvm::ArrayRef<Value> values) {
  Operation *end = main.getBody().front().getTerminator();
  Builder builder(main.getContext());
  SmallVector<Value> results(values);
  Attribute checks;
  for (unsigned i = 0; i < main.getNumResults() && !checks; ++i)
    if ((checks = main.getResultAttr(i, ir::SinterDialect::kIndexChecksAttr)))
      results.push_back(end->getOperand(i));
  end->setOperands(results);
  main.removeResAttrsAttr();
  main.setType(builder.getFunctionType(main.getArgumentTypes(),
                                       TypeRange(ValueRange(results))));
  if (checks)
    main.setResultAttr(values.size(), ir::SinterDialect::kIndexChecksAttr,
                       checks);
  for (unsigned i = 0; i < values.size(); ++i)
    main.setResultAttr(i, ir::SinterDialect::kOutputAttr,
                       builder.getStringAttr("r" + std::to_string(i)));
}

std::unique_ptr<Jit>
compiler::compileForHost(ModuleOp module, const Options &options,
                         const Phase &first,
                         llvm::ArrayRef<TargetFactory> targets, ExitCode &code,
                         std::string &problem) {
  const Options own = options.forHostInFloat32();
  const CompileState state = CompileState(own).asTrial();
  std::unique_ptr<passes::Target> cpu = createTarget(own, state, targets);
  code = kExitUsage;
  if (!cpu)
    return nullptr;
  PhaseContext phases{own, *cpu, {}, {}, state};
  code = runPhases(module, phases, first, *findPhase("plan"), {});
  if (code != kExitDone)
    return nullptr;
  passes::CodeGenOptions codeGen;
  codeGen.threads =
      llvm::hardware_concurrency(options.jobs).compute_thread_count();
  ArtifactInfo info;
  info.manifest = "{}";
  auto program = emitProgram(module, *cpu, codeGen, info);
  code = kExitFailed;
  if (mlir::failed(program))
    return nullptr;
  llvm::Expected<std::unique_ptr<Jit>> jit = Jit::create(*program);
  if (!jit) {
    problem = llvm::toString(jit.takeError());
    return nullptr;
  }
  code = kExitDone;
  return std::move(*jit);
}
