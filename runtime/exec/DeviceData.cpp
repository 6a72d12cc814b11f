//===- DeviceData.cpp - a dataset in a device's memory --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/DeviceData.h"

#include "runtime/base/NumberText.h"
#include "runtime/exec/IndexChecks.h"

#include <cstring>

using namespace sinter::rt;

/// Parts of a block begin at multiples of this.
static constexpr uint64_t alignment = 256;
static_assert(sizeof(sinter_control) <= alignment);

static uint64_t aligned(uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

static uint64_t rowBytesOf(const sinter_tensor_desc &input) {
  return input.sizeBytes / static_cast<uint64_t>(input.dims[0]);
}

uint64_t DeviceData::rowBytes(uint32_t input) const {
  return rowBytesOf(executor_.entry().inputs[input]);
}

uint64_t DeviceData::bytesOf(const sinter_entry &entry, int64_t rows) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(rowBytesOf(entry.inputs[i]),
                               static_cast<uint64_t>(rows), &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
      return UINT64_MAX;
  }
  return total;
}

Result<uint8_t *> DeviceData::allocate(uint64_t sizeBytes,
                                       const char *purpose) {
  const uint64_t left = options_.mostBytes - allocatedBytes_;
  if (aligned(sizeBytes) > left)
    return Status(SINTER_OUT_OF_MEMORY,
                  std::string(purpose) + " take " + bytesText(sizeBytes) +
                      " of " + place_.device->name() +
                      "'s memory, of which the program's --memory-limit "
                      "leaves " +
                      bytesText(left));
  Result<void *> address = place_.device->allocate(sizeBytes, purpose);
  if (!address.ok())
    return address.status();
  if (*address)
    allocations_.push_back(*address);
  allocatedBytes_ += aligned(sizeBytes);
  place_.allocatedBytes += sizeBytes;
  return static_cast<uint8_t *>(*address);
}

Result<uint8_t *> DeviceData::allocateHost(uint64_t sizeBytes,
                                           const char *purpose) {
  Result<void *> address = place_.device->allocateHost(sizeBytes, purpose);
  if (!address.ok())
    return address.status();
  hostAllocations_.push_back(*address);
  return static_cast<uint8_t *>(*address);
}

DeviceData::~DeviceData() {
  (void)place_.device->synchronize(); // no copy may still use the memory
  place_.slots.resize(firstSlot_);
  executor_.dropSlots();
  for (void *address : hostAllocations_)
    place_.device->freeHost(address);
  for (void *address : allocations_)
    place_.device->free(address);
}

Result<std::unique_ptr<DeviceData>>
DeviceData::create(const sinter_artifact &artifact, Place &place,
                   Executor &executor, const Options &options) {
  SINTER_RETURN_IF_ERROR(place.device->prepareGather());
  std::unique_ptr<DeviceData> data(new DeviceData(place, executor, options));
  data->batch_ = executor.entry().inputs[0].dims[0];
  SINTER_RETURN_IF_ERROR(data->allocateColumns());
  SINTER_RETURN_IF_ERROR(data->addSlots(artifact));
  return data;
}

Status DeviceData::allocateColumns() {
  const sinter_entry &entry = executor_.entry();
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    const auto rows = static_cast<uint64_t>(options_.rows) +
                      (options_.paddedInput == i ? 1 : 0);
    Result<uint8_t *> column =
        allocate(rowBytes(i) * rows, "the training data");
    if (!column.ok())
      return column.status();
    columns_.push_back(*column);
  }
  return {};
}

std::vector<RowGather> DeviceData::gathersInto(uint8_t *inputs,
                                               const int64_t *rows) {
  const sinter_entry &entry = executor_.entry();
  std::vector<RowGather> gathers;
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    if (!columns_[i])
      continue;
    if (gathers.empty() || gathers.back().numColumns == RowGather::mostColumns)
      gathers.push_back({rows, batch_, {}, 0});
    RowGather &gather = gathers.back();
    gather.columns[gather.numColumns++] = {
        columns_[i], inputs + offsetInBlock(entry.inputs, i), rowBytes(i),
        options_.paddedInput == i ? options_.rows : -1};
  }
  return gathers;
}

Status DeviceData::addSlots(const sinter_artifact &artifact) {
  const sinter_entry &entry = executor_.entry();
  runBytes_ =
      alignment + aligned(static_cast<uint64_t>(batch_) * sizeof(int64_t));
  const uint64_t outputBytes =
      aligned(offsetInBlock(entry.outputs, writtenOutputs(entry)));
  for (uint32_t series = 0; series < numSeries; ++series) {
    const uint64_t runs = options_.mostRuns;
    Result<uint8_t *> block = allocate(runs * runBytes_, "row numbers"),
                      outputs = allocate(runs * outputBytes, "the outputs"),
                      hostBlock = allocateHost(runs * runBytes_,
                                               "row numbers in host memory"),
                      hostOutputs = allocateHost(runs * outputBytes,
                                                 "the outputs in host memory");
    for (Result<uint8_t *> *made : {&block, &outputs, &hostBlock, &hostOutputs})
      if (!made->ok())
        return made->status();
    blocks_[series] = *block;
    hostBlocks_[series] = *hostBlock;
    for (uint32_t run = 0; run < runs; ++run) {
      Slot slot;
      slot.control = *block + run * runBytes_;
      slot.inputs = place_.slots[series].inputs;
      slot.outputs = *outputs + run * outputBytes;
      slot.hostOutputs = *hostOutputs + run * outputBytes;
      gathers_.push_back(gathersInto(
          slot.inputs,
          reinterpret_cast<const int64_t *>(slot.control + alignment)));
      slot.gathers = gathers_.back();
      place_.slots.push_back(slot);
    }
  }
  executor_.addSlots(artifact);
  return {};
}

Status DeviceData::upload(int64_t first, int64_t count,
                          const void *const *inputs) {
  for (uint32_t i = 0; i < columns_.size(); ++i)
    if (columns_[i])
      SINTER_RETURN_IF_ERROR(place_.device->upload(
          *place_.stream,
          columns_[i] + static_cast<uint64_t>(first) * rowBytes(i), inputs[i],
          static_cast<uint64_t>(count) * rowBytes(i)));
  return {};
}

Status DeviceData::uploadPadding(const void *const *inputs) {
  const uint32_t i = *options_.paddedInput;
  return place_.device->upload(
      *place_.stream,
      columns_[i] + static_cast<uint64_t>(options_.rows) * rowBytes(i),
      inputs[i], rowBytes(i));
}

void DeviceData::write(uint32_t series, uint32_t run,
                       const sinter_control &control, const int64_t *rows) {
  uint8_t *to = hostBlocks_[series] + run * runBytes_;
  std::memcpy(to, &control, sizeof(control));
  std::memcpy(to + alignment, rows,
              static_cast<uint64_t>(batch_) * sizeof(int64_t));
}

DeviceData::Transfer DeviceData::transfer(uint32_t series,
                                          uint32_t runs) const {
  return {blocks_[series], hostBlocks_[series], runs * runBytes_};
}
