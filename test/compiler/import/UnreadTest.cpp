//===- UnreadTest.cpp - what the importer does not read is refused --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// operators.onnx has a node of every operator. Each is imported as it is, then
// with an attribute, an input or an output that its operator does not have.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/AllOperators.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

using namespace sinter::test;
using sinter::compiler::kAny;
using sinter::compiler::OpRow;
using Sizes = std::vector<int64_t>;
using ::onnx::NodeProto;

namespace {

/// Optional inputs that do not affect the result: operator and position.
const std::set<std::pair<std::string, int>> ignored = {
    {"Resize", 1},                    // roi, of one mode only
    {"com.microsoft.BiasDropout", 3}, // ratio, of training
};

/// The type and sizes of an input that the test adds.
struct Plant {
  int32_t type;
  Sizes sizes;
};

bool isRead(const Imported &imported) {
  auto main = imported.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  return main.getNumArguments() == 1 && !main.getArgument(0).use_empty();
}

} // namespace

TEST_CASE("an attribute that its operator does not read is refused") {
  forEachOperator(
      [](const std::string &name, const OpRow &, ModelBuilder builder) {
        Imported whole = builder.import();
        INFO(whole.text());
        REQUIRE(whole.module);
        ModelBuilder::setInt(nodeOf(builder, name), "planted", 1);
        Imported planted = builder.import();
        INFO(planted.text());
        CHECK(planted.errors.exitCode() == 3);
        CHECK(planted.says("attribute 'planted'"));
      });
}

TEST_CASE("an input that its operator does not read is refused") {
  forEachOperator(
      [](const std::string &name, const OpRow &row, const ModelBuilder &whole) {
        if (row.maxInputs == kAny)
          return;
        for (int at = 0; at <= row.maxInputs; ++at)
          for (const Plant &plant : {Plant{::onnx::TensorProto::FLOAT, {}},
                                     Plant{::onnx::TensorProto::FLOAT, {2}},
                                     Plant{::onnx::TensorProto::INT64, {}},
                                     Plant{::onnx::TensorProto::INT64, {1}},
                                     Plant{::onnx::TensorProto::BOOL, {}}}) {
            ModelBuilder builder = whole;
            NodeProto &node = nodeOf(builder, name);
            if (at < node.input_size() && !node.input(at).empty())
              continue;
            while (node.input_size() <= at)
              node.add_input("");
            node.set_input(at, "planted");
            builder.input("planted", {plant.sizes.begin(), plant.sizes.end()},
                          plant.type);
            Imported planted = builder.import();
            INFO("input " << at << " of type " << plant.type);
            INFO(planted.text());
            if (at == row.maxInputs)
              CHECK(planted.says(" inputs; at most "));
            else if (planted.module && !ignored.count({name, at}))
              CHECK(isRead(planted));
          }
      });
}

TEST_CASE("an output that its operator does not have is refused") {
  forEachOperator([](const std::string &name, const OpRow &row,
                     const ModelBuilder &whole) {
    if (row.maxOutputs == kAny)
      return;
    ModelBuilder builder = whole;
    NodeProto &node = nodeOf(builder, name);
    while (node.output_size() < row.maxOutputs)
      node.add_output("");
    node.add_output("planted");
    builder.graph().add_output()->set_name("planted");
    Imported planted = builder.import();
    INFO(planted.text());
    CHECK(!planted.module);
    CHECK((planted.says(" outputs; at most ") || planted.says("'planted'")));
  });
}

TEST_CASE("what an operator of another operator set reads is refused") {
  // The axes became an input in operator set 13, bounds in 11, the ratio in 12.
  OneNode("ReduceSum", 12)
      .x({2, 2}, {1, 2, 3, 4})
      .ints({0})
      .fails("input 1 ('i1') of operator set 12", 3);
  OneNode("ReduceSum", 13)
      .x({2, 2}, {1, 2, 3, 4})
      .set("axes", Sizes{0})
      .fails("attribute 'axes' of operator set 13", 3);
  OneNode("Clip", 10)
      .x({2}, {1, 2})
      .floats({}, {0})
      .fails("input 1 ('i1') of operator set 10", 3);
  OneNode("Dropout", 10)
      .x({2}, {1, 2})
      .floats({}, {0})
      .fails("input 1 ('i1') of operator set 10", 3);
}
