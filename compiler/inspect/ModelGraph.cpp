//===- ModelGraph.cpp - a module as a graph to match ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ModelGraph.h"

#include "ir/Dialect.h"
#include "ir/Locations.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/xxhash.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

namespace {
// An op's attribute with its value; it is compared by its bytes.
constexpr StringRef kValueAttr = "value";
} // namespace

llvm::ArrayRef<char> compiler::bytesOf(mlir::ElementsAttr value) {
  if (auto resource = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : llvm::ArrayRef<char>();
  }
  auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value);
  return dense ? dense.getRawData() : llvm::ArrayRef<char>();
}

static uint64_t hashOf(mlir::ElementsAttr value) {
  if (!value)
    return 0;
  llvm::ArrayRef<char> bytes = bytesOf(value);
  return llvm::xxh3_64bits(StringRef(bytes.data(), bytes.size()));
}

template <typename T> static std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if constexpr (std::is_convertible_v<T, mlir::Attribute>)
    value.print(os, /*elideType=*/true);
  else
    value.print(os);
  return text;
}

namespace {

class Builder {
public:
  explicit Builder(mlir::ModuleOp module) : module_(module) {}

  ModelGraph build() {
    bool isOnly = llvm::hasSingleElement(module_.getOps<mlir::func::FuncOp>());
    for (auto function : module_.getOps<mlir::func::FuncOp>())
      addFunction(function, isOnly ? "" : function.getSymName());
    return std::move(result_);
  }

private:
  unsigned add(MatchNode node, ModelNode details, mlir::Type type) {
    if (auto tensor = mlir::dyn_cast_or_null<mlir::RankedTensorType>(type))
      details.dtype = textOf(tensor.getElementType());
    for (auto &[key, value] : details.attributes)
      node.attributes += key + "=" + value + ";";
    node.value = hashOf(details.value);
    result_.graph.nodes.push_back(std::move(node));
    result_.details.push_back(std::move(details));
    return result_.graph.nodes.size() - 1;
  }

  void addFunction(mlir::func::FuncOp function, StringRef name) {
    for (mlir::BlockArgument argument : function.getArguments())
      values_[argument] = {addArgument(function, argument, name), 0};
    llvm::DenseSet<mlir::Operation *> checks = indexChecks(function);
    for (mlir::Operation &op : function.getBody().front())
      if (checks.contains(&op))
        continue;
      else if (op.hasTrait<mlir::OpTrait::IsTerminator>())
        addResults(function, op, name);
      else
        addOp(op, name);
  }

  static bool isCheckResult(mlir::func::FuncOp function, unsigned number) {
    return function.getResultAttr(
               number, ir::SinterDialect::kIndexChecksAttr) != nullptr;
  }

  // The ops that only check indices. An importer adds them; their order is that
  // of the nodes in the file.
  static llvm::DenseSet<mlir::Operation *>
  indexChecks(mlir::func::FuncOp function) {
    llvm::DenseSet<mlir::Operation *> checks;
    for (mlir::Operation &op : llvm::reverse(function.getBody().front())) {
      auto isCheck = [&](mlir::OpOperand &use) {
        return use.getOwner()->hasTrait<mlir::OpTrait::IsTerminator>()
                   ? isCheckResult(function, use.getOperandNumber())
                   : checks.contains(use.getOwner());
      };
      if (!op.use_empty() && llvm::all_of(op.getUses(), isCheck))
        checks.insert(&op);
    }
    return checks;
  }

  unsigned addArgument(mlir::func::FuncOp function,
                       mlir::BlockArgument argument, StringRef functionName) {
    MatchNode node;
    ModelNode details;
    node.op = "input";
    node.type = textOf(argument.getType());
    node.isBoundary = true;
    if (!functionName.empty())
      details.attributes.push_back({"function", functionName.str()});
    for (StringRef key :
         {ir::SinterDialect::kInputAttr, ir::SinterDialect::kStateAttr,
          ir::SinterDialect::kControlAttr}) {
      mlir::Attribute attribute =
          function.getArgAttr(argument.getArgNumber(), key);
      if (!attribute)
        continue;
      node.op = key.split('.').second.str();
      if (auto text = mlir::dyn_cast<mlir::StringAttr>(attribute))
        node.name = text.str();
      else if (auto symbol =
                   mlir::dyn_cast<mlir::FlatSymbolRefAttr>(attribute)) {
        node.name = symbol.getValue().str();
        describeState(symbol, node, details);
      }
    }
    return add(std::move(node), std::move(details), argument.getType());
  }

