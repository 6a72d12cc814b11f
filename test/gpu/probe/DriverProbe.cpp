//===- DriverProbe.cpp - the CUDA driver, call by call --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a program does with the driver, without a program: so that a first
// failure names one call. On the simulated device, the driver is the one of the
// tests, which checks its caller.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaContext.h"
#include "test/gpu/probe/Probe.h"
#include "test/runtime/FakeDriver.h"

#include <cstring>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::probe;

namespace {

constexpr unsigned count = 1 << 16, blockThreads = 256;
constexpr size_t sizeBytes = count * sizeof(float);

/// y = 2 x + y.
constexpr const char *axpy = R"(.version 8.1
.target sm_80
.address_size 64

.visible .entry axpy(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<5>;
  .reg .f32 %f<4>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [y];
  cvta.to.global.u64 %d3, %d1;
  cvta.to.global.u64 %d4, %d2;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %d5, %r4, 4;
  add.s64 %d6, %d3, %d5;
  add.s64 %d7, %d4, %d5;
  ld.global.f32 %f1, [%d6];
  ld.global.f32 %f2, [%d7];
  fma.rn.f32 %f3, %f1, 0f40000000, %f2;
  st.global.f32 [%d7], %f3;
  ret;
}
)";

void computeAxpy(void **parameters) {
  const auto *x = static_cast<const float *>(parameters[0]);
  auto *y = static_cast<float *>(parameters[1]);
  for (unsigned i = 0; i < count; ++i)
    y[i] += 2 * x[i];
}

/// Calls in their order; nothing is called after the first that failed.
class Calls {
public:
  Calls(Report &report, const DriverTable &driver)
      : report_(report), d_(driver) {}
  void make();

private:
  void call(const char *name, DriverResult code, const std::string &note = "") {
    bool isOk = code == result::success;
    report_.add(name, isOk ? "ok" : "failed",
                isOk ? note : errorText(d_, code));
    failed_ |= !isOk;
  }
  void copyAndLaunch();
  void launch();
  void replay();
  void release();

  Report &report_;
  const DriverTable &d_;
  bool failed_ = false;
  ContextHandle context_ = nullptr, popped_ = nullptr;
  StreamHandle stream_ = nullptr;
  DeviceAddress x_ = 0, y_ = 0;
  float *host_ = nullptr; // pinned: x, y, result
  EventHandle begin_ = nullptr, end_ = nullptr;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
  GraphHandle graph_ = nullptr;
  GraphExecHandle exec_ = nullptr;
};

} // namespace

/// The call is not made after a failure.
#define CALL(EXPORT, EXPRESSION)                                               \
  do {                                                                         \
    if (!failed_)                                                              \
      call(EXPORT, d_.EXPRESSION);                                             \
  } while (false)

void Calls::make() {
  const size_t colon = report_.options().device.find(':');
  const int ordinal =
      colon == std::string::npos
          ? 0
          : std::atoi(report_.options().device.c_str() + colon + 1);
  DeviceNumber device = 0;
  int version = 0;
  CALL("cuDriverGetVersion", driverGetVersion(&version));
  report_.facts["driver"] = version;
  CALL("cuDeviceGet", deviceGet(&device, ordinal));
  CALL("cuDevicePrimaryCtxRetain", primaryCtxRetain(&context_, device));
  CALL("cuCtxPushCurrent", ctxPushCurrent(context_));
  size_t freeBytes = 0, totalBytes = 0;
  CALL("cuMemGetInfo", memGetInfo(&freeBytes, &totalBytes));
  report_.facts["free_bytes"] = freeBytes;
  report_.facts["total_bytes"] = totalBytes;
  if (!failed_)
    copyAndLaunch();
  release();
  if (context_)
    (void)d_.primaryCtxRelease(device);
}

void Calls::copyAndLaunch() {
  CALL("cuStreamCreate", streamCreate(&stream_, streamNonBlocking));
  CALL("cuMemAlloc", memAlloc(&x_, sizeBytes));
  CALL("cuMemAlloc", memAlloc(&y_, sizeBytes));
  void *pinned = nullptr;
  CALL("cuMemHostAlloc",
       memHostAlloc(&pinned, 3 * sizeBytes, hostAllocPortable));
  CALL("cuEventCreate", eventCreate(&begin_, 0));
  CALL("cuEventCreate", eventCreate(&end_, 0));
  if (failed_)
    return;
  host_ = static_cast<float *>(pinned);
  for (unsigned i = 0; i < count; ++i) {
    host_[i] = static_cast<float>(i % 1000);
    host_[count + i] = static_cast<float>(i % 777) / 2;
  }
  CALL("cuMemsetD8Async", memsetD8Async(x_, 0xff, sizeBytes, stream_));
  CALL("cuMemcpyHtoDAsync", memcpyHtoDAsync(x_, host_, sizeBytes, stream_));
  CALL("cuMemcpyHtoDAsync",
       memcpyHtoDAsync(y_, host_ + count, sizeBytes, stream_));
  launch();
  if (!failed_)
    replay();
}

