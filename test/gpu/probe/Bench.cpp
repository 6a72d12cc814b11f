//===- Bench.cpp - library calls on a device, one at a time ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/Loader.h"
#include "runtime/device/Registry.h"
#include "runtime/exec/ArtifactChecks.h"
#include "test/gpu/probe/Probe.h"

#include <cstring>

using namespace sinter;
using namespace sinter::probe;
using namespace sinter::test;
using rt::Result;
using rt::Status;

std::unique_ptr<Bench> Bench::create(Report &report, uint32_t command) {
  if (!report.options().isSimulated()) {
    if (!driverFor(report))
      return nullptr;
    Result<std::string> library = cuda::libraryFor(command);
    if (!library.ok()) {
      report.missing(library.status().message());
      return nullptr;
    }
    report.facts["library"] = *library;
  }
  auto device = rt::linkedDevices().create(report.options().device, {});
  if (!device.ok()) {
    report.add("the device", device.status());
    return nullptr;
  }
  std::unique_ptr<Bench> bench(new Bench(report));
  bench->device_ = std::move(*device);
  auto stream = bench->device_->createStream();
  if (!stream.ok()) {
    report.add("a stream", stream.status());
    return nullptr;
  }
  bench->stream_ = std::move(*stream);
  report.facts["device"] = bench->device_->report();
  return bench;
}

Comparison Bench::comparison(uint32_t dtype) const {
  // tf32 has ten bits of mantissa, to which both operands may be cut off. Of
  // the vendor's other kernels, the tests of networks allow 1e-5.
  if (dtype == SINTER_TF32)
    return Comparison(0x1p-9);
  return Comparison(report_.options().isSimulated() ? 0 : 1e-5);
}

bool Bench::begin(const std::string &name) {
  if (!report_.hasTime())
    report_.skip(name);
  return report_.hasTime();
}

void Bench::end(const std::string &name, const Ran &ran, Comparison &found,
                const std::function<void()> &compare) {
  if (!ran.prepared.ok()) {
    const std::string &why = ran.prepared.message();
    bool hasNone = why.find("has no algorithm") != std::string::npos ||
                   why.find("has no engine") != std::string::npos;
    return report_.add(name, hasNone ? "no algorithm" : "not prepared", why);
  }
  if (!ran.computed.ok())
    return report_.add(name, "not computed", ran.computed.message());
  compare();
  nlohmann::ordered_json figures = {{"of_bound", found.worst()},
                                    {"chosen", ran.description}};
  if (size_t at = ran.description.find("1 of "); at != std::string::npos)
    figures["engines"] = std::atoi(ran.description.c_str() + at + 5);
  if (found.failure().empty())
    return report_.add(name, "ok", ran.description, figures);
  figures["wrong_elements"] = found.numWrong();
  report_.add(name, "wrong value",
              found.failure() + "; " + std::to_string(found.numWrong()) +
                  " wrong elements; " + ran.description,
              figures);
}

CommandRunner Bench::runner() {
  return [this](sinter_command command, std::vector<Operand> &operands,
                uint32_t numReads, bool onlyPrepare) {
    Ran ran;
    const std::vector<sinter_slice> slices = slicesOf(operands, numReads);
    command.slices = slices.data();
    command.numSlices = static_cast<uint32_t>(slices.size());
    command.numReads = numReads;
    ran.prepared = command.kind == SINTER_CMD_MATMUL ? rt::checkMatmul(command)
                   : command.kind == SINTER_CMD_CONV
                       ? rt::checkConv(command)
                       : rt::checkAttention(command);
    if (!ran.prepared.ok())
      return ran;
    Result<rt::Library *> library = device_->library();
    ran.prepared = library.status();
    if (!library.ok())
      return ran;
    rt::CallMeans means;
    means.workspaceBytes = 64u << 20;
    means.keepsNan = keepsNan;
    auto call = (*library)->prepare(command, means);
    ran.prepared = call.status();
    if (!call.ok())
      return ran;
    ran.description = (*call)->description();
    if (!onlyPrepare)
      ran.computed = compute(command, **call, operands, numReads);
    return ran;
  };
}

Status Bench::compute(const sinter_command &command, rt::LibraryCall &call,
                      std::vector<Operand> &operands, uint32_t numReads) {
  struct Memory {
    rt::Device &device;
    std::vector<void *> blocks;
    ~Memory() {
      for (void *block : blocks)
        device.free(block);
    }
    Result<uint8_t *> take(uint64_t sizeBytes) {
      auto block = device.allocate(sizeBytes, "a probe");
      if (!block.ok())
        return block.status();
      blocks.push_back(*block);
      return static_cast<uint8_t *>(*block);
    }
  } memory{*device_, {}};
  std::vector<void *> buffers;
  for (const Operand &operand : operands) {
    auto block = memory.take(operand.offsetBytes + operand.bytes.size());
    if (!block.ok())
      return block.status();
    buffers.push_back(*block + operand.offsetBytes);
    SINTER_RETURN_IF_ERROR(device_->upload(
        *stream_, buffers.back(), operand.bytes.data(), operand.bytes.size()));
  }
  rt::Scratch scratch;
  auto shared = memory.take(call.sharedBytes());
  if (!shared.ok())
    return shared.status();
  scratch.shared = *shared;
  SINTER_RETURN_IF_ERROR(call.bind(scratch, 1));
  SINTER_RETURN_IF_ERROR(device_->call(*stream_, call, buffers.data()));
  std::vector<std::vector<uint8_t>> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    results.emplace_back(operands[i].bytes.size());
    SINTER_RETURN_IF_ERROR(device_->download(*stream_, results[i].data(),
                                             buffers[i], results[i].size()));
  }
  SINTER_RETURN_IF_ERROR(device_->synchronize(*stream_));
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    if (i < numReads && results[i] != operands[i].bytes)
      return Status::failed("operand " + std::to_string(i) +
                            " was changed, which is only read");
    operands[i].bytes = std::move(results[i]);
  }
  // The highest byte of the first element has the sign.
  if (report_.takeSpoil())
    operands.back().bytes[0] ^= 0x70, operands.back().bytes[1] ^= 0x70;
  return {};
}
