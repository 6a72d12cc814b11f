//===- Stream.h - handles that a device hands out ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Only the device that made a handle can read it; see Device.h.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_STREAM_H
#define SINTER_RUNTIME_DEVICE_STREAM_H

#include "sinter/abi.h"

namespace sinter::rt {

/// Commands of one stream run in the order in which they were given.
class Stream {
public:
  virtual ~Stream();
  /// The vendor's handle (a CUstream), for libraries; null where there is none.
  virtual void *native() const;
};

enum class EventUse { Order, Timing };

/// A point in a stream that other streams and the host can wait for.
class Event {
public:
  virtual ~Event();
};

/// The kernels of one artifact, loaded.
class KernelModule {
public:
  virtual ~KernelModule();
};

/// Recorded commands.
class Graph {
public:
  virtual ~Graph();
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_STREAM_H
