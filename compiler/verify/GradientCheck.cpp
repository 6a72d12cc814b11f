//===- GradientCheck.cpp - gradients against finite differences -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/GradientCheck.h"

#include "compiler/base/Text.h"
#include "compiler/verify/StepCheck.h"
#include "ir/Locations.h"
#include "ir/eval/Trips.h"
#include "passes/ValueBuilder.h"
#include "passes/autodiff/Gradient.h"

#include "sinter/program_names.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

namespace {

/// Steps along a direction, relative to the numbers.
constexpr double kStep = 1e-5;
/// Central differences with that step are right to about 1e-9 of the terms that
/// are added up.
constexpr double kOfTerms = 1e-4, kOfLoss = 1e-8;
/// What is larger is a mask.
constexpr double kMask = 1e30;

double sizeOf(const Tensor &tensor) {
  double sum = 0;
  int64_t count = 0;
  for (double number : tensor.floats)
    if (std::isfinite(number) && std::fabs(number) < kMask) {
      sum += number * number;
      ++count;
    }
  return count ? std::sqrt(sum / double(count)) : 0;
}

/// A random direction whose steps do not change signs of numbers.
std::vector<double> directionFor(const Tensor &tensor,
                                 std::mt19937_64 &random) {
  std::vector<double> direction;
  const double size = std::max(sizeOf(tensor), 1e-3);
  for (double number : tensor.floats) {
    double part = 2 * (double(random() >> 11) * 0x1p-53) - 1;
    bool isMask = !std::isfinite(number) || std::fabs(number) >= kMask;
    direction.push_back(isMask ? 0 : part * (std::fabs(number) + 0.01 * size));
  }
  return direction;
}

Tensor moved(const Tensor &tensor, const std::vector<double> &direction,
             double step) {
  Tensor result = tensor;
  for (size_t i = 0; i < direction.size(); ++i)
    result.floats[i] += step * direction[i];
  return result;
}

/// A derivative along a direction, from a gradient and from differences.
struct Slopes {
  double ofGradient = 0, ofDifference = 0, terms = 0, loss = 0;
  bool differ() const {
    return std::isfinite(ofDifference) &&
           !(std::fabs(ofGradient - ofDifference) <=
             kOfTerms * terms + kOfLoss * loss);
  }
  std::string text() const {
    char numbers[160];
    std::snprintf(numbers, sizeof(numbers),
                  "the derivative along a random direction is %.9g, central "
                  "differences give %.9g, bound %.3g",
                  ofGradient, ofDifference, kOfTerms * terms + kOfLoss * loss);
    return numbers;
  }
};

void addGradient(Slopes &slopes, const Tensor &gradient,
                 const std::vector<double> &direction) {
  for (auto [slope, each] : llvm::zip_equal(gradient.floats, direction)) {
    slopes.ofGradient += slope * each;
    slopes.terms += std::fabs(slope * each);
  }
}

/// A function of one op alone: the weighted sum of its results, then the
/// gradients by its float operands.
class OpProgram {
public:
  /// `isWanted` says which results lead to the loss.
  OpProgram(Operation *op, llvm::function_ref<bool(OpResult)> isWanted) {
    module = ModuleOp::create(UnknownLoc::get(op->getContext()));
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    SmallVector<Type> types(op->getOperandTypes());
    function = builder.create<func::FuncOp>(op->getLoc(), "main",
                                            builder.getFunctionType(types, {}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    IRMapping mapping;
    mapping.map(op->getOperands(), body->getArguments());
    Operation *copy = builder.clone(*op, mapping);
    passes::ValueBuilder b(builder, op->getLoc());
    Value loss;
    for (OpResult result : copy->getResults()) {
      if (!isFloat(result) ||
          !isWanted(op->getResult(result.getResultNumber())))
        continue;
      Value sum = b.mul(result, weights(builder, result));
      sum = b.sum(sum, allDims(sum));
      if (ir::tensorType(sum).getElementType() != builder.getF32Type())
        sum = b.make<ir::CastOp>(
            RankedTensorType::get({}, builder.getF32Type()), sum);
      loss = loss ? b.add(loss, sum) : sum;
    }
    if (!loss)
      return;
    SmallVector<Value> by;
    for (BlockArgument argument : body->getArguments())
      if (isFloat(argument)) {
        wrt.push_back(argument.getArgNumber());
        by.push_back(argument);
      }
    ScopedDiagnosticHandler silence(op->getContext(),
                                    [](Diagnostic &) { return success(); });
    auto found = passes::gradients(builder, loss, by);
    if (failed(found))
      return;
    SmallVector<Value> results = {loss};
    for (Value gradient : *found) {
      hasGradient.push_back(gradient != nullptr);
      if (gradient)
        results.push_back(gradient);
    }
    builder.create<func::ReturnOp>(op->getLoc(), results);
    isValid = true;
  }

  static bool isFloat(Value value) {
    return isa<FloatType>(ir::tensorType(value).getElementType());
  }
  std::optional<SmallVector<Tensor>> run(ArrayRef<Tensor> operands) {
    auto results = evaluate(function.getBody().front(), operands, {});
    if (failed(results))
      return std::nullopt;
    return std::move(*results);
  }

  bool isValid = false;
  std::vector<unsigned> wrt;     // float operands
  std::vector<bool> hasGradient; // of each of them

private:
  static SmallVector<int64_t> allDims(Value value) {
    SmallVector<int64_t> dims(ir::tensorType(value).getRank());
    std::iota(dims.begin(), dims.end(), 0);
    return dims;
  }
  static Value weights(OpBuilder &builder, Value like) {
    Tensor value(ir::tensorType(like));
    std::mt19937_64 random(value.size());
    for (double &number : value.floats)
      number = 0.5 + double(random() >> 11) * 0x1p-53;
    value.roundToStorage();
    return builder.create<ir::ConstantOp>(like.getLoc(), value.toAttr("w"));
  }

  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

} // namespace

std::optional<GradientCheck::Wrong>
GradientCheck::checkOp(Operation *op, ArrayRef<Tensor> operands,
                       llvm::function_ref<bool(OpResult)> isWanted) {
  OpProgram program(op, isWanted);
  if (!program.isValid)
    return std::nullopt;
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  ++numRules_;
  unsigned result = 0;
  for (auto [operand, hasGradient] :
       llvm::zip_equal(program.wrt, program.hasGradient)) {
    result += hasGradient;
    // Functions have kinks; a second attempt is elsewhere.
    bool differs = true;
    Slopes slopes;
    for (uint64_t seed = 1; seed <= 2 && differs; ++seed) {
      std::mt19937_64 random(seed);
      SmallVector<Tensor> values(operands);
      // Ties of equal numbers are kinks.
      for (unsigned i : program.wrt)
        values[i] = moved(values[i], directionFor(values[i], random), 1e-3);
      auto direction = directionFor(values[operand], random);
      auto here = program.run(values);
      Tensor origin = values[operand];
      values[operand] = moved(origin, direction, kStep);
      auto above = program.run(values);
      values[operand] = moved(origin, direction, -kStep);
      auto below = program.run(values);
      if (!here || !above || !below)
        return std::nullopt;
      slopes = Slopes();
      if (hasGradient)
        addGradient(slopes, (*here)[result], direction);
      slopes.loss = std::fabs((*here)[0].floats[0]);
      slopes.ofDifference =
          ((*above)[0].floats[0] - (*below)[0].floats[0]) / (2 * kStep);
      differs = slopes.differ();
    }
    if (differs)
      return Wrong{{op->getName().getStringRef().str(),
                    ir::joinedNodeNames(op->getLoc()), ""},
                   "gradient by operand " + std::to_string(operand) + ": " +
                       slopes.text()};
  }
  return std::nullopt;
}

namespace {

/// A step by plain gradient descent with a learning rate of 1.
class DescentStep {
public:
  DescentStep(ModuleOp module, ProgramInputs &inputs) : module(module) {
    step = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_STEP);
    isValid = step && prepare(inputs);
  }

  /// The loss is result 0 of what this returns.
  FailureOr<SmallVector<Tensor>> run(const EvaluationOptions &options = {}) {
    return evaluate(step.getBody().front(), arguments, options);
  }
  Value loss() {
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (auto name = step.getResultAttrOfType<StringAttr>(
              i, ir::SinterDialect::kOutputAttr);
          name && name.getValue() == SINTER_OUTPUT_LOSS)
        return step.getBody().front().getTerminator()->getOperand(i);
    return {};
  }
  unsigned lossIndex() {
    Value value = loss();
    OperandRange results =
        step.getBody().front().getTerminator()->getOperands();
    return llvm::find(results, value) - results.begin();
  }
  /// The argument and the result of each trained state.
  std::vector<std::pair<unsigned, unsigned>> trained() {
    std::vector<std::pair<unsigned, unsigned>> list;
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto state = stateOf(i);
      auto op = state ? module.lookupSymbol<ir::StateOp>(state.getValue())
                      : ir::StateOp();
      if (!op || !op.getTrainable())
        continue;
      for (unsigned j = 0; j < step.getNumResults(); ++j)
        if (step.getResultAttrOfType<FlatSymbolRefAttr>(
                j, ir::SinterDialect::kStateAttr) == state)
          list.emplace_back(i, j);
    }
    return list;
  }
  FlatSymbolRefAttr stateOf(unsigned argument) {
    return step.getArgAttrOfType<FlatSymbolRefAttr>(
        argument, ir::SinterDialect::kStateAttr);
  }

  ModuleOp module;
  func::FuncOp step;
  bool isValid = false;
  SmallVector<Tensor> arguments;

private:
  bool prepare(ProgramInputs &inputs) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto type = ir::tensorType(step.getArgument(i));
      if (auto state = stateOf(i)) {
        arguments.push_back(inputs.state(module, state.getValue()));
      } else if (auto field = step.getArgAttrOfType<StringAttr>(
                     i, ir::SinterDialect::kControlAttr)) {
        Tensor value = ProgramInputs::control(
            field.getValue(), type, ProgramInputs::validRows(step), 0);
        if (field.getValue() == SINTER_CONTROL_LR)
          value.floats[0] = 1;
        if (field.getValue() == SINTER_CONTROL_WEIGHT_DECAY)
          value.floats[0] = 0;
        arguments.push_back(std::move(value));
      } else {
        auto value = inputs.argument(step, i);
        if (failed(value))
          return false;
        arguments.push_back(std::move(*value));
      }
    }
    return loss() != nullptr;
  }
};

} // namespace

