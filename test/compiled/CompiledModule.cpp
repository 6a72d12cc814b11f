//===- CompiledModule.cpp - a module, compiled and run in memory ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/compiled/CompiledModule.h"

#include "compiler/Dialects.h"
#include "compiler/Phases.h"
#include "compiler/driver/Driver.h"
#include "compiler/emit/Jit.h"
#include "runtime/exec/Program.h"
#include "tools/lib/Targets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace sinter::test {

struct CompiledModule::Parts {
  std::unique_ptr<compiler::Jit> jit;
  std::unique_ptr<rt::Program> program; // refers to memory of `jit`
};

CompiledModule::CompiledModule() : parts_(std::make_unique<Parts>()) {}
CompiledModule::~CompiledModule() = default;

static std::vector<RankedTensorType> tensorTypes(TypeRange types) {
  std::vector<RankedTensorType> list;
  for (Type type : types)
    list.push_back(cast<RankedTensorType>(type));
  return list;
}

/// Runs the phases after import and makes kernels and tables; reports failures.
static FailureOr<compiler::CompiledProgram>
compile(ModuleOp module, const CompileSettings &settings) {
  compiler::Options options;
  options.mcpu = settings.mcpu;
  options.targets = {settings.target};
  if (settings.target == "sim") // accesses are checked
    options.run.device = "sim:0";
  options.libraries = settings.libraries;
  options.precision = settings.precision;
  std::unique_ptr<passes::Target> target = compiler::createTarget(
      options, compiler::CompileState(options), tools::targets());
  if (!target)
    return failure();
  compiler::PhaseContext phases{options, *target};
  phases.isModule = true; // made by hand: ops need not name nodes
  if (compiler::runPhases(module, phases, compiler::phaseTable().front(),
                          *compiler::findPhase("plan"), {}))
    return failure();
  passes::CodeGenOptions codeGen;
  codeGen.optLevel = settings.optLevel.value_or(options.optLevel);
  codeGen.threads =
      settings.isParallel ? module->getContext()->getNumThreads() : 1;
  codeGen.hasWideCounts = settings.hasWideCounts;
  compiler::ArtifactInfo info;
  info.manifest = "{}";
  return compiler::emitProgram(module, *target, codeGen, info);
}

std::unique_ptr<CompiledModule>
CompiledModule::create(ModuleOp module, const CompileSettings &settings,
                       std::string &why) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  compiler::registerDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  // The context's locks must be on before kernels are emitted in parallel.
  if (settings.isParallel)
    context->enableMultithreading();
  why.clear();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    bool isFirst =
        why.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (isFirst)
      why = diagnostic.str();
    return success();
  });

  std::unique_ptr<CompiledModule> compiled(new CompiledModule);
  auto main = module.lookupSymbol<func::FuncOp>("main");
  compiled->inputTypes_ = tensorTypes(main.getArgumentTypes());
  // The result of the index checks is not an output; run() fails if one fails.
  for (auto [i, type] : llvm::enumerate(tensorTypes(main.getResultTypes())))
    if (!main.getResultAttr(i, ir::SinterDialect::kIndexChecksAttr))
      compiled->outputTypes_.push_back(type);
  FailureOr<compiler::CompiledProgram> program = compile(module, settings);
  if (failed(program)) {
    if (why.empty())
      why = "it was not compiled, and nothing says why";
    return nullptr;
  }
  llvm::Expected<std::unique_ptr<compiler::Jit>> jit =
      compiler::Jit::create(*program);
  if (!jit) {
    why = llvm::toString(jit.takeError());
    return nullptr;
  }
  Parts &parts = *compiled->parts_;
  parts.jit = std::move(*jit);
  rt::DeviceOptions deviceOptions = settings.deviceOptions;
  deviceOptions.threads = 1;
  auto loaded = rt::Program::create(*parts.jit->artifact(), settings.target,
                                    deviceOptions);
  if (!loaded.ok()) {
    why = loaded.status().message();
    return nullptr;
  }
  parts.program = std::move(*loaded);
  return compiled;
}

/// Whether the artifact's descriptions of its tensors fit the types of @main.
static bool areOf(const sinter_tensor_desc *descs, uint32_t count,
                  ArrayRef<RankedTensorType> types) {
  if (count != types.size())
    return false;
  for (auto [i, type] : llvm::enumerate(types)) {
    uint64_t sizeBytes =
        ir::elementSizeBytes(type.getElementType()) * type.getNumElements();
    if (ArrayRef<int64_t>(descs[i].dims, descs[i].rank) != type.getShape() ||
        descs[i].sizeBytes != sizeBytes)
      return false;
  }
  return true;
}

std::optional<std::vector<ir::Tensor>>
CompiledModule::run(ArrayRef<ir::Tensor> inputs, std::string &why) {
  rt::Executor *main = parts_->program->find("main");
  if (!main) {
    why = "the artifact has no entry main";
    return std::nullopt;
  }
  const sinter_entry &entry = main->entry();
  if (!areOf(entry.inputs, entry.numInputs, inputTypes_) ||
      !areOf(entry.outputs, entry.numOutputs, outputTypes_)) {
    why = "the artifact's inputs and outputs are not those of the graph";
    return std::nullopt;
  }
  if (inputs.size() != inputTypes_.size()) {
    why = "there are " + std::to_string(inputs.size()) + " inputs for " +
          std::to_string(inputTypes_.size());
    return std::nullopt;
  }
  for (auto [i, type] : llvm::enumerate(inputTypes_))
    if (inputs[i].type() != type) {
      llvm::raw_string_ostream(why)
          << "input " << i << " is " << type << " and not " << inputs[i].type();
      return std::nullopt;
    }
  std::vector<std::vector<char>> inputBytes, outputBytes;
  std::vector<const void *> inputAddresses;
  std::vector<void *> outputAddresses;
  for (const ir::Tensor &input : inputs)
    inputBytes.push_back(input.toBytes());
  for (const std::vector<char> &bytes : inputBytes)
    inputAddresses.push_back(bytes.data());
  for (uint32_t i = 0; i < entry.numOutputs; ++i)
    outputBytes.emplace_back(entry.outputs[i].sizeBytes, '\xcd');
  for (std::vector<char> &bytes : outputBytes)
    outputAddresses.push_back(bytes.data());
  rt::Status status = parts_->program->run(
      "main", nullptr, inputAddresses.data(), outputAddresses.data());
  if (!status.ok()) {
    why = status.message();
    return std::nullopt;
  }
  std::vector<ir::Tensor> outputs;
  for (auto [type, bytes] : llvm::zip_equal(outputTypes_, outputBytes))
    outputs.push_back(ir::Tensor::fromBytes(type, bytes.data()));
  return outputs;
}

} // namespace sinter::test
