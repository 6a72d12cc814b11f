//===- NonFinite.h - where a NaN or an infinity comes from ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Checks what every command of a step writes. The first value that is not
// finite leads to the command that made it and so to the nodes of the model.
// Some models make infinities by design (masks): what a command makes in a step
// whose loss and states are finite nevertheless counts as the model's own,
// until the command makes another kind.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_NONFINITE_H
#define SINTER_RUNTIME_HARNESS_NONFINITE_H

#include "runtime/exec/CommandWatch.h"
#include "runtime/exec/ExpandScans.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// What is in an array of floats.
struct FloatSummary {
  enum Kind : uint8_t { NaN = 1, Infinity = 2, MinusInfinity = 4 };
  uint8_t kinds = 0;              // of what is not finite
  uint64_t count = 0;             // elements
  uint64_t numBad = 0;            // of them not finite
  uint64_t firstBad = 0;          // its index
  double least = 0, greatest = 0; // of the finite ones; meaningful if any is
};
/// `dtype` is a float type.
FloatSummary summarize(uint32_t dtype, const void *data, uint64_t sizeBytes);
/// "NaN", "-infinity": of the worst kind.
const char *kindText(uint8_t kinds);
/// "from -1 to 2.5", "3 of 8 not finite, the others from 0 to 1".
std::string rangeText(const FloatSummary &summary);

/// For tests: makes a NaN in the first result of the commands that compute
/// `node`, or of one command of `entry`, in step `step` (from 0).
struct Injection {
  std::string node;
  std::string entry;
  ScanTrip command;
  int64_t step = 0;
};
/// "conv1@12", "grad:7@12" or, of a command in the body of a scan, "step:6.1,
/// trip 2@12" ("step:6.1@12": trip 0); steps count from 1, the rest from 0.
/// SINTER_INVALID otherwise.
Result<Injection> parseInjection(const std::string &text);

/// What the finder of one replica has found in a step.
struct Finding {
  std::string text; // of one line
  uint32_t replica = 0;
  uint64_t position = 0; // NonFiniteFinder::position()
  bool overflows = false;

  /// Whether this is nearer to the cause than `other`: an overflow, or an
  /// earlier command. Replicas pass on what one of them makes.
  bool isBefore(const Finding &other) const;
};

class NonFiniteFinder : public CommandWatch {
public:
  /// `artifact` is what runs, `source` the same as it is stored, by which
  /// commands are numbered. Both outlive this. SINTER_INVALID if it does not
  /// list the dtypes of its slices or has no command that `injection` means.
  static Result<NonFiniteFinder>
  create(const sinter_artifact &artifact, const sinter_artifact &source,
         const std::optional<Injection> &injection);

  void beginStep(int64_t step);
  Status ran(const RanCommand &command) override;
  /// After a step that ended with finite values: what was not finite is the
  /// model's own.
  void learn();
  /// One line about the first command of this step that made a new value that
  /// is not finite; nothing if there was none.
  const std::optional<std::string> &finding() const { return finding_; }
  /// How many commands of this step ran before the one of the finding. Replicas
  /// run the same commands in the same order.
  uint64_t position() const { return position_; }
  /// Whether the finding is a weight that is finite in float32 and not in 16
  /// bits. Such a value is never the model's own.
  bool overflows() const { return overflows_; }

private:
  struct Made {
    uint32_t entry, command, slice;
    auto operator<=>(const Made &) const = default;
  };

  Status read(const RanCommand &command, uint32_t slice);
  Status inject(const RanCommand &command);
  bool isMeant(uint32_t entry, uint32_t command) const;
  Status describe(const RanCommand &command, uint32_t slice,
                  const FloatSummary &made);
  Result<bool> isOverflow(const RanCommand &command, uint32_t slice,
                          uint8_t kinds);
  uint32_t dtypeOf(uint32_t entry, uint32_t command, uint32_t slice) const;

  const sinter_artifact *artifact_ = nullptr;
  std::vector<std::vector<uint64_t>> firstSlice_; // by entry and command
  std::vector<std::vector<ScanTrip>> trips_;      // the same
  std::optional<Injection> injection_;
  int64_t step_ = 0;
  bool isInjected_ = false;
  std::vector<uint8_t> bytes_;
  std::map<Made, uint8_t> own_, seen_; // kinds of what is the model's own
  std::optional<std::string> finding_;
  uint64_t position_ = 0, numRan_ = 0;
  bool overflows_ = false;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_NONFINITE_H
