//===- Probe.h - small checks of a machine's GPU ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// sinter-gpu-probe runs one probe in a process of its own: test/gpu/smoke.py
// starts it. A probe is a list of cases. The first case that fails is reported
// whole on the error output, every case is a line of the output, and a JSON
// file has them all. Nothing here needs LLVM.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_GPU_PROBE_PROBE_H
#define SINTER_TEST_GPU_PROBE_PROBE_H

#include "backends/cuda/device/Driver.h"
#include "runtime/device/Device.h"
#include "test/backends/cuda/Operand.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sinter::probe {

/// The exit codes, which test/gpu/smoke.py knows too.
enum ExitCode { ExitOk = 0, ExitFailed = 1, ExitNoTime = 75, ExitMissing = 77 };

struct Options {
  std::string name, device = "cuda:0", json;
  /// When no more cases begin.
  double seconds = 9;
  int replays = 1000;
  /// Changes one result before it is compared: the probe has to fail.
  bool spoil = false;
  std::vector<std::string> words; // after the probe's name

  bool isSimulated() const { return device.starts_with("sim"); }
};

/// The cases of a probe.
class Report {
public:
  explicit Report(const Options &options) : options_(options) {}

  const Options &options() const { return options_; }
  bool hasTime() const { return seconds() < options_.seconds; }
  double seconds() const;
  /// True for the first call after --spoil.
  bool takeSpoil() { return std::exchange(spoils_, false); }

  /// Ends the probe: says in one line what the machine does not have.
  void missing(const std::string &why) { missing_ = why; }
  /// `outcome`: "ok" or what is wrong in one or two words ("wrong value").
  void add(const std::string &name, const std::string &outcome,
           const std::string &detail = "", nlohmann::ordered_json figures = {});
  void add(const std::string &name, const rt::Status &status) {
    add(name, status.ok() ? "ok" : "failed", status.message());
  }
  /// Records a case that the time limit cuts off.
  void skip(const std::string &name);
  /// What is known of the machine, for the JSON file.
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();

  /// Prints the sum and writes the file; the exit code.
  int finish() const;

private:
  using Clock = std::chrono::steady_clock;

  const Options options_;
  const Clock::time_point begin_ = Clock::now();
  bool spoils_ = options_.spoil;
  std::string missing_, firstError_;
  std::vector<std::string> outcomes_; // of the cases
  nlohmann::ordered_json cases_ = nlohmann::ordered_json::array();
};

/// Each adds its cases.
void probeDriver(Report &report);
void probeLoad(Report &report);
void probeReplay(Report &report);
void probeProducts(Report &report);
void probeConvolutions(Report &report);
void probeSums(Report &report);
void probeAttention(Report &report);
void probeNonFinite(Report &report);

/// The driver of a real device, or one that checks its caller. Null after
/// missing().
const cuda::DriverTable *driverFor(Report &report);

/// A device with a stream. Its commands are prepared by its library, as those
/// of a program are.
class Bench {
public:
  /// Null after missing(). `command` is the sinter_command_kind whose library
  /// is needed.
  static std::unique_ptr<Bench> create(Report &report, uint32_t command);

  rt::Device &device() { return *device_; }
  /// Runs a command on the device.
  test::CommandRunner runner();
  /// As CallMeans, for calls that are prepared from now on.
  bool keepsNan = false;
  /// What results may differ by: the vendor's libraries may sum in another
  /// order, and round operands where they were allowed to.
  test::Comparison comparison(uint32_t dtype) const;

  /// Runs the case and adds it, if there is time.
  template <typename Command>
  void check(const std::string &name, Command &command, uint32_t dtype) {
    test::Comparison found = comparison(dtype);
    if (begin(name))
      end(name, command.run(runner()), found, [&] { command.compare(found); });
  }
  bool begin(const std::string &name);
  void end(const std::string &name, const test::Ran &ran,
           test::Comparison &found, const std::function<void()> &compare);

private:
  explicit Bench(Report &report) : report_(report) {}
  rt::Status compute(const sinter_command &command, rt::LibraryCall &call,
                     std::vector<test::Operand> &operands, uint32_t numReads);

  Report &report_;
  std::unique_ptr<rt::Device> device_;
  std::unique_ptr<rt::Stream> stream_;
};

} // namespace sinter::probe

#endif // SINTER_TEST_GPU_PROBE_PROBE_H
