//===- SharedConstants.cpp - weights that programs share ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SharedConstants.h"

#include <map>
#include <mutex>
#include <tuple>

using namespace sinter::rt;

namespace {

/// The artifact outlives its programs, so its address identifies it.
using Key = std::tuple<const sinter_artifact *, uint32_t, std::string>;

struct Copies {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<SharedConstants>> byKey;
};

Copies &copies() {
  static auto *all = new Copies; // programs may be dropped at exit
  return *all;
}

} // namespace

bool SharedConstants::exist(const sinter_artifact &artifact, uint32_t index,
                            const std::string &device) {
  std::lock_guard lock(copies().mutex);
  auto found = copies().byKey.find({&artifact, index, device});
  return found != copies().byKey.end() && !found->second.expired();
}

Result<std::shared_ptr<SharedConstants>>
SharedConstants::get(const sinter_artifact &artifact, uint32_t index,
                     Place &place) {
  const uint64_t sizeBytes = place.constants.sizeBytes();
  // A second program waits here until the first one's copy is complete.
  std::lock_guard lock(copies().mutex);
  std::weak_ptr<SharedConstants> &known =
      copies().byKey[{&artifact, index, place.device->name()}];
  if (std::shared_ptr<SharedConstants> there = known.lock()) {
    place.device->adopt(there->base_, sizeBytes);
    place.constants.takeFrom(static_cast<const uint8_t *>(there->base_));
    return there;
  }
  Result<void *> base = place.device->allocate(sizeBytes, "the constants");
  if (!base.ok())
    return base.status();
  std::shared_ptr<SharedConstants> made(
      new SharedConstants(place.device, *base));
  place.allocatedBytes += sizeBytes;
  place.constants.takeFrom(static_cast<const uint8_t *>(*base));
  SINTER_RETURN_IF_ERROR(place.constants.upload(*place.device, *place.stream,
                                                static_cast<uint8_t *>(*base)));
  known = made;
  return made;
}

SharedConstants::~SharedConstants() {
  if (base_)
    device_->free(base_);
}
