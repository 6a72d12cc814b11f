//===- MainImport.cpp - the function @main and the program's state --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/RestoreParameters.h"
#include "ir/Locations.h"
#include "ir/Remarks.h"

#include "sinter/program_names.h"

#include "mlir/IR/Verifier.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>

using namespace mlir;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

namespace sinter::compiler {

OwningOpRef<ModuleOp> GraphImport::run() {
  if (!checkModel(*model_, index_, errors_))
    return {};
  ImportErrors bindErrors;
  std::optional<BoundInputs> bound =
      bindInputs(*model_, options_, context_, bindErrors);
  if (!bound) {
    // Unsupported operators are the more useful answer: no shape would help.
    llvm::StringSet<> visited;
    findUnknown(model_->proto().graph().node(), "", visited);
    reportUnsupported();
    bool isInvalid = bindErrors.exitCode() == 2;
    if (errors_.empty() || !isInvalid)
      for (const std::string &line : bindErrors.lines())
        isInvalid ? errors_.invalid(line) : errors_.unsupported(line);
    return {};
  }
  bound_ = std::move(*bound);

  llvm::StringRef stem = llvm::StringRef(model_->path()).rsplit('/').second;
  if (stem.empty())
    stem = model_->path();
  std::string name =
      identifier(options_.name.empty()
                     ? stem.take_front(std::min(stem.size(), stem.rfind('.')))
                     : llvm::StringRef(options_.name),
                 "model");
  Location loc = NameLoc::get(builder_.getStringAttr(name));
  module_ = ModuleOp::create(loc, name);
  module_->getOperation()->setAttr(ir::SinterDialect::kModelNameAttr,
                                   builder_.getStringAttr(name));
  if (!buildMain())
    return {};
  reportUnsupported();
  if (!errors_.empty())
    return {};

  std::string diagnostic;
  ScopedDiagnosticHandler handler(context_, [&](Diagnostic &d) {
    if (diagnostic.empty())
      diagnostic = d.str();
    return success();
  });
  if (failed(mlir::verify(*module_))) {
    invalid("the imported program is inconsistent: " + diagnostic);
    return {};
  }
  return std::move(module_);
}

bool GraphImport::buildMain() {
  const GraphProto &graph = model_->proto().graph();
  builder_.setInsertionPointToEnd(module_->getBody());
  main_ = builder_.create<func::FuncOp>(module_->getLoc(), SINTER_ENTRY_MAIN,
                                        builder_.getFunctionType({}, {}));
  Block *block = main_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);

  Scope scope;
  declareInitializers(graph, scope);
  for (const auto &info : graph.value_info())
    declared_[info.name()] = &info.type().tensor_type();
  for (const auto &info : graph.output()) {
    declared_[info.name()] = &info.type().tensor_type();
    scope.read.insert(info.name());
  }
  for (const BoundInputs::Input &input : bound_.inputs) {
    Location loc = NameLoc::get(builder_.getStringAttr(shown(input.name, 256)));
    auto constant = options_.constantInputs.find(input.name);
    if (constant != options_.constantInputs.end()) {
      scope.values[input.name] = builder_.create<ir::ConstantOp>(
          loc, input.type, constant->second.toAttr("input"));
      continue;
    }
    BlockArgument argument = block->addArgument(input.type, loc);
    main_.setType(builder_.getFunctionType(block->getArgumentTypes(), {}));
    main_.setArgAttr(argument.getArgNumber(), ir::SinterDialect::kInputAttr,
                     builder_.getStringAttr(input.name));
    scope.values[input.name] = argument;
  }

  std::vector<bool> live = findLive(graph.node(), scope.read);
  llvm::SmallVector<bool> liveBits(live.begin(), live.end());
  scope_ = &scope;
  Frame frame;
  frame.opsets = &index_.opsets;
  if (options_.train && !addStates(graph, liveBits))
    return false;
  if (!importNodes(graph.node(), liveBits, scope, frame))
    return false;
  if (!unsupported_.empty())
    return true; // run() reports them
  if (!addOutputs(graph))
    return false;
  listNodes(graph, liveBits);
  removeDead();
  finishArguments();
  explainGone();
  return true;
}