void Calls::launch() {
  char log[4096] = "";
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CALL("cuModuleLoadDataEx",
       moduleLoadDataEx(&module_, axpy, 2, options, values));
  if (failed_ && *log)
    report_.add("the driver's log", "failed", log);
  CALL("cuModuleGetFunction", moduleGetFunction(&function_, module_, "axpy"));
  void *parameters[] = {&x_, &y_};
  CALL("cuEventRecord", eventRecord(begin_, stream_));
  CALL("cuLaunchKernel",
       launchKernel(function_, count / blockThreads, 1, 1, blockThreads, 1, 1,
                    0, stream_, parameters, nullptr));
  CALL("cuEventRecord", eventRecord(end_, stream_));
  CALL("cuMemcpyDtoHAsync",
       memcpyDtoHAsync(host_ + 2 * count, y_, sizeBytes, stream_));
  CALL("cuStreamSynchronize", streamSynchronize(stream_));
  float milliseconds = -1;
  CALL("cuEventElapsedTime", eventElapsedTime(&milliseconds, begin_, end_));
  if (failed_)
    return;
  report_.facts["axpy_us"] = 1e3 * milliseconds;
  if (report_.takeSpoil())
    host_[2 * count + 100] += 1;
  for (unsigned i = 0; i < count; ++i) {
    float found = host_[2 * count + i],
          expected = 2 * host_[i] + host_[count + i];
    if (found != expected)
      return report_.add("the kernel's result", "wrong value",
                         "[" + std::to_string(i) + "] is " +
                             std::to_string(found) + ", not " +
                             std::to_string(expected));
  }
  report_.add("the kernel's result", milliseconds > 0 ? "ok" : "no time",
              std::to_string(1e3 * milliseconds) + " us by events");
}

/// The kernel and a copy as a graph, ten times.
void Calls::replay() {
  void *parameters[] = {&x_, &y_};
  CALL("cuStreamBeginCapture", streamBeginCapture(stream_, captureThreadLocal));
  CALL("cuLaunchKernel",
       launchKernel(function_, count / blockThreads, 1, 1, blockThreads, 1, 1,
                    0, stream_, parameters, nullptr));
  CALL("cuMemcpyDtoHAsync",
       memcpyDtoHAsync(host_ + 2 * count, y_, sizeBytes, stream_));
  CALL("cuStreamEndCapture", streamEndCapture(stream_, &graph_));
  CALL("cuGraphInstantiateWithFlags", graphInstantiate(&exec_, graph_, 0));
  CALL("cuGraphUpload", graphUpload(exec_, stream_));
  for (int i = 0; i < 10 && !failed_; ++i)
    if (DriverResult code = d_.graphLaunch(exec_, stream_))
      call("cuGraphLaunch", code);
  CALL("cuStreamSynchronize", streamSynchronize(stream_));
  if (failed_)
    return;
  for (unsigned i = 0; i < count; ++i)
    if (host_[2 * count + i] != 22 * host_[i] + host_[count + i])
      return report_.add("the graph's result", "wrong value",
                         "[" + std::to_string(i) + "] is " +
                             std::to_string(host_[2 * count + i]));
  report_.add("the graph's result", "ok", "10 launches");
}

void Calls::release() {
  if (exec_)
    CALL("cuGraphExecDestroy", graphExecDestroy(exec_));
  if (graph_)
    CALL("cuGraphDestroy", graphDestroy(graph_));
  if (module_)
    CALL("cuModuleUnload", moduleUnload(module_));
  for (EventHandle event : {begin_, end_})
    if (event)
      CALL("cuEventDestroy", eventDestroy(event));
  if (host_)
    CALL("cuMemFreeHost", memFreeHost(host_));
  for (DeviceAddress address : {x_, y_})
    if (address)
      CALL("cuMemFree", memFree(address));
  if (stream_)
    CALL("cuStreamDestroy", streamDestroy(stream_));
  if (context_)
    CALL("cuCtxPopCurrent", ctxPopCurrent(&popped_));
}

#undef CALL

const DriverTable *probe::driverFor(Report &report) {
  if (report.options().isSimulated()) {
    static test::FakeDriver fake;
    fake.kernels["axpy"] = computeAxpy;
    return &fake.table();
  }
  auto driver = openDriver();
  if (driver.ok())
    return *driver;
  report.missing(driver.status().message());
  return nullptr;
}

void probe::probeDriver(Report &report) {
  const DriverTable *driver = driverFor(report);
  if (!driver)
    return;
  Calls(report, *driver).make();
  if (!report.options().isSimulated())
    return;
  for (const std::string &violation : test::FakeDriver::current()->violations)
    report.add("the caller", "failed", violation);
}
