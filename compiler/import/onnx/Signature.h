//===- Signature.h - what a PyTorch exporter says about a file --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// torch.onnx.export writes the signature of the exported program into the
// metadata of the graph: which of its inputs are parameters and buffers, with
// their names in the module. Each node holds the text of the call that it came
// from, with these inputs as operands. Only this file parses the two. Any text
// gives a value, never an error.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_SIGNATURE_H
#define SINTER_COMPILER_IMPORT_ONNX_SIGNATURE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace sinter::compiler {

/// An input of the exported program that its caller does not pass.
struct SignatureEntry {
  enum class Kind { Parameter, Buffer, Constant };
  Kind kind;
  std::string placeholder; // its name in calls: "p_fc_weight"
  std::string target;      // its name in the module: "fc.weight"
  bool isPersistent = true;

  bool isParameter() const { return kind == Kind::Parameter; }
};

class Signature {
public:
  /// Nothing for a file without one.
  static std::optional<Signature> read(const ::onnx::GraphProto &graph);

  const std::vector<SignatureEntry> &entries() const { return entries_; }
  /// The names, in calls, of the inputs that the caller passes.
  const std::vector<std::string> &inputs() const { return inputs_; }
  /// The values that the program returns.
  const std::vector<std::string> &outputs() const { return outputs_; }
  /// The targets of buffers that the program changes.
  const std::vector<std::string> &changed() const { return changed_; }
  /// Null if no entry has this name.
  const SignatureEntry *byPlaceholder(llvm::StringRef name) const;
  const SignatureEntry *byTarget(llvm::StringRef name) const;

private:
  std::vector<SignatureEntry> entries_;
  std::vector<std::string> inputs_, outputs_, changed_;
  llvm::StringMap<size_t> placeholders_, targets_;
};

/// An operand of a call: the values that it names, several for a list, none for
/// a literal.
struct FxArgument {
  std::string text; // as written
  std::vector<std::string> values;
};

/// The call that a node came from. Several nodes may come from one.
struct FxCall {
  std::string result; // the name of its value
  std::string target; // "aten.linear", without the overload
  std::vector<FxArgument> arguments;
  std::string keywords; // its keyword operands as written
  /// All values that the call names, keyword operands included.
  std::vector<std::string> values;
};
/// Nothing for a node without the text of a call.
std::optional<FxCall> readFxCall(const ::onnx::NodeProto &node);

/// The exporter's list of the rewrite rules that it applied at `node`; empty if
/// none.
std::string rewriteRules(const ::onnx::NodeProto &node);
/// The path of the module whose call produced `node`: "layer1.0.conv1". Empty
/// at the top level or if the file does not tell.
std::string modulePath(const ::onnx::NodeProto &node);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_SIGNATURE_H
