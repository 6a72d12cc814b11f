//===- RoundingTest.cpp - operators on 16-bit tensors round once ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "test/compiler/import/AllOperators.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace sinter;
using namespace sinter::test;
using ::onnx::TensorProto;

namespace {

/// Operators that consist of several rounding ops, and why that is correct.
const std::map<std::string, std::string> roundMoreThanOnce = {
    {"DFT", "real and imaginary parts are contractions"},
    {"STFT", "real and imaginary parts are contractions"},
    {"DynamicQuantizeLinear", "takes float32 only"},
    {"GRU", "gates are contractions and their epilogues"},
    {"LSTM", "gates are contractions and their epilogues"},
    {"LinearAttention", "two results"},
    {"QuantizeLinear", "divides in the type of the scale"},
    {"RMSNormalization", "is rounded before the scale, as the schema says"},
    {"RNN", "gates are contractions and their epilogues"},
    {"Scan", "nodes of the body"},
    {"SimplifiedLayerNormalization", "is rounded before the scale"},
    {"com.microsoft.Attention", "a contraction and an attention"},
    {"com.microsoft.DynamicQuantizeMatMul", "takes float32 only"},
    {"com.microsoft.EmbedLayerNormalization", "tables stay 16 bits wide"},
    {"com.microsoft.QLinearAdd", "takes float32 scales only"},
    {"com.microsoft.QLinearAveragePool", "takes float32 scales only"},
    {"com.microsoft.QLinearConcat", "takes float32 scales only"},
    {"com.microsoft.QLinearGlobalAveragePool", "takes float32 scales only"},
    {"com.microsoft.QLinearLeakyRelu", "takes float32 scales only"},
    {"com.microsoft.QLinearMul", "takes float32 scales only"},
    {"com.microsoft.QLinearReduceMean", "takes float32 scales only"},
    {"com.microsoft.QLinearSigmoid", "takes float32 scales only"},
    {"com.microsoft.QLinearSoftmax", "takes float32 scales only"},
    {"com.microsoft.QLinearWhere", "takes float32 scales only"},
    {"com.microsoft.SimplifiedLayerNormalization",
     "is rounded before the scale"},
    {"com.microsoft.SkipSimplifiedLayerNormalization",
     "is rounded before the scale"},
};

/// Ops whose results are numbers of their operands.
bool isExact(mlir::Operation &op) {
  return mlir::isa<ir::ConstantOp, ir::ReshapeOp, ir::TransposeOp,
                   ir::BroadcastOp, ir::SliceOp, ir::ConcatOp, ir::PadOp,
                   ir::GatherOp, ir::GatherElementsOp, ir::GatherNdOp,
                   ir::ReverseOp, ir::WhereOp, ir::AbsOp, ir::NegOp, ir::MaxOp,
                   ir::MinOp, ir::IotaOp>(op);
}

/// Makes float32 initializers float16 inputs; false if there are none.
bool narrowInputs(ModelBuilder &builder) {
  bool any = false;
  auto &tensors = *builder.graph().mutable_initializer();
  for (int i = tensors.size(); i-- > 0;) {
    TensorProto tensor = tensors[i];
    if (tensor.data_type() != TensorProto::FLOAT)
      continue;
    tensors.DeleteSubrange(i, 1);
    builder.input(tensor.name(), {tensor.dims().begin(), tensor.dims().end()},
                  TensorProto::FLOAT16);
    any = true;
  }
  return any;
}

} // namespace

TEST_CASE("operators on 16-bit tensors round once, or are listed") {
  std::set<std::string> found;
  int numSeen = 0;
  forEachOperator([&](const std::string &name, const compiler::OpRow &,
                      const ModelBuilder &whole) {
    ModelBuilder builder = whole;
    if (!narrowInputs(builder))
      return;
    Imported imported = builder.import();
    if (!imported.module)
      return;
    ++numSeen;
    int count = 0;
    std::string ops;
    for (auto function : imported.module.get().getOps<mlir::func::FuncOp>())
      for (mlir::Operation &op : function.getBody().front())
        for (mlir::Value result : op.getResults())
          if (auto type =
                  mlir::dyn_cast<mlir::RankedTensorType>(result.getType());
              type && type.getElementType().isF16() && !isExact(op)) {
            ++count;
            ops += op.getName().getStringRef().str() + " ";
          }
    if (count > 1) {
      found.insert(name);
      INFO(name << ": " << ops);
      CHECK(roundMoreThanOnce.count(name) == 1);
    }
  });
  CHECK(numSeen >= 80);
  for (const auto &[name, why] : roundMoreThanOnce) {
    INFO(name << ": " << why);
    CHECK(found.count(name) == 1);
  }
}
