//===- GraphReport.cpp - a module as a drawing ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/GraphReport.h"

#include "compiler/base/Text.h"
#include "compiler/inspect/JsonText.h"
#include "ir/Dialect.h"
#include "ir/Locations.h"
#include "ir/Provenance.h"

#include "llvm/Support/JSON.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
struct Edge {
  unsigned from;
  std::string type; // of the value
};

struct Node {
  std::string op, types, names;
  std::vector<Edge> operands;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
};
} // namespace

static std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// The ops of one function. An argument is a node too; a fusion with its body
// is one node.
static Graph build(mlir::func::FuncOp function) {
  Graph graph;
  graph.name = function.getSymName().str();
  llvm::DenseMap<mlir::Value, unsigned> source;
  for (mlir::BlockArgument argument : function.getArguments()) {
    Node node;
    node.op = "input";
    for (StringRef key :
         {ir::SinterDialect::kInputAttr, ir::SinterDialect::kStateAttr,
          ir::SinterDialect::kControlAttr})
      if (mlir::Attribute attribute =
              function.getArgAttr(argument.getArgNumber(), key)) {
        node.op = key.split('.').second.str();
        if (auto text = mlir::dyn_cast<mlir::StringAttr>(attribute))
          node.names = text.str();
        else if (auto symbol =
                     mlir::dyn_cast<mlir::FlatSymbolRefAttr>(attribute))
          node.names = symbol.getValue().str();
      }
    node.types = typeText(argument.getType());
    source[argument] = graph.nodes.size();
    graph.nodes.push_back(std::move(node));
  }
  for (mlir::Operation &op : function.getBody().front()) {
    Node node;
    node.op = op.getName().stripDialect().str();
    if (auto fusion = mlir::dyn_cast<ir::FusionOpInterface>(op)) {
      auto kernel = mlir::dyn_cast<ir::KernelOp>(op);
      StringRef kind = kernel
                           ? ir::stringifyKernelKind(kernel.getKind())
                           : ir::stringifyLibraryCallKind(
                                 mlir::cast<ir::LibraryCallOp>(op).getKind());
      node.op += " " + kind.str() + ":";
      for (mlir::Operation &inner :
           fusion.getBody().front().without_terminator())
        node.op += " " + inner.getName().stripDialect().str();
    }
    for (mlir::Type type : op.getResultTypes())
      node.types += (node.types.empty() ? "" : ", ") + typeText(type);
    std::vector<std::string> computed;
    ir::collectProvenance(op.getLoc(), computed);
    for (const std::string &name : computed)
      node.names += (node.names.empty() ? "" : ", ") + shown(name);
    if (std::string names = ir::joinedInitializerNames(op.getLoc());
        !names.empty())
      node.names += (node.names.empty() ? "" : ", ") + shown(names);
    for (mlir::Value operand : op.getOperands())
      node.operands.push_back({source[operand], typeText(operand.getType())});
    for (mlir::Value result : op.getResults())
      source[result] = graph.nodes.size();
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static std::string escapedDot(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result;
}

static void printDot(const std::vector<Graph> &graphs, llvm::raw_ostream &os) {
  os << "digraph model {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (auto [g, graph] : llvm::enumerate(graphs)) {
    os << "  subgraph cluster_" << g << " {\n    label=\"@"
       << escapedDot(graph.name) << "\";\n";
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      os << "    n" << g << "_" << i << " [label=\"" << escapedDot(node.op)
         << "\\n"
         << escapedDot(node.names) << "\\n"
         << escapedDot(node.types) << "\"];\n";
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      for (const Edge &edge : node.operands)
        os << "    n" << g << "_" << edge.from << " -> n" << g << "_" << i
           << " [label=\"" << escapedDot(edge.type) << "\"];\n";
    os << "  }\n";
  }
  os << "}\n";
}

static void printJson(const std::vector<Graph> &graphs, llvm::raw_ostream &os) {
  json::Array functions;
  for (const Graph &graph : graphs) {
    json::Array nodes;
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      json::Array operands;
      for (const Edge &edge : node.operands)
        operands.push_back(edge.from);
      nodes.push_back(json::Object{{"id", i},
                                   {"op", node.op},
                                   {"type", node.types},
                                   {"names", jsonText(node.names)},
                                   {"operands", std::move(operands)}});
    }
    functions.push_back(json::Object{{"name", jsonText(graph.name)},
                                     {"nodes", std::move(nodes)}});
  }
  os << json::Value(json::Object{{"functions", std::move(functions)}}) << "\n";
}

void compiler::printGraph(mlir::ModuleOp module, GraphForm form,
                          llvm::raw_ostream &os) {
  std::vector<Graph> graphs;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    graphs.push_back(build(function));
  switch (form) {
  case GraphForm::Dot:
    return printDot(graphs, os);
  case GraphForm::Json:
    return printJson(graphs, os);
  }
}