/// The gradient of the loss by each trained state.
static FailureOr<std::optional<GradientCheck::Wrong>>
checkStates(DescentStep &step, const SetVector<Operation *> &path) {
  auto here = step.run();
  if (failed(here))
    return failure();
  const unsigned loss = step.lossIndex();
  for (auto [argument, result] : step.trained()) {
    const Tensor origin = step.arguments[argument];
    Tensor gradient = origin;
    for (auto [slope, after] :
         llvm::zip_equal(gradient.floats, (*here)[result].floats))
      slope -= after;
    Slopes slopes;
    bool differs = true;
    for (uint64_t seed = 1; seed <= 3 && differs; ++seed) {
      std::mt19937_64 random(seed);
      auto direction = directionFor(origin, random);
      // A smaller step crosses fewer kinks.
      const double width = kStep / double(seed * seed * seed);
      step.arguments[argument] = moved(origin, direction, width);
      auto above = step.run();
      step.arguments[argument] = moved(origin, direction, -width);
      auto below = step.run();
      if (failed(above) || failed(below))
        return failure();
      slopes = Slopes();
      addGradient(slopes, gradient, direction);
      slopes.loss = std::fabs((*here)[loss].floats[0]);
      slopes.ofDifference =
          ((*above)[loss].floats[0] - (*below)[loss].floats[0]) / (2 * width);
      differs = slopes.differ();
    }
    step.arguments[argument] = origin;
    if (!differs)
      continue;
    llvm::SmallSetVector<StringRef, 4> names;
    for (Operation *user : step.step.getArgument(argument).getUsers())
      if (path.contains(user))
        ir::collectNodeNames(user->getLoc(), names);
    return std::optional(GradientCheck::Wrong{
        {"", llvm::join(names, ","), ""},
        "gradient by state " + quoted(step.stateOf(argument).getValue()) +
            ": " + slopes.text()});
  }
  return std::optional<GradientCheck::Wrong>();
}

