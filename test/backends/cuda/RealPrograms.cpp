//===- RealPrograms.cpp - cuDNN's plans for whole programs ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//   sinter-real-programs FILE...
//
// Prepares every convolution and attention of compiled trainers or libraries
// for CUDA, with the installed cuDNN for a described H200, as a start on such a
// GPU would. This shows which graphs have an engine within the program's
// workspace. Nothing runs. Prints a line for each program and for each call
// that fails. Exit code 1: a call failed; 77: cuDNN is not installed.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/library/DnnConv.h"
#include "backends/cuda/library/Loader.h"
#include "compiler/inspect/ArtifactImage.h"
#include "test/backends/cuda/CacheFolder.h"

#include <dlfcn.h>
#include <fstream>
#include <set>
#include <sstream>

using namespace sinter;

namespace {

rt::Result<std::unique_ptr<cuda::DnnContext>> startCudnn() {
  auto api = cuda::loadCudnn();
  if (!api.ok())
    return api.status();
  std::ifstream file(SINTER_TEST_INPUTS "/h200.json");
  std::stringstream text;
  text << file.rdbuf();
  return cuda::DnnContext::createDeviceless(**api, text.str());
}

/// Equal problems are made once, here and in other programs.
class Check {
public:
  Check(const cuda::DnnContext &context, std::shared_ptr<cuda::PlanCache> cache)
      : context_(context) {
    options_.cache = std::move(cache);
  }

  /// False when a call of `artifact` cannot be made.
  bool run(const std::string &file, const sinter_artifact &artifact) {
    options_.maxWorkspaceBytes = artifact.workspaces ? *artifact.workspaces : 0;
    uint64_t calls = 0, largest = 0;
    bool isRight = true;
    std::set<std::string> told;
    for (uint32_t e = 0; e < artifact.numEntries; ++e)
      for (uint32_t c = 0; c < artifact.entries[e].numCommands; ++c) {
        const sinter_command &command = artifact.entries[e].commands[c];
        if (command.kind != SINTER_CMD_CONV &&
            command.kind != SINTER_CMD_ATTENTION)
          continue;
        ++calls;
        auto call = prepare(command);
        if (call.ok()) {
          largest = std::max(largest, (*call)->sharedBytes());
          continue;
        }
        isRight = false;
        std::string line =
            std::string(command.label) + ": " + call.status().message();
        if (told.insert(line).second)
          std::printf("%s: %s\n", file.c_str(), line.c_str());
      }
    std::printf("%s: %llu calls of cuDNN, workspace %llu of %llu bytes\n",
                file.c_str(), static_cast<unsigned long long>(calls),
                static_cast<unsigned long long>(largest),
                static_cast<unsigned long long>(options_.maxWorkspaceBytes));
    return isRight;
  }

private:
  rt::Result<std::unique_ptr<rt::LibraryCall>>
  prepare(const sinter_command &command) {
    return command.kind == SINTER_CMD_CONV
               ? cuda::prepareDnnConv(context_, command, options_, zeroFill_)
               : cuda::prepareDnnAttention(context_, command, options_,
                                           zeroFill_);
  }

  const cuda::DnnContext &context_;
  cuda::LibraryOptions options_;
  const cuda::ZeroFill zeroFill_; // nothing runs
};

} // namespace

int main(int argc, char **argv) {
  // First, so that cuDNN finds it under the driver's name.
  if (!dlopen(SINTER_STAND_IN_DRIVER, RTLD_NOW | RTLD_GLOBAL)) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  auto context = startCudnn();
  if (!context.ok()) {
    std::printf("skipped: %s\n", context.status().message().c_str());
    return 77;
  }
  test::CacheFolder folder;
  Check check(**context, folder.open());
  bool isRight = true;
  for (int i = 1; i < argc; ++i) {
    auto image = compiler::ArtifactImage::read(argv[i]);
    if (!image) {
      std::printf("%s: %s\n", argv[i],
                  llvm::toString(image.takeError()).c_str());
      return 1;
    }
    bool hasCuda = false;
    for (const sinter_artifact *artifact : (*image)->artifacts()) {
      if (std::string(artifact->target) != "cuda")
        continue;
      hasCuda = true;
      isRight &= check.run(argv[i], *artifact);
    }
    if (!hasCuda)
      std::printf("%s: has no part for CUDA\n", argv[i]);
    isRight &= hasCuda;
  }
  return isRight ? 0 : 1;
}