void GraphImport::listNodes(const GraphProto &graph,
                            llvm::ArrayRef<bool> live) {
  if (!ir::RemarkSink::takesDetails(context_))
    return;
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto &node = graph.node(i);
    bool isConstant = live[i];
    for (const std::string &output : node.output()) {
      Value value = scope_->values.lookup(output);
      isConstant &= output.empty() || !scope_->read.contains(output) ||
                    (value && value.getDefiningOp<ir::ConstantOp>());
    }
    nodes_.push_back({shown(nodeLabel(node, i), 256), live[i], isConstant});
  }
}

void GraphImport::explainGone() {
  if (nodes_.empty())
    return;
  llvm::StringSet<> present;
  main_.walk([&](Operation *op) {
    llvm::SmallSetVector<llvm::StringRef, 4> names;
    ir::collectNodeNames(op->getLoc(), names);
    // The ops of a function or a body are named "NODE/INNER".
    for (llvm::StringRef name : names)
      for (size_t end = name.size(); end != llvm::StringRef::npos;
           end = name.take_front(end).rfind('/'))
        present.insert(name.take_front(end));
  });
  for (const MainNode &node : nodes_) {
    if (present.contains(node.label))
      continue;
    Location loc = NameLoc::get(builder_.getStringAttr(node.label));
    if (node.isConstant)
      ir::explain("import", "folded", loc,
                  "folded by the importer: the results of the node are "
                  "constants");
    else if (node.isLive)
      ir::explain("import", "no-op", loc,
                  "the importer made no op for the node: its results are "
                  "values of other nodes, or nothing reads them");
    else
      ir::explain("import", "unused", loc,
                  "left out by the importer: no output of the model needs the "
                  "node");
  }
}

