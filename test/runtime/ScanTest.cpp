//===- ScanTest.cpp - scans as plain commands -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/OneCommand.h"

#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ExpandScans.h"

#include <chrono>
#include <functional>
#include <memory>

using namespace sinter;
using namespace sinter::rt;

namespace {

constexpr int64_t width = 4, rowBytes = 4 * width;

/// One tile: after = before + x.
void addKernel(void *const *buffers, int64_t, int64_t) {
  const auto *x = static_cast<const float *>(buffers[0]);
  const auto *before = static_cast<const float *>(buffers[1]);
  auto *after = static_cast<float *>(buffers[2]);
  for (int64_t i = 0; i < width; ++i)
    after[i] = before[i] + x[i];
}

/// main: the sums of the rows of x, beginning with h, and all sums up to a row.
/// The body adds, multiplies the sum by the constant matrix 2 I, and copies
/// the product to its row of y.
struct Sample {
  int64_t trips, xDims[2], one[1] = {width};
  sinter_tensor_desc inputs[2], outputs[2];
  sinter_kernel_desc kernel{"add", addKernel, nullptr, {}, {}, 0, 3};
  sinter_slice addSlices[3] = {{SINTER_SPACE_SCAN, 0, 0, rowBytes},
                               {SINTER_SPACE_SCAN, 1, 0, rowBytes},
                               {SINTER_SPACE_SCAN, 2, 0, rowBytes}};
  sinter_slice productSlices[3] = {{SINTER_SPACE_SCAN, 2, 0, rowBytes},
                                   {SINTER_SPACE_CONSTANT, 0, 0, 4 * rowBytes},
                                   {SINTER_SPACE_ARENA, 0, 128, rowBytes}};
  sinter_slice copySlices[2] = {{SINTER_SPACE_ARENA, 0, 128, rowBytes},
                                {SINTER_SPACE_SCAN, 3, 0, rowBytes}};
  sinter_slice scanSlices[6];
  sinter_scan_value values[4];
  sinter_matmul matmul{};
  sinter_command body[3] = {}, command = {};
  sinter_scan scan{};
  sinter_entry entry{};
  struct alignas(64) Constants {
    float values[width * width] = {};
  } constants;
  sinter_artifact artifact = test::OneCommand::emptyArtifact();

  explicit Sample(int64_t trips, bool isReverse = false)
      : trips(trips), xDims{trips, width} {
    const auto stackBytes = static_cast<uint64_t>(trips * rowBytes);
    inputs[0] = {"x", xDims, stackBytes, SINTER_F32, 2};
    inputs[1] = {"h", one, rowBytes, SINTER_F32, 1};
    outputs[0] = {"last", one, rowBytes, SINTER_F32, 1};
    outputs[1] = {"all", xDims, stackBytes, SINTER_F32, 2};
    for (int64_t i = 0; i < width; ++i)
      constants.values[i * width + i] = 2;

    auto row = [&](uint32_t space, uint32_t index, int64_t trip) {
      return sinter_slice{space, index,
                          static_cast<uint64_t>(
                              (isReverse ? trips - 1 - trip : trip) * rowBytes),
                          rowBytes};
    };
    auto rows = [&](uint32_t space, uint32_t index) {
      return sinter_scan_value{
          row(space, index, 0), row(space, index, trips > 1 ? 1 : 0),
          row(space, index, trips - 1), isReverse ? -rowBytes : rowBytes,
          std::max<int64_t>(trips - 2, 1)};
    };
    auto place = [](uint64_t number) {
      return sinter_slice{SINTER_SPACE_ARENA, 0, 64 * number, rowBytes};
    };
    const sinter_slice h{SINTER_SPACE_INPUT, 1, 0, rowBytes},
        last{SINTER_SPACE_OUTPUT, 0, 0, rowBytes};
    values[0] = rows(SINTER_SPACE_INPUT, 0);
    values[1] = {h, place(0), trips == 1 ? h : place(trips % 2 ? 1 : 0), 64, 2};
    values[2] = {place(0), place(1), last, -64, 2};
    values[3] = rows(SINTER_SPACE_OUTPUT, 1);

    matmul.dtype = matmul.outDtype = SINTER_F32;
    matmul.m = 1;
    matmul.n = matmul.k = width;
    matmul.aStrideM = matmul.bStrideK = matmul.cStrideM = width;
    matmul.aStrideK = matmul.bStrideN = matmul.cStrideN = 1;
    body[0] = with(test::commandOf(SINTER_CMD_LAUNCH), addSlices, 3, 2);
    body[0].launch.tiles = 1;
    body[1] = with(test::callOf(&matmul), productSlices, 3, 2);
    body[2] = with(test::commandOf(SINTER_CMD_COPY), copySlices, 2, 1);
    scanSlices[0] = {SINTER_SPACE_INPUT, 0, 0, stackBytes};
    scanSlices[1] = h;
    scanSlices[2] = {SINTER_SPACE_CONSTANT, 0, 0, 4 * rowBytes};
    scanSlices[3] = last;
    scanSlices[4] = {SINTER_SPACE_OUTPUT, 1, 0, stackBytes};
    scanSlices[5] = {SINTER_SPACE_ARENA, 0, 0, 256};
    scan = {body, values, 3, 4, trips};
    command = with(test::commandOf(SINTER_CMD_SCAN), scanSlices, 6, 3);
    command.scan.params = &scan;
    entry.name = "main";
    entry.inputs = inputs;
    entry.outputs = outputs;
    entry.numInputs = entry.numOutputs = 2;
    entry.commands = &command;
    entry.numCommands = 1;
    entry.arenaBytes = 256;
    artifact.kernels = &kernel;
    artifact.numKernels = 1;
    artifact.entries = &entry;
    artifact.numEntries = 1;
    artifact.constants = reinterpret_cast<uint8_t *>(constants.values);
    artifact.constantsBytes = sizeof constants;
  }
  Sample(const Sample &) = delete;

