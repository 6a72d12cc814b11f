//===- CudaTarget.cpp - NVIDIA GPUs as a target ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/CudaTarget.h"
#include "backends/cuda/codegen/LibraryCalls.h"
#include "backends/cuda/codegen/Nvptx.h"
#include "backends/cuda/codegen/Ptxas.h"
#include "ir/Dialect.h"
#include "passes/AttentionForm.h"
#include "passes/Failure.h"
#include "passes/OpClasses.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/SplitContractions.h"

#include "llvm/ADT/StringExtras.h"

#include <mutex>

using namespace mlir;

namespace sinter::cuda {

std::optional<unsigned> parseGpuArch(StringRef name) {
  unsigned arch = 0;
  if (!name.consume_front("sm_") || name.getAsInteger(10, arch))
    return std::nullopt;
  constexpr unsigned known[] = {80, 86, 87, 89, 90};
  return llvm::is_contained(known, arch) ? std::optional(arch) : std::nullopt;
}

bool NvidiaTarget::isCalled(Operation *op) const {
  // Libraries multiply no integers except the narrowest.
  if (!isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
    return false;
  // The product of one vector is limited by memory, and as a kernel it includes
  // more of the ops after it. So are products of a batch of vectors, those of
  // attention with one query.
  if (auto dot = dyn_cast<ir::DotGeneralOp>(op))
    return libraries.matmul && !passes::isOfVector(dot);
  return libraries.conv && ir::tensorType(op->getOperand(0)).getRank() <= 5;
}

/// Whether `op` is attention with one query and without a gradient, which is
/// limited by memory: a kernel is as fast (FuseRows). Where the program itself
/// is in 16 bits, the parts of an attention are float32, so a kernel would read
/// the values in float32.
static bool isOneQuery(Operation *op) {
  auto attention = dyn_cast<ir::AttentionOp>(op);
  if (!attention || !attention.getStats().use_empty())
    return false;
  RankedTensorType query = ir::tensorType(attention.getQuery());
  return query.getElementType().isF32() && query.getShape().end()[-2] == 1;
}

bool NvidiaTarget::keepsComposite(Operation *op, FloatType narrow) const {
  if (isa<ir::AttentionOp, ir::AttentionGradOp>(op))
    return libraries.conv && !isOneQuery(op) && passes::isPlainAttention(op) &&
           passes::isLibraryAttention(op) &&
           passes::isNarrowAttention(op, narrow) && passes::hasFiniteMask(op);
  auto grad = dyn_cast<ir::GeluGradOp>(op);
  return isa<ir::GeluOp>(op) ||
         (grad && libraries.matmul && grad.getForm() == ir::GeluForm::tanh);
}

/// Whether cuDNN's engine that also sums the channels of `conv`'s result takes
/// less time than its fastest engine plus one more pass over the result. That
/// engine uses mma.sync on every GPU (cuDNN 9.19), so a compute-bound
/// convolution is faster with wgmma, and one with groups is faster with engines
/// for groups. The rates are estimates for an H200. Consulted only for
/// --libraries=cudnn-sums: docs/cuda-libraries.md says why.
static bool addsUpChannels(ir::ConvOp conv) {
  constexpr double fastest = 600e12, withSums = 350e12, bytesPerSecond = 4e12;
  auto [input, filter] = passes::multiplied(conv);
  RankedTensorType type = conv.getType();
  Type narrow = ir::tensorType(input).getElementType();
  if (!conv.getChannelsLast() || conv.getGroups() != 1 ||
      !(narrow.isF16() || narrow.isBF16()) || type.getNumElements() == 0 ||
      ir::tensorType(input).getNumElements() == 0)
    return false;
  auto count = [](Value value) {
    return static_cast<double>(ir::tensorType(value).getNumElements());
  };
  double results = static_cast<double>(type.getNumElements());
  double flops =
      2 * results * count(filter) / static_cast<double>(type.getShape().back());
  double reading = 2 * results / bytesPerSecond,
         moving = 2 * (count(input) + count(filter)) / bytesPerSecond + reading;
  return std::max(flops / withSums, moving) <
         std::max(flops / fastest, moving) + reading;
}

bool NvidiaTarget::canFuseEpilogue(Operation *contraction,
                                   ArrayRef<passes::PostOp> postOps,
                                   FloatType narrow) const {
  if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction))
    return canCallProduct(dot, postOps, narrow);
  auto conv = dyn_cast<ir::ConvOp>(contraction);
  if (conv && !postOps.empty() &&
      postOps.back().kind == exec::PostOpKind::channel_squares &&
      !(libraries.channelSums && addsUpChannels(conv)))
    return false;
  return canCallConv(contraction, postOps, narrow);
}