/// The ops that `value` depends on, in its block. MLIR's getBackwardSlice ends
/// at ops that are isolated from above, as scans are.
static SetVector<Operation *> opsBehind(Value value) {
  SetVector<Operation *> found;
  SmallVector<Value> work = {value};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp();
        op && found.insert(op))
      llvm::append_range(work, op->getOperands());
  return found;
}

/// One op at a time, on the values that it has in the program. Returns the
/// results of the block.
FailureOr<SmallVector<Tensor>>
GradientCheck::checkBlock(Block &block, ArrayRef<Tensor> arguments,
                          const SetVector<Operation *> &path, Value loss,
                          std::optional<Wrong> &wrong) {
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  EvaluationOptions options;
  options.observe = [&](Operation *op, ArrayRef<Tensor> results) {
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      values[result] = value;
    if (wrong || !path.contains(op) || op->getNumOperands() == 0 ||
        !llvm::any_of(op->getOperands(), OpProgram::isFloat))
      return;
    std::vector<const void *> key = {
        op->getName().getAsOpaquePointer(),
        op->getAttrDictionary().getAsOpaquePointer(),
        op->getNumRegions() ? op : nullptr};
    for (Type type : op->getOperandTypes())
      key.push_back(type.getAsOpaquePointer());
    if (!seen.insert(key).second)
      return;
    SmallVector<Tensor> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values[operand]);
    if (auto scan = dyn_cast<ir::ScanOp>(op))
      checkBody(scan, operands, wrong);
    if (!wrong)
      wrong = checkOp(op, operands, [&](OpResult result) {
        return Value(result) == loss ||
               llvm::any_of(result.getUsers(), [&](Operation *user) {
                 return path.contains(user);
               });
      });
  };
  return evaluate(block, arguments, options);
}

