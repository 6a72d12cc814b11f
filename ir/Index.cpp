//===- Index.cpp - affine forms over the loops of a kernel ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Index.h"

namespace sinter::ir {

int64_t Index::coefficient(unsigned loop) const {
  for (auto [number, coefficient] : terms)
    if (number == loop)
      return coefficient;
  return 0;
}

std::optional<unsigned> Index::asLoop() const {
  if (constant == 0 && terms.size() == 1 && terms[0].second == 1)
    return terms[0].first;
  return std::nullopt;
}

Index Index::scaled(int64_t factor) const {
  if (factor == 0)
    return fixed(0);
  Index result = *this;
  result.constant *= factor;
  for (auto &term : result.terms)
    term.second *= factor;
  return result;
}

Index Index::plus(int64_t value) const {
  Index result = *this;
  result.constant += value;
  return result;
}

Index operator+(const Index &a, const Index &b) {
  Index sum = Index::fixed(a.constant + b.constant);
  const auto *i = a.terms.begin(), *j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first))
      sum.terms.push_back(*i++);
    else if (i == a.terms.end() || j->first < i->first)
      sum.terms.push_back(*j++);
    else {
      if (int64_t coefficient = i->second + j->second)
        sum.terms.push_back({i->first, coefficient});
      ++i, ++j;
    }
  }
  return sum;
}

} // namespace sinter::ir
