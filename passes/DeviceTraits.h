//===- DeviceTraits.h - facts about a kind of device ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A target states these facts about its kind of device, and nobody else knows
// kinds by name: passes and the driver ask for traits, and option texts list
// the kinds that the tool has registered.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_DEVICETRAITS_H
#define SINTER_PASSES_DEVICETRAITS_H

#include <string>

namespace sinter::passes {

struct DeviceTraits {
  /// Works in the host's memory. There is one such device, and its name is that
  /// of its kind; others are numbered, KIND:0 to KIND:(maxDevices - 1).
  bool isHost = false;
  unsigned maxDevices = 1;
  /// Runs on the host in place of another kind, for tests.
  bool isSimulated = false;
  /// A launch costs as much as reading many elements: kernels that read the
  /// same then share one, even if no result takes an operand's place.
  bool hasExpensiveLaunches = false;
  /// Multiplies 16-bit and tf32 matrices with tensor cores, which want sizes
  /// that are multiples of 16 bytes.
  bool hasTensorCores = false;
  /// A library's convolution of 16-bit floats may give float32.
  bool convolvesIntoFloat32 = true;
  /// All blocks of a kernel can wait for each other: kernels may be persistent.
  bool hasGridBarriers = false;
  /// Kernels can be had as PTX.
  bool hasPtx = false;
  /// Programs may also hold machine code for single architectures.
  bool hasCubins = false;
  /// The order in which replicas are summed follows the machine.
  bool sumsReplicasInOwnOrder = false;
};

/// A kind of device that a tool can compile for.
struct DeviceKind {
  std::string name;
  DeviceTraits traits;

  /// "cpu", "cuda:0".
  std::string firstDevice() const { return traits.isHost ? name : name + ":0"; }
};

} // namespace sinter::passes

#endif // SINTER_PASSES_DEVICETRAITS_H
