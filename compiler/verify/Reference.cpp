//===- Reference.cpp - results with their bounds --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/Reference.h"

#include "compiler/base/Text.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

static constexpr int kTrials = 6;
/// Trials draw only some of the possible errors.
static constexpr double kOfChange = 8, kOfRounding = 8;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static bool isSame(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

Bounded Bounded::of(Tensor value, llvm::ArrayRef<Tensor> noisy) {
  Bounded bounded;
  bounded.allowed.assign(value.size(), 0);
  double largest = 0;
  for (const Tensor &other : noisy)
    for (int64_t i = 0; i < value.size(); ++i) {
      double &allowed = bounded.allowed[i];
      if (!value.isFloat()) {
        if (value.ints[i] != other.ints[i])
          allowed = kInfinity;
        continue;
      }
      if (isSame(value.floats[i], other.floats[i]))
        continue;
      double change = std::fabs(value.floats[i] - other.floats[i]);
      allowed = std::isfinite(change) ? std::max(allowed, change) : kInfinity;
      if (std::isfinite(change))
        largest = std::max(largest, change);
    }
  if (value.isFloat()) {
    const double rounding = unitRoundoff(value.type().getElementType());
    for (auto [allowed, number] :
         llvm::zip_equal(bounded.allowed, value.floats))
      allowed = kOfChange * allowed + largest +
                kOfRounding * rounding *
                    (std::isfinite(number) ? std::fabs(number) : 0);
  }
  bounded.value = std::move(value);
  return bounded;
}

std::string Difference::text(llvm::ArrayRef<int64_t> shape) const {
  std::string position = shownShape(ir::delinearize(index, shape));
  char numbers[160];
  std::snprintf(numbers, sizeof(numbers),
                " is %.9g instead of %.9g, bound %.3g", value, reference,
                bound);
  return (shape.empty() ? "it" : "element " + position) + numbers;
}

Difference compiler::compare(const Tensor &value, const Bounded &reference) {
  Difference worst;
  for (int64_t i = 0; i < reference.value.size(); ++i) {
    const double bound = reference.allowed[i];
    double a, b;
    if (reference.value.isFloat()) {
      a = value.floats[i];
      b = reference.value.floats[i];
      if (isSame(a, b) || !std::isfinite(b))
        continue;
    } else {
      if (value.ints[i] == reference.value.ints[i])
        continue;
      a = static_cast<double>(value.ints[i]);
      b = static_cast<double>(reference.value.ints[i]);
    }
    double ratio = std::isinf(bound)  ? 0
                   : std::isfinite(a) ? std::fabs(a - b) / bound
                                      : kInfinity;
    if (ratio > worst.ratio)
      worst = {ratio, i, a, b, bound};
  }
  return worst;
}

FailureOr<Reference> Reference::measure(ModuleOp module,
                                        ProgramInputs &inputs) {
  auto exact = runProgram(module, inputs, {});
  if (failed(exact))
    return failure();
  std::vector<ProgramResults> trials;
  for (int trial = 0; trial < kTrials; ++trial) {
    EvaluationOptions options;
    options.noise = Noise{static_cast<uint64_t>(trial) + 1};
    auto noisy = runProgram(module, inputs, options);
    if (failed(noisy))
      return failure();
    trials.push_back(std::move(*noisy));
  }
  Reference reference;
  for (auto &[name, value] : *exact) {
    SmallVector<Tensor> noisy;
    for (ProgramResults &trial : trials)
      noisy.push_back(std::move(trial[name]));
    reference.results_.emplace(name, Bounded::of(std::move(value), noisy));
  }
  return reference;
}

void Reference::widen(const Reference &other) {
  for (auto &[name, bounded] : results_) {
    auto found = other.results_.find(name);
    if (found == other.results_.end() ||
        found->second.allowed.size() != bounded.allowed.size())
      continue;
    for (auto [allowed, wider] :
         llvm::zip_equal(bounded.allowed, found->second.allowed))
      allowed = std::max(allowed, wider);
  }
}

Reference::Mismatch Reference::worst(const ProgramResults &results) const {
  Mismatch worst;
  for (auto &[name, bounded] : results_) {
    auto found = results.find(name);
    const std::vector<int64_t> shape = bounded.value.shape().vec();
    if (found == results.end() ||
        found->second.size() != bounded.value.size() ||
        found->second.isFloat() != bounded.value.isFloat())
      return {name, {kInfinity}, true, shape};
    Difference difference = compare(found->second, bounded);
    if (difference.ratio > worst.difference.ratio || worst.name.empty())
      worst = {name, difference, false, shape};
  }
  return worst;
}