/// The ops of the body in the second trip, whose carried values were computed;
/// of a single trip in that.
void GradientCheck::checkBody(ir::ScanOp scan, ArrayRef<Tensor> operands,
                              std::optional<Wrong> &wrong) {
  Block &body = scan.getBody().front();
  SetVector<Operation *> path;
  for (Operation &op : body)
    path.insert(&op);
  const int64_t checked = scan.getTrips() > 1 ? 1 : 0;
  int64_t trip = 0;
  SmallVector<Tensor> results;
  // What cannot be evaluated fails in the evaluation of the whole program.
  (void)ir::evaluateTrips(
      scan, operands, results, [&](Block &block, ArrayRef<Tensor> arguments) {
        return trip++ == checked
                   ? checkBlock(block, arguments, path, Value(), wrong)
                   : evaluate(block, arguments, {});
      });
}

FailureOr<std::optional<GradientCheck::Wrong>> GradientCheck::run() {
  OwningOpRef<ModuleOp> copy = buildStep(module, plainDescent(request));
  if (!copy)
    return std::optional<Wrong>();
  DescentStep step(*copy, inputs);
  if (!step.isValid)
    return std::optional<Wrong>();
  const SetVector<Operation *> path = opsBehind(step.loss());

  std::optional<Wrong> wrong;
  if (failed(checkBlock(step.step.getBody().front(), step.arguments, path,
                        step.loss(), wrong)))
    return failure();
  if (wrong)
    return wrong;
  bool isWhole =
      !module.walk([](ir::StopGradientOp) { return WalkResult::interrupt(); })
           .wasInterrupted();
  // Differences do not stop where the author stops the gradient.
  return isWhole ? checkStates(step, path) : std::optional<Wrong>();
}
