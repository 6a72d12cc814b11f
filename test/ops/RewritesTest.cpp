//===- RewritesTest.cpp - rewrites that keep derivatives ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rewrites before training must not change a derivative at any point. The
// programs are those of the lit tests of the simplifier, the recognizers and
// the folders. Each is differentiated before and after the rewrite, and both
// are evaluated in float64 at ties, zeros, large numbers and infinities. A
// pattern or folder that none of the programs uses is an error.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"
#include "passes/autodiff/Gradient.h"
#include "passes/recognize/RecognizeMatch.h"
#include "passes/simplify/SimplifyPatterns.h"
#include "test/ops/OpFixture.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

const char *const kPrograms[] = {
    SINTER_TESTS "passes/simplify-algebra.mlir",
    SINTER_TESTS "passes/recognize-composites.mlir",
    SINTER_TESTS "ir/elementwise-fold.mlir",
    SINTER_TESTS "ir/reduce-fold.mlir",
    SINTER_TESTS "ir/shape-fold.mlir",
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPoints[] = {
    0.0, 1.0,  -1.0,  0.0,   2.0, 3.0,  -0.0,  0.5, 6.0,       -3.0,
    104, 1e-3, -88.7, 1e-40, 2.0, -6.0, 1e30,  1.0, -1e30,     20.0,
    NAN, -0.5, 1e4,   -2.0,  0.0, -1e4, 1e-45, 1.0, kInfinity, -kInfinity};
constexpr size_t kNumPoints = std::size(kPoints);
// Recognised formulas have constants that are rounded to float32.
constexpr double kTolerance = 1e-6, kCancelled = 1e-9;
// Recognised formulas are computed differently. The results are equal where
// neither overflows, cancels or reaches the -1e4 of a mask.
constexpr double kLargestRecognised = 104;
// Elements of all operands of a program that is differentiated.
constexpr int64_t kMaxElements = 1 << 16;

/// Records which patterns and folders change something.
class Witness : public RewriterBase::Listener {
public:
  void notifyPatternBegin(const Pattern &pattern, Operation *) override {
    isInPattern = true;
  }
  void notifyPatternEnd(const Pattern &pattern, LogicalResult status) override {
    isInPattern = false;
    if (succeeded(status))
      patterns.insert(&pattern);
  }
  void notifyOperationReplaced(Operation *op, ValueRange) override {
    if (!isInPattern)
      folded.insert(op->getName().getStringRef());
  }
  void notifyOperationModified(Operation *op) override {
    if (!isInPattern)
      folded.insert(op->getName().getStringRef());
  }

  std::set<const Pattern *> patterns;
  llvm::StringSet<> folded;

private:
  bool isInPattern = false;
};

/// A set of patterns, with names for messages.
struct Patterns {
  FrozenRewritePatternSet set;
  std::map<const Pattern *, std::string> names;
  bool recognises;

  template <class Fill>
  Patterns(MLIRContext *context, Fill fill, bool recognises = false)
      : recognises(recognises) {
    RewritePatternSet all(context);
    fill(all);
    std::map<std::string, int> count;
    for (const std::unique_ptr<RewritePattern> &pattern :
         all.getNativePatterns()) {
      std::string name = pattern->getDebugName().str();
      if (name.empty()) // a function
        name = "of " + pattern->getRootKind()->getStringRef().str();
      int number = count[name]++;
      names[pattern.get()] =
          number ? name + " " + std::to_string(number) : name;
    }
    set = std::move(all);
  }
};

/// The functions of the programs that have floats to differentiate by.
std::vector<OwningOpRef<ModuleOp>> readPrograms(MLIRContext *context) {
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (const char *path : kPrograms) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    REQUIRE(buffer);
    SmallVector<StringRef> parts;
    (*buffer)->getBuffer().split(parts, "// -----");
    for (StringRef part : parts) {
      modules.push_back(parseSourceString<ModuleOp>(part.str(), context));
      INFO(part.str());
      REQUIRE(modules.back());
    }
  }
  return modules;
}

