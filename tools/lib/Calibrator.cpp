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
  // A trainer divides bytes by 255. Whether the host of another program does,
  // only the user knows.
  if (reader.ok() && !data.takesBytes)
    if (std::string names = reader->scaledColumns(); !names.empty())
      return rt::Status::invalid("has bytes (uint8) for " + names +
                                 "; it needs the float32 numbers that the "
                                 "program will be given");
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

namespace {

/// A loaded program with memory for its inputs.
class LoadedProgram {
public:
  rt::Status load(const sinter_artifact &artifact) {
    rt::DeviceOptions options;
    auto loaded = runArtifact(artifact, "cpu", options);
    if (!loaded.ok())
      return loaded.status();
    runner_ = std::move(*loaded);
    for (const sinter_tensor_desc &desc : runner_->inputs()) {
      auto tensor = HostTensor::zeros(desc);
      if (!tensor.ok())
        return tensor.status();
      descs.push_back(desc);
      inputs.push_back(std::move(*tensor));
    }
    return {};
  }

  /// Runs it once; `results` get the bytes of its outputs.
  rt::Status run(std::vector<std::vector<char>> &results) {
    std::vector<const void *> from;
    std::vector<void *> to;
    for (const auto &input : inputs)
      from.push_back(input->bytes.data());
    for (const sinter_tensor_desc &desc : runner_->outputs())
      results.emplace_back(desc.sizeBytes);
    for (std::vector<char> &bytes : results)
      to.push_back(bytes.data());
    return runner_->run(from.data(), to.data());
  }

  std::vector<sinter_tensor_desc> descs; // of the inputs
  HostTensors inputs;

private:
  std::unique_ptr<Runner> runner_;
};

} // namespace

std::string
tools::runOnFirstRows(const sinter_artifact &artifact,
                      const compiler::CalibrationData &data,
                      llvm::ArrayRef<compiler::GivenInputs> runs,
                      std::vector<std::vector<std::vector<char>>> &outputs) {
  LoadedProgram program;
  if (rt::Status status = program.load(artifact); !status.ok())
    return status.message();
  std::vector<sinter_tensor_desc> fromData;
  std::vector<void *> buffers;
  for (auto [desc, input] : llvm::zip_equal(program.descs, program.inputs))
    if (!runs.front().contains(desc.name)) {
      fromData.push_back(desc);
      buffers.push_back(input->bytes.data());
    }
  if (rt::Status status = readRows(data, fromData, buffers); !status.ok())
    return status.message();
  for (const compiler::GivenInputs &given : runs) {
    for (const auto &tensor : program.inputs)
      if (auto found = given.find(tensor->name); found != given.end())
        std::memcpy(
            tensor->bytes.data(), found->second.data(),
            std::min<size_t>(found->second.size(), tensor->bytes.sizeBytes()));
    rt::Status status = program.run(outputs.emplace_back());
    if (!status.ok())
      return status.message();
  }
  return "";
}

std::string tools::runOnAllRows(
    const sinter_artifact &artifact, const compiler::CalibrationData &data,
    llvm::function_ref<std::string(llvm::ArrayRef<std::vector<char>>)> take,
    compiler::BatchRows &rows) {
  LoadedProgram program;
  if (rt::Status status = program.load(artifact); !status.ok())
    return status.message();
  if (program.descs.empty())
    return "the model has no input that could take the data";
  std::vector<void *> buffers;
  for (const auto &input : program.inputs)
    buffers.push_back(input->bytes.data());
  auto reader = openRows(data, program.descs);
  if (!reader.ok())
    return reader.status().message();
  const int64_t batches = reader->rows() / reader->batch();
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<std::vector<char>> results;
    rt::Status status = fillBatch(*reader, batch, buffers);
    if (status.ok())
      status = program.run(results);
    if (!status.ok())
      return status.message();
    if (std::string wrong = take(results); !wrong.empty())
      return wrong;
  }
  rows = {batches, batches * reader->batch(),
          reader->rows() - batches * reader->batch()};
  return "";
}
