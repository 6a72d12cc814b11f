//===- TraceWriter.cpp - records a trace while passes run -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/TraceWriter.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// The name of a top-level op in the trace. Ops without a symbol share the name
// of their op kind.
static std::string symbolOf(mlir::Operation *op) {
  auto symbol = op->getAttrOfType<mlir::StringAttr>(
      mlir::SymbolTable::getSymbolAttrName());
  return symbol ? symbol.str() : op->getName().getStringRef().str();
}

static std::string print(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // The values of weights say nothing about what a pass did. Locations name the
  // nodes of the model.
  op->print(os, mlir::OpPrintingFlags()
                    .useLocalScope()
                    .elideLargeElementsAttrs(16)
                    .enableDebugInfo());
  return text;
}

class TraceWriter::Instrumentation : public mlir::PassInstrumentation {
public:
  explicit Instrumentation(TraceWriter &writer) : writer_(writer) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    std::lock_guard<std::mutex> lock(writer_.mutex_);
    begun_[{pass, op}] = Clock::now();
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    // Adaptors only run function passes, which report for themselves.
    if (pass->getArgument().empty())
      return;
    std::lock_guard<std::mutex> lock(writer_.mutex_);
    TraceStep step{writer_.phase_, pass->getArgument().str(), 0, {}};
    step.milliseconds = std::chrono::duration<double, std::milli>(
                            Clock::now() - begun_[{pass, op}])
                            .count();
    if (auto module = mlir::dyn_cast<mlir::ModuleOp>(op))
      writer_.recordModule(module, step);
    else
      writer_.record(symbolOf(op), print(op), step);
    writer_.trace_.steps.push_back(std::move(step));
  }

private:
  TraceWriter &writer_;
  std::map<std::pair<mlir::Pass *, mlir::Operation *>, Clock::time_point>
      begun_;
};

TraceWriter::TraceWriter(mlir::ModuleOp module, StringRef model) {
  trace_.model = model.str();
  TraceStep step{"import", "import", 0, {}};
  recordModule(module, step);
  trace_.steps.push_back(std::move(step));
}

void TraceWriter::attach(mlir::PassManager &pm) {
  pm.addInstrumentation(std::make_unique<Instrumentation>(*this));
}

void TraceWriter::record(const std::string &symbol, std::string text,
                         TraceStep &step) {
  std::string &last = texts_[symbol];
  if (last == text)
    return;
  last = text;
  step.changes.push_back({symbol, std::move(text)});
}

void TraceWriter::recordModule(mlir::ModuleOp module, TraceStep &step) {
  std::map<std::string, std::string> present;
  for (mlir::Operation &op : module.getOps()) {
    std::string &text = present[symbolOf(&op)];
    text += (text.empty() ? "" : "\n") + print(&op);
  }
  for (auto &[symbol, text] : present)
    record(symbol, std::move(text), step);
  for (auto it = texts_.begin(); it != texts_.end();) {
    if (present.count(it->first)) {
      ++it;
      continue;
    }
    step.changes.push_back({it->first, ""});
    it = texts_.erase(it);
  }
}
