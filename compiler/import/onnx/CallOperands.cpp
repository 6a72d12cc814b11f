//===- CallOperands.cpp - which operand of a call is at an input ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/CallOperands.h"

#include "llvm/ADT/StringRef.h"

#include <onnx/onnx_pb.h>

using ::onnx::NodeProto;

namespace sinter::compiler {
namespace {

constexpr int kAnyInput = -1;
/// Marks an input that is made of literals: no call has so many operands.
constexpr int kLiteral = 1000;

/// In nodes made from calls of `target`, this input of an `op` holds this
/// operand of the call, in this layout.
struct OperandRow {
  llvm::StringLiteral target, op;
  int input, argument;
  ParameterLayout layout = ParameterLayout::Same;
};

constexpr auto kTransposed = ParameterLayout::Transposed;
constexpr auto kUnitDims = ParameterLayout::UnitDims;

// This is how torch.onnx writes these calls. Gemm's transB is handled
// separately.
const OperandRow kOperands[] = {
    {"aten.linear", "Gemm", 1, 1},
    {"aten.linear", "Gemm", 2, 2},
    {"aten.linear", "MatMul", 1, 1, kTransposed},
    {"aten.linear", "Add", kAnyInput, 2},
    {"aten.addmm", "Gemm", 0, 1},
    {"aten.addmm", "Gemm", 1, 2},
    {"aten.addmm", "Gemm", 2, 0},
    {"aten.conv1d", "Conv", 1, 1},
    {"aten.conv1d", "Conv", 2, 2},
    {"aten.conv2d", "Conv", 1, 1},
    {"aten.conv2d", "Conv", 2, 2},
    {"aten.conv3d", "Conv", 1, 1},
    {"aten.conv3d", "Conv", 2, 2},
    {"aten.convolution", "Conv", 1, 1},
    {"aten.convolution", "Conv", 2, 2},
    {"aten.convolution", "ConvTranspose", 1, 1},
    {"aten.convolution", "ConvTranspose", 2, 2},
    {"aten.conv_transpose1d", "ConvTranspose", 1, 1},
    {"aten.conv_transpose1d", "ConvTranspose", 2, 2},
    {"aten.conv_transpose2d", "ConvTranspose", 1, 1},
    {"aten.conv_transpose2d", "ConvTranspose", 2, 2},
    {"aten.conv_transpose3d", "ConvTranspose", 1, 1},
    {"aten.conv_transpose3d", "ConvTranspose", 2, 2},
    {"aten.layer_norm", "LayerNormalization", 1, 2},
    {"aten.layer_norm", "LayerNormalization", 2, 3},
    {"aten.native_layer_norm", "LayerNormalization", 1, 2},
    {"aten.native_layer_norm", "LayerNormalization", 2, 3},
    {"aten.rms_norm", "RMSNormalization", 1, 2},
    {"aten.rms_norm", "SimplifiedLayerNormalization", 1, 2},
    {"aten.rms_norm", "Mul", kAnyInput, 2},
    {"aten.group_norm", "GroupNormalization", 1, 2},
    {"aten.group_norm", "GroupNormalization", 2, 3},
    {"aten.group_norm", "InstanceNormalization", 1, kLiteral},
    {"aten.group_norm", "InstanceNormalization", 2, kLiteral},
    {"aten.group_norm", "Mul", kAnyInput, 2, kUnitDims},
    {"aten.group_norm", "Add", kAnyInput, 3, kUnitDims},
    {"aten.instance_norm", "InstanceNormalization", 1, 1},
    {"aten.instance_norm", "InstanceNormalization", 2, 2},
    {"aten.prelu", "PRelu", 1, 1, kUnitDims},
    {"aten._prelu_kernel", "PRelu", 1, 1, kUnitDims},
    {"aten.embedding", "Gather", 0, 0},
    {"aten.scaled_dot_product_attention", "Add", kAnyInput, 3},
    {"aten.slice_scatter", "ScatterND", 2, 1},
    {"aten.addcmul", "Add", kAnyInput, 0},
    {"aten.addcmul", "Mul", kAnyInput, 1},
};

/// Calls that become one node with the operands in the same order.
struct PlainRow {
  llvm::StringLiteral target, op;
};
const PlainRow kPlain[] = {
    {"aten.add", "Add"},
    {"aten.sub", "Sub"},
    {"aten.mul", "Mul"},
    {"aten.div", "Div"},
    {"aten.pow", "Pow"},
    {"aten.matmul", "MatMul"},
    {"aten.mm", "MatMul"},
    {"aten.bmm", "MatMul"},
    {"aten.maximum", "Max"},
    {"aten.minimum", "Min"},
    {"aten.where", "Where"},
    {"aten.expand", "Expand"},
    {"aten.select", "Gather"},
    {"aten.index_select", "Gather"},
    {"aten.gather", "GatherElements"},
    {"aten.slice", "Slice"},
    {"aten.permute", "Transpose"},
    {"aten.transpose", "Transpose"},
    {"aten.t", "Transpose"},
    {"aten.view", "Reshape"},
    {"aten.reshape", "Reshape"},
    {"aten._unsafe_view", "Reshape"},
    {"aten.unsqueeze", "Unsqueeze"},
    {"aten.squeeze", "Squeeze"},
};

bool isBatchNorm(llvm::StringRef target) {
  return target.contains("batch_norm");
}

int64_t intAttribute(const NodeProto &node, llvm::StringRef name) {
  for (const auto &attribute : node.attribute())
    if (llvm::StringRef(attribute.name()) == name)
      return attribute.i();
  return 0;
}

} // namespace

std::optional<CallOperand> findOperand(const NodeProto &node, int input,
                                       const FxCall &call) {
  auto operand = [&](size_t index, ParameterLayout layout) {
    CallOperand found{{}, layout};
    if (index < call.arguments.size())
      found.values = call.arguments[index].values;
    return found;
  };
  llvm::StringRef op = node.op_type();
  for (const OperandRow &row : kOperands) {
    if (row.target != call.target || row.op != op ||
        (row.input != kAnyInput && row.input != input))
      continue;
    // The constant may include a factor of the product.
    if (call.target == "aten.addcmul" &&
        !llvm::StringRef(call.keywords).starts_with("}"))
      continue;
    bool isSwapped =
        op == "Gemm" && input == 1 &&
        (intAttribute(node, "transB") != 0) != (call.target == "aten.linear");
    return operand(row.argument, isSwapped ? kTransposed : row.layout);
  }
  if (op == "BatchNormalization" && isBatchNorm(call.target))
    return operand(input, ParameterLayout::Same);
  if (op == "Concat" && call.target == "aten.cat" && !call.arguments.empty()) {
    const std::vector<std::string> &list = call.arguments[0].values;
    CallOperand element{{}, ParameterLayout::Same};
    if (size_t(input) < list.size())
      element.values.push_back(list[input]);
    return element;
  }
  for (const PlainRow &row : kPlain)
    if (row.target == call.target && row.op == op)
      return operand(input, ParameterLayout::Same);
  return std::nullopt;
}

} // namespace sinter::compiler
