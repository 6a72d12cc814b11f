//===- ProgramData.cpp - runs on data that is on the device ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"

using namespace sinter::rt;

Result<DeviceData *> Program::allocateData(const char *name,
                                           const DeviceData::Options &options) {
  Executor *executor = find(name);
  if (!executor)
    return Status::invalid(std::string("the program has no entry '") + name +
                           "'");
  if (places_.size() > 1)
    return Status(SINTER_UNSUPPORTED, "the program uses several devices");
  if (!staging_)
    return Status(SINTER_UNSUPPORTED,
                  "device '" + device().name() + "' has no memory of its own");
  freeData();
  Result<std::unique_ptr<DeviceData>> data =
      DeviceData::create(*artifact_, places_.front(), *executor, options);
  if (!data.ok())
    return data.status();
  data_ = std::move(*data);
  return data_.get();
}

void Program::freeData() { data_.reset(); }

Result<RunNumber> Program::beginSeries(std::span<const sinter_control> controls,
                                       const int64_t *rows,
                                       void *const *outputs) {
  SINTER_RETURN_IF_ERROR(refresh());
  return staging_->beginSeries(*data_, controls, rows, outputs, profile_);
}
