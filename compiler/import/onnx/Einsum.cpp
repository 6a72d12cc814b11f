//===- Einsum.cpp - Einstein summation ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Operands are contracted from left to right. A label is summed as soon as
// neither an operand to the right nor the result needs it.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace sinter::compiler {

namespace {

/// One label per dimension: a letter, or 256 + i for the i-th dimension from
/// the right that an ellipsis stands for.
using Labels = llvm::SmallVector<int>;

struct Term {
  std::string letters; // before and after the ellipsis
  size_t ellipsisAt = std::string::npos;
};

struct Operand {
  Value value;
  Labels labels;
};

class Einsum {
public:
  explicit Einsum(NodeImport &n) : n_(n) {}

  void run() {
    std::string equation = n_.attrString("equation", "");
    if (!parse(equation) || !bindOperands() || !bindResult())
      return;
    if (llvm::any_of(result_,
                     [&](int label) { return !sizes_.count(label); })) {
      n_.fail("equation " + quoted(equation) +
              ": the result has an unknown letter");
      return;
    }
    Operand all = prepare(0);
    for (size_t i = 1; i < operands_.size() && all.value; ++i)
      all = contract(all, prepare(i), i);
    n_.out(order(all));
  }

private:
  bool malformed(const std::string &equation) {
    n_.fail("attribute 'equation' is " + quoted(equation) +
            ", which is malformed");
    return false;
  }