/// Operands for draw `draw`: at first equal numbers, then all neighbours.
/// Points beyond `largest` are 1.
std::vector<Tensor> operandsOf(func::FuncOp function, size_t draw,
                               double largest) {
  std::vector<Tensor> operands;
  for (auto [k, type] : llvm::enumerate(function.getArgumentTypes())) {
    Tensor &tensor = operands.emplace_back(cast<RankedTensorType>(type));
    size_t step = draw < kNumPoints ? 0 : 1 + draw % 3;
    for (size_t i = 0; i < tensor.floats.size(); ++i) {
      double x = kPoints[(draw + step * i + k * (draw % 5)) % kNumPoints];
      tensor.floats[i] = std::fabs(x) <= largest ? x : 1;
    }
    for (size_t i = 0; i < tensor.ints.size(); ++i)
      tensor.ints[i] = static_cast<int64_t>((i + draw + k) % 2);
  }
  return operands;
}

/// The results of `function` and the gradients of their weighted sum; nothing
/// if it has no gradient.
std::optional<func::FuncOp> withGradients(func::FuncOp function) {
  Type f32 = Float32Type::get(function.getContext());
  func::FuncOp loss = makeScalarLoss(function, "gradients", f32);
  SmallVector<unsigned> wrt;
  int64_t numElements = 0;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (cast<RankedTensorType>(type).getElementType() == f32) {
      wrt.push_back(i);
      numElements += cast<RankedTensorType>(type).getNumElements();
    }
  SmallVector<bool> isNull;
  if (wrt.empty() || numElements > kMaxElements ||
      loss.getNumArguments() == function.getNumArguments() ||
      failed(returnGradients(loss, wrt, isNull))) {
    loss.erase();
    return std::nullopt;
  }
  return loss;
}

bool isSame(double left, double right) {
  if (std::isnan(left) || left == right)
    return true; // an undefined number may become defined
  return std::fabs(left - right) <= kTolerance * std::fabs(left) + kCancelled;
}

/// A line for each number on the right that differs from that on the left.
std::string compare(func::FuncOp left, func::FuncOp right, StringRef what,
                    ArrayRef<Tensor> operands) {
  std::vector<Tensor> expected = evaluate(left, operands),
                      found = evaluate(right, operands);
  REQUIRE(expected.size() == left.getNumResults());
  REQUIRE(found.size() == expected.size());
  for (size_t r = 0; r < expected.size(); ++r)
    for (size_t i = 0; i < expected[r].floats.size(); ++i)
      if (!isSame(expected[r].floats[i], found[r].floats[i])) {
        std::string text = llvm::formatv(
            "{0} {1}, element {2}: {3:e8} becomes {4:e8}, of", what, r, i,
            expected[r].floats[i], found[r].floats[i]);
        for (const Tensor &operand : operands)
          for (double x : ArrayRef<double>(operand.floats).take_front(8))
            text += llvm::formatv(" {0:e4}", x).str();
        return text + "\n";
      }
  return "";
}

