//===- Kernel.cpp - iteration domains and kernel checks -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Kernel.h"
#include "ir/IndexMap.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

namespace sinter::ir {

//===----------------------------------------------------------------------===//
// Domains
//===----------------------------------------------------------------------===//

/// `[` number, .. `]`
static ParseResult parseNumbers(AsmParser &parser,
                                SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(numbers.emplace_back());
  });
}

Attribute DomainAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> sizes, reduced;
  SmallVector<AffineMap> views;
  if (parser.parseLess() || parseNumbers(parser, sizes) ||
      (succeeded(parser.parseOptionalKeyword("reduced")) &&
       failed(parseNumbers(parser, reduced))) ||
      parser.parseKeyword("views") ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseAffineMap(views.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(loc); };
  return getChecked(llvm::function_ref<InFlightDiagnostic()>(emitError),
                    parser.getContext(), ArrayRef(sizes), ArrayRef(reduced),
                    ArrayRef(views));
}

void DomainAttr::print(AsmPrinter &printer) const {
  printer << "<[" << getSizes() << ']';
  if (!getReduced().empty())
    printer << " reduced [" << getReduced() << ']';
  printer << " views [";
  llvm::interleaveComma(getViews(), printer, [&](AffineMap view) {
    view.print(printer.getStream());
  });
  printer << "]>";
}

LogicalResult
DomainAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<int64_t> sizes, ArrayRef<int64_t> reduced,
                   ArrayRef<AffineMap> views) {
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return emitError() << "a loop has a negative trip count";
  auto numLoops = static_cast<int64_t>(sizes.size());
  int64_t last = -1;
  for (int64_t loop : reduced) {
    if (loop <= last || loop >= numLoops)
      return emitError() << "reduced loops must ascend and be below "
                         << numLoops;
    last = loop;
  }
  for (AffineMap view : views) {
    llvm::SmallBitVector seen(sizes.size());
    bool fits = view && view.getNumDims() == sizes.size() &&
                view.getNumSymbols() == 0 &&
                llvm::all_of(view.getResults(), [&](AffineExpr expr) {
                  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
                    return constant.getValue() == 0;
                  auto loop = llvm::dyn_cast<AffineDimExpr>(expr);
                  if (!loop || seen.test(loop.getPosition()))
                    return false;
                  seen.set(loop.getPosition());
                  return true;
                });
    if (!fits)
      return emitError() << "a view must map " << numLoops
                         << " loops to distinct loops and zeros";
  }
  return success();
}

Domain::Domain(DomainAttr attr) {
  if (!attr)
    return;
  sizes.assign(attr.getSizes().begin(), attr.getSizes().end());
  reduced.assign(attr.getReduced().begin(), attr.getReduced().end());
  for (AffineMap map : attr.getViews()) {
    IndexVector &view = views.emplace_back();
    for (AffineExpr expr : map.getResults()) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      view.push_back(loop ? Index::loop(loop.getPosition()) : Index::fixed(0));
    }
  }
}

DomainAttr Domain::toAttr(MLIRContext *context) const {
  SmallVector<AffineMap> maps;
  for (const IndexVector &view : views) {
    SmallVector<AffineExpr> results;
    for (const Index &index : view) {
      std::optional<unsigned> loop = index.asLoop();
      results.push_back(loop ? getAffineDimExpr(*loop, context)
                             : getAffineConstantExpr(0, context));
    }
    maps.push_back(AffineMap::get(sizes.size(), 0, results, context));
  }
  return DomainAttr::get(context, sizes,
                         SmallVector<int64_t>(reduced.begin(), reduced.end()),
                         maps);
}

llvm::DenseMap<Value, IndexVector> Domain::trace(Block &body) const {
  SmallVector<std::pair<Value, IndexVector>> roots;
  for (auto [value, view] :
       llvm::zip_equal(body.getTerminator()->getOperands(), views))
    roots.push_back({value, view});
  return traceIndices(body, roots, reduced);
}

//===----------------------------------------------------------------------===//
// What code generators rely on
//===----------------------------------------------------------------------===//

bool hasDomain(KernelKind kind) {
  return kind == KernelKind::loop || kind == KernelKind::reduce ||
         kind == KernelKind::matmul || kind == KernelKind::conv;
}

bool hasStages(KernelKind kind) {
  return kind == KernelKind::staged || kind == KernelKind::persistent;
}

namespace {

class KernelVerifier {
public:
  explicit KernelVerifier(KernelOpInterface kernel)
      : op(kernel), kind(kernel.getKind()), attr(kernel.getDomainAttr()),
        body(kernel.getBody().front()),
        results(body.getTerminator()->getOperands()) {}

  LogicalResult verify() {
    if (hasDomain(kind) != (attr != nullptr))
      return error() << (attr ? "has no loops of its own, but a domain"
                              : "needs a domain");
    switch (kind) {
    case KernelKind::loop:
    case KernelKind::reduce:
      return verifyNest();
    case KernelKind::matmul:
    case KernelKind::conv:
      return verifyContraction();
    case KernelKind::concat:
      return verifyConcat();
    case KernelKind::scatter:
    case KernelKind::window_grad:
    case KernelKind::scan:
    case KernelKind::sort:
      return verifyOneOp();
    case KernelKind::multi:
    case KernelKind::staged:
    case KernelKind::persistent:
      return verifyParts();
    case KernelKind::rows:
      return verifyRows();
    }
    return error() << "has an unknown kind";
  }

private:
  InFlightDiagnostic error() {
    return op->emitOpError() << "of kind " << stringifyKernelKind(kind) << ' ';
  }

