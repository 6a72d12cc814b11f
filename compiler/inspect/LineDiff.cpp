//===- LineDiff.cpp - what changed between two texts ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/LineDiff.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// The search keeps a row per edit, so memory grows with the square of this.
static constexpr int kMaxEdits = 3000;

using Lines = llvm::SmallVector<StringRef, 0>;

static Lines split(StringRef text) {
  Lines lines;
  text.split(lines, '\n');
  if (!lines.empty() && lines.back().empty())
    lines.pop_back();
  return lines;
}

namespace {
// The furthest point on each diagonal, for each number of edits. Lines of
// `before` are x, lines of `after` are y.
class Search {
public:
  Search(const Lines &before, const Lines &after)
      : before_(before), after_(after) {}

  /// False when there are too many edits.
  bool run() {
    int n = before_.size(), m = after_.size();
    std::vector<int> furthest = {0};
    for (int edits = 0; edits <= std::min(n + m, kMaxEdits); ++edits) {
      std::vector<int> row(2 * edits + 1, -1);
      for (int k = -edits; k <= edits; k += 2) {
        int x = edits ? start(furthest, edits, k) : 0;
        while (x < n && x - k < m && x - k >= 0 && before_[x] == after_[x - k])
          ++x;
        row[k + edits] = x;
        if (x >= n && x - k >= m) {
          rows_.push_back(row);
          return true;
        }
      }
      rows_.push_back(row);
      furthest = std::move(row);
    }
    return false;
  }

  std::vector<DiffLine> script() const {
    std::vector<DiffLine> lines;
    int x = before_.size(), y = after_.size();
    for (int edits = rows_.size() - 1; edits > 0; --edits) {
      int k = x - y;
      const std::vector<int> &previous = rows_[edits - 1];
      bool isInsertion = goesDown(previous, edits, k);
      int fromK = isInsertion ? k + 1 : k - 1;
      int fromX = previous[fromK + edits - 1], fromY = fromX - fromK;
      int midX = isInsertion ? fromX : fromX + 1;
      for (; x > midX; --x, --y)
        lines.push_back({' ', before_[x - 1]});
      if (isInsertion)
        lines.push_back({'+', after_[fromY]});
      else
        lines.push_back({'-', before_[fromX]});
      x = fromX;
      y = fromY;
    }
    for (; x > 0; --x)
      lines.push_back({' ', before_[x - 1]});
    std::reverse(lines.begin(), lines.end());
    return lines;
  }

private:
  static int at(const std::vector<int> &row, int edits, int k) {
    int index = k + edits;
    return index < 0 || index >= static_cast<int>(row.size()) ? -1 : row[index];
  }
  static bool goesDown(const std::vector<int> &row, int edits, int k) {
    return k == -edits || (k != edits && at(row, edits - 1, k - 1) <
                                             at(row, edits - 1, k + 1));
  }
  static int start(const std::vector<int> &row, int edits, int k) {
    return goesDown(row, edits, k) ? at(row, edits - 1, k + 1)
                                   : at(row, edits - 1, k - 1) + 1;
  }

  const Lines &before_, &after_;
  std::vector<std::vector<int>> rows_;
};
} // namespace

std::vector<DiffLine> compiler::diffLines(StringRef before, StringRef after) {
  Lines a = split(before), b = split(after);
  Search search(a, b);
  if (search.run())
    return search.script();
  std::vector<DiffLine> lines;
  for (StringRef line : a)
    lines.push_back({'-', line});
  for (StringRef line : b)
    lines.push_back({'+', line});
  return lines;
}

void compiler::printDiff(const std::vector<DiffLine> &lines, unsigned context,
                         llvm::raw_ostream &os) {
  // A line is shown if a change is within `context` lines of it.
  std::vector<bool> shown(lines.size(), false);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ')
      continue;
    size_t begin = i > context ? i - context : 0;
    size_t end = std::min(lines.size(), i + context + 1);
    std::fill(shown.begin() + begin, shown.begin() + end, true);
  }
  size_t beforeLine = 1, afterLine = 1;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (shown[i] && (i == 0 || !shown[i - 1]))
      os << "@@ -" << beforeLine << " +" << afterLine << " @@\n";
    if (shown[i])
      os << lines[i].mark << lines[i].text << "\n";
    beforeLine += lines[i].mark != '+';
    afterLine += lines[i].mark != '-';
  }
}
