//===- PlanCacheTest.cpp - choices that are kept between starts -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/PlanCache.h"
#include "backends/cuda/library/ConvPlan.h"
#include "backends/cuda/library/DnnChoice.h"
#include "backends/cuda/library/DnnPlan.h"
#include "backends/cuda/library/LtMatmul.h"
#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimCudnn.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/base/File.h"
#include "test/backends/cuda/CacheFolder.h"
#include "test/runtime/Calls.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <limits>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::test;

namespace fs = std::filesystem;

namespace {

/// A product of 64x48x32 in fp32, prepared on the stand-in for cuBLASLt.
class PreparedProduct {
public:
  PreparedProduct(const lt::Api &api, std::shared_ptr<PlanCache> cache,
                  int64_t k = 32) {
    params_.dtype = params_.outDtype = SINTER_F32;
    params_.m = 64;
    params_.n = 48;
    params_.k = k;
    params_.aStrideM = k;
    params_.bStrideK = params_.cStrideM = 48;
    params_.aStrideK = params_.bStrideN = params_.cStrideN = 1;
    slices_[0] = {SINTER_SPACE_ARENA, 0, 0, uint64_t(64 * k * 4)};
    slices_[1] = {SINTER_SPACE_ARENA, 0, 65536, uint64_t(48 * k * 4)};
    slices_[2] = {SINTER_SPACE_ARENA, 0, 131072, 64 * 48 * 4};
    command_ = callOf(&params_);
    command_.slices = slices_;
    command_.numSlices = 3;
    command_.numReads = 2;
    auto made = LtContext::create(api);
    REQUIRE(made.ok());
    context_ = std::move(*made);
    options_.cache = std::move(cache);
    LtFallbacks fallbacks;
    auto prepared = prepareLtMatmul(*context_, command_, options_, fallbacks);
    INFO(prepared.status().message());
    REQUIRE(prepared.ok());
    call = std::move(*prepared);
  }

  /// Computes with what is selected; the stand-in checks algorithm and
  /// workspace.
  void run() {
    auto block = [](uint64_t bytes) {
      auto made = rt::AlignedBlock::allocate(bytes + 256, "t");
      REQUIRE(made.ok());
      return std::move(*made);
    };
    rt::AlignedBlock blocks[] = {block(64 * 64 * 4), block(64 * 64 * 4),
                                 block(64 * 64 * 4),
                                 block(call->sharedBytes())};
    void *buffers[4];
    for (int i = 0; i < 4; ++i)
      buffers[i] = reinterpret_cast<void *>(
          (reinterpret_cast<uintptr_t>(blocks[i].data()) + 255) / 256 * 256);
    rt::Scratch scratch;
    scratch.shared = static_cast<uint8_t *>(buffers[3]);
    REQUIRE(call->bind(scratch, 1).ok());
    rt::Status status = call->run(buffers, rt::CallContext());
    INFO(status.message());
    REQUIRE(status.ok());
  }

  bool has(const std::string &text) const {
    return call->description().find(text) != std::string::npos;
  }

private:
  sinter_matmul params_{};
  sinter_slice slices_[3];
  sinter_command command_{};
  LibraryOptions options_;
  std::unique_ptr<LtContext> context_;

public:
  std::unique_ptr<rt::LibraryCall> call; // before the context goes
};

/// A convolution of 2x3x5x5 with 4 filters of 3x3.
DnnGraph graphOf(uint32_t dtype) {
  sinter_conv conv{};
  conv.direction = SINTER_CONV_FORWARD;
  conv.dtype = dtype;
  conv.layout = conv.filterLayout = SINTER_CHANNELS_LAST;
  conv.spatialRank = 2;
  conv.batch = 2;
  conv.channels = 3;
  conv.filters = 4;
  conv.groups = 1;
  for (int i = 0; i < 2; ++i) {
    conv.inputDims[i] = conv.outputDims[i] = 5;
    conv.kernel[i] = 3;
    conv.strides[i] = conv.dilations[i] = conv.padsLow[i] = conv.padsHigh[i] =
        1;
  }
  return convGraph(conv, 2);
}

} // namespace

