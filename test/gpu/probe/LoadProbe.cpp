//===- LoadProbe.cpp - whether the driver takes every kernel --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Loads the PTX and the cubins that are embedded in programs, without running
// them, and looks up every kernel in them.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaContext.h"
#include "test/gpu/probe/Probe.h"
#include "test/runtime/Cubin.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::probe;

namespace {

/// The functions of a cubin, or in PTX the names after ".entry".
std::vector<std::string> kernelsOf(const std::string &image) {
  if (auto cubin = test::readCubin(image.data()))
    return cubin->kernels;
  std::vector<std::string> names;
  const std::string entry = ".entry ";
  for (size_t at = image.find(entry); at != std::string::npos;
       at = image.find(entry, at + 1)) {
    const size_t begin = at + entry.size();
    names.push_back(
        image.substr(begin, image.find_first_of("( \n", begin) - begin));
  }
  return names;
}

/// `sizeBytes` bytes of a file.
std::string readPart(const std::string &path, uint64_t offset,
                     uint64_t sizeBytes) {
  std::string text(sizeBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(sizeBytes));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

/// Empty if the driver takes it.
std::string load(const DriverTable &driver, const std::string &image,
                 const std::vector<std::string> &kernels) {
  char log[8192] = "";
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  ModuleHandle module = nullptr;
  DriverResult code =
      driver.moduleLoadDataEx(&module, image.c_str(), 2, options, values);
  if (code != result::success)
    return errorText(driver, code) + "\n" + log;
  for (const std::string &kernel : kernels) {
    FunctionHandle function = nullptr;
    code = driver.moduleGetFunction(&function, module, kernel.c_str());
    if (code != result::success)
      return "kernel " + kernel + ": " + errorText(driver, code);
  }
  code = driver.moduleUnload(module);
  return code == result::success ? "" : errorText(driver, code);
}

} // namespace

void probe::probeLoad(Report &report) {
  // Else a driver may compile a kernel only when it is first launched.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/1);
  const DriverTable *driver = driverFor(report);
  if (!driver)
    return;
  const std::string &device = report.options().device;
  const size_t colon = device.find(':');
  auto context = CudaContext::create(
      *driver,
      colon == std::string::npos ? 0 : std::atoi(device.c_str() + colon + 1));
  if (!context.ok())
    return report.add("the context", context.status());
  CurrentContext current(*driver, (*context)->handle());
  for (const std::string &list : report.options().words) {
    std::ifstream lines(list);
    if (!lines)
      report.add(list, "failed", "cannot be read");
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string path;
      uint64_t offset = 0, sizeBytes = 0;
      words >> path >> offset >> sizeBytes;
      const std::string name = path + ", byte " + std::to_string(offset);
      if (!report.hasTime()) {
        report.skip(name);
        continue;
      }
      const std::string image = readPart(path, offset, sizeBytes);
      const std::vector<std::string> kernels = kernelsOf(image);
      std::string wrong = image.size() != sizeBytes ? "the file is shorter"
                          : kernels.empty()         ? "there is no kernel"
                                            : load(*driver, image, kernels);
      report.add(name, wrong.empty() ? "ok" : "failed",
                 wrong.empty() ? std::to_string(kernels.size()) + " kernels"
                               : wrong);
    }
  }
}
