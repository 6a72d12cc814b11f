//===- ModelStates.cpp - inputs that a program keeps ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/ModelStates.h"

#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "ir/Dialect.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace sinter;
using namespace sinter::compiler;
using ir::SinterDialect;
using llvm::StringRef;

namespace {

/// Adds states to @main.
class StateMaker {
public:
  StateMaker(mlir::ModuleOp module, mlir::func::FuncOp main)
      : module_(module), main_(main), symbols_(module) {}

  /// Ties each input that `pattern` matches to the output whose name `output`
  /// makes of the input's name; returns what is wrong, "" if nothing.
  std::string apply(StringRef pattern, StringRef output) {
    llvm::Regex regex(pattern);
    bool found = false;
    for (unsigned i = 0; i < main_.getNumArguments(); ++i) {
      auto input = nameOf(main_.getArgAttr(i, SinterDialect::kInputAttr));
      llvm::SmallVector<StringRef> matches;
      if (input.empty()) // a state
        continue;
      if (!regex.match(input, &matches) || matches[0].size() != input.size())
        continue;
      found = true;
      std::string error, name = regex.sub(output, input, &error);
      if (error.empty())
        error = tie(i, input, name);
      if (!error.empty())
        return error;
    }
    return found ? "" : "the model has no such input, or it has become a state";
  }

  /// Reports the first state whose name another state or an output has; "" if
  /// none.
  std::string checkNames() {
    llvm::StringSet<> names;
    for (unsigned i = 0; i < main_.getNumResults(); ++i)
      names.insert(nameOf(main_.getResultAttr(i, SinterDialect::kOutputAttr)));
    for (auto state : module_.getOps<ir::StateOp>()) {
      StringRef name = state.getOnnx().value_or(state.getSymName());
      if (!names.insert(name).second)
        return "'" + shown(name) +
               "' is the name of a state and of another state or output";
    }
    return "";
  }

private:
  static StringRef nameOf(mlir::Attribute attribute) {
    auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(attribute);
    return text ? text.getValue() : StringRef();
  }

  std::optional<unsigned> resultCalled(StringRef name) {
    for (unsigned i = 0; i < main_.getNumResults(); ++i)
      if (mlir::Attribute output =
              main_.getResultAttr(i, SinterDialect::kOutputAttr);
          output && nameOf(output) == name)
        return i;
    return std::nullopt;
  }

  std::string tie(unsigned argument, StringRef input, StringRef output) {
    std::optional<unsigned> result = resultCalled(output);
    if (!result)
      return "input '" + shown(input) + "': there is no output '" +
             shown(output) + "', or it has become a state";
    auto type = mlir::cast<mlir::RankedTensorType>(
        main_.getArgument(argument).getType());
    auto newType =
        mlir::cast<mlir::RankedTensorType>(main_.getResultTypes()[*result]);
    if (type != newType)
      return "input '" + shown(input) + "' is " + typeText(type) +
             ", but output '" + shown(output) + "' is " + typeText(newType);
    mlir::OpBuilder builder(main_);
    auto state = builder.create<ir::StateOp>(
        main_.getArgument(argument).getLoc(), shown(input, 200), type,
        ir::StateRole::buffer, /*init=*/nullptr, /*trainable=*/false,
        /*slot=*/mlir::StringAttr(), /*of=*/mlir::FlatSymbolRefAttr(),
        builder.getStringAttr(input), /*reason=*/mlir::StringAttr(),
        /*aliases=*/mlir::ArrayAttr(), /*part_of=*/mlir::TypeAttr());
    symbols_.insert(state, mlir::Block::iterator(main_)); // makes it unique
    auto symbol = mlir::FlatSymbolRefAttr::get(state);
    main_.removeArgAttr(argument, SinterDialect::kInputAttr);
    main_.setArgAttr(argument, SinterDialect::kStateAttr, symbol);
    main_.removeResultAttr(*result,
                           mlir::StringAttr::get(module_.getContext(),
                                                 SinterDialect::kOutputAttr));
    main_.setResultAttr(*result, SinterDialect::kStateAttr, symbol);
    return "";
  }

  static std::string typeText(mlir::RankedTensorType type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  mlir::ModuleOp module_;
  mlir::func::FuncOp main_;
  mlir::SymbolTable symbols_;
};

} // namespace

ExitCode compiler::tieStates(const Options &options, const CompileState &state,
                             mlir::ModuleOp module) {
  if (options.stateRules.empty())
    return kExitDone;
  auto report = [&](const std::string &wrong) {
    reportError(options, state, "--state" + wrong);
    return kExitUsage;
  };
  auto main = module.lookupSymbol<mlir::func::FuncOp>(SINTER_ENTRY_MAIN);
  if (!main)
    return report(": the module has no @main");
  StateMaker maker(module, main);
  for (const auto &[pattern, output] : options.stateRules)
    if (std::string wrong = maker.apply(pattern, output); !wrong.empty())
      return report("=" + pattern + "=" + output + ": " + wrong);
  if (std::string wrong = maker.checkNames(); !wrong.empty())
    return report(": " + wrong);
  return kExitDone;
}
