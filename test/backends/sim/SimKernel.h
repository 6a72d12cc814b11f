//===- SimKernel.h - a kernel of a test, ready to launch --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_SIM_SIMKERNEL_H
#define SINTER_TEST_BACKENDS_SIM_SIMKERNEL_H

#include "backends/sim/codegen/Retarget.h"
#include "backends/sim/device/Engine.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace sinter::test {

/// Code of one kernel in this process.
class SimKernel {
public:
  /// Function `name` of `file`, which is beside the tests, as a kernel. On
  /// failure code() is null and error() says why.
  SimKernel(const std::string &file, const std::string &name,
            const sim::SimOptions &options = {});
  /// The same from the text of a module.
  static std::unique_ptr<SimKernel> fromText(const std::string &text,
                                             const std::string &name,
                                             const sim::SimOptions &options);
  ~SimKernel();

  sinter_sim_kernel code() const { return code_; }
  const std::string &error() const { return error_; }
  const std::string &name() const { return name_; }

  /// A launch on `buffers` of {address, size}, all of which may be written.
  sim::Launch launch(std::vector<sim::MemoryRange> buffers, uint32_t grid,
                     uint32_t block, uint32_t sharedBytes = 0);

private:
  SimKernel() = default;
  void load(std::unique_ptr<llvm::MemoryBuffer> text,
            const sim::SimOptions &options);

  std::string name_, error_;
  std::unique_ptr<llvm::orc::LLJIT> engine_;
  sinter_sim_kernel code_ = nullptr;
  std::vector<void *> addresses_;
};

template <typename T> sim::MemoryRange rangeOf(std::vector<T> &values) {
  return {values.data(), values.size() * sizeof(T), true};
}

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_SIM_SIMKERNEL_H