TEST_CASE("plan cache: what is stored is found, by this and later starts",
          "[plan-cache]") {
  CacheFolder folder;
  auto first = folder.open();
  REQUIRE_FALSE(first->find("p"));
  REQUIRE(first->store("p", "value\nof lines\n") == "value\nof lines\n");
  REQUIRE(first->find("p") == "value\nof lines\n");
  REQUIRE(folder.open()->find("p") == "value\nof lines\n");
  REQUIRE_FALSE(folder.open()->find("q"));
  // Another device, driver or version of a library has another key.
  REQUIRE_FALSE(folder.open("device B")->find("p"));
  REQUIRE(folder.files().size() == 1);
  REQUIRE(folder.notes.empty());
  struct stat info;
  REQUIRE(::stat(folder.path().c_str(), &info) == 0);
  REQUIRE((info.st_mode & 0777) == 0700);
}

TEST_CASE("plan cache: the first that is stored counts", "[plan-cache]") {
  CacheFolder folder;
  auto one = folder.open(), two = folder.open();
  REQUIRE_FALSE(one->find("p"));
  REQUIRE_FALSE(two->find("p"));
  REQUIRE(one->store("p", "one") == "one");
  REQUIRE(two->store("p", "two") == "one");
  REQUIRE(two->find("p") == "one");
  // A choice that a start has used does not change while it runs.
  fs::remove_all(folder.path());
  REQUIRE(one->find("p") == "one");
}

