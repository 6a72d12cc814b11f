//===- Check.cpp - sinterc --check ----------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Check.h"

#include "compiler/Phases.h"
#include "passes/autodiff/Gradient.h"

using namespace sinter;
using namespace sinter::compiler;

bool compiler::makeUpSizes(const OnnxModel &model, Options &options) {
  bool madeUp = false;
  for (const OnnxInput &input : onnxInputs(model)) {
    bool given = llvm::any_of(options.shapes, [&](const auto &shape) {
      return shape.first == input.name;
    });
    if (given || !input.dims)
      continue;
    std::vector<int64_t> shape;
    bool open = false;
    for (auto [i, dim] : llvm::enumerate(*input.dims)) {
      int64_t size = dim.size.value_or(kMadeUpSize);
      bool bound = dim.size.has_value();
      if (i == 0 && options.batch) {
        size = *options.batch;
        bound = true;
      }
      for (auto &[name, value] : options.dims)
        if (!dim.symbol.empty() && name == dim.symbol) {
          size = value;
          bound = true;
        }
      open |= !bound;
      shape.push_back(size);
    }
    if (open)
      options.shapes.emplace_back(input.name, shape);
    madeUp |= open;
  }
  return madeUp;
}

void compiler::noteMadeUpSizes(const Options &options) {
  llvm::errs() << options.tool << ": note: open sizes were taken as "
               << kMadeUpSize << "; --batch, --dim and --shape bind them\n";
}

static ExitCode checkImport(const Options &options, const ModelFile &model,
                            mlir::MLIRContext *context) {
  ImportErrors errors;
  checkOnnx(
      model.onnx, importOptions(options), context,
      [](mlir::Operation *op) {
        return passes::hasGradientRule(op->getName());
      },
      errors);
  return reportImport(options, errors);
}

ExitCode compiler::checkCoverage(Options options, TargetSet targets) {
  ModelFile model;
  if (ExitCode code = readModel(options, model))
    return code;
  bool madeUp = model.onnx && makeUpSizes(*model.onnx, options);
  Compilation compilation(options, std::move(targets));
  if (ExitCode code = compilation.checkOptions())
    return code;
  if (model.onnx)
    if (ExitCode code = checkImport(options, model, &compilation.context())) {
      if (madeUp && code == kExitUsage)
        noteMadeUpSizes(options);
      return code;
    }
  compilation.model = std::move(model);
  // What can be imported may still have no code on the target. Loss and
  // optimizer are made of the same ops as models, so that training adds nothing
  // to ask for here.
  const char *last = options.train.enabled ? "simplify" : "place";
  if (ExitCode code = compilation.run(*findPhase(last)))
    return code;
  llvm::outs() << "every operator is supported";
  if (madeUp)
    llvm::outs() << " (open sizes taken as " << kMadeUpSize << ")";
  llvm::outs() << "\n";
  return kExitDone;
}
