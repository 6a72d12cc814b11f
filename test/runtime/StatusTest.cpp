//===- StatusTest.cpp - what a failure tells besides its text -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Status.h"
#include "runtime/collective/Communicator.h"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace sinter::rt;

TEST_CASE("status: another message keeps what the failure is about",
          "[status]") {
  const Status left = leftGroup(3);
  CHECK(left.code() == SINTER_FAILED);
  CHECK(left.message() == "replica 3 has left its group");
  CHECK(left.isAboutOthers());
  const Status wrapped = left.as(SINTER_DEVICE_FAILED, "sum: stopped");
  CHECK(wrapped.code() == SINTER_DEVICE_FAILED);
  CHECK(wrapped.message() == "sum: stopped");
  CHECK(wrapped.isAboutOthers());
  const Status full = Status::ofSystem(SINTER_FAILED, "full", ENOSPC);
  CHECK(full.as(SINTER_INVALID, "cannot write").systemError() == ENOSPC);
  CHECK_FALSE(full.isAboutOthers());
}

TEST_CASE("status: the text does not say what a failure is about", "[status]") {
  CHECK_FALSE(Status::failed(leftGroup(3).message()).isAboutOthers());
  CHECK_FALSE(Status().isAboutOthers());
}
