//===- TraceWriter.cpp - records a trace while passes run -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/TraceWriter.h"

#include "compiler/trace/OpNumbers.h"
#include "ir/Dialect.h"
#include "ir/Provenance.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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

static std::string print(mlir::Operation *op, bool isNumbered) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Other passes may read the op at the same time.
  mlir::OwningOpRef<mlir::Operation *> copy;
  if (isNumbered) {
    copy = op->clone();
    eraseNumbers(*copy);
    op = *copy;
  }
  // The values of weights say nothing about what a pass did. Locations name the
  // nodes of the model.
  op->print(os, mlir::OpPrintingFlags()
                    .useLocalScope()
                    .elideLargeElementsAttrs(16)
                    .enableDebugInfo()
                    // The pass manager has verified it. Verifying uses the
                    // thread pool, and so may run another pass in this thread.
                    .assumeVerified());
  return text;
}

// One line that says what `op` is: its name, attributes, operands by the nodes
// that they come from, types and nodes. Numbers of values mean nothing outside
// of the whole text.
static std::string describe(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName();
  if (!op->getOperands().empty()) {
    os << "(";
    llvm::interleaveComma(op->getOperands(), os, [&](mlir::Value operand) {
      if (mlir::Operation *source = operand.getDefiningOp()) {
        std::string nodes = ir::joinedProvenance(source->getLoc());
        os << source->getName().stripDialect()
           << (nodes.empty() ? "" : " \"" + nodes + "\"");
      } else {
        os << "argument "
           << mlir::cast<mlir::BlockArgument>(operand).getArgNumber();
      }
    });
    os << ")";
  }
  mlir::OpPrintingFlags flags =
      mlir::OpPrintingFlags().elideLargeElementsAttrs(16);
  for (mlir::NamedAttribute attribute : op->getAttrs()) {
    os << " " << attribute.getName().getValue() << "=";
    auto elements = mlir::dyn_cast<mlir::ElementsAttr>(attribute.getValue());
    if (elements && flags.shouldElideElementsAttr(elements))
      os << "...";
    else
      os << attribute.getValue();
  }
  os << " : " << op->getResultTypes();
  std::string nodes = ir::joinedProvenance(op->getLoc());
  if (!nodes.empty())
    os << " \"" << nodes << "\"";
  return text;
}

static std::vector<std::string> namesOf(mlir::Location location) {
  std::vector<std::string> names;
  ir::collectProvenance(location, names);
  return names;
}

std::string compiler::patternName(StringRef name) {
  std::string text = name.str();
  for (StringRef space : {"sinter::passes::", "sinter::ir::", "mlir::",
                          "(anonymous namespace)::"})
    for (size_t at; (at = text.find(space)) != std::string::npos;)
      text.erase(at, space.size());
  return text;
}

// The top-level op that contains `op`.
static mlir::Operation *topLevel(mlir::Operation *op) {
  while (op->getParentOp() && !mlir::isa<mlir::ModuleOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

class TraceWriter::Instrumentation : public mlir::PassInstrumentation {
public:
  explicit Instrumentation(TraceWriter &writer) : writer_(writer) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    std::lock_guard<std::mutex> lock(writer_.mutex_);
    // Adaptors only run function passes, which report for themselves.
    if (pass->getArgument().empty()) {
      writer_.firstOfAdaptor_ = writer_.trace_.steps.size();
      return;
    }
    Running &running =
        writer_.running_[std::this_thread::get_id()].emplace_back();
    running.step = {writer_.phase_, pass->getArgument().str(), 0, {}, {}, {}};
    if (!mlir::isa<mlir::ModuleOp>(op))
      running.function = symbolOf(op);
    running.begin = Clock::now();
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    finish(pass, op, true);
  }
  // The module may be invalid, so that it cannot be printed.
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    finish(pass, op, false);
  }

private:
  void finish(mlir::Pass *pass, mlir::Operation *op, bool isValid) {
    Clock::time_point now = Clock::now();
    std::lock_guard<std::mutex> lock(writer_.mutex_);
    if (pass->getArgument().empty())
      return writer_.orderByFunction(op);
    std::vector<Running> &stack = writer_.running_[std::this_thread::get_id()];
    TraceStep step = std::move(stack.back().step);
    std::string function = std::move(stack.back().function);
    step.milliseconds =
        std::chrono::duration<double, std::milli>(now - stack.back().begin)
            .count();
    stack.pop_back();
    if (auto module = mlir::dyn_cast<mlir::ModuleOp>(op); module && isValid)
      writer_.recordModule(module, step);
    else if (isValid)
      writer_.record(symbolOf(op), op, step);
    writer_.trace_.steps.push_back(std::move(step));
    writer_.functionOf_.resize(writer_.trace_.steps.size());
    writer_.functionOf_.back() = function;
  }

  TraceWriter &writer_;
};

TraceWriter::TraceWriter(mlir::ModuleOp module, StringRef model)
    : module_(module), context_(module.getContext()) {
  trace_.model = model.str();
  TraceStep step{"import", "import", 0, {}, {}, {}};
  recordModule(module, step);
  trace_.steps.push_back(std::move(step));
  ir::RewriteSink::attach(context_, this);
}

void TraceWriter::detach() {
  if (context_)
    ir::RewriteSink::attach(context_, nullptr);
  context_ = nullptr;
}

void TraceWriter::beginPhase(StringRef phase) {
  phase_ = phase.str();
  if (phase != "fuse")
    return;
  numberOps(module_);
  isNumbered_ = true;
}