  static sinter_command with(sinter_command command, const sinter_slice *slices,
                             uint32_t count, uint32_t reads) {
    command.slices = slices;
    command.numSlices = count;
    command.numReads = reads;
    return command;
  }

  std::unique_ptr<Program> load(int threads) const {
    auto device = cpu::createCpuDevice(threads);
    REQUIRE(device.ok());
    auto program = Program::create(artifact, std::move(*device));
    INFO(program.status().message());
    REQUIRE(program.ok());
    return std::move(*program);
  }
};

/// Damages a fresh sample of three trips and requires an error with `text`.
void refused(const char *text, const std::function<void(Sample &)> &damage) {
  Sample sample(3);
  damage(sample);
  Status status = checkArtifact(sample.artifact);
  INFO(text << " <- " << status.message());
  REQUIRE(status.code() == SINTER_INVALID);
  REQUIRE(status.message().find(text) != std::string::npos);
  REQUIRE(status.message().find('\n') == std::string::npos);
}

} // namespace

TEST_CASE("scan: results of 1, 2, 3 and 100 trips", "[scan]") {
  for (int64_t trips : {1, 2, 3, 4, 100})
    for (bool isReverse : {false, true}) {
      INFO(trips << (isReverse ? " reverse" : ""));
      Sample sample(trips, isReverse);
      std::unique_ptr<Program> program = sample.load(2);
      std::vector<float> x, h = {1, 2, 3, 4}, last(width), all(trips * width),
                            expected(trips * width);
      for (int64_t i = 0; i < trips * width; ++i)
        x.push_back(static_cast<float>(i % 7));
      std::vector<float> sum = h;
      for (int64_t trip = 0; trip < trips; ++trip)
        for (int64_t i = 0; i < width; ++i) {
          int64_t at = (isReverse ? trips - 1 - trip : trip) * width + i;
          sum[i] += x[at];
          expected[at] = 2 * sum[i];
        }
      const void *inputs[] = {x.data(), h.data()};
      void *outputs[] = {last.data(), all.data()};
      for (int run = 0; run < 2; ++run) {
        REQUIRE(program->run("main", nullptr, inputs, outputs).ok());
        REQUIRE(last == sum);
        REQUIRE(all == expected);
      }
    }
}