  void describeState(mlir::FlatSymbolRefAttr symbol, MatchNode &node,
                     ModelNode &details) {
    node.isBoundary = false; // a weight may have another name
    details.isWeight = true;
    auto state = module_.lookupSymbol<ir::StateOp>(symbol.getValue());
    if (!state)
      return;
    details.value = state.getInitAttr();
    details.attributes.push_back(
        {"role", ir::stringifyStateRole(state.getRole()).str()});
    details.attributes.push_back(
        {"trainable", state.getTrainable() ? "true" : "false"});
  }

  void addOp(mlir::Operation &op, StringRef functionName) {
    MatchNode node;
    ModelNode details;
    node.op = op.getName().stripDialect().str();
    node.name = ir::joinedNodeNames(op.getLoc());
    if (node.name.empty())
      node.name = ir::joinedInitializerNames(op.getLoc());
    for (mlir::Type type : op.getResultTypes())
      node.type += (node.type.empty() ? "" : ", ") + textOf(type);
    details.isWeight = op.hasTrait<mlir::OpTrait::ConstantLike>();
    for (mlir::NamedAttribute attribute : op.getAttrDictionary())
      if (details.isWeight && attribute.getName() == kValueAttr)
        details.value =
            mlir::dyn_cast<mlir::ElementsAttr>(attribute.getValue());
      else
        details.attributes.push_back(
            {attribute.getName().str(), textOf(attribute.getValue())});
    if (op.getNumRegions())
      details.attributes.push_back({"body", bodyOf(op)});
    if (!functionName.empty() && op.getNumOperands() == 0)
      details.attributes.push_back({"function", functionName.str()});
    for (mlir::Value operand : op.getOperands())
      node.operands.push_back(values_.lookup(operand));
    mlir::Type type = op.getNumResults() ? op.getResult(0).getType() : nullptr;
    unsigned number = add(std::move(node), std::move(details), type);
    for (mlir::OpResult value : op.getResults())
      values_[value] = {number, value.getResultNumber()};
  }

  // The ops inside, in order: "relu, add".
  static std::string bodyOf(mlir::Operation &op) {
    std::string text;
    op.walk([&](mlir::Operation *inner) {
      if (inner != &op && !inner->hasTrait<mlir::OpTrait::IsTerminator>())
        text +=
            (text.empty() ? "" : ", ") + inner->getName().stripDialect().str();
    });
    return text;
  }

  void addResults(mlir::func::FuncOp function, mlir::Operation &terminator,
                  StringRef functionName) {
    for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
      if (isCheckResult(function, i))
        continue;
      MatchNode node;
      ModelNode details;
      node.op = "output";
      node.isBoundary = true;
      node.type = textOf(value.getType());
      node.operands.push_back(values_.lookup(value));
      if (!functionName.empty())
        details.attributes.push_back({"function", functionName.str()});
      if (auto name = function.getResultAttrOfType<mlir::StringAttr>(
              i, ir::SinterDialect::kOutputAttr))
        node.name = name.str();
      else if (auto state =
                   function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(
                       i, ir::SinterDialect::kStateAttr)) {
        node.op = "new state";
        node.name = state.getValue().str();
      }
      add(std::move(node), std::move(details), value.getType());
    }
  }

  mlir::ModuleOp module_;
  ModelGraph result_;
  llvm::DenseMap<mlir::Value, MatchNode::Use> values_;
};

} // namespace

ModelGraph compiler::modelGraph(mlir::ModuleOp module) {
  return Builder(module).build();
}
