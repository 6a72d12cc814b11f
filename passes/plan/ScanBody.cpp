//===- ScanBody.cpp - the planned body of a scan --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/ScanBody.h"
#include "passes/Failure.h"
#include "passes/WithoutReshapes.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// Where the inputs and outputs of the body lie. The reads of the scan are its
/// operands, and its writes are the results that are outputs of the body.
void describeOperands(ir::ScanCallOp scan, PlannedBody &body) {
  MLIRContext *context = scan.getContext();
  SmallVector<Attribute> inputs, outputs;
  for (unsigned i = 0; i < scan->getNumOperands(); ++i) {
    auto kind = scan.isStack(i)     ? exec::ScanInputKind::slice
                : scan.isCarried(i) ? exec::ScanInputKind::carried
                                    : exec::ScanInputKind::whole;
    int64_t output = -1;
    if (scan.isCarried(i))
      output = body.outputs.outputOf[i - scan.firstCarried()];
    inputs.push_back(exec::ScanInputAttr::get(context, kind, i, output));
  }
  for (auto [write, result] : llvm::enumerate(body.outputs.results))
    outputs.push_back(exec::ScanOutputAttr::get(
        context,
        result < scan.numCarried() ? exec::ScanOutputKind::last
                                   : exec::ScanOutputKind::slice,
        static_cast<int64_t>(write)));
  body.scanInputs = ArrayAttr::get(context, inputs);
  body.scanOutputs = ArrayAttr::get(context, outputs);
}

} // namespace

bool hasAlignedSlices(Type stack) {
  auto type = cast<RankedTensorType>(stack);
  const int64_t slices = std::max<int64_t>(type.getDimSize(0), 1);
  return exec::sizeBytes(type) / slices % kSliceAlignment == 0;
}

ScanOutputs::ScanOutputs(ir::ScanCallOp scan, func::FuncOp body) {
  auto values = body.getBody().front().getTerminator()->getOperands();
  const unsigned carried = scan.numCarried();
  SmallVector<unsigned> stackOf(values.size());
  for (unsigned result = 0; result < values.size(); ++result) {
    stackOf[result] = result;
    if (result >= carried || !scan.getLast()[result].use_empty())
      continue;
    for (unsigned other = carried; other < values.size(); ++other)
      if (withoutReshapes(values[other]) == withoutReshapes(values[result]) &&
          hasAlignedSlices(scan.getOutputs()[other].getType())) {
        stackOf[result] = other;
        break;
      }
  }
  // No two carried values may have the same output.
  llvm::SmallDenseSet<unsigned> taken;
  for (unsigned result = 0; result < carried; ++result)
    if (stackOf[result] != result && !taken.insert(stackOf[result]).second)
      stackOf[result] = result;
  outputOf.resize(values.size());
  for (unsigned result = 0; result < values.size(); ++result)
    if (stackOf[result] == result) {
      outputOf[result] = results.size();
      results.push_back(result);
    }
  for (unsigned result = 0; result < values.size(); ++result)
    outputOf[result] = outputOf[stackOf[result]];
}

FailureOr<std::shared_ptr<PlannedBody>>
planBody(ir::ScanCallOp scan, ConstantPool &pool,
         const llvm::StringMap<unsigned> &states) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      scan, scan.getBodyAttr());
  if (!function || !function.getBody().hasOneBlock())
    return scan.emitError() << "does not call a body of one block";
  FailureOr<CommandGraph> graph =
      CommandGraph::build(function, pool, states, scan);
  if (failed(graph))
    return failure();
  const auto trips = static_cast<int64_t>(scan.getTrips()),
             commands = static_cast<int64_t>(graph->commands.size());
  if (trips > exec::kMaxScanCommands / std::max<int64_t>(commands, 1)) {
    scan->getParentOfType<ModuleOp>()->setAttr(
        kFailureAttr, StringAttr::get(scan.getContext(), kUnsupportedFailure));
    return scan.emitError()
           << "a scan of " << trips << " trips of " << commands
           << " commands is not supported: at most " << exec::kMaxScanCommands
           << " commands in all trips";
  }
  PlannedProgram program = choosePlan(*graph);
  auto body =
      std::make_shared<PlannedBody>(PlannedBody{function,
                                                std::move(*graph),
                                                std::move(program),
                                                ScanOutputs(scan, function),
                                                {},
                                                {},
                                                0});
  describeOperands(scan, *body);
  body->scratchBytes =
      exec::scanScratchBytes(body->program.layout.bytes.front(),
                             body->graph.outputTypes, body->scanOutputs);
  return body;
}

} // namespace sinter::passes::plan
