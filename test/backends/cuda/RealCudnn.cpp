//===- RealCudnn.cpp - the installed cuDNN, without a device, for tests ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/RealCudnn.h"
#include "backends/cuda/library/Loader.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

using namespace sinter;
using namespace sinter::test;

namespace {

std::unique_ptr<cuda::DnnContext> start() {
  auto api = cuda::loadCudnn();
  REQUIRE(api.ok());
  std::ifstream file(SINTER_TEST_INPUTS "/h200.json");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(text.str().size() > 100);
  auto context = cuda::DnnContext::createDeviceless(**api, text.str());
  INFO(context.status().message());
  REQUIRE(context.ok());
  return std::move(*context);
}

} // namespace

const cuda::DnnContext &sinter::test::realCudnn() {
  static const std::unique_ptr<cuda::DnnContext> context = start();
  return *context;
}

std::string sinter::test::textOf(const std::string &json,
                                 const std::string &name) {
  size_t at = json.find("\"" + name + "\"");
  if (at == std::string::npos)
    return {};
  size_t begin = json.find('"', json.find(':', at)) + 1;
  return json.substr(begin, json.find('"', begin) - begin);
}
