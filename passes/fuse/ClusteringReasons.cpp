//===- ClusteringReasons.cpp - why ops are several kernels ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Provenance.h"
#include "ir/Remarks.h"
#include "passes/fuse/Clustering.h"

#include <set>

using namespace mlir;

namespace sinter::passes {

std::string Clustering::whyApart(unsigned a, unsigned b) const {
  std::string why;
  if (!pays(clusters[a], clusters[b]))
    return "neither uses a result of the other, and they are not both "
           "reductions "
           "with small results: only such loops become one kernel";
  if (!mergeClusters(clusters[a], clusters[b], &why))
    return why;
  for (auto [from, to] : {std::pair(a, b), std::pair(b, a)})
    for (Operation *member : clusters[from].ops)
      for (Operation *user : member->getUsers()) {
        unsigned number = numberOf(user);
        auto isTarget = [&](Operation *op) { return numberOf(op) == to; };
        if (number == from || number == to ||
            !reaches(user, isTarget, spans.lookup(to).second))
          continue;
        std::string nodes = ir::joinedProvenance(user->getLoc());
        return "one needs a result of " + user->getName().stripDialect().str() +
               (nodes.empty() ? "" : " '" + nodes + "'") +
               ", which is computed elsewhere from a result of the other";
      }
  return "they could be one kernel only after kernels around them were merged, "
         "and pairs are tried once";
}

void Clustering::explain() const {
  MLIRContext *context = mlir::func::FuncOp(func).getContext();
  if (!ir::RemarkSink::takesDetails(context))
    return;
  auto locationOf = [&](const auto &numbers) -> Location {
    llvm::SmallSetVector<Location, 8> parts;
    for (unsigned number : numbers)
      for (Operation *op : clusters[number].ops)
        parts.insert(op->getLoc());
    return FusedLoc::get(context, parts.getArrayRef());
  };
  std::set<std::pair<unsigned, unsigned>> seen;
  auto tell = [&](unsigned a, unsigned b, const std::string &why) {
    if (seen.insert(std::minmax(a, b)).second)
      ir::explain("fuse-loops", "not-fused", locationOf(ArrayRef(a)),
                  locationOf(ArrayRef(b)), why);
  };
  for (auto &[value, users] : sharers()) {
    Operation *source = value.getDefiningOp();
    unsigned maker = source ? numberOf(source) : kNone;
    if (users.size() <= kMaxUsers) {
      for (unsigned i = 0; i < users.size(); ++i)
        for (unsigned j = i + 1; j < users.size(); ++j)
          tell(users[i], users[j], whyApart(users[i], users[j]));
      continue;
    }
    std::string many = "one of " + std::to_string(users.size()) +
                       " kernels that use one value: more than " +
                       std::to_string(kMaxUsers) + " are not tried in pairs";
    for (unsigned user : users)
      if (maker != kNone && user != maker)
        tell(maker, user, many);
    Location all = locationOf(users);
    ir::explain("fuse-loops", "not-fused", all, all, many);
  }
}

} // namespace sinter::passes
