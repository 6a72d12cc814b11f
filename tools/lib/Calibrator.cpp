//===- Calibrator.cpp - runs the program for --calibrate ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Calibrator.h"

#include "runtime/data/BatchReader.h"
#include "tools/lib/HostTensor.h"
#include "tools/lib/Runner.h"

#include <cstring>
#include <numeric>

using namespace sinter;
using namespace sinter::tools;

/// Opens the data for inputs that `descs` describe, at least one.
static rt::Result<rt::BatchReader>
openRows(const compiler::CalibrationData &data,
         std::span<const sinter_tensor_desc> descs) {
  rt::DataOptions table;
  rt::BatchOptions batch;
  for (size_t i = 0; i < descs.size(); ++i)
    if (!data.labels.empty() && descs[i].name == data.labels)
      batch.labels = i;
  if (batch.labels)
    table.labelsName = data.labels;
  auto dataset = rt::openDataset(data.spec, rt::DataUse::Train, table);
  if (!dataset.ok())
    return dataset.status();
  auto reader = rt::BatchReader::bind(*dataset, descs, batch);
  if (reader.ok() && reader->rows() < reader->batch())
    return rt::Status::invalid("has " + std::to_string(reader->rows()) +
                               " rows, a batch has " +
                               std::to_string(reader->batch()));
  return reader;
}

static rt::Status fillBatch(const rt::BatchReader &reader, int64_t batch,
                            std::vector<void *> &buffers) {
  std::vector<int64_t> rows(reader.batch());
  std::iota(rows.begin(), rows.end(), batch * reader.batch());
  return reader.fill(rows, buffers.data());
}

/// Fills `tensors`, which `descs` describe, with the first rows of the data.
static rt::Status readRows(const compiler::CalibrationData &data,
                           std::span<const sinter_tensor_desc> descs,
                           std::vector<void *> &buffers) {
  if (descs.empty())
    return {};
  auto reader = openRows(data, descs);
  return reader.ok() ? fillBatch(*reader, 0, buffers) : reader.status();
}

/// Runs the program once.
static rt::Status runOnce(Runner &runner,
                          const std::vector<const void *> &inputs,
                          std::vector<std::vector<char>> &results) {
  std::vector<void *> addresses;
  for (const sinter_tensor_desc &desc : runner.outputs())
    results.emplace_back(desc.sizeBytes);
  for (std::vector<char> &bytes : results)
    addresses.push_back(bytes.data());
  return runner.run(inputs.data(), addresses.data());
}

std::string
tools::runOnFirstRows(const sinter_artifact &artifact,
                      const compiler::CalibrationData &data,
                      llvm::ArrayRef<compiler::GivenInputs> runs,
                      std::vector<std::vector<std::vector<char>>> &outputs) {
  rt::DeviceOptions options;
  auto runner = runArtifact(artifact, "cpu", options);
  if (!runner.ok())
    return runner.status().message();
  HostTensors tensors;
  std::vector<sinter_tensor_desc> fromData;
  std::vector<void *> buffers;
  std::vector<const void *> inputs;
  for (const sinter_tensor_desc &desc : (*runner)->inputs()) {
    auto tensor = HostTensor::zeros(desc);
    if (!tensor.ok())
      return tensor.status().message();
    inputs.push_back((*tensor)->bytes.data());
    if (!runs.front().contains(desc.name)) {
      fromData.push_back(desc);
      buffers.push_back((*tensor)->bytes.data());
    }
    tensors.push_back(std::move(*tensor));
  }
  if (rt::Status status = readRows(data, fromData, buffers); !status.ok())
    return status.message();
  for (const compiler::GivenInputs &given : runs) {
    for (const auto &tensor : tensors)
      if (auto found = given.find(tensor->name); found != given.end())
        std::memcpy(
            tensor->bytes.data(), found->second.data(),
            std::min<size_t>(found->second.size(), tensor->bytes.sizeBytes()));
    rt::Status status = runOnce(**runner, inputs, outputs.emplace_back());
    if (!status.ok())
      return status.message();
  }
  return "";
}

std::string tools::runOnAllRows(
    const sinter_artifact &artifact, const compiler::CalibrationData &data,
    llvm::function_ref<std::string(llvm::ArrayRef<std::vector<char>>)> take,
    compiler::BatchRows &rows) {
  rt::DeviceOptions options;
  auto runner = runArtifact(artifact, "cpu", options);
  if (!runner.ok())
    return runner.status().message();
  HostTensors tensors;
  std::vector<sinter_tensor_desc> descs;
  std::vector<void *> buffers;
  std::vector<const void *> inputs;
  for (const sinter_tensor_desc &desc : (*runner)->inputs()) {
    auto tensor = HostTensor::zeros(desc);
    if (!tensor.ok())
      return tensor.status().message();
    buffers.push_back((*tensor)->bytes.data());
    inputs.push_back(buffers.back());
    descs.push_back(desc);
    tensors.push_back(std::move(*tensor));
  }
  if (descs.empty())
    return "the model has no input that could take the data";
  auto reader = openRows(data, descs);
  if (!reader.ok())
    return reader.status().message();
  const int64_t batches = reader->rows() / reader->batch();
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<std::vector<char>> results;
    rt::Status status = fillBatch(*reader, batch, buffers);
    if (status.ok())
      status = runOnce(**runner, inputs, results);
    if (!status.ok())
      return status.message();
    if (std::string wrong = take(results); !wrong.empty())
      return wrong;
  }
  rows = {batches, batches * reader->batch(),
          reader->rows() - batches * reader->batch()};
  return "";
}
