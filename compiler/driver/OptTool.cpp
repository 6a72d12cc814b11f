//===- OptTool.cpp - the logic of sinter-opt ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/OptTool.h"

#include "compiler/Dialects.h"
#include "compiler/Phases.h"
#include "compiler/base/Process.h"
#include "passes/Passes.h"
#include "passes/layout/AlignContractions.h"
#include "passes/layout/KeepRounded.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"

using namespace sinter::compiler;
using llvm::StringRef;

namespace {
// Sinter's own flags; `rest` goes to MlirOptMain.
struct OptFlags {
  bool listPasses = false;
  std::string phaseOptions;
  std::vector<std::string> rest;
};
} // namespace

static std::optional<OptFlags> splitFlags(int argc, char **argv) {
  OptFlags flags;
  for (int i = 0; i < argc; ++i) {
    StringRef arg = argv[i];
    if (arg == "--list-passes") {
      flags.listPasses = true;
      continue;
    }
    if (arg.consume_front("--phase-options=")) {
      flags.phaseOptions = arg.str();
    } else if (arg.consume_front("--phase=")) {
      if (!findPhase(arg)) {
        llvm::errs() << "sinter-opt: error: no phase called '" << arg
                     << "'; the phases are";
        for (const Phase &phase : phaseTable())
          llvm::errs() << " " << phase.name;
        llvm::errs() << "\n";
        return std::nullopt;
      }
      flags.rest.push_back("--sinter-phase-" + arg.str());
    } else {
      flags.rest.push_back(arg.str());
    }
  }
  return flags;
}

// Prints every registered pass and phase with its summary, Sinter's first.
static void listPasses() {
  // The registry cannot be iterated, but a parser makes an option of each of
  // its entries.
  mlir::PassPipelineCLParser parser("", "");
  std::vector<std::pair<std::string, StringRef>> entries;
  for (auto &option : llvm::cl::getRegisteredOptions()) {
    const mlir::PassRegistryEntry *entry =
        mlir::PassInfo::lookup(option.getKey());
    if (!entry)
      entry = mlir::PassPipelineInfo::lookup(option.getKey());
    if (entry)
      entries.emplace_back(option.getKey().str(), entry->getPassDescription());
  }
  llvm::sort(entries, [](const auto &a, const auto &b) {
    bool aIsOurs = StringRef(a.first).starts_with("sinter-");
    bool bIsOurs = StringRef(b.first).starts_with("sinter-");
    return aIsOurs != bIsOurs ? aIsOurs : a.first < b.first;
  });
  for (auto &[name, description] : entries)
    llvm::outs() << "--" << llvm::left_justify(name, 32) << " " << description
                 << "\n";
}

int sinter::compiler::optMain(int argc, char **argv,
                              llvm::ArrayRef<TargetFactory> targets) {
  prepareProcess("sinter-opt");
  std::optional<OptFlags> flags = splitFlags(argc, argv);
  if (!flags)
    return kExitUsage;

  // parseOptions requires a model; "-" takes its place.
  llvm::SmallVector<StringRef> words;
  StringRef(flags->phaseOptions).split(words, ' ', -1, false);
  std::vector<std::string> optionArgs(words.begin(), words.end());
  optionArgs.push_back("-");
  std::optional<const Options> options =
      parseOptions("sinter-opt", kSinterc, kindsOf(targets), optionArgs);
  if (!options)
    return kExitUsage;

  TargetSet set = createTargets(*options, CompileState(*options), targets);
  if (!set.main)
    return kExitUsage;

  PhaseContext context{*options, *set.main, set.devices};
  context.isModule = true;
  // The first registration of a name counts: these passes get the targets.
  mlir::registerPass([&] { return passes::createPlaceOps(set.devices, {}); });
  mlir::registerPass(
      [&] { return passes::createAssignPrecision(set.main.get()); });
  mlir::registerPass([&] {
    return passes::createAlignContractions(set.main.get(), set.devices);
  });
  mlir::registerPass([&] {
    return passes::createMergeContractions(set.main.get(), set.devices);
  });
  mlir::registerPass(
      [&] { return passes::createKeepRounded(set.main.get(), set.devices); });
  mlir::registerPass(
      [&] { return passes::createChunkRows(set.main.get(), set.devices); });
  mlir::registerPass(
      [&] { return passes::createChooseCalls(set.main.get(), set.devices); });
  mlir::registerPass(
      [&] { return passes::createFuseEpilogues(set.main.get(), set.devices); });
  mlir::registerPass(
      [&] { return passes::createFuseRows(set.main.get(), set.devices); });
  mlir::registerPass(
      [&] { return passes::createFuseSiblings(set.main.get()); });
  mlir::registerPass(
      [&] { return passes::createFuseStages(set.main.get(), set.devices); });
  mlir::registerPass([&] {
    return passes::createSplitAttention(set.main.get(), set.devices);
  });
  mlir::registerPass(
      [&] { return passes::createSplitContractions(set.main.get()); });
  mlir::registerPass([&] {
    return passes::createChoosePersistent(set.main.get(), set.devices,
                                          options->persistentKernel);
  });
  passes::registerSinterPasses();
  mlir::registerTransformsPasses();
  registerPhasePipelines(context);
  if (flags->listPasses) {
    listPasses();
    return kExitDone;
  }

  std::vector<char *> arguments;
  for (std::string &arg : flags->rest)
    arguments.push_back(arg.data());
  mlir::DialectRegistry registry;
  registerDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(arguments.size(), arguments.data(),
                        "Sinter's modular optimizer driver\n", registry));
}
