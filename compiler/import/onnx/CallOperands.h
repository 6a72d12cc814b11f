//===- CallOperands.h - which operand of a call is at an input --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Tables of how torch.onnx writes the calls of an exported program as nodes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_CALLOPERANDS_H
#define SINTER_COMPILER_IMPORT_ONNX_CALLOPERANDS_H

#include "compiler/import/onnx/Signature.h"

namespace sinter::compiler {

/// How a value is made of the parameter as the module has it.
enum class ParameterLayout {
  Same,
  Transposed, // the last two dimensions swapped
  UnitDims,   // a vector, with dimensions of size 1 around its own
};

/// What a call has where one of its nodes has an input.
struct CallOperand {
  std::vector<std::string> values; // none for a literal
  ParameterLayout layout;
};

/// The operand of `call` at `input` of `node`, one of the nodes made of the
/// call. Nothing where the tables do not know the node.
std::optional<CallOperand> findOperand(const ::onnx::NodeProto &node, int input,
                                       const FxCall &call);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_CALLOPERANDS_H
