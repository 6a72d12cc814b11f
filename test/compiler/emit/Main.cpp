//===- Main.cpp - runs the tests of compiler/emit -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "runtime/device/Registry.h"

// Artifacts are checked here, not run.
void sinter::rt::registerLinkedDevices(DeviceRegistry &) {}
