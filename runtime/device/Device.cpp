//===- Device.cpp - what runs programs ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"

using namespace sinter::rt;

Device::~Device() = default;
Stream::~Stream() = default;
Event::~Event() = default;
KernelModule::~KernelModule() = default;
Graph::~Graph() = default;
Library::~Library() = default;
LibraryCall::~LibraryCall() = default;

Result<std::unique_ptr<LibraryChain>>
Library::prepareChain(std::span<const sinter_command>, const CallMeans &) {
  return std::unique_ptr<LibraryChain>();
}

void Library::endLoading() {}

int LibraryCall::alternatives() { return 0; }
void LibraryCall::select(int) {}
void LibraryCall::choose(std::span<const double>) {}
void LibraryCall::expectRepeats() {}

void *Stream::native() const { return nullptr; }

Result<void *> Device::allocateApart(uint64_t sizeBytes, const char *purpose) {
  return allocate(sizeBytes, purpose);
}
void Device::adopt(const void *, uint64_t) {}
void Device::discard(void *, uint64_t) {}

static Status noGraphs(const Device &device) {
  return {SINTER_UNSUPPORTED, "device '" + device.name() + "' has no graphs"};
}

Result<std::unique_ptr<Communicator>> Device::joinGroup(const sinter_rank &) {
  return Status(SINTER_UNSUPPORTED,
                "device '" + name() + "' cannot work with other replicas");
}

Status Device::prepareGather() {
  return {SINTER_UNSUPPORTED, "device '" + name() + "' cannot gather rows"};
}
Status Device::gatherRows(Stream &, const RowGather &) {
  return prepareGather();
}

void Device::beginRange(const char *) {}
void Device::endRange() {}

uint64_t Device::availableBytes() const { return UINT64_MAX; }

bool Device::hasGraphs() const { return false; }
Status Device::beginCapture(Stream &) { return noGraphs(*this); }
Result<std::unique_ptr<Graph>> Device::endCapture(Stream &) {
  return noGraphs(*this);
}
Status Device::start(Stream &, Graph &) { return noGraphs(*this); }
