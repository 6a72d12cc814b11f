//===- DeviceLints.cpp - what a GPU does slower than it could -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/ContractCounts.h"
#include "compiler/lint/Lints.h"
#include "passes/OpClasses.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

void compiler::findHostSyncs(const LintContext &context, LintReport report) {
  for (auto program : ModuleOp(context.module).getOps<exec::ProgramOp>())
    for (const Finding &finding : countHostSyncs(program).findings)
      report(finding.op->getLoc(),
             "in @" + program.getSymName() +
                 " the host waits for a GPU here: this op runs on the CPU");
}

/// The number of elements in 16 bytes, the unit in which tensor cores read.
static int64_t alignmentOf(Type element) {
  return element.isF16() || element.isBF16() ? 8 : 4;
}

static int64_t product(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= shape[dim];
  return size;
}

/// Looks only at the forward pass: its gradients have the same sizes.
void compiler::findUnalignedProducts(const LintContext &context,
                                     LintReport report) {
  if (!context.isForGpu)
    return;
  ModuleOp module = context.module;
  auto forward = module.lookupSymbol<func::FuncOp>(
      context.options.train.enabled ? SINTER_ENTRY_EVAL : SINTER_ENTRY_MAIN);
  if (!forward)
    return;
  auto check = [&](Operation *op, int64_t alignment, StringRef what,
                   int64_t size) {
    // Products with vectors gain nothing from tensor cores.
    if (size % alignment != 0 && size > 1)
      report(op->getLoc(),
             what + " " + Twine(size) + " is not a multiple of " +
                 Twine(alignment) + ", which tensor cores need; " +
                 Twine(llvm::alignTo(size, alignment)) +
                 " would be as fast, but padding it here would not pay");
  };
  forward.walk([&](Operation *op) {
    auto dot = dyn_cast<ir::DotGeneralOp>(op);
    auto conv = dyn_cast<ir::ConvOp>(op);
    if (!dot && !conv)
      return;
    Type element = getElementTypeOrSelf(passes::multiplied(op).first.getType());
    bool isRounded = element.isF32() && dot && dot.getTf32();
    if (!element.isF16() && !element.isBF16() && !isRounded)
      return;
    int64_t alignment = alignmentOf(element);
    if (dot) {
      check(op, alignment, "the sum's length",
            product(ir::tensorType(dot.getLhs()).getShape(),
                    dot.getLhsContract()));
      check(op, alignment, "the number of columns",
            product(ir::tensorType(dot.getRhs()).getShape(), dot.getRhsFree()));
      return;
    }
    ArrayRef<int64_t> filter = ir::tensorType(conv.getFilter()).getShape();
    check(op, alignment, "the number of output channels", filter[0]);
    check(op, alignment, "the number of input channels", filter[1]);
  });
}
