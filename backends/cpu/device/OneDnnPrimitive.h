//===- OneDnnPrimitive.h - a primitive of oneDNN, in threads ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library's primitives are thread-safe only with the caller's scratchpad:
// with the library's own, two threads that run one primitive get wrong results.
// So every primitive here has user scratchpad mode and one argument set per
// worker. It must be created and run with OpenMP limited to one thread
// (OneThreadScope), because the library chooses algorithms by that number.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ONEDNNPRIMITIVE_H
#define SINTER_BACKENDS_CPU_DEVICE_ONEDNNPRIMITIVE_H

#include "backends/cpu/device/OneDnnShim.h"
#include "backends/cpu/device/PackedStore.h"
#include "runtime/device/Library.h"

#include <string>
#include <vector>

namespace sinter::cpu {

/// Limits the library to the calling thread. Workers of the pool stay limited.
/// For any other thread, the scope restores the thread's own setting, which
/// belongs to the host program.
class OneThreadScope {
public:
  OneThreadScope();
  ~OneThreadScope();
  OneThreadScope(const OneThreadScope &) = delete;
  OneThreadScope &operator=(const OneThreadScope &) = delete;

  /// For the body of a parallelFor: limits worker `worker` permanently, except
  /// worker 0, which is the caller and needs a scope object.
  static void limitWorker(int worker);

private:
  int before_ = 0;
};

/// The engine and one stream per worker; shared by all calls of a library.
struct OneDnnContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::vector<dnnl::stream> streams;
  PackedStore packed;
  /// The scratch that the call being prepared may use (CallMeans).
  uint64_t workspaceBytes = 0;
  /// The most threads that will run it.
  int threads = 1;
  /// Of the program (CallMeans).
  uint64_t constantBytes = UINT64_MAX;

  /// Makes streams for `threads` workers; throws dnnl::error.
  void reserve(int threads);
};

/// One argument: its DNNL_ARG_* number and the layout that the primitive needs.
struct PrimitiveArg {
  int number;
  dnnl::memory::desc desc;
};

class OneDnnPrimitive {
public:
  OneDnnPrimitive() = default;
  /// `implementation` is the library's name for the algorithm.
  OneDnnPrimitive(dnnl::primitive primitive, std::vector<PrimitiveArg> args,
                  const dnnl::memory::desc &scratchpad,
                  std::string implementation);

  uint64_t scratchpadBytes() const { return scratchpadBytes_; }
  const std::string &implementation() const { return implementation_; }
  const dnnl::memory::desc &argDesc(size_t i) const { return args_[i].desc; }

  /// Makes the argument sets of `threads` workers; worker w's scratchpad is at
  /// scratch.perWorker + w * stride. Throws dnnl::error.
  void bind(const OneDnnContext &context, const rt::Scratch &scratch,
            int threads);

  /// Runs as `worker`; addresses[i] belongs to argument i. False on failure.
  bool run(const OneDnnContext &context, int worker,
           void *const *addresses) const;

private:
  struct WorkerArgs {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> args;
  };
  dnnl::primitive primitive_;
  std::vector<PrimitiveArg> args_;
  dnnl::memory::desc scratchpad_;
  uint64_t scratchpadBytes_ = 0;
  std::string implementation_;
  std::vector<WorkerArgs> workers_;
};

/// Copies `from` to `to`, converting the layout, at load time. Throws.
void reorderNow(const OneDnnContext &context,
                const dnnl::memory::desc &fromDesc, const void *from,
                const dnnl::memory::desc &toDesc, void *to);

/// A reorder to run later; arguments: 0 = from, 1 = to. Throws dnnl::error.
OneDnnPrimitive makeReorder(const OneDnnContext &context,
                            const dnnl::memory::desc &from,
                            const dnnl::memory::desc &to);

/// An attribute set in user scratchpad mode.
dnnl::primitive_attr makeAttributes();

/// "oneDNN 2.6.3 (commit ...)".
std::string oneDnnVersion();

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ONEDNNPRIMITIVE_H
