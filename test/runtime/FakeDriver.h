//===- FakeDriver.h - a CUDA driver that checks its caller ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replaces libcuda.so.1 in tests: device memory is host memory, and kernels are
// functions of the test. Work on streams is done as late as possible (when the
// caller waits for it), so that a missing wait shows as a wrong result. Misuse
// by the caller (a dead handle, no current context, access to bytes outside an
// allocation, a wait or an allocation while a graph is recorded) is recorded in
// `violations`.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_FAKEDRIVER_H
#define SINTER_TEST_RUNTIME_FAKEDRIVER_H

#include "backends/cuda/device/Driver.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sinter::test {

struct FakeDevice {
  std::string name = "Fake H200";
  int major = 9, minor = 0;
  uint64_t totalBytes = uint64_t(1) << 32;
  bool hasCooperativeLaunch = true;
};

class FakeDriver {
public:
  /// What a launch computes; parameters[i] is the address that it was given, or
  /// the address of a copy if the parameter is a structure.
  using Kernel = std::function<void(void **parameters)>;
  /// One launch that was executed.
  struct LaunchRecord {
    std::string kernel;
    unsigned grid[3], block[3], sharedBytes;
    bool fromGraph;
    bool isEarly; // it may begin before the launch before it has ended
    bool isCooperative;
  };

  /// The driver that the table's functions use; each test makes a new one.
  explicit FakeDriver(std::vector<FakeDevice> devices = {FakeDevice()});
  ~FakeDriver();
  FakeDriver(const FakeDriver &) = delete;
  FakeDriver &operator=(const FakeDriver &) = delete;

  const cuda::DriverTable &table() const { return table_; }
  /// The current driver; null if there is none.
  static FakeDriver *current();

  //===--------------------------------------------------------------------===//
  // Set by a test
  //===--------------------------------------------------------------------===//

  std::map<std::string, Kernel> kernels;
  int version = 13000;
  cuda::DriverResult initResult = cuda::result::success;
  bool knowsErrors = true; // the toolkit's stub does not
  std::string jitLog;      // the log of a failing moduleLoadDataEx
  /// Of any kernel, on each of 132 multiprocessors at once.
  unsigned blocksPerMultiprocessor = 4;

  /// Call `nth` (from 1) of the table's field `call` returns `code`.
  void failCall(const std::string &call, int nth, cuda::DriverResult code);
  /// The `nth` (from 1) executed launch of `kernel` ends the context.
  void failKernel(const std::string &kernel, int nth, cuda::DriverResult code);

  //===--------------------------------------------------------------------===//
  // Read by a test
  //===--------------------------------------------------------------------===//

  std::vector<std::string> violations;
  std::vector<LaunchRecord> launches; // executed ones
  std::map<std::string, int> calls;   // by field
  uint64_t uploadedBytes = 0;         // by memcpyHtoDAsync
  int numFunctionAttributes = 0;      // requests for larger shared memory

  /// Handles and allocations that were not freed.
  size_t numAlive() const;
  uint64_t deviceBytesHeld() const;

private:
  friend struct FakeCalls;

  struct Block {
    std::unique_ptr<uint8_t[]> storage;
    uint8_t *begin;
    uint64_t sizeBytes;
  };
  struct Stream;
  using Work = std::function<cuda::DriverResult()>;
  struct Graph {
    std::vector<Work> work;
    bool isExec = false;
    Stream *origin = nullptr; // of the capture
  };
  struct Stream {
    std::vector<Work> queue;
    size_t done = 0;
    Graph *recording = nullptr;
    size_t recorded = 0;  // commands in `recording`
    bool isJoined = true; // the capture's stream waits for all of them

    void leaveCapture() {
      recording = nullptr;
      isJoined = true;
    }
  };
  struct Event {
    bool isTimed = false;
    Stream *stream = nullptr;
    size_t position = 0;
    uint64_t tick = 0;
    Graph *graph = nullptr; // recorded inside this capture
    size_t recorded = 0;    // the stream's commands before it in the capture

    void record(Stream &on) {
      graph = on.recording;
      recorded = on.recorded;
      stream = &on;
    }
    /// Makes `waiting` part of the capture. The order in which commands are
    /// recorded is one of those allowed, so the graph replays it.
    bool joinCapture(Stream &waiting) {
      if (waiting.recording && waiting.recording != graph)
        return false;
      waiting.recording = graph;
      if (graph->origin == &waiting && recorded == stream->recorded)
        stream->isJoined = true;
      return true;
    }
    void leaveCapture() {
      graph = nullptr;
      stream = nullptr;
    }
  };
  cuda::DriverResult endCapture(Graph &graph, Stream &on) {
    if (graph.origin != &on)
      return violation("the end of a capture on another stream");
    for (const auto &[handle, stream] : streams_) {
      if (stream->recording == &graph && !stream->isJoined)
        violation("a capture has work that its stream does not wait for");
      if (stream->recording == &graph)
        stream->leaveCapture();
    }
    for (const auto &[handle, event] : events_)
      if (event->graph == &graph)
        event->leaveCapture();
    return cuda::result::success;
  }
  struct Module {
    std::map<std::string, std::vector<size_t>> parameters; // sizes, by kernel
  };
  struct Function {
    Module *module;
    std::string name;
    std::vector<size_t> parameterBytes;
  };
  struct Context {
    int device = 0, references = 0;
  };
  struct Injected {
    int nth;
    cuda::DriverResult code;
  };

  cuda::DriverResult enter(const char *call, bool needsContext,
                           bool mayCapture);
  cuda::DriverResult violation(const std::string &text);
  template <typename T>
  T *alive(std::map<const void *, std::unique_ptr<T>> &handles,
           const void *handle, const char *what);
  Block *blockOf(const void *address, uint64_t sizeBytes);
  bool isPinned(const void *address, uint64_t sizeBytes) const;
  cuda::DriverResult queue(Stream &stream, Work work);
  cuda::DriverResult runUntil(Stream &stream, size_t position);
  cuda::DriverResult launchNow(const Function &function,
                               const LaunchRecord &record,
                               const std::vector<std::vector<uint8_t>> &values);

  cuda::DriverTable table_;
  std::vector<FakeDevice> devices_;
  std::vector<Context> contexts_;
  std::vector<Context *> current_;
  std::map<const void *, Block> memory_, pinned_;
  std::map<const void *, std::unique_ptr<Stream>> streams_;
  std::map<const void *, std::unique_ptr<Event>> events_;
  std::map<const void *, std::unique_ptr<Module>> modules_;
  std::map<const void *, std::unique_ptr<Function>> functions_;
  std::map<const void *, std::unique_ptr<Graph>> graphs_;
  std::map<std::string, Injected> failingCalls_, failingKernels_;
  std::map<std::string, int> executed_;
  cuda::DriverResult dead_ = cuda::result::success;
  uint64_t ticks_ = 0;
};

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_FAKEDRIVER_H
