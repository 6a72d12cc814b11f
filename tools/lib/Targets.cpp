//===- Targets.cpp - the targets that the tools compile for ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Targets.h"

#include "backends/cpu/codegen/CpuTarget.h"

#include "backends/cuda/codegen/CudaTarget.h"
#include "backends/sim/codegen/SimTarget.h"
#include "runtime/base/RecordedCpus.h"

using namespace sinter;

/// Reads the architectures of --gpu-arch, ascending; `fallback` without it.
static bool readGpuArchs(const compiler::Options &options,
                         std::vector<unsigned> fallback,
                         std::vector<unsigned> &archs, std::string &error) {
  archs =
      options.gpuArchs.empty() ? std::move(fallback) : std::vector<unsigned>();
  for (const std::string &name : options.gpuArchs) {
    std::optional<unsigned> arch = cuda::parseGpuArch(name);
    if (!arch) {
      error =
          "--gpu-arch=" + name +
          ": expected sm_80, sm_86, sm_87, sm_89 or sm_90, which newer GPUs "
          "also run";
      return false;
    }
    archs.push_back(*arch);
  }
  llvm::sort(archs);
  archs.erase(llvm::unique(archs), archs.end());
  return true;
}

static cuda::LibraryUse librariesOf(const compiler::Options &options) {
  const bool sums = llvm::is_contained(options.libraries, "cudnn-sums");
  return {options.allowsLibrary("cublaslt"),
          sums || options.allowsLibrary("cudnn"), sums};
}

static std::unique_ptr<passes::Target>
makeCudaTarget(const compiler::Options &options, std::string &error) {
  cuda::CudaOptions cudaOptions;
  cudaOptions.libraries = librariesOf(options);
  if (!readGpuArchs(options, cudaOptions.archs, cudaOptions.archs, error))
    return nullptr;
  if (!options.gpuArchs.empty())
    cudaOptions.cubinArchs = cudaOptions.archs;
  // A program that is compiled to run here and now holds PTX: its driver
  // compiles that for one GPU, and keeps the result for the next time.
  if (options.tool == "sinterc" || options.wantsCubins)
    cudaOptions.cubins = options.cubin == "off"  ? cuda::Cubins::Off
                         : options.cubin == "on" ? cuda::Cubins::On
                                                 : cuda::Cubins::IfFound;
  std::unique_ptr<passes::Target> target =
      cuda::createCudaTarget(cudaOptions, error);
  if (!target)
    error = "--cubin=on: " + error;
  return target;
}

static std::unique_ptr<passes::Target>
makeSimTarget(const compiler::Options &options, std::string &error) {
  sim::SimTargetOptions simOptions;
  std::vector<unsigned> archs;
  if (!readGpuArchs(options, {simOptions.arch}, archs, error))
    return nullptr;
  if (archs.size() > 1) {
    error = "--gpu-arch: the simulated device has one architecture";
    return nullptr;
  }
  simOptions.arch = archs.front();
  // A program that this process runs is checked.
  simOptions.isChecked =
      !options.run.device.empty() ||
      (options.tool == "sinter-run" && !options.devices.empty());
  simOptions.isMutable =
      !options.run.simReport.empty() || !options.run.simDrop.empty();
  simOptions.libraries = librariesOf(options);
  return sim::createSimTarget(simOptions);
}

llvm::ArrayRef<compiler::TargetFactory> tools::targets() {
  static const compiler::TargetFactory factories[] = {
      {cpu::kind(), "this machine's or another x86-64 CPU (--mcpu)",
       [](const compiler::Options &options, std::string &error) {
         std::unique_ptr<passes::Target> target = cpu::createCpuTarget(
             options.machine(), options.allowsLibrary("onednn"));
         if (target)
           return target;
         error = "--mcpu=" + options.mcpu +
                 ": expected native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4";
         for (const rt::RecordedCpu &cpu : rt::recordedCpus())
           error += (&cpu == &rt::recordedCpus().back() ? " or " : ", ") +
                    std::string(cpu.name);
         return target;
       }},
      {sim::kind(), "simulated CUDA devices, for tests (--gpu-arch)",
       makeSimTarget},
      {cuda::kind(),
       "NVIDIA GPUs of compute capability 8.0 and newer (--gpu-arch)",
       makeCudaTarget},
  };
  return factories;
}