  static bool parseTerm(llvm::StringRef text, Term &term) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (llvm::isAlpha(text[i])) {
        term.letters += text[i];
      } else if (text.substr(i, 3) == "..." &&
                 term.ellipsisAt == std::string::npos) {
        term.ellipsisAt = term.letters.size();
        i += 2;
      } else {
        return false;
      }
    }
    return true;
  }

  bool parse(const std::string &equation) {
    std::string packed;
    for (char c : equation)
      if (c != ' ')
        packed += c;
    auto [left, right] = llvm::StringRef(packed).split("->");
    isExplicit_ = packed.find("->") != std::string::npos;
    llvm::SmallVector<llvm::StringRef> parts;
    left.split(parts, ',');
    for (llvm::StringRef part : parts)
      if (!parseTerm(part, terms_.emplace_back()))
        return malformed(equation);
    if (!parseTerm(right, resultTerm_))
      return malformed(equation);
    if (terms_.size() != n_.numInputs()) {
      n_.fail("attribute 'equation' is " + quoted(equation) +
              "; the node has " + std::to_string(n_.numInputs()) + " inputs");
      return false;
    }
    return true;
  }

  /// The labels of `term` when its ellipsis stands for `hidden` dimensions.
  static Labels labelsOf(const Term &term, int hidden) {
    Labels labels;
    for (size_t i = 0; i <= term.letters.size(); ++i) {
      if (i == term.ellipsisAt)
        for (int k = hidden; k-- > 0;)
          labels.push_back(256 + k);
      if (i < term.letters.size())
        labels.push_back(static_cast<unsigned char>(term.letters[i]));
    }
    return labels;
  }

  bool bindOperands() {
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (!n_.has(i)) {
        n_.fail("input " + std::to_string(i) + " is missing");
        return false;
      }
      Value value = n_.in(i);
      int hidden = int(n_.rankOf(value)) - int(terms_[i].letters.size());
      if (hidden < 0 ||
          (hidden > 0 && terms_[i].ellipsisAt == std::string::npos)) {
        n_.fail("input " + std::to_string(i) + " has rank " +
                std::to_string(n_.rankOf(value)) + "; the equation gives it " +
                std::to_string(terms_[i].letters.size()) + " letters");
        return false;
      }
      hidden_ = std::max(hidden_, hidden);
      operands_.push_back({value, labelsOf(terms_[i], hidden)});
      for (auto [label, size] :
           llvm::zip_equal(operands_.back().labels, n_.shapeOf(value))) {
        auto [entry, isNew] = sizes_.try_emplace(label, size);
        if (!isNew && entry->second == 1)
          entry->second = size;
        if (entry->second != size && size != 1) {
          n_.fail("input " + std::to_string(i) + " has size " +
                  std::to_string(size) + " where an earlier one has " +
                  std::to_string(entry->second));
          return false;
        }
      }
    }
    return true;
  }

  bool bindResult() {
    if (isExplicit_) {
      result_ = labelsOf(resultTerm_, hidden_);
      Labels sorted(result_);
      llvm::sort(sorted);
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        n_.fail("the result of the equation repeats a letter");
        return false;
      }
      return true;
    }
    // The dimensions of "...", then the letters that occur once, in
    // alphabetical order.
    for (int k = hidden_; k-- > 0;)
      result_.push_back(256 + k);
    for (const auto &[label, size] : sizes_) {
      int count = 0;
      for (const Term &term : terms_)
        count += int(
            std::count(term.letters.begin(), term.letters.end(), char(label)));
      if (label < 256 && count == 1)
        result_.push_back(label);
    }
    return true;
  }

  /// Whether the result, or an operand from `next` on, has the label.
  bool isNeeded(int label, size_t next) const {
    if (llvm::is_contained(result_, label))
      return true;
    for (size_t i = next; i < operands_.size(); ++i)
      if (llvm::is_contained(operands_[i].labels, label))
        return true;
    return false;
  }

  /// Operand `i` with each label once and with the sizes of the others.
  Operand prepare(size_t i) {
    Operand operand = operands_[i];
    Shape shape;
    for (int label : operand.labels)
      shape.push_back(sizes_[label]);
    operand.value = n_.broadcast(operand.value, shape);
    for (size_t a = 0; a < operand.labels.size(); ++a)
      for (size_t b = operand.labels.size(); b-- > a + 1;) {
        if (operand.labels[a] != operand.labels[b] || !operand.value)
          continue;
        // Setting everything else to zero and summing leaves the diagonal.
        Ints whole = n_.shapeOf(operand.value);
        Value isDiagonal = n_.compare(ir::CompareKind::eq,
                                      n_.iota(whole, int64_t(a), n_.i64()),
                                      n_.iota(whole, int64_t(b), n_.i64()));
        operand.value = n_.reduce(
            ir::ReduceKind::sum,
            n_.where(isDiagonal, operand.value, n_.splatLike(operand.value, 0)),
            {int64_t(b)}, /*keep=*/false);
        operand.labels.erase(operand.labels.begin() + b);
      }
    return operand;
  }

  Operand contract(const Operand &x, const Operand &y, size_t index) {
    Shape xBatch, yBatch, xContract, yContract;
    Labels batch, xFree, yFree;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      int label = x.labels[i];
      auto in = llvm::find(y.labels, label);
      if (in == y.labels.end()) {
        xFree.push_back(label);
      } else if (isNeeded(label, index + 1)) {
        batch.push_back(label);
        xBatch.push_back(int64_t(i));
        yBatch.push_back(in - y.labels.begin());
      } else {
        xContract.push_back(int64_t(i));
        yContract.push_back(in - y.labels.begin());
      }
    }
    for (int label : y.labels)
      if (!llvm::is_contained(x.labels, label))
        yFree.push_back(label);
    Operand result;
    result.value =
        n_.dot(x.value, y.value, xBatch, yBatch, xContract, yContract);
    llvm::append_range(result.labels, batch);
    llvm::append_range(result.labels, xFree);
    llvm::append_range(result.labels, yFree);
    return sumUnneeded(result, index + 1);
  }

  Operand sumUnneeded(Operand operand, size_t next) {
    Shape dims;
    Labels kept;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      if (isNeeded(operand.labels[i], next))
        kept.push_back(operand.labels[i]);
      else
        dims.push_back(int64_t(i));
    }
    if (!dims.empty())
      operand.value =
          n_.reduce(ir::ReduceKind::sum, operand.value, dims, /*keep=*/false);
    operand.labels = kept;
    return operand;
  }

  /// The operand with its dimensions in the order of the result.
  Value order(Operand operand) {
    if (!operand.value)
      return {};
    operand = sumUnneeded(operand, operands_.size());
    // An ellipsis of the result stands for no dimension if no operand has an
    // ellipsis.
    Shape perm;
    for (int label : result_)
      perm.push_back(llvm::find(operand.labels, label) -
                     operand.labels.begin());
    return n_.transpose(operand.value, perm);
  }

  NodeImport &n_;
  std::vector<Term> terms_;
  Term resultTerm_;
  bool isExplicit_ = false;
  int hidden_ = 0; // the largest number of dimensions of an ellipsis
  std::vector<Operand> operands_;
  std::map<int, int64_t> sizes_;
  Labels result_;
};

} // namespace

static void importEinsum(NodeImport &n) { Einsum(n).run(); }

llvm::ArrayRef<OpRow> einsumOps() {
  static constexpr OpRow rows[] = {
      {"Einsum", importEinsum, 1, kAny, 1, 12},
  };
  return rows;
}

} // namespace sinter::compiler
