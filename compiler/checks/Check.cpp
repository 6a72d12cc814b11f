//===- Check.cpp - sinterc --check ----------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/Check.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;

std::vector<std::string> compiler::makeUpSizes(const SourceModel &model,
                                               const Options &options,
                                               CompileState &state) {
  std::vector<std::string> madeUp;
  for (const ModelInput &input : model.inputs()) {
    bool given = llvm::any_of(state.shapes, [&](const auto &shape) {
      return shape.first == input.name;
    });
    if (given || !input.dims)
      continue;
    std::vector<int64_t> shape;
    bool open = false;
    for (auto [i, dim] : llvm::enumerate(*input.dims)) {
      int64_t size = dim.size.value_or(kMadeUpSize);
      bool bound = dim.size.has_value();
      if (i == 0 && state.batch) {
        size = *state.batch;
        bound = true;
      }
      for (auto &[name, value] : options.dims)
        if (!dim.symbol.empty() && name == dim.symbol) {
          size = value;
          bound = true;
        }
      open |= !bound;
      std::string name = dim.symbol.empty() ? "dimension " + std::to_string(i) +
                                                  " of " + quoted(input.name)
                                            : quoted(dim.symbol);
      if (!bound && !llvm::is_contained(madeUp, name))
        madeUp.push_back(std::move(name));
      shape.push_back(size);
    }
    if (open)
      state.shapes.emplace_back(input.name, shape);
  }
  return madeUp;
}

void compiler::noteMadeUpSizes(const Options &options,
                               llvm::ArrayRef<std::string> names) {
  if (!names.empty())
    llvm::errs() << options.tool << ": note: open sizes were taken as "
                 << kMadeUpSize << ": " << llvm::join(names, ", ")
                 << "; --batch, --dim and --shape bind them\n";
}

ExitCode compiler::checkCoverage(const Options &options, CompileState state,
                                 TargetSet targets,
                                 llvm::ArrayRef<const Importer *> formats) {
  SharedModel model;
  if (ExitCode code = readModel(options, model, formats))
    return code;
  const std::vector<std::string> madeUp = makeUpSizes(*model, options, state);
  Compilation compilation(options, std::move(state), std::move(targets));
  if (ExitCode code = compilation.checkOptions())
    return code;
  compilation.model = std::move(model);
  // The last phase that may refuse the model or the options. Later phases fail
  // only for lack of memory; contracts, which need the plan, were refused.
  ExitCode code = compilation.run(*findPhase("precision"));
  if (code == kExitDone)
    code = compilation.checkExport();
  // All operators and gradients were checked if kExitUsage comes from the train
  // phase, or from a phase after placement.
  bool isCovered =
      code == kExitDone ||
      (code == kExitUsage &&
       (compilation.hasDone("place") ||
        (compilation.hasDone("simplify") && !compilation.hasDone("train"))));
  if (isCovered)
    llvm::outs() << "every operator is supported"
                 << (!madeUp.empty() ? " (open sizes taken as " +
                                           std::to_string(kMadeUpSize) + ")"
                                     : "")
                 << "\n";
  else if (code == kExitUsage)
    noteMadeUpSizes(options, madeUp);
  return code;
}
