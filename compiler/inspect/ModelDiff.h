//===- ModelDiff.h - what differs between two graphs ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_MODELDIFF_H
#define SINTER_COMPILER_INSPECT_MODELDIFF_H

#include "compiler/inspect/ModelGraph.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace sinter::compiler {

/// A node of the model (with all its ops), a weight, an input or an output.
struct ModelChange {
  std::string kind;                 // "node", "weight", "input", "output"
  std::string name;                 // in A; of an addition in B
  std::string nameB;                // in B, if it is another one
  std::vector<std::string> details; // "conv: strides [1, 1] -> [2, 2]"
};

struct ModelDifference {
  std::vector<ModelChange> changed, gone, added;
  std::vector<ModelChange> types; // only shapes or element types changed
  /// Names of what is otherwise the same, in A and in B. No difference.
  std::vector<std::pair<std::string, std::string>> renamed;
  unsigned nodes = 0; // of the model, in B
  unsigned same = 0;  // of them, those without any difference but the name

  bool empty() const {
    return changed.empty() && gone.empty() && added.empty() && types.empty();
  }
  /// The name in B of every node of A whose name is another one there.
  std::map<std::string, std::string> newNames() const {
    return {renamed.begin(), renamed.end()};
  }
};

ModelDifference diffModels(const ModelGraph &a, const ModelGraph &b);

/// A line per change and one that sums up. Of long lists the first entries,
/// unless `all`.
void printDifference(const ModelDifference &difference, bool all,
                     llvm::raw_ostream &os);
llvm::json::Object differenceJson(const ModelDifference &difference);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_MODELDIFF_H
