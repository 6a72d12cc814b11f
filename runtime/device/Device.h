//===- Device.h - what runs programs, and how it is found -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A Device owns memory and runs commands; the executor knows it only by this
// interface. Two kinds of device fit it: one that shares the host's memory and
// has finished a command when the call returns (the CPU), and one with memory
// of its own, whose streams run while the host continues (CUDA, the simulated
// device). Devices are registered explicitly, never by static initialisers:
// whoever links a binary defines registerLinkedDevices().
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_DEVICE_H
#define SINTER_RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/Status.h"
#include "runtime/collective/Communicator.h"
#include "runtime/device/DeviceOptions.h"
#include "runtime/device/Library.h"
#include "runtime/device/RowGather.h"
#include "runtime/device/Stream.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt {

/// One program's view of a device. Calls come from one thread at a time.
///
/// Streams, events, kernels and graphs belong to the device that made them and
/// must be dropped before it. A call on a stream returns when the work is
/// queued; what it reads and writes (including `buffers` itself and host
/// memory) must stay in place until the stream is synchronised. Errors of
/// queued work may come back from any later call. Once the device itself has
/// failed (SINTER_DEVICE_FAILED), every call fails with the same line.
class Device {
public:
  virtual ~Device();

  /// The name that it was created by: "cpu", "cuda:0".
  virtual const std::string &name() const = 0;
  /// sinter_artifact.target of the programs that it runs: "cpu", "cuda", "sim".
  virtual const std::string &kind() const = 0;

  /// Names the hardware among all devices of all hosts, where it serves one
  /// replica of a group at most; otherwise "".
  virtual std::string uniqueName() const { return ""; }

  /// One line each for `doctor`: hardware, driver, libraries, what they can do.
  virtual std::vector<std::string> report() const = 0;

  /// Succeeds if the code of `artifact`, which is for this kind of device, can
  /// run here (cpuFeatures, images); else one line naming what is missing.
  virtual Status checkCode(const sinter_artifact &artifact) const = 0;

  /// How many workers one command may use; the same for the device's lifetime.
  virtual int threads() const = 0;

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// True if commands can use host addresses as they are.
  virtual bool sharesHostMemory() const = 0;

  /// Zeroed memory, a multiple of 64 bytes (256 when it is the device's own);
  /// null for 0 bytes. `purpose` is for the error: "the arena".
  virtual Result<void *> allocate(uint64_t sizeBytes, const char *purpose) = 0;
  /// For debugging: memory with arbitrary contents, which no other allocation
  /// is next to, if the device can do that. Freed by free(). By default the
  /// same as allocate().
  virtual Result<void *> allocateApart(uint64_t sizeBytes, const char *purpose);
  /// Nothing may still be using it.
  virtual void free(void *address) = 0;

  /// Tells this object of memory that another object for the same device has
  /// allocated and that commands here will read. The memory outlives this
  /// object. Does nothing by default.
  virtual void adopt(const void *address, uint64_t sizeBytes);

  /// Declares the content of this memory meaningless: a device that checks its
  /// programs may overwrite it. Nothing may be using the memory.
  virtual void discard(void *address, uint64_t sizeBytes);

  /// Pinned host memory, which copies reach without the host's help; a multiple
  /// of 64 bytes; null for 0 bytes.
  virtual Result<void *> allocateHost(uint64_t sizeBytes,
                                      const char *purpose) = 0;
  virtual void freeHost(void *address) = 0;

  /// How many more bytes allocate() can provide; UINT64_MAX if unknown.
  virtual uint64_t availableBytes() const;

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  virtual Result<std::unique_ptr<Stream>> createStream() = 0;
  virtual Result<std::unique_ptr<Event>> createEvent(EventUse use) = 0;
  /// Marks the end of what is queued on `stream`; replaces an earlier mark.
  virtual Status record(Event &event, Stream &stream) = 0;
  /// What is queued on `stream` from now on starts after the mark of `event`,
  /// which may belong to another device of this kind. An event that was not
  /// recorded causes no wait.
  virtual Status wait(Stream &stream, const Event &event) = 0;
  /// Makes the host wait.
  virtual Status synchronize(const Event &event) = 0;
  virtual Status synchronize(Stream &stream) = 0;
  /// Waits for all streams.
  virtual Status synchronize() = 0;
  /// The time between two marks of EventUse::Timing that were reached.
  virtual Result<double> elapsedUs(const Event &begin, const Event &end) = 0;

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  /// Copies from host memory and back. If that memory is not pinned, the call
  /// may wait for the copy.
  virtual Status upload(Stream &stream, void *to, const void *from,
                        uint64_t sizeBytes) = 0;
  virtual Status download(Stream &stream, void *to, const void *from,
                          uint64_t sizeBytes) = 0;
  /// Copies within this device.
  virtual Status copy(Stream &stream, void *to, const void *from,
                      uint64_t sizeBytes) = 0;
  /// Copies from memory of `source`, another device of this kind, to memory of
  /// this one; `stream` belongs to this one.
  virtual Status copyFromPeer(Stream &stream, void *to, Device &source,
                              const void *from, uint64_t sizeBytes) = 0;
  virtual Status fill(Stream &stream, void *to, uint8_t value,
                      uint64_t sizeBytes) = 0;

  /// Prepares gatherRows(). By default fails with one line: the device has
  /// none.
  virtual Status prepareGather();
  /// Copies rows within this device; `gather` itself may change when this
  /// returns.
  virtual Status gatherRows(Stream &stream, const RowGather &gather);

  /// Makes every kernel of `artifact`, which must outlive the result, ready to
  /// launch. The artifact was checked, by checkCode too.
  virtual Result<std::unique_ptr<KernelModule>>
  loadKernels(const sinter_artifact &artifact) = 0;

  /// Launches kernel `kernel` of the artifact: tiles [0, tiles), or its grid.
  /// `buffers[i]` is the address of slice i.
  virtual Status launch(Stream &stream, KernelModule &module, uint32_t kernel,
                        void *const *buffers, int64_t tiles) = 0;

  /// Runs a call that this device's library prepared.
  virtual Status call(Stream &stream, LibraryCall &call,
                      void *const *buffers) = 0;

  /// The contraction library, opened by the first call. Fails with one line
  /// that names what is not installed or missing.
  virtual Result<Library *> library() = 0;

  /// Makes this device a replica's. Returns once all replicas of the group have
  /// called this, each on its own thread with its own device, all of one kind.
  /// The result must be dropped before the device. Fails by default: such
  /// devices run one replica.
  virtual Result<std::unique_ptr<Communicator>>
  joinGroup(const sinter_rank &rank);

  /// Names the work that this thread queues, for the vendor's profilers. Ranges
  /// end in reverse order. Does nothing by default.
  virtual void beginRange(const char *name);
  virtual void endRange();

  //===--------------------------------------------------------------------===//
  // Graphs: a queue of commands, recorded once and started by one call
  //===--------------------------------------------------------------------===//

  virtual bool hasGraphs() const;
  /// From here to endCapture, commands on `stream` (and on streams that wait
  /// for events recorded on it) are recorded, not run. Nothing may be
  /// allocated, loaded or synchronised meanwhile.
  virtual Status beginCapture(Stream &stream);
  /// Also ends a capture in which a command failed, with that error.
  virtual Result<std::unique_ptr<Graph>> endCapture(Stream &stream);
  virtual Status start(Stream &stream, Graph &graph);
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_DEVICE_H
