//===- ExpandScans.h - scans as plain commands ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A scan is stored as its body, once. When a program is loaded, each scan
// becomes the commands of all its trips, one after the other, so that
// everything else in the run tower sees only plain commands with plain slices.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_EXPANDSCANS_H
#define SINTER_RUNTIME_EXEC_EXPANDSCANS_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::rt {

/// Checks a SCAN command, whose own slices were checked, and every command of
/// every trip. Errors do not name the command.
Status checkScan(const sinter_artifact &artifact, const sinter_entry &entry,
                 const sinter_command &command);

bool hasScans(const sinter_artifact &artifact);

/// A command of an expanded entry.
struct ScanTrip {
  uint32_t command = 0; // of the table that it comes from
  uint32_t inBody = 0;  // of the body of the scan; 0 outside of scans
  int64_t trip = 0;     // 0 outside of scans
  bool isInScan = false;

  /// As `sinter-inspect plan` numbers commands: "3", "6.1, trip 2" in the body
  /// of a scan.
  std::string number() const;
};
/// Of each command of `entry`, which is not expanded, when it is.
std::vector<ScanTrip> tripsOf(const sinter_entry &entry);

/// A checked artifact with the scans of all entries expanded. It must outlive
/// this object, which owns the tables that differ.
class ExpandedScans {
public:
  explicit ExpandedScans(const sinter_artifact &artifact);
  ExpandedScans(const ExpandedScans &) = delete;
  ExpandedScans &operator=(const ExpandedScans &) = delete;

  const sinter_artifact &artifact() const { return artifact_; }

private:
  void add(const sinter_command &command, const uint8_t *dtypes);
  void addTrips(const sinter_scan &scan, const uint8_t *dtypes);

  sinter_artifact artifact_;
  std::vector<sinter_entry> entries_;
  std::vector<sinter_command> commands_;
  std::vector<sinter_slice> slices_;
  std::vector<uint8_t> dtypes_; // of all slices of all commands, in order
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_EXPANDSCANS_H
