//===- PrecisionReport.cpp - the precision of each op, and why ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/precision/PrecisionReport.h"
#include "ir/Locations.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sinter::passes {

std::string PrecisionEntry::key() const {
  return function + "/" + node + "/" + op + "/" + std::to_string(number);
}

std::vector<std::pair<Operation *, PrecisionEntry>>
precisionOps(func::FuncOp function) {
  std::vector<std::pair<Operation *, PrecisionEntry>> list;
  llvm::StringMap<int64_t> numbers;
  auto isFloat32 = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getElementType().isF32();
  };
  // The ops of a scan's body count for it.
  std::function<void(Block &, double)> collect = [&](Block &block,
                                                     double trips) {
    for (Operation &op : block.without_terminator()) {
      if (auto scan = dyn_cast<ir::ScanOp>(op)) {
        collect(scan.getBody().front(),
                trips * static_cast<double>(scan.getTrips()));
        continue;
      }
      if (isa<ir::ConstantOp>(op) || !llvm::any_of(op.getResults(), isFloat32))
        continue;
      PrecisionEntry entry;
      entry.function = function.getName();
      entry.node = ir::joinedNodeNames(op.getLoc());
      entry.op = op.getName().stripDialect();
      entry.precision = "fp32";
      entry.products = trips * countMultiplyAdds(&op);
      entry.number = numbers[entry.node + "/" + entry.op]++;
      list.emplace_back(&op, std::move(entry));
    }
  };
  collect(function.getBody().front(), 1);
  return list;
}

double countMultiplyAdds(Operation *op) {
  auto elements = [](Value value) {
    return static_cast<double>(ir::tensorType(value).getNumElements());
  };
  if (auto dot = dyn_cast<ir::DotGeneralOp>(op)) {
    double depth = 1;
    for (int64_t dim : dot.getLhsContract())
      depth *= ir::tensorType(dot.getLhs()).getDimSize(dim);
    return elements(dot.getResult()) * depth;
  }
  // Each output element sums as many products as one filter has elements.
  auto ofConv = [&](Value output, Value filter) {
    int64_t filters = ir::tensorType(filter).getDimSize(0);
    return filters ? elements(output) * elements(filter) / filters : 0;
  };
  if (auto conv = dyn_cast<ir::ConvOp>(op))
    return ofConv(conv.getResult(), conv.getFilter());
  if (auto conv = dyn_cast<ir::ConvInputGradOp>(op))
    return ofConv(conv.getOutputGrad(), conv.getFilter());
  if (auto conv = dyn_cast<ir::ConvFilterGradOp>(op))
    return ofConv(conv.getOutputGrad(), conv.getResult());
  // Two products; in the gradient five: the scores again and four more.
  auto ofAttention = [&](Value query, Value key) {
    return elements(query) *
           static_cast<double>(ir::tensorType(key).getShape().end()[-2]);
  };
  if (auto attention = dyn_cast<ir::AttentionOp>(op))
    return 2 * ofAttention(attention.getQuery(), attention.getKey());
  if (auto grad = dyn_cast<ir::AttentionGradOp>(op))
    return 5 * ofAttention(grad.getQuery(), grad.getKey());
  return 0;
}

/// The share of the multiply-adds whose precision is one of `narrow`.
static double shareOf(ArrayRef<PrecisionEntry> entries,
                      ArrayRef<StringRef> narrow) {
  double all = 0, found = 0;
  for (const PrecisionEntry &entry : entries) {
    all += entry.products;
    if (llvm::is_contained(narrow, StringRef(entry.precision)))
      found += entry.products;
  }
  return all > 0 ? found / all : 1;
}

double sixteenBitShare(ArrayRef<PrecisionEntry> entries) {
  return shareOf(entries, {"bf16", "fp16"});
}

double eightBitShare(ArrayRef<PrecisionEntry> entries) {
  return shareOf(entries, {"int8"});
}

void setPrecisionReport(ModuleOp module, ArrayRef<PrecisionEntry> entries) {
  Builder b(module.getContext());
  SmallVector<Attribute> list;
  for (const PrecisionEntry &entry : entries) {
    auto text = [&](StringRef name, StringRef value) {
      return b.getNamedAttr(name, b.getStringAttr(value));
    };
    SmallVector<NamedAttribute> fields{
        text("function", entry.function),
        text("node", entry.node),
        text("op", entry.op),
        b.getNamedAttr("number", b.getI64IntegerAttr(entry.number)),
        text("precision", entry.precision),
        text("reason", entry.reason)};
    if (entry.products > 0)
      fields.push_back(
          b.getNamedAttr("products", b.getF64FloatAttr(entry.products)));
    if (entry.range)
      fields.push_back(b.getNamedAttr(
          "range",
          b.getDenseF64ArrayAttr({entry.range->first, entry.range->second})));
    list.push_back(b.getDictionaryAttr(fields));
  }
  module->setAttr(kPrecisionAttr, b.getArrayAttr(list));
}

std::vector<PrecisionEntry> precisionReport(ModuleOp module) {
  std::vector<PrecisionEntry> entries;
  auto list = module->getAttrOfType<ArrayAttr>(kPrecisionAttr);
  if (!list)
    return entries;
  for (auto fields : list.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef name) {
      auto attr = fields.getAs<StringAttr>(name);
      return attr ? attr.str() : std::string();
    };
    PrecisionEntry entry{text("function"),  text("node"),   text("op"), 0,
                         text("precision"), text("reason"), 0,          {}};
    if (auto number = fields.getAs<IntegerAttr>("number"))
      entry.number = number.getInt();
    if (auto products = fields.getAs<FloatAttr>("products"))
      entry.products = products.getValueAsDouble();
    if (auto range = fields.getAs<DenseF64ArrayAttr>("range"))
      entry.range = {range[0], range[1]};
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace sinter::passes
