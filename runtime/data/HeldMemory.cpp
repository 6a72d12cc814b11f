//===- HeldMemory.cpp - the memory that data takes ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/HeldMemory.h"

#include "runtime/base/ControlGroup.h"
#include "runtime/base/NumberText.h"

#include <atomic>
#include <utility>

using namespace sinter::rt;

static std::atomic<uint64_t> heldBytes{0}, testLimitBytes{0};

HeldMemory::HeldMemory(HeldMemory &&other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)) {}

HeldMemory &HeldMemory::operator=(HeldMemory &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

HeldMemory::~HeldMemory() { heldBytes -= bytes_; }

uint64_t HeldMemory::limitBytes() {
  static const uint64_t limit = usableMemoryBytes() / 4 * 3;
  const uint64_t ofTest = testLimitBytes;
  return ofTest ? ofTest : limit;
}

void HeldMemory::setLimitBytes(uint64_t bytes) { testLimitBytes = bytes; }

uint64_t HeldMemory::totalBytes() { return heldBytes; }

bool HeldMemory::resize(uint64_t bytes) {
  const uint64_t limit = limitBytes();
  uint64_t before = heldBytes;
  do {
    const uint64_t others = before - bytes_;
    if (bytes > bytes_ && (bytes > limit || others > limit - bytes))
      return false;
  } while (!heldBytes.compare_exchange_weak(before, before - bytes_ + bytes));
  bytes_ = bytes;
  return true;
}

HeldMemory HeldMemory::split(uint64_t bytes) {
  HeldMemory part;
  part.bytes_ = bytes;
  bytes_ -= bytes;
  return part;
}

Status HeldMemory::refusal(const std::string &name, uint64_t bytes,
                           const std::string &advice) const {
  const uint64_t others = heldBytes - bytes_;
  return Status(
      SINTER_OUT_OF_MEMORY,
      name + ": takes " + bytesText(bytes) + " of memory" +
          (others > 0 ? ", and other data holds " + bytesText(others) : "") +
          "; together they may take " + bytesText(limitBytes()) +
          ", three quarters of the memory that this process may use; " +
          advice);
}
