//===- ParameterUses.h - which parameter is at an input ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An exporter may fold a parameter into another constant (its transpose, a row
// of it), give equal initializers one name, and leave out what changes nothing
// (a bias of zeros). The signature of the file and the calls that its nodes
// came from say what an input was before that. RestoreParameters rewrites the
// graph with what is found here.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_PARAMETERUSES_H
#define SINTER_COMPILER_IMPORT_ONNX_PARAMETERUSES_H

#include "compiler/import/onnx/CallOperands.h"

#include "llvm/ADT/StringSet.h"

namespace sinter::compiler {

/// An input of a node of the main graph that is a float initializer, or was
/// one.
struct ParameterUse {
  enum class Kind {
    State,     // `entry`, in `layout`
    Dropped,   // `entry`, which is zero and was left out
    Recurrent, // a part of the weights of a recurrent layer
    Constant,  // made of literals
    Folded,    // computed by the exporter from values that the file lacks
    Unclear,   // one of several entries
    Restored,  // none of these any more
  };
  int node = 0, input = 0;
  Kind kind = Kind::Constant;
  const SignatureEntry *entry = nullptr;
  /// Folded: what the call reads there, as far as it is known.
  std::string value;
  ParameterLayout layout = ParameterLayout::Same;
};

/// A recurrent node, whose packed weights are made of those of one layer.
struct RecurrentLayer {
  int node = 0;
  /// For each direction: input weight, hidden weight and, with biases, input
  /// bias and hidden bias.
  std::vector<const SignatureEntry *> weights;
  int perDirection = 4;
};

/// An entry that is the same tensor as another under a second name.
struct ParameterAlias {
  const SignatureEntry *entry, *of;
};

struct ParameterUses {
  std::vector<ParameterUse> uses;
  std::vector<RecurrentLayer> layers;
  std::vector<ParameterAlias> aliases;
  /// Calls of live nodes name these entries.
  llvm::StringSet<> mentioned;
  /// Entries that bodies of nodes read under their own names, and initializers
  /// that they read under others. Bodies are not rewritten.
  llvm::StringSet<> inBodies;
  std::vector<std::string> unclearInBodies;
  /// Initializers that a BatchNormalization was folded into.
  llvm::StringSet<> folded;
  /// What calls read, or the program gives, and no node computes any more.
  std::vector<std::string> vanished;
  /// Results of detach() that calls read and that no node is any more.
  std::vector<std::string> detached;
  /// Values of calls in place of which nodes read another one's: that of an
  /// equal operation, or an operand of one that changed nothing.
  std::vector<std::string> merged, skipped;
};

/// The operation in the name of a value, as exporters make them: "add" of
/// "add_3".
llvm::StringRef operationOf(llvm::StringRef value);
/// Whether a value of this name has elements of another one, in some order.
bool isMoved(llvm::StringRef value);
/// Whether it is made of literals alone.
bool isMadeOfNumbers(llvm::StringRef value);
/// Whether the exporter folded a BatchNormalization into `node`.
bool hasFoldedBatchNorm(const ::onnx::NodeProto &node);

/// `initializers` are the float ones, with whether they have several elements;
/// `live` says which nodes count.
ParameterUses findParameterUses(const ::onnx::GraphProto &graph,
                                const Signature &signature,
                                const llvm::StringMap<bool> &initializers,
                                const std::vector<bool> &live);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_PARAMETERUSES_H
