//===- CallOperands.h - which operand of a call is at an input --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Tables of how torch.onnx translates the calls of an exported program to
// nodes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_CALLOPERANDS_H
#define SINTER_COMPILER_IMPORT_ONNX_CALLOPERANDS_H

#include "compiler/import/onnx/Signature.h"

namespace sinter::compiler {

/// How a value is laid out compared with the module's parameter.
enum class ParameterLayout {
  Same,
  Transposed, // the last two dimensions swapped
  UnitDims,   // a vector with added dimensions of size 1
};

/// The operand of a call that an input of one of its nodes corresponds to.
struct CallOperand {
  std::vector<std::string> values; // none for a literal
  ParameterLayout layout;
};

/// The operand of `call` that `input` of `node` corresponds to; `node` is one
/// of the nodes made from the call. Nothing if the tables do not know the node.
std::optional<CallOperand> findOperand(const ::onnx::NodeProto &node, int input,
                                       const FxCall &call);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_CALLOPERANDS_H