void TraceWriter::endPhase(bool isLast) {
  if (!isNumbered_ || (phase_ != "plan" && !isLast))
    return;
  eraseNumbers(module_);
  isNumbered_ = false;
}

void TraceWriter::attach(mlir::PassManager &pm) {
  pm.addInstrumentation(std::make_unique<Instrumentation>(*this));
}

void TraceWriter::orderByFunction(mlir::Operation *module) {
  std::map<std::string, size_t> place;
  for (mlir::Region &region : module->getRegions())
    for (mlir::Operation &op : region.getOps())
      place.try_emplace(symbolOf(&op), place.size());
  std::vector<std::pair<size_t, size_t>> order; // (place of function, step)
  for (size_t i = firstOfAdaptor_; i < trace_.steps.size(); ++i) {
    auto found = place.find(functionOf_[i]);
    order.emplace_back(found == place.end() ? place.size() : found->second, i);
  }
  llvm::sort(order);
  std::vector<TraceStep> steps;
  std::vector<std::string> functions;
  for (auto [of, i] : order) {
    steps.push_back(std::move(trace_.steps[i]));
    functions.push_back(std::move(functionOf_[i]));
  }
  llvm::move(steps, trace_.steps.begin() + firstOfAdaptor_);
  llvm::move(functions, functionOf_.begin() + firstOfAdaptor_);
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

void TraceWriter::record(const std::string &symbol,
                         llvm::ArrayRef<mlir::Operation *> ops,
                         TraceStep &step) {
  Seen &last = seen_[symbol];
  // Hashing is faster than printing, and most passes change little.
  std::vector<mlir::OperationFingerPrint> prints;
  for (mlir::Operation *op : ops)
    prints.emplace_back(op);
  if (last.prints == prints)
    return;
  last.prints = std::move(prints);
  std::string text;
  for (mlir::Operation *op : ops)
    text += (text.empty() ? "" : "\n") + print(op, isNumbered_);
  if (last.text == text)
    return;
  last.text = text;
  step.changes.push_back({symbol, std::move(text)});
}

void TraceWriter::recordModule(mlir::ModuleOp module, TraceStep &step) {
  trace_.devices.clear();
  for (StringRef name : ir::deviceNames(module))
    trace_.devices.push_back(name.str());
  std::map<std::string, llvm::SmallVector<mlir::Operation *>> present;
  for (mlir::Operation &op : module.getOps())
    present[symbolOf(&op)].push_back(&op);
  for (auto &[symbol, ops] : present)
    record(symbol, ops, step);
  for (auto it = seen_.begin(); it != seen_.end();) {
    if (present.count(it->first)) {
      ++it;
      continue;
    }
    step.changes.push_back({it->first, ""});
    it = seen_.erase(it);
  }
}

//===----------------------------------------------------------------------===//
// Remarks and rewrites
//===----------------------------------------------------------------------===//

TraceWriter::Running *TraceWriter::running() {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = running_.find(std::this_thread::get_id());
  return found == running_.end() || found->second.empty()
             ? nullptr
             : &found->second.back();
}

void TraceWriter::take(const ir::Remark &remark) {
  TraceRemark record{
      remark.pass.str(), remark.kind.str(), namesOf(remark.location), {},
      remark.text,       remark.count};
  record.ops = numbersIn(remark.location);
  if (remark.other) {
    record.with = namesOf(*remark.other);
    record.others = numbersIn(*remark.other);
  }
  if (Running *now = running()) {
    record.function = now->function;
    now->step.remarks.push_back(std::move(record));
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  trace_.steps.back().remarks.push_back(std::move(record));
}

void TraceWriter::begin(StringRef name, llvm::ArrayRef<mlir::Operation *> ops) {
  if (Running *now = running()) {
    now->rewrite = {};
    now->rewrite.name = name.str();
    now->rewrite.ops.assign(ops.begin(), ops.end());
  }
}

TraceWriter::OpenRewrite *TraceWriter::matched() {
  Running *now = running();
  if (!now || now->rewrite.ops.empty())
    return nullptr;
  OpenRewrite &rewrite = now->rewrite;
  if (rewrite.hasMatched)
    return &rewrite;
  rewrite.hasMatched = true;
  TraceRewrite &record = rewrite.record;
  record.name = patternName(rewrite.name);
  record.symbol = symbolOf(topLevel(rewrite.ops.front()));
  for (mlir::Operation *op : rewrite.ops) {
    record.before += (record.before.empty() ? "" : "\n") + describe(op);
    ir::collectProvenance(op->getLoc(), record.nodes);
    llvm::append_range(record.ops, numbersIn(op->getLoc()));
  }
  llvm::sort(record.ops);
  record.ops.erase(std::unique(record.ops.begin(), record.ops.end()),
                   record.ops.end());
  return &rewrite;
}

void TraceWriter::inserted(mlir::Operation *op) {
  if (OpenRewrite *rewrite = matched())
    rewrite->made.insert(op);
}

void TraceWriter::changed(mlir::Operation *op) { inserted(op); }

void TraceWriter::erased(mlir::Operation *op) {
  if (OpenRewrite *rewrite = matched())
    rewrite->made.remove(op);
}

void TraceWriter::end() {
  Running *now = running();
  if (!now)
    return;
  OpenRewrite rewrite = std::move(now->rewrite);
  now->rewrite = {};
  if (!rewrite.hasMatched)
    return;
  for (mlir::Operation *op : rewrite.made)
    rewrite.record.after +=
        (rewrite.record.after.empty() ? "" : "\n") + describe(op);
  now->step.rewrites.push_back(std::move(rewrite.record));
}
