//===- ParameterUses.h - which parameter is at an input ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An exporter may fold a parameter into another constant (its transpose, a row
// of it), merge equal initializers, and drop operands without effect (a bias of
// zeros). The signature of the file and the calls that its nodes came from tell
// what an input was originally. RestoreParameters rewrites the graph with the
// findings.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_PARAMETERUSES_H
#define SINTER_COMPILER_IMPORT_ONNX_PARAMETERUSES_H

#include "compiler/import/onnx/CallOperands.h"

#include "llvm/ADT/StringSet.h"

namespace sinter::compiler {

/// An input of a node of the main graph that is, or was, a float initializer.
struct ParameterUse {
  enum class Kind {
    State,     // `entry`, in `layout`
    Dropped,   // `entry`, which is zero and was left out
    Recurrent, // part of the weights of a recurrent layer
    Constant,  // made of literals
    Folded,    // computed by the exporter from values that the file lacks
    Unclear,   // one of several entries; unknown which
    Restored,  // rewritten; none of the above any more
  };
  int node = 0, input = 0;
  Kind kind = Kind::Constant;
  const SignatureEntry *entry = nullptr;
  /// For Folded: the value that the call reads there, if known.
  std::string value;
  ParameterLayout layout = ParameterLayout::Same;
};

/// A recurrent node whose packed weights consist of the weights of one layer.
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
  /// Entries that the calls of live nodes name.
  llvm::StringSet<> mentioned;
  /// Entries that bodies of nodes read under their own names, and initializers
  /// that they read under other names. Bodies are not rewritten.
  llvm::StringSet<> inBodies;
  std::vector<std::string> unclearInBodies;
  /// Initializers that a BatchNormalization was folded into.
  llvm::StringSet<> folded;
  /// Values that calls read or the program returns, but no node computes any
  /// more.
  std::vector<std::string> vanished;
  /// Results of detach() that calls read, but no node computes any more.
  std::vector<std::string> detached;
  /// Values of calls that the exporter replaced in the nodes that read them: by
  /// the value of an equal operation (`merged`), or by the operand of an
  /// operation that changed nothing (`skipped`).
  std::vector<std::string> merged, skipped;
};

/// The operation that an exporter's name of a value contains: "add" for
/// "add_3".
llvm::StringRef operationOf(llvm::StringRef value);
/// Whether a value of this name consists of elements of another value.
bool isMoved(llvm::StringRef value);
/// Whether a value of this name is made only of literals.
bool isMadeOfNumbers(llvm::StringRef value);
/// Whether the exporter folded a BatchNormalization into `node`.
bool hasFoldedBatchNorm(const ::onnx::NodeProto &node);

/// `initializers` maps each float initializer to whether it has several
/// elements; `live` tells which nodes count.
ParameterUses findParameterUses(const ::onnx::GraphProto &graph,
                                const Signature &signature,
                                const llvm::StringMap<bool> &initializers,
                                const std::vector<bool> &live);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_PARAMETERUSES_H