bool GraphImport::addOutputs(const GraphProto &graph) {
  llvm::SmallVector<Value> results;
  for (const auto &info : graph.output()) {
    if (!info.type().has_tensor_type() && info.has_type() &&
        info.type().value_case() != ::onnx::TypeProto::VALUE_NOT_SET) {
      errors_.unsupported(file_ + ": output " + quoted(info.name()) +
                          " is not a tensor, which is not supported");
      return false;
    }
    std::optional<Value> value = lookup(*scope_, info.name());
    if (!value || !*value)
      return false;
    int32_t declared = info.type().tensor_type().elem_type();
    int32_t actual = dataTypeOf(ir::tensorType(*value).getElementType());
    if (declared && declared != actual)
      return invalid("output " + quoted(info.name()) + " is declared as " +
                     dataTypeName(declared) + ", but is " +
                     dataTypeName(actual));
    checkDeclaredShape(info.name(), *value);
    results.push_back(*value);
  }
  ArrayAttr checks;
  if (!addIndexChecks(results, checks))
    return false;
  builder_.create<func::ReturnOp>(main_.getLoc(), results);
  Block &block = main_.getBody().front();
  main_.setType(builder_.getFunctionType(block.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  for (int i = 0; i < graph.output_size(); ++i)
    main_.setResultAttr(i, ir::SinterDialect::kOutputAttr,
                        builder_.getStringAttr(graph.output(i).name()));
  if (checks)
    main_.setResultAttr(graph.output_size(),
                        ir::SinterDialect::kIndexChecksAttr, checks);
  return true;
}

void GraphImport::removeDead() {
  Block &block = main_.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

bool GraphImport::addStates(const GraphProto &graph,
                            llvm::ArrayRef<bool> live) {
  Block &block = main_.getBody().front();
  auto add = [&](const std::string &name, const TensorData &data) {
    auto role = model_->roles.find(name);
    if (role == model_->roles.end() ||
        role->second.kind == InitializerRole::Kind::Constant)
      return;
    Location loc = NameLoc::get(builder_.getStringAttr(shown(name, 256)));
    BlockArgument argument = block.addArgument(data.type, loc);
    states_[argument] = {name, toAttr(model_, data, name), &role->second};
    scope_->values[name] = argument;
  };
  std::map<std::string, std::vector<std::string>> copies =
      initializerCopies(graph, live);
  for (const auto &tensor : graph.initializer()) {
    if (!isFloatData(tensor.data_type()) ||
        !scope_->read.contains(tensor.name()))
      continue;
    std::string why;
    ReadFailure failure = ReadFailure::None;
    std::optional<TensorData> data =
        readTensor(*model_, tensor, context_, why, failure);
    if (!data)
      return invalid("initializer " + quoted(tensor.name()) + ": " + why);
    add(tensor.name(), *data);
    auto found = copies.find(tensor.name());
    if (found != copies.end())
      for (const std::string &copy : found->second)
        add(copy, *data);
  }
  return true;
}

Value GraphImport::control(llvm::StringRef name) {
  Value &argument = controls_[name];
  if (!argument)
    argument = main_.getBody().front().addArgument(
        RankedTensorType::get({}, builder_.getI64Type()), main_.getLoc());
  return argument;
}

void GraphImport::finishArguments() {
  Block &block = main_.getBody().front();
  llvm::BitVector unused(block.getNumArguments());
  for (BlockArgument argument : block.getArguments())
    if (states_.contains(argument) && argument.use_empty())
      unused.set(argument.getArgNumber());
  main_.setType(builder_.getFunctionType(block.getArgumentTypes(),
                                         main_.getFunctionType().getResults()));
  for (const auto &control : controls_)
    main_.setArgAttr(cast<BlockArgument>(control.second).getArgNumber(),
                     ir::SinterDialect::kControlAttr,
                     builder_.getStringAttr(control.getKey()));
  for (unsigned i : unused.set_bits())
    states_.erase(block.getArgument(i));
  main_.eraseArguments(unused);

  llvm::StringSet<> symbols;
  for (llvm::StringRef taken :
       {SINTER_ENTRY_MAIN, SINTER_ENTRY_STEP, SINTER_ENTRY_EVAL,
        SINTER_ENTRY_GRAD, SINTER_ENTRY_APPLY})
    symbols.insert(taken);
  builder_.setInsertionPoint(main_);
  for (BlockArgument argument : block.getArguments()) {
    auto found = states_.find(argument);
    if (found == states_.end())
      continue;
    const State &state = found->second;
    bool isBuffer = state.role->kind == InitializerRole::Kind::Buffer;
    std::string base = shown(state.name, 200), symbol = base;
    for (int i = 1; !symbols.insert(symbol).second; ++i)
      symbol = base + "_" + std::to_string(i);
    llvm::SmallVector<llvm::StringRef> aliases(state.role->aliases.begin(),
                                               state.role->aliases.end());
    builder_.create<ir::StateOp>(
        argument.getLoc(), symbol, argument.getType(),
        isBuffer ? ir::StateRole::buffer : ir::StateRole::param, state.init,
        !isBuffer, /*slot=*/StringAttr(), /*of=*/FlatSymbolRefAttr(),
        builder_.getStringAttr(state.name),
        builder_.getStringAttr(state.role->reason),
        aliases.empty() ? ArrayAttr() : builder_.getStrArrayAttr(aliases),
        /*part_of=*/TypeAttr());
    main_.setArgAttr(argument.getArgNumber(), ir::SinterDialect::kStateAttr,
                     FlatSymbolRefAttr::get(context_, symbol));
  }
}

//===----------------------------------------------------------------------===//
// The entry point
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> importOnnx(std::shared_ptr<const OnnxModel> model,
                                 const ImportOptions &options,
                                 MLIRContext *context, ImportErrors &errors) {
  return GraphImport(std::move(model), options, context, errors).run();
}

OwningOpRef<ModuleOp> importOnnxFile(llvm::StringRef path,
                                     const ImportOptions &options,
                                     MLIRContext *context,
                                     ImportErrors &errors) {
  std::shared_ptr<OnnxModel> model = loadOnnxFile(path, errors);
  if (model && options.train && !restoreParameters(*model, options, errors))
    return {};
  return model ? importOnnx(std::move(model), options, context, errors)
               : OwningOpRef<ModuleOp>();
}

} // namespace sinter::compiler
