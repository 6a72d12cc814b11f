//===- OutlineScans.cpp - the bodies of scans become functions ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each `sinter.scan` becomes a `sinter.scan_call` of a new private function, so
// that the later passes fuse and plan the body as they do any function. Legal
// for every scan: its region is isolated. Scans in bodies of scans and in
// programs on several devices are refused; they must have been unrolled.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "passes/Failure.h"
#include "passes/Passes.h"
#include "passes/WithoutReshapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_OUTLINESCANS
#include "passes/Passes.h.inc"

namespace {

StringAttr numbered(Builder &builder, StringRef prefix, size_t number) {
  return builder.getStringAttr(prefix + Twine(number));
}

/// Makes a private function of the body, after `parent`.
func::FuncOp outline(ir::ScanOp scan, func::FuncOp parent,
                     SymbolTable &symbols) {
  Block &body = scan.getBody().front();
  auto yield = cast<ir::YieldOp>(body.getTerminator());
  OpBuilder builder(yield);
  auto function = func::FuncOp::create(
      scan.getLoc(), (parent.getSymName() + ".scan0").str(),
      builder.getFunctionType(body.getArgumentTypes(),
                              yield.getValues().getTypes()));
  builder.create<func::ReturnOp>(yield.getLoc(), yield.getValues());
  yield.erase();
  function.getBody().takeBody(scan.getBody());
  function.setPrivate();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, ir::SinterDialect::kInputAttr,
                        numbered(builder, "in", i));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, ir::SinterDialect::kOutputAttr,
                           numbered(builder, "out", i));
  if (Attribute device = parent->getAttr(ir::SinterDialect::kDeviceAttr))
    function->setAttr(ir::SinterDialect::kDeviceAttr, device);
  symbols.insert(function, std::next(Block::iterator(parent)));
  return function;
}

/// Pattern: last value of what is also stacked -> the last slice of the stack.
/// The plan phase then stores it once.
void takeFromStack(ir::ScanCallOp call, func::FuncOp body) {
  auto results = body.getBody().front().getTerminator()->getOperands();
  const size_t carried = call.getInitial().size();
  const auto trips = static_cast<int64_t>(call.getTrips());
  for (size_t i = 0; i < carried; ++i) {
    size_t stacked = carried;
    while (stacked < results.size() &&
           withoutReshapes(results[stacked]) != withoutReshapes(results[i]))
      ++stacked;
    if (stacked == results.size() || call.getLast()[i].use_empty())
      continue;
    Value stack = call.getOutputs()[stacked];
    OpBuilder builder(call->getContext());
    builder.setInsertionPointAfter(call);
    const int64_t last = call.sliceOfTrip(trips - 1);
    Value slice =
        ir::sliceAlong(builder, call.getLoc(), stack, 0, last, last + 1);
    call.getLast()[i].replaceAllUsesWith(builder.create<ir::ReshapeOp>(
        call.getLoc(), call.getLast()[i].getType(), slice));
  }
}

struct OutlineScansPass : impl::OutlineScansBase<OutlineScansPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      SmallVector<ir::ScanOp> scans;
      for (Block &block : function.getBody())
        llvm::append_range(scans, block.getOps<ir::ScanOp>());
      for (ir::ScanOp scan : scans)
        if (failed(replace(scan, function, symbols)))
          return signalPassFailure();
      if (!scans.empty())
        ir::remark("outline-scans", "bodies", function.getLoc(),
                   "@" + function.getSymName(), scans.size());
    }
  }

private:
  LogicalResult refuse(ir::ScanOp scan, const Twine &why) {
    getOperation()->setAttr(
        kFailureAttr, StringAttr::get(&getContext(), kUnsupportedFailure));
    return scan.emitError() << why;
  }

  LogicalResult replace(ir::ScanOp scan, func::FuncOp parent,
                        SymbolTable &symbols) {
    if (ir::numDevices(getOperation()) > 1)
      return refuse(scan,
                    "a scan in a program on several devices is not "
                    "supported; --unroll-scans=all makes straight code of it");
    WalkResult nested =
        scan.getBody().walk([](ir::ScanOp) { return WalkResult::interrupt(); });
    if (nested.wasInterrupted())
      return refuse(scan, "a scan in the body of a scan is not supported; "
                          "unroll the inner one");
    OpBuilder builder(scan);
    func::FuncOp body = outline(scan, parent, symbols);
    auto call = builder.create<ir::ScanCallOp>(
        scan.getLoc(), scan.getResultTypes(),
        FlatSymbolRefAttr::get(body.getSymNameAttr()), scan.getTripsAttr(),
        scan.getReverseAttr(), scan.getStacks(), scan.getInitial(),
        scan.getWhole());
    scan.replaceAllUsesWith(call.getResults());
    scan.erase();
    takeFromStack(call, body);
    return success();
  }
};

} // namespace
} // namespace sinter::passes
