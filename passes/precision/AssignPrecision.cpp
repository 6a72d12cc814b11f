//===- AssignPrecision.cpp - which ops work in 16 bits --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The policies bf16 and fp16 round the operands of contractions, and values
// between contractions, to 16 bits (precision/Rounding.h); tf32 marks
// contractions. The class of an op says whether its result may be rounded
// (ir/OpTraits.h). States, the loss, statistics, long sums and the result of
// the output layer stay float32. Runs after placement, since the ops that a
// library call applies determine where its result is stored. Always legal;
// models that are not float32 are left alone. The decisions, with one reason
// per op, become an attribute of the module.
//
//===----------------------------------------------------------------------===//
#include "passes/precision/AssignPrecision.h"
#include "ir/Build.h"
#include "ir/CompositeParts.h"
#include "ir/Locations.h"
#include "ir/Remarks.h"
#include "passes/AttentionForm.h"
#include "passes/CodedWeights.h"
#include "passes/Failure.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/fuse/Fusion.h"
#include "passes/place/DecomposeComposites.h"
#include "passes/place/Devices.h"
#include "passes/precision/PrecisionReport.h"
#include "passes/precision/Rounding.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/Passes.h.inc"

namespace {

constexpr StringLiteral kPass = "assign-precision";

bool isFloat32(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

/// Whether `op` is a contraction whose tensors are all float32.
bool isFloatContraction(Operation *op) {
  return ir::isContraction(op) && isFloat32(op->getResult(0)) &&
         llvm::all_of(op->getOperands(), isFloat32);
}

class AssignPrecision : public impl::AssignPrecisionBase<AssignPrecision> {
public:
  explicit AssignPrecision(const Target *target) : target(target) {}
  AssignPrecision(const Target *target, const PrecisionSettings &settings)
      : target(target) {
    policy = settings.policy;
    keepFp32 = settings.keepFp32;
    overrides = llvm::to_vector(settings.overrides);
    for (const auto &[key, reason] : settings.calibrated)
      calibrated[key] = reason;
  }

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module) {
    if (!llvm::is_contained({"fp32", "tf32", "bf16", "fp16"},
                            StringRef(policy)))
      return module.emitError()
             << "precision must be fp32, tf32, bf16 or fp16, not " << policy;
    std::string message;
    llvm::Regex regex(keepFp32);
    if (!keepFp32.empty() && !regex.isValid(message))
      return module.emitError() << "keep-fp32=" << keepFp32
                                << " is not a regular expression: " << message;
    ir::explain(kPass, "policy", module.getLoc(), policy);
    if (policy == "fp32" && overrides.empty())
      return success();
    entries.clear();
    locations.clear();
    planned.clear();
    plannedNarrow.clear();
    for (StringRef item : overrides) {
      auto [key, word] = item.rsplit('=');
      planned[key] = word.str();
      if (word != "fp32")
        plannedNarrow.insert(key);
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(assign(function, regex)))
        return failure();
    if (!planned.empty())
      return emitFailure(module, kUsageFailure)
             << "the precision plan names '" << planned.begin()->first()
             << "', which is not an op of this program";
    warnOfWider(module);
    for (auto [entry, location] : llvm::zip_equal(entries, locations))
      ir::explain(kPass, entry.precision, location,
                  entry.op + " of @" + entry.function + ": " + entry.reason);
    setPrecisionReport(module, entries);
    return success();
  }

  /// Warns of ops that the plan has in another precision than fp32, but that
  /// stay fp32.
  void warnOfWider(ModuleOp module) {
    SmallVector<const PrecisionEntry *> wider;
    for (const PrecisionEntry &entry : entries)
      if (plannedNarrow.contains(entry.key()) && entry.precision == "fp32")
        wider.push_back(&entry);
    if (wider.empty())
      return;
    const PrecisionEntry &first = *wider.front();
    InFlightDiagnostic warning = module.emitWarning()
                                 << "the precision plan has " << first.op
                                 << " of '" << first.node << "' in " << policy
                                 << ", but it is fp32: " << first.reason;
    if (wider.size() > 1)
      warning << "; and " << wider.size() - 1 << " more ops";
  }

  /// Adds entries for all ops that compute floats. Those that the plan,
  /// keep-fp32 or calibration keep in float32 are in `kept`.
  void enter(func::FuncOp function, llvm::Regex &regex) {
    kept.clear();
    entryOf.clear();
    for (auto &[op, entry] : precisionOps(function)) {
      llvm::SmallSetVector<StringRef, 4> names;
      ir::collectNodeNames(op->getLoc(), names);
      auto found = planned.find(entry.key());
      if (found != planned.end()) {
        if (found->second == "fp32")
          kept[op] = "the plan says so";
        planned.erase(found);
      }
      if (!keepFp32.empty() && llvm::any_of(names, [&](StringRef name) {
            return regex.match(name);
          }))
        kept[op] = "--keep-fp32";
      if (auto wide = calibrated.find(entry.key()); wide != calibrated.end())
        kept.try_emplace(op, wide->second);
      if (auto dot = dyn_cast<ir::DotGeneralOp>(op);
          dot && codedWeights(dot.getRhs()))
        kept.try_emplace(op, "its weights are codes of 4 or 8 bits");
      if (target && target->multipliesInPlace(op))
        kept.try_emplace(op, "an input in float32 is read once, in place");
      entryOf[op] = entries.size();
      locations.push_back(op->getLoc());
      entries.push_back(std::move(entry));
    }
  }

  void set(Operation *op, StringRef precision, const Twine &reason) {
    PrecisionEntry &entry = entries[entryOf.lookup(op)];
    entry.precision = precision;
    entry.reason = reason.str();
  }

  LogicalResult assign(func::FuncOp function, llvm::Regex &regex) {
    enter(function, regex);
    SmallVector<Operation *> contractions;
    function.walk([&](Operation *op) {
      if (isFloatContraction(op) && !kept.count(op))
        contractions.push_back(op);
    });
    if (policy == "tf32")
      return markTf32(function, contractions);
    if (policy == "fp32") {
      explainRest(function, isFloatContraction);
      return success();
    }
    FloatType narrow = narrowType(&getContext(), policy);
    narrowAttentions(function, narrow);
    SmallVector<Block *> bodies{&function.getBody().front()};
    function.walk(
        [&](ir::ScanOp scan) { bodies.push_back(&scan.getBody().front()); });
    llvm::DenseSet<Operation *> heldBack;
    int64_t rounded = 0;
    for (Block *body : bodies)
      rounded += round(*body, narrow, contractions, heldBack);
    ir::remark(kPass, "contractions", function.getLoc(), policy,
               static_cast<int64_t>(contractions.size()));
    ir::remark(kPass, "rounded", function.getLoc(), policy, rounded);
    explainRest(function, [&](Operation *op) {
      return isFloatContraction(op) || heldBack.contains(op);
    });
    return success();
  }

  /// Rounds values in the body of a function or scan: around those of
  /// `contractions` that are directly in it. Returns their number. Adds ops
  /// that would be rounded, were they not kept, to `heldBack`.
  int64_t round(Block &body, FloatType narrow, ArrayRef<Operation *> all,
                llvm::DenseSet<Operation *> &heldBack) {
    auto isInBody = [&](Operation *op) { return op->getBlock() == &body; };
    SmallVector<Operation *> contractions =
        llvm::to_vector(llvm::make_filter_range(all, isInBody));
    Rounding rounding(body, narrow, target,
                      [&](Operation *op) { return kept.count(op); });
    rounding.decide(contractions);
    int64_t rounded = 0;
    for (auto &[op, index] : entryOf) {
      if (rounding.isHeldBack(op))
        heldBack.insert(op);
      if (StringRef reason = rounding.reasonOf(op); !reason.empty()) {
        set(op, policy, reason);
        ++rounded;
      }
    }
    for (Operation *op : contractions) {
      StringRef why = rounding.keptResultOf(op);
      set(op, policy,
          why.empty()
              ? Twine("multiplies 16-bit operands, sums in float32")
              : "multiplies 16-bit operands, sums and stores float32: " + why);
    }
    rounding.apply();
    return rounded;
  }

  /// An attention for which the target has a call reads and stores 16-bit
  /// floats; within it, arithmetic is float32 as everywhere. Attentions that
  /// stay float32 are decomposed.
  void narrowAttentions(func::FuncOp function, FloatType narrow) {
    SmallVector<Operation *> attentions;
    for (Operation &op : function.getBody().front())
      if (isPlainAttention(&op) && isFloat32(op.getResult(0)) &&
          !kept.count(&op) && target && target->keepsComposite(&op, narrow))
        attentions.push_back(&op);
    for (Operation *op : attentions) {
      set(op, policy,
          "a call that reads and stores 16 bits, softmax in float32");
      narrowOp(op, narrow);
      entryOf.erase(op);
      op->erase();
    }
    // Attentions that placement kept for 16 bits alone, but that stay float32.
    decomposeComposites(function, [&](Operation *op) {
      bool isKept = !isa<ir::AttentionOp, ir::AttentionGradOp>(op) ||
                    !isFloat32(op->getResult(0)) ||
                    (target && target->keepsComposite(op, {}));
      if (!isKept && entryOf.count(op)) {
        auto found = kept.find(op);
        set(op, "fp32",
            found != kept.end() ? found->second
                                : "its target has no call for it");
        entryOf.erase(op);
      }
      return isKept;
    });
  }

  /// The location of the cast of an operand: that of the op whose result it
  /// rounds, behind views: casts move there. States and inputs have no node, so
  /// their casts get that of `op`.
  static Location roundingLocation(Operation *op, unsigned operand) {
    Value value = op->getOperand(operand);
    while (ir::isView(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    auto made = dyn_cast<OpResult>(value);
    if (!made || ir::joinedNodeNames(made.getOwner()->getLoc()).empty())
      return ir::operandLocation(op, operand);
    return ir::resultLocation(made.getOwner(), made.getResultNumber());
  }

  /// Replaces all uses of `op` by a copy in which every tensor is `narrow`,
  /// except those that must stay float32 (staysFloat32).
  static void narrowOp(Operation *op, FloatType narrow) {
    OpBuilder builder(op);
    OperationState state(op->getLoc(), op->getName());
    for (auto [i, operand] : llvm::enumerate(op->getOpOperands()))
      state.addOperands(staysFloat32(operand)
                            ? operand.get()
                            : ir::castTo(builder, roundingLocation(op, i),
                                         operand.get(), narrow));
    for (OpResult result : op->getResults())
      state.addTypes(staysFloat32(result)
                         ? result.getType()
                         : ir::tensorType(result).clone(narrow));
    state.addAttributes(op->getAttrs());
    Operation *copy = builder.create(state);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      Value by = copy->getResult(i);
      result.replaceAllUsesWith(
          staysFloat32(result) ? by
                               : ir::castTo(builder, ir::resultLocation(op, i),
                                            by, builder.getF32Type()));
    }
  }

  LogicalResult markTf32(func::FuncOp function,
                         ArrayRef<Operation *> contractions) {
    DeviceMap map(function);
    for (Operation *op : contractions) {
      if (isOnCpu(map.of(op)))
        return emitFailure(getOperation(), kUsageFailure)
               << "--precision=tf32: node " << ir::joinedNodeNames(op->getLoc())
               << " is on the CPU, which has no tf32; --keep-fp32=REGEX keeps "
                  "nodes in fp32";
      op->setAttr("tf32", UnitAttr::get(&getContext()));
      set(op, "tf32", "operands are rounded to ten bits of mantissa");
    }
    explainRest(function, isFloatContraction);
    return success();
  }

  bool isOnCpu(std::optional<int64_t> device) {
    SmallVector<StringRef> names = ir::deviceNames(getOperation());
    return !names.empty() && ir::isHostDevice(names[device.value_or(0)]);
  }

  /// Sets the reasons of the ops that stay float32. `isHeldBack` is true of ops
  /// that would not, were they not kept.
  void explainRest(func::FuncOp function,
                   llvm::function_ref<bool(Operation *)> isHeldBack) {
    for (auto &[op, index] : entryOf) {
      PrecisionEntry &entry = entries[index];
      if (!entry.reason.empty())
        continue;
      auto found = kept.find(op);
      if (found != kept.end() && isHeldBack(op))
        entry.reason = found->second;
      else if (op->hasTrait<ir::PrecisionAllow>())
        entry.reason = "the policy leaves contractions alone";
      else if (!op->hasTrait<ir::PrecisionInfer>())
        entry.reason = "its class computes and stores float32";
      else
        entry.reason = "no 16-bit op stores it";
    }
  }

  const Target *target;
  std::vector<PrecisionEntry> entries;
  std::vector<Location> locations;         // of the ops of `entries`
  llvm::StringMap<std::string> planned;    // precision, by key
  llvm::StringSet<> plannedNarrow;         // keys that the plan narrows
  llvm::StringMap<std::string> calibrated; // why they stay float32, by key
  llvm::MapVector<Operation *, size_t> entryOf;
  llvm::DenseMap<Operation *, StringRef> kept; // with the reason
};

} // namespace

FloatType narrowType(MLIRContext *context, StringRef policy) {
  Builder b(context);
  return policy == "bf16"   ? FloatType(b.getBF16Type())
         : policy == "fp16" ? FloatType(b.getF16Type())
                            : FloatType();
}

std::unique_ptr<Pass> createAssignPrecision(const Target *target) {
  return std::make_unique<AssignPrecision>(target);
}

std::unique_ptr<Pass> createAssignPrecision(const Target *target,
                                            const PrecisionSettings &settings) {
  return std::make_unique<AssignPrecision>(target, settings);
}

} // namespace sinter::passes