  LogicalResult verifyViews() {
    if (attr.getViews().size() != results.size())
      return error() << "has " << attr.getViews().size() << " views for "
                     << results.size() << " results";
    Domain domain(attr);
    for (auto [value, view] : llvm::zip_equal(results, domain.views)) {
      ArrayRef<int64_t> shape = tensorType(value).getShape();
      if (view.size() != shape.size())
        return error() << "has a view of " << view.size()
                       << " dimensions for a result of " << shape.size();
      llvm::SmallBitVector seen(domain.sizes.size());
      for (auto [size, index] : llvm::zip_equal(shape, view)) {
        std::optional<unsigned> loop = index.asLoop();
        if (loop)
          seen.set(*loop);
        bool isFixed = size == 1 && index.terms.empty();
        if (!isFixed && (!loop || domain.sizes[*loop] != size))
          return error() << "has a result with a dimension of " << size
                         << " elements that is not a loop of that size";
      }
      bool overAll = true, overKept = true, overReduced = false;
      for (auto [loop, size] : llvm::enumerate(domain.sizes)) {
        if (size == 1)
          continue;
        bool isReduced = domain.isReduced(loop);
        overAll &= seen.test(loop);
        overKept &= isReduced || seen.test(loop);
        overReduced |= isReduced && seen.test(loop);
      }
      if (!overAll && (!overKept || overReduced))
        return error()
               << "has a result over some loops only: it must extend over "
                  "all, or over all that are not reduced";
    }
    return success();
  }

  LogicalResult verifyNest() {
    if (kind == KernelKind::loop) {
      if (!attr.getReduced().empty())
        return error() << "has reduced loops";
      if (llvm::any_of(body, [](Operation &op) { return isReduction(&op); }))
        return error() << "has a reduction";
    }
    return verifyViews();
  }

  LogicalResult verifyContraction() {
    bool isMatmul = kind == KernelKind::matmul;
    auto isOfKind = [&](Operation &op) {
      return isContraction(&op) && isa<DotGeneralOp>(op) == isMatmul;
    };
    if (llvm::count_if(body, isOfKind) != 1)
      return error() << "must have one contraction";
    return verifyViews();
  }

  LogicalResult verifyConcat() {
    if (results.size() != 1 || !results[0].getDefiningOp<ConcatOp>())
      return error() << "must yield one concat";
    return success();
  }

  bool isOp(Operation &only) const {
    switch (kind) {
    case KernelKind::scatter:
      return isa<ScatterOp, ScatterElementsOp, ScatterNdOp>(only);
    case KernelKind::window_grad:
      return isa<ReduceWindowGradOp>(only);
    case KernelKind::scan:
      return isa<CumulativeOp, CumulativePartsOp>(only);
    default:
      return isa<TopKOp>(only);
    }
  }

  LogicalResult verifyOneOp() {
    Operation &only = body.front();
    if (!isOp(only) || only.getNextNode() != body.getTerminator())
      return error() << "must consist of one such op";
    return verifyYieldsOnce(only);
  }

  LogicalResult verifyYieldsOnce(Operation &part) {
    for (Value result : part.getResults())
      if (llvm::count(results, result) != 1)
        return error() << "must yield each result of '" << part.getName()
                       << "' once";
    return success();
  }

  LogicalResult verifyRows() {
    KernelOp last;
    int64_t count = 0;
    for (Operation &part : body.without_terminator()) {
      if (part.hasTrait<Alias>())
        continue;
      last = dyn_cast<KernelOp>(part);
      if (!last)
        return error() << "must consist of kernels";
      ++count;
      for (Value result : part.getResults())
        if (llvm::count(results, result) > 1)
          return error() << "yields a result of '" << part.getName()
                         << "' twice";
    }
    if (count < 2)
      return error() << "needs two kernels or more";
    for (Value result : results)
      if (!result.getDefiningOp<KernelOp>())
        return error() << "must yield results of its kernels";
    return verifyYieldsOnce(*last);
  }

  LogicalResult verifyParts() {
    bool isStaged = hasStages(kind);
    for (Operation &part : body.without_terminator()) {
      bool isView = kind == KernelKind::persistent && part.hasTrait<Alias>() &&
                    !isa<BlockArgument>(part.getOperand(0));
      if (isView)
        continue;
      if (!isa<KernelOp>(part))
        return error() << "must consist of kernels";
      if (!isStaged &&
          !llvm::all_of(part.getOperands(), llvm::IsaPred<BlockArgument>))
        return error() << "must consist of independent kernels";
      if (failed(verifyYieldsOnce(part)))
        return failure();
    }
    auto kernels = body.getOps<KernelOp>();
    if (isStaged && std::distance(kernels.begin(), kernels.end()) < 2)
      return error() << "needs two kernels or more";
    return success();
  }

  Operation *op;
  KernelKind kind;
  DomainAttr attr;
  Block &body;
  OperandRange results;
};

} // namespace

LogicalResult verifyKernel(KernelOpInterface kernel) {
  return KernelVerifier(kernel).verify();
}

} // namespace sinter::ir