/// Rewrites a copy of `function`; returns a line for each derivative that
/// differs.
std::string differences(func::FuncOp function, ArrayRef<const Patterns *> sets,
                        Witness &witness) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  func::FuncOp left = function.clone(), right = function.clone();
  module->push_back(left);
  module->push_back(right);
  left.setName("left");
  right.setName("right");
  GreedyRewriteConfig config;
  config.listener = &witness;
  bool isRecognised = false;
  for (const Patterns *patterns : sets) {
    bool changes = false;
    (void)applyPatternsAndFoldGreedily(right, patterns->set, config, &changes);
    isRecognised |= changes && patterns->recognises;
  }
  std::optional<func::FuncOp> leftGrads = withGradients(left);
  if (!leftGrads)
    return "";
  std::optional<func::FuncOp> rightGrads = withGradients(right);
  if (!rightGrads)
    return "what it becomes has no gradient\n";
  double largest = isRecognised ? kLargestRecognised : kInfinity;
  std::string text;
  for (size_t draw = 0; draw < 3 * kNumPoints && text.empty(); ++draw) {
    std::vector<Tensor> operands = operandsOf(left, draw, largest);
    text += compare(left, right, "result", operands);
    for (Type type :
         leftGrads->getArgumentTypes().drop_front(operands.size())) {
      Tensor weights(cast<RankedTensorType>(type));
      for (size_t i = 0; i < weights.floats.size(); ++i)
        weights.floats[i] = 1 + 0.25 * static_cast<double>(i % 5);
      operands.push_back(std::move(weights));
    }
    text += compare(*leftGrads, *rightGrads, "gradient", operands);
  }
  return text.empty() ? "" : function.getName().str() + ": " + text;
}

template <class OpTy> void addIfFolds(std::vector<StringRef> &names) {
  if constexpr (requires(OpTy op, typename OpTy::FoldAdaptor adaptor) {
                  op.fold(adaptor);
                })
    names.push_back(OpTy::getOperationName());
}
template <class... Ops> std::vector<StringRef> opsWithFolds() {
  std::vector<StringRef> names;
  (addIfFolds<Ops>(names), ...);
  return names;
}

void addAll(RewritePatternSet &patterns) {
  passes::addDerivativePatterns(patterns);
}
void addRecognizers(RewritePatternSet &patterns) {
  passes::addSoftmaxRecognizers(patterns);
  passes::addGeluRecognizers(patterns);
  passes::addNormRecognizers(patterns);
  passes::addAttentionRecognizers(patterns, /*keepsScales=*/false);
}

} // namespace

TEST_CASE("rewrites before training keep derivatives", "[rewrites]") {
  TestContext context;
  Patterns algebra(context.get(), addAll),
      recognizers(context.get(), addRecognizers, true);
  Witness witness;
  for (OwningOpRef<ModuleOp> &module : readPrograms(context.get()))
    for (auto function : module->getOps<func::FuncOp>()) {
      std::string text =
          differences(function, {&algebra, &recognizers, &algebra}, witness);
      CHECK(text == "");
    }
  for (const Patterns *patterns : {&algebra, &recognizers})
    for (const auto &[pattern, name] : patterns->names) {
      INFO("no program for the pattern " << name);
      CHECK(witness.patterns.count(pattern) == 1);
    }
  std::vector<StringRef> folders = opsWithFolds<
#define GET_OP_LIST
#include "ir/Elementwise.cpp.inc"
      ,
#define GET_OP_LIST
#include "ir/Reduce.cpp.inc"
      ,
#define GET_OP_LIST
#include "ir/Shape.cpp.inc"
      >();
  CHECK(folders.size() > 20);
  for (StringRef op : folders) {
    auto kind = passes::gradientRuleKind(OperationName(op, context.get()));
    INFO("no program for the folder of " << op.str());
    CHECK((kind == passes::GradientRuleKind::Zero ||
           witness.folded.contains(op)));
  }
}

TEST_CASE("rewrites that change derivatives are seen, and wait", "[rewrites]") {
  TestContext context;
  Patterns values(context.get(), passes::addValuePatterns);
  Witness witness;
  std::string text;
  for (OwningOpRef<ModuleOp> &module : readPrograms(context.get()))
    for (auto function : module->getOps<func::FuncOp>())
      text += differences(function, {&values}, witness);
  CHECK_THAT(text, Catch::Contains("gradient"));
  CHECK_THAT(text, !Catch::Contains("result"));
  for (const auto &[pattern, name] : values.names) {
    INFO("no program for the pattern " << name);
    CHECK(witness.patterns.count(pattern) == 1);
  }
}
