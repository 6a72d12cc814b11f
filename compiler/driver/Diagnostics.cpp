//===- Diagnostics.cpp - one clear line per mistake -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Diagnostics.h"

#include "compiler/base/Text.h"
#include "compiler/checks/FormVerifiers.h"

using namespace sinter;
using namespace sinter::compiler;

static constexpr unsigned kMaxErrors = 32;
static constexpr size_t kMaxLine = 600;

// The location of a diagnostic: the position in a text file, else the names of
// nodes.
static std::string place(mlir::Location location, const Options &options) {
  // Bytecode has no lines.
  auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location);
  if (file && file.getLine())
    return shown(file.getFilename().getValue()) + ":" +
           std::to_string(file.getLine()) + ":" +
           std::to_string(file.getColumn()) + ": ";
  std::string text = shown(options.model) + ": ";
  llvm::SmallVector<llvm::StringRef> names = nodeNames(location);
  if (names.empty())
    return text;
  text += names.size() == 1 ? "node " : "nodes ";
  for (auto [i, name] : llvm::enumerate(llvm::ArrayRef(names).take_front(4)))
    text += (i ? ", " : "") + quoted(name);
  if (names.size() > 4)
    text += " and " + std::to_string(names.size() - 4) + " more";
  return text + ": ";
}

// The first line of a message; MLIR's messages may span several.
static std::string oneLine(llvm::StringRef message) {
  return shown(message.split('\n').first, kMaxLine);
}

DiagnosticPrinter::DiagnosticPrinter(mlir::MLIRContext *context,
                                     const Options &options,
                                     const CompileState &state)
    : options_(options), state_(state),
      handler_(context, [this](mlir::Diagnostic &d) {
        print(d);
        return mlir::success();
      }) {}

void DiagnosticPrinter::print(mlir::Diagnostic &diagnostic) {
  using Severity = mlir::DiagnosticSeverity;
  std::lock_guard<std::mutex> lock(mutex_);
  const char *kind = "error";
  if (state_.isTrial)
    return;
  switch (diagnostic.getSeverity()) {
  case Severity::Error:
    if (++numErrors_ > kMaxErrors)
      return;
    if (isCollecting_) {
      errors_.push_back(
          {place(diagnostic.getLocation(), options_), diagnostic.str()});
      return;
    }
    break;
  case Severity::Warning:
    kind = "warning";
    break;
  case Severity::Remark:
  case Severity::Note:
    if (!options_.verbose)
      return;
    kind = "remark";
    break;
  }
  printLine(kind, place(diagnostic.getLocation(), options_) +
                      oneLine(diagnostic.str()));
}

void DiagnosticPrinter::printLine(llvm::StringRef kind,
                                  const std::string &line) {
  out() << options_.tool << ": " << kind << ": " << line << "\n";
}

std::string DiagnosticPrinter::firstError() {
  std::lock_guard<std::mutex> lock(mutex_);
  return errors_.empty() ? "" : errors_.front().message;
}

void DiagnosticPrinter::settle(llvm::StringRef defectOf) {
  std::lock_guard<std::mutex> lock(mutex_);
  isCollecting_ = false;
  std::vector<Error> errors = std::move(errors_);
  errors_.clear();
  if (state_.isTrial)
    return;
  if (defectOf.empty()) {
    for (const Error &error : errors)
      printLine("error", error.place + oneLine(error.message));
    return;
  }
  Error first = errors.empty() ? Error{shown(options_.model) + ": ",
                                       "it failed without a message"}
                               : errors.front();
  ++numErrors_;
  printLine("error",
            first.place + "a defect of Sinter, not of the model, in phase '" +
                defectOf.str() + "': " + oneLine(first.message) +
                "; please report it with the model, the command line and the "
                "version (" +
                versionText().str() + ")");
}

void DiagnosticPrinter::hold() {
  isHeld_ = true;
  heldLines_.clear();
  numErrors_ = 0;
}

void DiagnosticPrinter::release() {
  isHeld_ = false;
  llvm::errs() << heldLines_;
  heldLines_.clear();
}

void compiler::reportError(const Options &options, const llvm::Twine &message) {
  llvm::errs() << options.tool << ": error: " << message << "\n";
}

void compiler::reportError(const Options &options, const CompileState &state,
                           const llvm::Twine &message) {
  if (!state.isTrial)
    reportError(options, message);
}
