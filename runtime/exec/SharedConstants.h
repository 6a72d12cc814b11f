//===- SharedConstants.h - weights that programs share ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A device with memory of its own holds the constants of an artifact once,
// however many programs of this process run it there.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_SHAREDCONSTANTS_H
#define SINTER_RUNTIME_EXEC_SHAREDCONSTANTS_H

#include "runtime/exec/Place.h"

#include <memory>

namespace sinter::rt {

class SharedConstants {
public:
  /// The constants of place `index` of `artifact` on the place's device: the
  /// copy of another program, or one that is made now. `place.constants` uses
  /// it afterwards.
  static Result<std::shared_ptr<SharedConstants>>
  get(const sinter_artifact &artifact, uint32_t index, Place &place);

  /// Whether get() would find a copy on the device called `device`.
  static bool exist(const sinter_artifact &artifact, uint32_t index,
                    const std::string &device);

  ~SharedConstants();
  SharedConstants(const SharedConstants &) = delete;
  SharedConstants &operator=(const SharedConstants &) = delete;

private:
  SharedConstants(std::shared_ptr<Device> device, void *base)
      : device_(std::move(device)), base_(base) {}

  std::shared_ptr<Device> device_; // of the program that made the copy
  void *base_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_SHAREDCONSTANTS_H
