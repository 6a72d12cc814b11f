//===- CpuTarget.cpp - x86-64 CPUs as a target ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/CpuTarget.h"
#include "backends/cpu/codegen/Lowering.h"
#include "ir/Dialect.h"
#include "passes/AttentionForm.h"
#include "passes/MatmulForm.h"
#include "passes/QuantizedPostOps.h"
#include "passes/fuse/Fusion.h"
#include "runtime/base/RecordedCpus.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace sinter::cpu {
namespace {

/// The levels of the x86-64 psABI; each adds features to the one before.
const Machine machines[] = {
    {"x86-64", "+sse2", 4},
    {"x86-64-v2", "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2", 4},
    {"x86-64-v3",
     "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+"
     "fma,+lzcnt,+movbe",
     8},
    {"x86-64-v4",
     "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+"
     "fma,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
     16},
};

bool hostHas(const Machine &machine, const llvm::StringMap<bool> &host) {
  SmallVector<StringRef> features;
  machine.features.split(features, ',');
  return llvm::all_of(features, [&](StringRef feature) {
    return host.lookup(feature.drop_front());
  });
}

std::optional<Machine> findMachine(StringRef mcpu) {
  if (mcpu != "native") {
    const rt::RecordedCpu *cpu = rt::recordedCpu(mcpu);
    for (Machine machine : machines)
      if (machine.name == (cpu ? StringRef(cpu->level) : mcpu)) {
        machine.name = cpu ? StringRef(cpu->name) : machine.name;
        return machine;
      }
    return std::nullopt;
  }
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const Machine *best = &machines[0];
  for (const Machine &machine : machines)
    if (hostHas(machine, host))
      best = &machine;
  return *best;
}

class CpuTarget : public passes::Target {
public:
  CpuTarget(const Machine &cpu, bool hasLibrary)
      : cpu(cpu), hasLibrary(hasLibrary) {}

  StringRef name() const override { return kind().name; }
  passes::DeviceTraits traits() const override { return kind().traits; }

  StringRef machine() const override { return cpu.name; }

  passes::Implementation implementationOf(Operation *op,
                                          std::string &reason) const override {
    if (ir::isContraction(op)) {
      // SINTER_MAX_SPATIAL_DIMS (abi.h), plus batch and channels.
      if (!isa<ir::DotGeneralOp>(op) &&
          ir::tensorType(op->getOperand(0)).getRank() > 5) {
        reason = "not available over more than 3 spatial dimensions";
        return passes::Implementation::Unsupported;
      }
      if (!hasLibrary)
        reason = "loops of the runtime";
      return passes::Implementation::Library;
    }
    if (isa<ir::AttentionOp>(op))
      return passes::Implementation::Library;
    if (op->hasTrait<ir::Alias>() || isa<ir::ConstantOp>(op))
      return passes::Implementation::Alias;
    return passes::Implementation::Generated;
  }

  bool keepsComposite(Operation *op, FloatType narrow) const override {
    return isa<ir::GeluOp>(op) || (hasLibrary && isCalledAttention(op, narrow));
  }

  /// As InPlaceRowProduct of the runtime, for products of one or two rows.
  bool multipliesInPlace(Operation *contraction) const override {
    constexpr int64_t mostRows = 2;
    auto dot = dyn_cast<ir::DotGeneralOp>(contraction);
    if (!dot || !hasLibrary || cpu.lanes < 8)
      return false;
    std::optional<passes::MatmulForm> form = passes::matmulForm(
        dot, passes::ViewDepth::loops, passes::ViewDepth::loops);
    if (!form || std::min(form->m, form->n) > mostRows)
      return false;
    const bool isRight = form->m <= form->n;
    Value matrix = isRight ? form->b : form->a;
    ArrayRef<int64_t> strides =
        ArrayRef(isRight ? form->bStrides : form->aStrides).take_back(2);
    return isKeptByCaller(matrix) &&
           ir::tensorType(matrix).getElementType().isF32() &&
           llvm::is_contained(strides, 1);
  }

  bool canFuseEpilogue(Operation *contraction, ArrayRef<passes::PostOp> postOps,
                       FloatType) const override {
    if (passes::multipliesBytes(contraction))
      return canStoreCodes(contraction);
    for (auto [i, postOp] : llvm::enumerate(postOps)) {
      const sinter_post_op_traits &traits = exec::traitsOf(postOp.kind);
      if (traits.scope != SINTER_POST_SCOPE_ALL ||
          (!hasLibrary && traits.rounding == SINTER_POST_FUNCTION))
        return false;
      // oneDNN keeps one set of parameters for each kind: a second scale would
      // get those of the first.
      for (const passes::PostOp &before : postOps.take_front(i))
        if (before.kind == postOp.kind &&
            (before.alpha != postOp.alpha || before.beta != postOp.beta))
          return false;
    }
    return true;
  }

  FailureOr<passes::TargetCode>
  generateKernels(ModuleOp module,
                  const passes::CodeGenOptions &options) const override {
    return lowerKernels(module, cpu, options);
  }

private:
  /// Whether `value` is an input, or a value that is kept from run to run, of a
  /// program that is not trained.
  static bool isKeptByCaller(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto function =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                 : nullptr;
    if (!function)
      return false;
    auto roleOf = [&](unsigned number) -> std::optional<ir::StateRole> {
      auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(
          number, ir::SinterDialect::kStateAttr);
      auto state = symbol ? SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(
                                function, symbol)
                          : nullptr;
      return state ? std::optional(state.getRole()) : std::nullopt;
    };
    // A trainer multiplies its inputs again for gradients.
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (roleOf(i) == ir::StateRole::param)
        return false;
    const unsigned number = argument.getArgNumber();
    return function.getArgAttr(number, ir::SinterDialect::kInputAttr) ||
           roleOf(number) == ir::StateRole::buffer;
  }

  /// Whether `op` is an attention, or its gradient, that the runtime computes
  /// without storing scores. With few queries, products read the keys and
  /// values in place, which is faster. Gradients are float32 alone.
  static bool isCalledAttention(Operation *op, FloatType narrow) {
    constexpr int64_t fewestQueries = 8;
    auto attention = dyn_cast<ir::AttentionOp>(op);
    if (!passes::isPlainAttention(op) || !passes::isLibraryAttention(op) ||
        ir::tensorType(op->getOperand(0)).getShape().end()[-2] < fewestQueries)
      return false;
    const bool hasGradient = !attention || !attention.getStats().use_empty();
    return !hasGradient || !passes::isNarrowAttention(op, narrow);
  }

  /// Whether the calls of `contraction`, of 8-bit integers, have post-ops:
  /// ByteProduct, ByteWindow and ByteDepthwise.
  static bool canStoreCodes(Operation *contraction) {
    auto conv = dyn_cast<ir::ConvOp>(contraction);
    return conv ? conv.getChannelsLast() && passes::hasByteWindow(conv)
                : isa<ir::DotGeneralOp>(contraction);
  }

  const Machine cpu;
  bool hasLibrary;
};

} // namespace

std::unique_ptr<passes::Target> createCpuTarget(StringRef mcpu,
                                                bool hasLibrary) {
  std::optional<Machine> machine = findMachine(mcpu);
  return machine ? std::make_unique<CpuTarget>(*machine, hasLibrary) : nullptr;
}

const passes::DeviceKind &kind() {
  static const passes::DeviceKind kind = [] {
    passes::DeviceTraits traits;
    traits.isHost = true;
    return passes::DeviceKind{"cpu", traits};
  }();
  return kind;
}

} // namespace sinter::cpu
