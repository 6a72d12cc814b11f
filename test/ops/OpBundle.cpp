//===- OpBundle.cpp - many small functions, compiled as one ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpBundle.h"

#include "test/compiled/CompiledModule.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::test {

OpBundle::OpBundle(MLIRContext *context, std::string mcpu,
                   std::optional<unsigned> optLevel)
    : context(context), functions(ModuleOp::create(UnknownLoc::get(context))) {
  settings.isParallel = true;
  settings.mcpu = std::move(mcpu);
  settings.optLevel = optLevel;
  settings.target = testTarget();
  if (const char *libraries = std::getenv("SINTER_TEST_LIBRARIES"))
    settings.libraries = {libraries};
  settings.hasWideCounts = std::getenv("SINTER_TEST_WIDE_COUNTS");
}

std::string OpBundle::testTarget() {
  const char *target = std::getenv("SINTER_TEST_TARGET");
  return target ? target : "cpu";
}

bool OpBundle::add(std::string name, func::FuncOp function,
                   std::vector<ir::Tensor> inputs, ir::Rounding rounding) {
  auto results = ir::evaluateFunction(function, inputs, rounding);
  if (failed(results))
    return false;
  // The name of the node in messages; a build without names is refused.
  Location loc = NameLoc::get(StringAttr::get(context, name));
  func::FuncOp copy = function.clone();
  copy.walk([&](Operation *op) { op->setLoc(loc); });
  functions->getBody()->push_back(copy);
  parts.push_back({std::move(name),
                   std::move(inputs),
                   std::vector<ir::Tensor>(results->begin(), results->end()),
                   {}});
  return true;
}

OwningOpRef<ModuleOp> OpBundle::build(size_t first, size_t last) {
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto main = builder.create<func::FuncOp>(loc, "main",
                                           builder.getFunctionType({}, {}));
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> results;
  size_t number = 0;
  for (auto function : functions->getOps<func::FuncOp>()) {
    bool isIn = number >= first && number < last;
    ++number;
    if (!isIn)
      continue;
    IRMapping mapping;
    for (BlockArgument argument : function.getArguments())
      mapping.map(argument, body->addArgument(argument.getType(), loc));
    Block &from = function.getBody().front();
    for (Operation &op : from.without_terminator())
      builder.clone(op, mapping);
    for (Value result : from.getTerminator()->getOperands())
      results.push_back(mapping.lookup(result));
  }
  builder.create<func::ReturnOp>(loc, results);
  main.setType(builder.getFunctionType(body->getArgumentTypes(),
                                       TypeRange(ValueRange(results))));
  for (unsigned i = 0; i < body->getNumArguments(); ++i)
    main.setArgAttr(i, ir::SinterDialect::kInputAttr,
                    builder.getStringAttr("x" + std::to_string(i)));
  for (unsigned i = 0; i < results.size(); ++i)
    main.setResultAttr(i, ir::SinterDialect::kOutputAttr,
                       builder.getStringAttr("y" + std::to_string(i)));
  return module;
}

bool OpBundle::runRange(size_t first, size_t last, std::string &why) {
  OwningOpRef<ModuleOp> module = build(first, last);
  std::vector<ir::Tensor> inputs;
  for (size_t i = first; i < last; ++i)
    llvm::append_range(inputs, parts[i].inputs);
  std::unique_ptr<CompiledModule> compiled =
      CompiledModule::create(*module, settings, why);
  if (!compiled)
    return false;
  auto outputs = compiled->run(inputs, why);
  if (!outputs)
    return false;
  auto next = outputs->begin();
  for (size_t i = first; i < last; ++i)
    for (size_t k = 0; k < parts[i].reference.size(); ++k)
      parts[i].compiled.push_back(std::move(*next++));
  return true;
}

std::vector<std::string> OpBundle::run() {
  std::vector<std::string> failures;
  std::string why;
  if (runRange(0, parts.size(), why))
    return failures;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string whyPart;
    if (!runRange(i, i + 1, whyPart))
      failures.push_back(parts[i].name + ": " + whyPart);
  }
  if (failures.empty())
    failures.push_back("all parts together, but not each alone: " + why);
  return failures;
}

} // namespace sinter::test
