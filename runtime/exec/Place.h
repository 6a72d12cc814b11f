//===- Place.h - a device of a program and what is on it --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// sinter_command.place is an index into a program's table of places.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_PLACE_H
#define SINTER_RUNTIME_EXEC_PLACE_H

#include "runtime/device/Device.h"
#include "runtime/exec/SeparateSlices.h"

#include <memory>
#include <span>
#include <vector>

namespace sinter::rt {

/// Where a device keeps the constants that commands read. Constants that are
/// only initial values of states take no memory there.
class ConstantMap {
public:
  /// Constants in host memory, used where they are.
  explicit ConstantMap(const uint8_t *constants = nullptr)
      : constants_(constants) {}
  /// The constants that commands on device `place` read.
  ConstantMap(const sinter_artifact &artifact, uint32_t place);

  /// Bytes of the device's own copy; 0 when the host's are used.
  uint64_t sizeBytes() const { return sizeBytes_; }
  /// Copies them to `base` in the device's memory.
  Status upload(Device &device, Stream &stream, uint8_t *base) const;
  /// Takes them from `base` in the device's memory.
  void takeFrom(const uint8_t *base) { base_ = base; }
  /// The address of the byte at `offset` of the artifact's constants.
  const uint8_t *at(uint64_t offset) const;

private:
  struct Range {
    uint64_t hostOffset, sizeBytes, offset;
  };
  const uint8_t *constants_ = nullptr;
  const uint8_t *base_ = nullptr;
  std::vector<Range> ranges_; // ascending, with gaps between them
  uint64_t sizeBytes_ = 0;
};

/// What one run reads and writes besides arena and states. A device with memory
/// of its own has two slots, so that inputs arrive while the previous run
/// computes, and more for series (DeviceData.h). In a program with such
/// devices, the CPU's slots are the host's side of theirs.
struct Slot {
  uint8_t *control = nullptr;
  uint8_t *inputs = nullptr;  // null: the host's own arrays
  uint8_t *outputs = nullptr; // null: the host's own arrays
  uint8_t *hostOutputs = nullptr;
  /// Fill the inputs from data on the device, before the commands. Empty: the
  /// inputs are uploaded.
  std::span<const RowGather> gathers;
};

class SharedConstants;

/// Members are ordered so that what is on a device is destroyed before it.
struct Place {
  std::shared_ptr<Device> device; // shared with SharedConstants
  std::shared_ptr<SharedConstants> sharedConstants;
  std::unique_ptr<Stream> stream; // SINTER_STREAM_COMPUTE
  /// SINTER_STREAM_TRANSFER; null in programs on one device.
  std::unique_ptr<Stream> transfers;
  /// SINTER_STREAM_GRADIENT; null if no command runs there, or if host memory
  /// is shared.
  std::unique_ptr<Stream> gradients;
  /// The beginning and the end of a run's commands on `gradients`.
  std::unique_ptr<Event> fork, join;
  /// The end of the last run on all streams. Null in programs on one device,
  /// and if host memory is shared: the run is then done when the call returns.
  std::unique_ptr<Event> end;
  std::unique_ptr<Stream> collectives; // null: no command is one
  std::unique_ptr<Communicator> group; // null: not joined
  std::unique_ptr<KernelModule> kernels;
  uint8_t *arena = nullptr;                   // null with separateSlices
  std::vector<SeparateSlices> separateSlices; // of each entry, or empty
  uint8_t *states = nullptr;
  ConstantMap constants;
  std::vector<Slot> slots; // one, or two
  /// The smallest number of threads that run one of its library calls; below
  /// the device's if there is too little scratch.
  int callThreads = 0;
  /// What the program has allocated on the device.
  uint64_t allocatedBytes = 0;

  /// The stream of commands on `kind`, a sinter_stream.
  Stream *streamOf(uint32_t kind) const {
    Stream *own = kind == SINTER_STREAM_TRANSFER   ? transfers.get()
                  : kind == SINTER_STREAM_GRADIENT ? gradients.get()
                                                   : nullptr;
    return own ? own : stream.get();
  }
};

/// The offset of tensor `index` in a block that holds all of `tensors`; with
/// their number as `index`, the block's size.
uint64_t offsetInBlock(const sinter_tensor_desc *tensors, uint32_t index);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_PLACE_H