FailureOr<passes::TargetCode>
NvidiaTarget::kernelText(ModuleOp module, unsigned arch,
                         const passes::CodeGenOptions &codeGen) const {
  bool isPtx = codeGen.form == passes::CodeForm::Ptx;
  auto kernels = gpu::lowerKernels(
      module, nvidia(), arch, codeGen,
      [&](llvm::Module &kernel, unsigned) -> std::optional<std::string> {
        if (isPtx)
          return toPtx(kernel, arch, codeGen.optLevel);
        std::string text;
        llvm::raw_string_ostream stream(text);
        kernel.print(stream, nullptr);
        return text;
      });
  if (failed(kernels))
    return failure();
  passes::TargetCode code;
  code.text = isPtx ? joinPtx(kernels->front(), arch)
                    : llvm::join(kernels->front(), "");
  return code;
}

namespace {

class CudaTarget : public NvidiaTarget {
public:
  explicit CudaTarget(CudaOptions optionsIn)
      : NvidiaTarget(optionsIn.libraries), options(std::move(optionsIn)) {}

  StringRef name() const override { return kind().name; }
  passes::DeviceTraits traits() const override { return kind().traits; }

  FailureOr<passes::TargetCode>
  generateKernels(ModuleOp module,
                  const passes::CodeGenOptions &codeGen) const override {
    ArrayRef<unsigned> archs = options.archs;
    if (codeGen.form != passes::CodeForm::Machine)
      return kernelText(module, archs.front(), codeGen);
    auto kernels =
        gpu::lowerKernels(module, nvidia(), archs, codeGen,
                          [&](llvm::Module &kernel, unsigned arch) {
                            return toPtx(kernel, arch, codeGen.optLevel);
                          });
    if (failed(kernels))
      return failure();
    passes::TargetCode code;
    for (auto [arch, list] : llvm::zip_equal(archs, *kernels))
      code.images.push_back({/*isBinary=*/false, arch, joinPtx(list, arch)});
    if (!kernels->front().empty() &&
        failed(addCubins(module, codeGen.threads, code.images)))
      return failure();
    return code;
  }

  passes::Assembler assembler() const override {
    const Ptxas *found = ptxas();
    if (!found)
      return {"", whyNoPtxas};
    std::string name = "ptxas " + found->version() + " for ";
    for (auto [i, arch] : llvm::enumerate(options.cubinArchs))
      name += (i ? ", sm_" : "sm_") + std::to_string(arch);
    return {name, ""};
  }

  /// Searched for when it is needed first; null without one.
  const Ptxas *ptxas() const {
    std::call_once(isSearched, [&] {
      if (options.cubins != Cubins::Off)
        assemblerOfPtx = Ptxas::find(whyNoPtxas);
    });
    return assemblerOfPtx ? &*assemblerOfPtx : nullptr;
  }

  std::string whyNotUsable() const {
    return options.cubins == Cubins::On && !ptxas() ? whyNoPtxas : "";
  }

private:
  /// Assembles the PTX of `images` and appends the cubins.
  LogicalResult addCubins(ModuleOp module, unsigned threads,
                          std::vector<passes::KernelImage> &images) const {
    if (!ptxas())
      return success();
    SmallVector<Ptxas::Job> jobs;
    for (const passes::KernelImage &image : images)
      if (llvm::is_contained(options.cubinArchs, image.arch))
        jobs.push_back({image.arch, image.bytes});
    Ptxas::Failure why;
    auto cubins = ptxas()->assemble(jobs, threads, why);
    if (!cubins)
      return why.isRejected ? passes::emitModuleError(module) << why.text
                            : passes::emitFailure(module, passes::kToolFailure)
                                  << why.text;
    std::vector<passes::KernelImage> made;
    for (auto [job, cubin] : llvm::zip_equal(jobs, *cubins))
      made.push_back({/*isBinary=*/true, job.arch, std::move(cubin)});
    llvm::move(made, std::back_inserter(images));
    return success();
  }

  CudaOptions options;
  mutable std::once_flag isSearched;
  mutable std::optional<Ptxas> assemblerOfPtx;
  mutable std::string whyNoPtxas;
};

} // namespace

std::unique_ptr<passes::Target> createCudaTarget(const CudaOptions &options,
                                                 std::string &error) {
  auto target = std::make_unique<CudaTarget>(options);
  error = target->whyNotUsable();
  if (!error.empty())
    return nullptr;
  return target;
}

const passes::DeviceKind &kind() {
  static const passes::DeviceKind kind = [] {
    passes::DeviceTraits traits;
    traits.maxDevices = 64; // more than any machine has
    traits.hasExpensiveLaunches = true;
    traits.hasTensorCores = true;
    traits.hasGridBarriers = true;
    traits.hasPtx = true;
    traits.hasCubins = true;
    traits.convolvesIntoFloat32 = false; // by cuDNN
    traits.sumsReplicasInOwnOrder = true;
    return passes::DeviceKind{"cuda", traits};
  }();
  return kind;
}

} // namespace sinter::cuda
