//===- IndicesTest.cpp - indices are checked where they are read ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "test/compiler/import/AllOperators.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace sinter::test;
using ::onnx::TensorProto;

namespace {

/// Integer inputs at run time that are not indices: the operator and the
/// input's position.
const std::set<std::pair<std::string, int>> noIndices = {
    {"BitwiseAnd", 0}, {"BitwiseAnd", 1}, {"BitwiseNot", 0}, {"BitwiseOr", 0},
    {"BitwiseOr", 1},  {"BitwiseXor", 0}, {"BitwiseXor", 1}, {"Equal", 0},
    {"Equal", 1},      {"EyeLike", 0},    {"GatherND", 0},   {"Pad", 0},
    {"TopK", 0},       {"Trilu", 0}};

bool isChecked(const Imported &imported) {
  auto main = imported.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (main.getResultAttr(i, sinter::ir::SinterDialect::kIndexChecksAttr))
      return true;
  return false;
}

/// Makes the initializer `name` an input; false if it is not an integer.
bool makeInput(ModelBuilder &builder, const std::string &name) {
  auto &tensors = *builder.graph().mutable_initializer();
  for (int i = 0; i < tensors.size(); ++i) {
    TensorProto tensor = tensors[i];
    if (tensor.name() != name || (tensor.data_type() != TensorProto::INT64 &&
                                  tensor.data_type() != TensorProto::INT32))
      continue;
    tensors.DeleteSubrange(i, 1);
    builder.input(name, {tensor.dims().begin(), tensor.dims().end()},
                  tensor.data_type());
    return true;
  }
  return false;
}

} // namespace

TEST_CASE("integers that come at run time are checked or no indices") {
  std::set<std::pair<std::string, int>> unchecked;
  int numChecked = 0;
  forEachOperator([&](const std::string &name, const sinter::compiler::OpRow &,
                      const ModelBuilder &whole) {
    ModelBuilder copy = whole;
    const auto inputs = nodeOf(copy, name).input();
    for (int at = 0; at < inputs.size(); ++at) {
      ModelBuilder builder = whole;
      if (inputs[at].empty() || !makeInput(builder, inputs[at]))
        continue;
      Imported imported = builder.import();
      // Others must be known when the program is compiled.
      if (!imported.module)
        continue;
      if (isChecked(imported))
        ++numChecked;
      else
        unchecked.insert({name, at});
    }
  });
  CHECK(numChecked >= 10);
  for (const auto &[name, at] : unchecked) {
    INFO(name << ", input " << at);
    CHECK(noIndices.count({name, at}) == 1);
  }
  for (const auto &[name, at] : noIndices) {
    INFO(name << ", input " << at);
    CHECK(unchecked.count({name, at}) == 1);
  }
}