TEST_CASE("plan cache: processes that choose at once agree", "[plan-cache]") {
  CacheFolder folder;
  constexpr int count = 8, problems = 20;
  // With and without a damaged file in the way.
  for (bool damaged : {false, true}) {
    if (damaged)
      for (const fs::path &file : folder.files())
        REQUIRE(rt::writeFileAtomic(file, std::string("damaged")).ok());
    std::vector<pid_t> children;
    for (int child = 0; child < count; ++child) {
      pid_t pid = ::fork();
      REQUIRE(pid >= 0);
      if (pid == 0) {
        auto cache = folder.open();
        std::string went;
        for (int i = 0; i < problems; ++i) {
          auto value = cache->store("p" + std::to_string(i),
                                    std::to_string(child * 1000 + i));
          went += (value ? *value : "nothing") + " ";
        }
        std::string path = folder.path() + "-went-" + std::to_string(child);
        _exit(rt::writeFileAtomic(path, went).ok() ? 0 : 1);
      }
      children.push_back(pid);
    }
    for (pid_t pid : children) {
      int status = 0;
      REQUIRE(::waitpid(pid, &status, 0) == pid);
      REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    std::string all;
    for (int child = 0; child < count; ++child) {
      std::string path = folder.path() + "-went-" + std::to_string(child);
      auto bytes = rt::readFile(path);
      REQUIRE(bytes.ok());
      std::string went(bytes->begin(), bytes->end());
      REQUIRE(went.find("nothing") == std::string::npos);
      if (child == 0)
        all = went;
      REQUIRE(went == all);
      fs::remove(path);
    }
    REQUIRE(folder.files().size() == problems); // and nothing unfinished
    auto later = folder.open();
    std::string found;
    for (int i = 0; i < problems; ++i)
      found += *later->find("p" + std::to_string(i)) + " ";
    REQUIRE(found == all);
  }
}

TEST_CASE("plan cache: a damaged file counts as none", "[plan-cache]") {
  CacheFolder folder;
  REQUIRE(folder.open()->store("p", "the value") == "the value");
  const fs::path file = folder.files().at(0);
  auto bytes = rt::readFile(file);
  REQUIRE(bytes.ok());
  const std::string good(bytes->begin(), bytes->end());
  std::vector<std::string> contents = {"", "x", good.substr(0, good.size() - 1),
                                       good + "x", good.substr(0, 20)};
  for (size_t at = 0; at < good.size(); at += 3) {
    contents.push_back(good);
    contents.back()[at] ^= 1;
  }
  for (const std::string &content : contents) {
    CAPTURE(content);
    REQUIRE(rt::writeFileAtomic(file, content).ok());
    auto cache = folder.open();
    REQUIRE_FALSE(cache->find("p"));
    REQUIRE(cache->store("p", "another") == "another");
    REQUIRE(folder.open()->find("p") == "another");
  }
  REQUIRE(folder.notes.empty());
  // A file that cannot be replaced is reported once.
  fs::remove(file);
  fs::create_directories(file / "in");
  auto cache = folder.open();
  REQUIRE_FALSE(cache->find("p"));
  REQUIRE_FALSE(cache->store("p", "value"));
  REQUIRE_FALSE(cache->store("q", "value"));
  REQUIRE(folder.notes.size() == 1);
  REQUIRE(folder.notes[0].find("cannot be replaced") != std::string::npos);
}

TEST_CASE("plan cache: a folder that cannot be written is said in one line",
          "[plan-cache]") {
  CacheFolder folder;
  REQUIRE(rt::writeFileAtomic(folder.path(), std::string("a file")).ok());
  auto cache = folder.open();
  REQUIRE_FALSE(cache->isWritable());
  REQUIRE_FALSE(cache->isWritable());
  REQUIRE_FALSE(cache->store("p", "value"));
  REQUIRE_FALSE(cache->find("p"));
  REQUIRE(folder.notes.size() == 1);
  REQUIRE(folder.notes[0] ==
          "choices of CUDA's libraries are not stored (" + folder.path() +
              ": Not a directory): each run uses the first choice of their "
              "heuristics");
  folder.notes.clear();
  PlanCache none("", "device", [&](const std::string &line) {
    folder.notes.push_back(line);
  });
  REQUIRE_FALSE(none.isWritable());
  REQUIRE_FALSE(none.find("p"));
  REQUIRE(folder.notes.size() == 1);
}

TEST_CASE("plan cache: where it is", "[plan-cache]") {
  const char *home = std::getenv("HOME"), *xdg = std::getenv("XDG_CACHE_HOME");
  std::string oldHome = home ? home : "", oldXdg = xdg ? xdg : "";
  ::setenv("HOME", "/users/somebody", 1);
  ::setenv("XDG_CACHE_HOME", "/var/cache/somebody", 1);
  REQUIRE(PlanCache::userFolder() == "/var/cache/somebody/sinter/plans");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  REQUIRE(PlanCache::userFolder() == "/users/somebody/.cache/sinter/plans");
  ::unsetenv("XDG_CACHE_HOME");
  REQUIRE(PlanCache::userFolder() == "/users/somebody/.cache/sinter/plans");
  ::unsetenv("HOME");
  REQUIRE(PlanCache::userFolder() == "");
  if (home)
    ::setenv("HOME", oldHome.c_str(), 1);
  if (xdg)
    ::setenv("XDG_CACHE_HOME", oldXdg.c_str(), 1);
}

TEST_CASE("cublasLt: candidates are timed once, the fastest stays",
          "[lt][plan-cache]") {
  constexpr double failed = std::numeric_limits<double>::infinity();
  CacheFolder folder;
  {
    PreparedProduct product(sim::ltApi(), folder.open());
    REQUIRE(product.call->alternatives() == 4);
    // Room for the largest of them.
    REQUIRE(product.call->sharedBytes() == 16384);
    for (int i = 0; i < 4; ++i) {
      product.call->select(i);
      product.run();
    }
    const double times[] = {9, failed, 4, 4.01};
    product.call->choose(times);
    REQUIRE(product.call->alternatives() == 0);
    REQUIRE(product.has("algorithm 3"));
    REQUIRE(product.has("(timed), workspace 16384"));
    product.run();
  }
  {
    PreparedProduct later(sim::ltApi(), folder.open());
    REQUIRE(later.call->alternatives() == 0);
    REQUIRE(later.has("algorithm 3"));
    later.run();
    // Another problem.
    PreparedProduct other(sim::ltApi(), folder.open(), 40);
    REQUIRE(other.call->alternatives() == 4);
  }
  // Without a cache nothing is timed and no memory is allocated for that.
  PreparedProduct plain(sim::ltApi(), nullptr);
  REQUIRE(plain.call->alternatives() == 0);
  REQUIRE(plain.has("algorithm 1 tile 0 (1 of 4), workspace 4096"));
  REQUIRE(plain.call->sharedBytes() == 4096);
  REQUIRE(folder.notes.empty());
}

TEST_CASE("cublasLt: what differs by noise stays in the heuristics' order",
          "[lt][plan-cache]") {
  CacheFolder folder;
  PreparedProduct product(sim::ltApi(), folder.open());
  REQUIRE(product.call->alternatives() == 4);
  const double times[] = {5.05, 5, 5.2, 4.99};
  product.call->choose(times);
  REQUIRE(product.has("algorithm 1"));
}

TEST_CASE("cublasLt: equal calls of a program share a choice",
          "[lt][plan-cache]") {
  CacheFolder folder;
  auto cache = folder.open();
  PreparedProduct one(sim::ltApi(), cache), two(sim::ltApi(), cache);
  const double times[] = {3, 2, 3, 3};
  REQUIRE(one.call->alternatives() == 4);
  one.call->choose(times);
  REQUIRE(two.call->alternatives() == 0);
  REQUIRE(two.has("algorithm 2"));
  // A process that was faster makes the choice.
  PreparedProduct other(sim::ltApi(), folder.open());
  REQUIRE(other.has("algorithm 2"));
  fs::remove_all(folder.path());
  auto slowCache = folder.open(), quickCache = folder.open();
  PreparedProduct slow(sim::ltApi(), slowCache),
      quick(sim::ltApi(), quickCache);
  REQUIRE(slow.call->alternatives() == 4);
  REQUIRE(quick.call->alternatives() == 4);
  quick.call->choose(times);
  const double others[] = {3, 3, 3, 1};
  slow.call->choose(others);
  REQUIRE(slow.has("algorithm 2"));
  slow.run();
}

TEST_CASE("cublasLt: a new version chooses anew", "[lt][plan-cache]") {
  CacheFolder folder;
  const double times[] = {3, 2, 3, 3};
  PreparedProduct(sim::ltApi(), folder.open()).call->choose(times);
  lt::Api newer = sim::ltApi();
  newer.getVersion = [] { return size_t(130200); };
  PreparedProduct product(newer, folder.open());
  REQUIRE(product.call->alternatives() == 4);
}

TEST_CASE("cublasLt: an algorithm that the library does not take is none",
          "[lt][plan-cache]") {
  CacheFolder folder;
  const double times[] = {3, 2, 3, 3};
  PreparedProduct(sim::ltApi(), folder.open()).call->choose(times);
  lt::Api strict = sim::ltApi();
  strict.matmulAlgoCheck = [](lt::Handle, lt::Desc, lt::Layout, lt::Layout,
                              lt::Layout, lt::Layout, const lt::Algo *,
                              lt::HeuristicResult *) {
    return int(lt::statusNotSupported);
  };
  PreparedProduct product(strict, folder.open());
  REQUIRE(product.call->alternatives() == 4);
  REQUIRE(folder.files().empty());
}

TEST_CASE("cublasLt: where nothing can be kept the heuristics' first is taken",
          "[lt][plan-cache]") {
  CacheFolder folder;
  REQUIRE(rt::writeFileAtomic(folder.path(), std::string("a file")).ok());
  PreparedProduct product(sim::ltApi(), folder.open());
  REQUIRE(product.call->alternatives() == 0);
  REQUIRE(product.has("algorithm 1"));
  REQUIRE(product.call->sharedBytes() == 4096);
  product.run();
  REQUIRE(folder.notes.size() == 1);
}

TEST_CASE("cudnn: an execution plan is made once", "[dnn][plan-cache]") {
  CacheFolder folder;
  DnnGraph graph = graphOf(SINTER_F32);
  REQUIRE(graph.refusal == "");
  auto context = DnnContext::create(sim::dnnApi());
  REQUIRE(context.ok());
  LibraryOptions options;
  options.cache = folder.open();
  auto first = DnnChoice::make(**context, graph, options);
  REQUIRE(first.ok());
  REQUIRE(first->plan().candidates() > 0);
  options.cache = folder.open();
  auto second = DnnChoice::make(**context, graph, options);
  REQUIRE(second.ok());
  REQUIRE(second->plan().candidates() == 0); // did not search for any
  REQUIRE(second->plan().workspaceBytes() == first->plan().workspaceBytes());
  REQUIRE(*second->plan().json() == *first->plan().json());

  // Damaged; of another version; not the library's text; too large.
  const fs::path file = folder.files().at(0);
  REQUIRE(rt::writeFileAtomic(file, std::string("sinter plan 1\n")).ok());
  options.cache = folder.open();
  REQUIRE(DnnChoice::make(**context, graph, options)->plan().candidates() > 0);
  dnn::Api newer = sim::dnnApi();
  newer.getVersion = [] { return size_t(92000); };
  auto newContext = DnnContext::create(newer);
  options.cache = folder.open();
  REQUIRE(DnnChoice::make(**newContext, graph, options)->plan().candidates() >
          0);
  options.cache = folder.open();
  REQUIRE(DnnChoice::make(**newContext, graph, options)->plan().candidates() ==
          0);
  static dnn::Api picky = sim::dnnApi();
  picky.backendSetAttribute = [](dnn::Desc desc, int attribute, int type,
                                 int64_t count, const void *values) {
    if (attribute == dnn::planJson)
      return int(dnn::statusBadParam);
    return sim::dnnApi().backendSetAttribute(desc, attribute, type, count,
                                             values);
  };
  auto pickyContext = DnnContext::create(picky);
  options.cache = folder.open();
  REQUIRE(DnnChoice::make(**pickyContext, graph, options)->plan().candidates() >
          0);
  // Options are part of the problem.
  options.cache = folder.open();
  options.maxWorkspaceBytes = 1u << 20;
  REQUIRE(DnnChoice::make(**context, graph, options)->plan().candidates() > 0);
  REQUIRE(folder.notes.empty());
}

TEST_CASE("cudnn: engines are timed once, the fastest stays",
          "[dnn][plan-cache]") {
  constexpr double failed = std::numeric_limits<double>::infinity();
  CacheFolder folder;
  const DnnGraph graph = graphOf(SINTER_BF16);
  REQUIRE(graph.refusal == "");
  auto context = DnnContext::create(sim::dnnApi());
  REQUIRE(context.ok());
  LibraryOptions options;
  auto make = [&](std::shared_ptr<PlanCache> cache) {
    options.cache = std::move(cache);
    auto choice = DnnChoice::make(**context, graph, options);
    INFO(choice.status().message());
    REQUIRE(choice.ok());
    return std::move(*choice);
  };
  // One of the three engines has no fixed order.
  auto cache = folder.open();
  DnnChoice one = make(cache), equal = make(cache);
  REQUIRE(one.origin() == "1 of 2 engines");
  REQUIRE(one.scratchBytes() == options.maxWorkspaceBytes);
  REQUIRE(folder.files().empty());
  auto other = folder.open();
  DnnChoice slow = make(other);
  REQUIRE(slow.alternatives() == 2);
  REQUIRE(one.alternatives() == 2);
  one.select(0);
  const std::string first = *one.plan().json();
  one.select(1);
  const std::string second = *one.plan().json();
  REQUIRE(first != second);
  const double times[] = {failed, 7};
  one.choose(times);
  REQUIRE(one.origin() == "the fastest of 2 engines");
  REQUIRE(*one.plan().json() == second);
  REQUIRE(one.alternatives() == 0);
  REQUIRE(folder.files().size() == 1);
  // Equal calls, later starts, and processes that were slower to choose.
  REQUIRE(equal.alternatives() == 0);
  REQUIRE(*equal.plan().json() == second);
  const double others[] = {1, 7};
  slow.choose(others);
  REQUIRE(*slow.plan().json() == second);
  REQUIRE(slow.origin() == "a stored plan");
  DnnChoice later = make(folder.open());
  REQUIRE(later.alternatives() == 0);
  REQUIRE(*later.plan().json() == second);
  REQUIRE(later.scratchBytes() == 4096);
  // Engines whose times differ only by noise stay in the heuristics' order.
  fs::remove_all(folder.path());
  DnnChoice noisy = make(folder.open());
  REQUIRE(noisy.alternatives() == 2);
  const double near[] = {5.05, 5};
  noisy.choose(near);
  REQUIRE(*noisy.plan().json() == first);
  // If no choice can be kept, the heuristics' first is taken.
  fs::remove_all(folder.path());
  REQUIRE(rt::writeFileAtomic(folder.path(), std::string("a file")).ok());
  DnnChoice plain = make(folder.open());
  REQUIRE(plain.alternatives() == 0);
  REQUIRE(*plain.plan().json() == first);
  REQUIRE(plain.scratchBytes() == 4096);
}
