//===- KernelCode.cpp - the machine code and PTX of kernels ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/KernelCode.h"

#include "compiler/inspect/ArtifactFacts.h"
#include "compiler/inspect/X86Code.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

KernelCode::KernelCode(const sinter_artifact &artifact,
                       const ArtifactImage &image, StringRef path)
    : artifact_(&artifact), file_(&image) {
  auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (bytes)
    addFunctionSizes((*bytes)->getBuffer(), sizes_);
}

KernelCode::KernelCode(const sinter_artifact &artifact,
                       llvm::ArrayRef<std::string> objects)
    : artifact_(&artifact) {
  for (const std::string &object : objects)
    addFunctionSizes(object, sizes_);
}

std::string KernelCode::x86(const sinter_kernel_desc &kernel) const {
  auto size = sizes_.find(kernel.name);
  const void *start = kernel.cpu ? reinterpret_cast<const void *>(kernel.cpu)
                                 : reinterpret_cast<const void *>(kernel.sim);
  if (size == sizes_.end() || !start || !mayRead(start, size->second))
    return "";
  return disassembleX86({static_cast<const char *>(start), size->second},
                        [&](const void *address, uint64_t bytes) {
                          return mayRead(address, bytes);
                        });
}

StringRef KernelCode::image(uint32_t kind) const {
  for (const sinter_image &image : images(*artifact_))
    if (image.kind == kind)
      return {reinterpret_cast<const char *>(image.bytes), image.sizeBytes};
  return "";
}

std::string compiler::ptxOfKernel(StringRef all, StringRef kernel) {
  size_t at = all.find((".entry " + kernel + "(").str());
  if (at == StringRef::npos)
    return "";
  StringRef rest = all.substr(all.rfind('\n', at) + 1);
  return rest.take_front(rest.find("\n}")).str() + "\n}\n";
}

std::string KernelCode::ptx(StringRef kernel) const {
  return ptxOfKernel(image(SINTER_IMAGE_PTX), kernel);
}

// The code without the kernel's name, and without distances to constants.
static std::string withoutPlaces(StringRef code, StringRef kernel) {
  std::string text;
  while (true) {
    auto [before, after] = code.split("[rip ");
    text += before;
    if (after.empty())
      break;
    text += "[rip]";
    code = after.split(']').second;
  }
  for (size_t at = text.find(kernel.str()); at != std::string::npos;
       at = text.find(kernel.str(), at))
    text.erase(at, kernel.size());
  return text;
}

std::map<std::string, std::string> KernelCode::hashes() const {
  std::map<std::string, std::string> result;
  for (const sinter_kernel_desc &kernel :
       llvm::ArrayRef(artifact_->kernels, artifact_->numKernels)) {
    if (!*kernel.name)
      continue;
    std::string code =
        kernel.cpu || kernel.sim ? x86(kernel) : ptx(kernel.name);
    if (!code.empty())
      result[kernel.name] = llvm::utohexstr(
          llvm::xxh3_64bits(withoutPlaces(code, kernel.name)), true);
  }
  return result;
}