TEST_CASE("scan: the commands of all trips are plain", "[scan]") {
  Sample sample(100);
  std::vector<uint8_t> dtypes(6 + 8, SINTER_F32);
  dtypes[2] = SINTER_BF16;     // of the scan itself: in no trip
  dtypes[6 + 4] = SINTER_BOOL; // the constant of the product
  sample.artifact.sliceDtypes = dtypes.data();
  ExpandedScans expanded(sample.artifact);
  const sinter_entry &entry = expanded.artifact().entries[0];
  REQUIRE(entry.numCommands == 300);
  REQUIRE(checkArtifact(expanded.artifact()).ok());
  for (uint32_t i = 0; i < 300; ++i) {
    REQUIRE(entry.commands[i].kind == sample.body[i % 3].kind);
    for (uint32_t j = 0; j < entry.commands[i].numSlices; ++j)
      REQUIRE(entry.commands[i].slices[j].space != SINTER_SPACE_SCAN);
  }
  for (uint32_t i = 0; i < 800; ++i)
    REQUIRE(expanded.artifact().sliceDtypes[i] ==
            (i % 8 == 4 ? SINTER_BOOL : SINTER_F32));
  std::vector<ScanTrip> trips = tripsOf(sample.entry);
  REQUIRE(trips.size() == 300);
  REQUIRE(trips[299].command == 0);
  REQUIRE(trips[299].inBody == 2);
  REQUIRE(trips[299].trip == 99);
}

TEST_CASE("scan: a library prepares a call once for all trips", "[scan]") {
  Sample one(1), many(100);
  uint64_t bytes = one.load(1)->places()[0].allocatedBytes;
  std::unique_ptr<Program> program = many.load(1);
  REQUIRE(program->places()[0].allocatedBytes == bytes);
  Executor *executor = program->find("main");
  REQUIRE(!executor->describe(1).empty());
  REQUIRE(executor->describe(298) == executor->describe(1));
  REQUIRE(executor->describe(0).empty());
}

TEST_CASE("scan: checking and expanding take little time", "[scan]") {
  Sample sample(800);
  auto begin = std::chrono::steady_clock::now();
  REQUIRE(checkArtifact(sample.artifact).ok());
  ExpandedScans expanded(sample.artifact);
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - begin;
  INFO("takes " << time.count() << " ms");
  CHECK(expanded.artifact().entries[0].numCommands == 2400);
}

TEST_CASE("scan: damaged tables are refused", "[scan]") {
  refused("has no parameters", [](Sample &s) { s.command.scan.params = {}; });
  refused("lacks a table", [](Sample &s) { s.scan.commands = nullptr; });
  refused("lacks a table", [](Sample &s) { s.scan.values = nullptr; });
  for (int64_t trips : {int64_t(0), int64_t(-1), int64_t(1) << 40, INT64_MAX})
    refused("trips of 3 commands", [&](Sample &s) { s.scan.trips = trips; });
  refused("is in the space of scans",
          [](Sample &s) { s.values[0].middle.space = SINTER_SPACE_SCAN; });
  refused("several sizes", [](Sample &s) { s.values[2].first.sizeBytes = 4; });
  refused("repeats after 0 trips", [](Sample &s) { s.values[1].period = 0; });
  refused("a command of kind 9", [](Sample &s) { s.body[2] = s.command; });
  refused("a command of kind 16",
          [](Sample &s) { s.body[2].kind = SINTER_CMD_RECORD; });
  refused("another place or stream", [](Sample &s) { s.body[1].stream = 2; });
  refused("has no slice table", [](Sample &s) { s.body[0].slices = nullptr; });
  refused("uses value 4 of 4", [](Sample &s) { s.addSlices[0].index = 4; });
  refused("beyond value 0", [](Sample &s) { s.addSlices[0].sizeBytes = 32; });
  refused("beyond value 0",
          [](Sample &s) { s.addSlices[0].offsetBytes = UINT64_MAX - 8; });
  refused("of trip 1",
          [](Sample &s) { s.values[0].middle.offsetBytes = 3 * rowBytes; });
  refused("of trip 2",
          [](Sample &s) { s.values[3].last.offsetBytes = UINT64_MAX - 3; });
  refused("is in no slice of its scan",
          [](Sample &s) { s.scanSlices[5].sizeBytes = 64; });
  refused("writes an input",
          [](Sample &s) { s.values[2].last = s.values[1].first; });
  refused("the unknown space 7", [](Sample &s) {
    s.scanSlices[0] = {SINTER_SPACE_SCAN, 0, 0, rowBytes};
  });
}

TEST_CASE("scan: steps backwards and far strides stay in bounds", "[scan]") {
  Sample sample(4);
  for (int64_t stride :
       {INT64_MIN, INT64_MAX, int64_t(-64), int64_t(1) << 62}) {
    sample.values[0].strideBytes = stride;
    REQUIRE(checkArtifact(sample.artifact).code() == SINTER_INVALID);
  }
}
