//===- OneDnnPrimitive.cpp - one oneDNN primitive, run by many threads ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnPrimitive.h"

#include <dlfcn.h>

using namespace sinter;
using namespace sinter::cpu;

namespace {

/// The OpenMP runtime that the library was built with, if any. It is looked up
/// at run time, because it comes with the library; we neither compile with
/// OpenMP nor link it.
struct OpenMp {
  void (*setThreads)(int);
  int (*maxThreads)();

  static const OpenMp &get() {
    static const OpenMp found = {reinterpret_cast<void (*)(int)>(dlsym(
                                     RTLD_DEFAULT, "omp_set_num_threads")),
                                 reinterpret_cast<int (*)()>(dlsym(
                                     RTLD_DEFAULT, "omp_get_max_threads"))};
    return found;
  }
};

} // namespace

OneThreadScope::OneThreadScope() {
  const OpenMp &omp = OpenMp::get();
  if (!omp.setThreads || !omp.maxThreads)
    return;
  before_ = omp.maxThreads();
  omp.setThreads(1);
}

OneThreadScope::~OneThreadScope() {
  if (before_ > 1)
    OpenMp::get().setThreads(before_);
}

void OneThreadScope::limitWorker(int worker) {
  static thread_local bool limited = false;
  if (worker == 0 || limited)
    return;
  if (auto *setThreads = OpenMp::get().setThreads)
    setThreads(1);
  limited = true;
}

void OneDnnContext::reserve(int threads) {
  while (streams.size() < static_cast<size_t>(threads))
    streams.emplace_back(engine);
}

OneDnnPrimitive::OneDnnPrimitive(dnnl::primitive primitive,
                                 std::vector<PrimitiveArg> args,
                                 const dnnl::memory::desc &scratchpad,
                                 std::string implementation)
    : primitive_(std::move(primitive)), args_(std::move(args)),
      scratchpad_(scratchpad), scratchpadBytes_(scratchpad.get_size()),
      implementation_(std::move(implementation)) {}

void OneDnnPrimitive::bind(const OneDnnContext &context,
                           const rt::Scratch &scratch, int threads) {
  workers_.clear();
  workers_.resize(static_cast<size_t>(threads));
  for (int worker = 0; worker < threads; ++worker) {
    WorkerArgs &mine = workers_[static_cast<size_t>(worker)];
    for (const PrimitiveArg &arg : args_) {
      mine.memories.emplace_back(arg.desc, context.engine,
                                 static_cast<void *>(DNNL_MEMORY_NONE));
      mine.args.push_back({arg.number, mine.memories.back().get()});
    }
    if (scratchpadBytes_) {
      mine.memories.emplace_back(scratchpad_, context.engine,
                                 scratch.perWorker +
                                     static_cast<uint64_t>(worker) *
                                         scratch.perWorkerStride);
      mine.args.push_back({DNNL_ARG_SCRATCHPAD, mine.memories.back().get()});
    }
  }
}

bool OneDnnPrimitive::run(const OneDnnContext &context, int worker,
                          void *const *addresses) const {
  const WorkerArgs &mine = workers_[static_cast<size_t>(worker)];
  for (size_t i = 0; i < args_.size(); ++i)
    if (dnnl_memory_set_data_handle(mine.args[i].memory, addresses[i]) !=
        dnnl_success)
      return false;
  return dnnl_primitive_execute(
             primitive_.get(),
             context.streams[static_cast<size_t>(worker)].get(),
             static_cast<int>(mine.args.size()),
             mine.args.data()) == dnnl_success;
}

void sinter::cpu::reorderNow(const OneDnnContext &context,
                             const dnnl::memory::desc &fromDesc,
                             const void *from, const dnnl::memory::desc &toDesc,
                             void *to) {
  dnnl::memory source(fromDesc, context.engine, const_cast<void *>(from));
  dnnl::memory target(toDesc, context.engine, to);
  dnnl::stream stream = context.streams.front();
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

OneDnnPrimitive sinter::cpu::makeReorder(const OneDnnContext &context,
                                         const dnnl::memory::desc &from,
                                         const dnnl::memory::desc &to) {
  dnnl::reorder::primitive_desc desc(context.engine, from, context.engine, to,
                                     makeAttributes());
  return {dnnl::reorder(desc),
          {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
          desc.scratchpad_desc(),
          desc.impl_info_str()};
}

dnnl::primitive_attr sinter::cpu::makeAttributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::string sinter::cpu::oneDnnVersion() {
  const dnnl_version_t *version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." +
         std::to_string(version->minor) + "." + std::to_string(version->patch);
}
