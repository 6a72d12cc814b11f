//===- Lints.cpp - the table of warnings ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/lint/Lints.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static const Lint table[] = {
    {"eval-mode-graph",
     "training of a graph whose Dropout or BatchNormalization was exported for "
     "inference",
     "import", false, findInferenceNodes},
    {"frozen-batchnorm",
     "training of a BatchNormalization that was exported in eval() mode, in a "
     "model that also has some in train() mode",
     "import", true, findFrozenBatchNorm},
    {"missing-batchnorm",
     "--freeze-bn or --bn-running-var for a model without BatchNormalization",
     "simplify", true, findMissingBatchNorm},
    {"tied-parameter", "one parameter that several nodes use", "simplify",
     false, findTiedParameters},
    {"loss-normalization",
     "--loss=none with a sum over the batch: gradients grow with it",
     "simplify", false, findSummedLoss},
    {"dead-gradient", "a parameter that gets no gradient from the loss",
     "train", false, findDeadParameters},
    {"maybe-buffer",
     "a trained initializer that looks like a table, mask or statistic",
     "train", false, findLikelyBuffers},
    {"batchnorm-accum",
     "BatchNormalization over micro-batches instead of the whole batch",
     "train", true, findBatchStatistics},
    {"fp16-range", "values that may be too large for fp16", "precision", false,
     findNarrowRanges},
    {"tensor-core-align",
     "products in 16 bits with sizes that tensor cores have to pad", "layout",
     false, findUnalignedProducts},
    {"fast-convolutions",
     "--fast-convolutions for a program without a convolution that it changes",
     "precision", true, findNoFastConvolution},
    {"host-sync", "the host waits for a GPU within a run", "plan", false,
     findHostSyncs},
};

llvm::ArrayRef<Lint> compiler::lintTable() { return table; }

static const Lint *findLint(StringRef name) {
  for (const Lint &lint : table)
    if (name == lint.name)
      return &lint;
  return nullptr;
}

std::string compiler::readWarning(StringRef value, Options &options) {
  StringRef name = value;
  if (!name.consume_front("error="))
    name.consume_front("no-");
  if (name != "all" && !findLint(name)) {
    llvm::SmallVector<StringRef> names{"all"};
    for (const Lint &lint : table)
      names.push_back(lint.name);
    StringRef near = nearest(name, names);
    return "there is no warning '" + name.str() + "'" +
           (near.empty() ? "; --help lists them"
                         : "; did you mean '" + near.str() + "'?");
  }
  options.warnings.push_back(value.str());
  return "";
}

namespace {
enum class Level { Off, Warning, Error };
} // namespace

// The last -W decides, but a warning that was made an error stays an error.
static Level levelOf(const Lint &lint, const Options &options) {
  bool isOn = lint.isDefault, isError = false;
  for (StringRef word : options.warnings) {
    StringRef name = word;
    bool isForError = name.consume_front("error=");
    bool isForOff = !isForError && name.consume_front("no-");
    if (name != "all" && name != lint.name)
      continue;
    isOn = !isForOff;
    isError |= isForError;
  }
  return !isOn ? Level::Off : isError ? Level::Error : Level::Warning;
}

void LintLog::look(StringRef phase, const LintContext &context) {
  for (const Lint &lint : table)
    if (phase == lint.phase && levelOf(lint, context.options) != Level::Off)
      lint.find(context, [&](mlir::Location location, const llvm::Twine &text) {
        findings.push_back({&lint, location, text.str()});
      });
}

bool LintLog::print(const Options &options) const {
  bool isFine = true;
  std::set<std::pair<const void *, std::string>> said;
  for (const Finding &finding : findings) {
    if (!said.emplace(finding.location.getAsOpaquePointer(), finding.text)
             .second)
      continue;
    bool isError = levelOf(*finding.lint, options) == Level::Error;
    isFine &= !isError;
    auto diagnostic = isError ? mlir::emitError(finding.location)
                              : mlir::emitWarning(finding.location);
    diagnostic << finding.text << (isError ? " [-Werror=" : " [-W")
               << finding.lint->name << "]";
  }
  return isFine;
}
