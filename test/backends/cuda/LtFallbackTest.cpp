//===- LtFallbackTest.cpp - products whose epilogue cuBLASLt lacks --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The stand-in refuses epilogues, and kernels of ours apply them. Results are
// compared with those of the stand-in's epilogues and with sums in double.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtMatmul.h"
#include "backends/cuda/library/LtPlan.h"
#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimLibrary.h"
#include "backends/sim/library/SimLtEpilogue.h"
#include "backends/sim/library/SimLtRefusal.h"
#include "runtime/base/Gelu.h"
#include "test/backends/cuda/OneProduct.h"
#include "test/runtime/Calls.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <set>

using namespace sinter;
using namespace sinter::test;
namespace lt = sinter::cuda::lt;

namespace {

/// The stand-in refuses this while the object lives.
struct Refused {
  explicit Refused(const char *text) {
    auto refusals = sim::readRefusals(text);
    REQUIRE(refusals);
    sim::setLtRefusals(*refusals);
  }
  ~Refused() { sim::setLtRefusals({}); }
};

const std::pair<uint32_t, uint32_t> types[] = {
    {SINTER_F32, SINTER_F32},   {SINTER_TF32, SINTER_F32},
    {SINTER_BF16, SINTER_BF16}, {SINTER_BF16, SINTER_F32},
    {SINTER_F16, SINTER_F16},   {SINTER_F16, SINTER_F32}};

using Kinds = std::vector<uint32_t>;
/// One list for each epilogue.
const Kinds epilogues[] = {
    {SINTER_POST_BIAS},
    {SINTER_POST_RELU},
    {SINTER_POST_BIAS, SINTER_POST_RELU},
    {SINTER_POST_GELU_TANH},
    {SINTER_POST_BIAS, SINTER_POST_GELU_TANH},
    {SINTER_POST_RELU_BITS},
    {SINTER_POST_BIAS, SINTER_POST_RELU_BITS},
    {SINTER_POST_RELU_GRAD},
    {SINTER_POST_RELU_GRAD, SINTER_POST_BIAS_GRAD},
    {SINTER_POST_STORE, SINTER_POST_GELU_TANH},
    {SINTER_POST_BIAS, SINTER_POST_STORE, SINTER_POST_GELU_TANH},
    {SINTER_POST_GELU_TANH_GRAD},
    {SINTER_POST_GELU_TANH_GRAD, SINTER_POST_BIAS_GRAD},
    {SINTER_POST_A_SUM},
    {SINTER_POST_B_SUM}};

/// A product of every form that plans have.
using Form = std::function<OneProduct(uint32_t in, uint32_t out)>;
Form dense(int64_t m, int64_t n, int64_t k) {
  return
      [=](uint32_t in, uint32_t out) { return OneProduct(in, out, m, n, k); };
}
OneProduct batches(uint32_t in, uint32_t out) {
  return OneProduct(in, out, 13, 24, 9).batch(3, 13 * 9, 9 * 24, 13 * 24);
}
/// Heads of a packed tensor: a batch of 3 for each of 2 calls.
OneProduct heads(uint32_t in, uint32_t out) {
  OneProduct product(in, out, 8, 8, 4);
  product.params.aStrideM = product.params.bStrideN = 36;
  product.params.bStrideK = 1;
  return product.batch(2, 8 * 36, 8 * 36, 3 * 64).batch(3, 4, 4, 64);
}
OneProduct columns(uint32_t in, uint32_t out) {
  return OneProduct(in, out, 26, 17, 33).transposeA().transposeC();
}
OneProduct transposed(uint32_t in, uint32_t out) {
  return OneProduct(in, out, 70, 40, 33).transposeA().transposeB();
}
const Form forms[] = {dense(24, 40, 30),
                      dense(37, 131, 11),
                      dense(1, 24, 30),
                      dense(24, 1, 30),
                      dense(65, 7, 129),
                      batches,
                      heads,
                      columns,
                      transposed};

bool isGelu(const Kinds &kinds) {
  for (uint32_t kind : kinds)
    if (kind == SINTER_POST_GELU_TANH || kind == SINTER_POST_GELU_TANH_GRAD)
      return true;
  return false;
}

bool isOperandSum(const Kinds &kinds) {
  return kinds.back() == SINTER_POST_A_SUM || kinds.back() == SINTER_POST_B_SUM;
}

/// Requires that what the two runs wrote is the same, except for `tolerance`
/// plus one rounding to the dtype. NaN is the same as NaN.
void requireSame(const OneProduct &product, const OneProduct &other,
                 double tolerance) {
  for (size_t i = product.numReads(); i < product.operands().size(); ++i) {
    const Operand &x = product.operands()[i], &y = other.operands()[i];
    if (tolerance == 0 || x.dtype == SINTER_BOOL) {
      REQUIRE(x.bytes == y.bytes);
      continue;
    }
    for (size_t e = 0; e < x.values.size(); ++e) {
      double found = x.load(int64_t(e)), expected = y.load(int64_t(e));
      if (found == expected || (std::isnan(found) && std::isnan(expected)))
        continue;
      double allowed = tolerance * std::max(1.0, std::abs(expected)) +
                       2 * roundingOf(x.dtype) * std::abs(expected);
      CAPTURE(i, e, found, expected);
      REQUIRE(std::abs(found - expected) <= allowed);
    }
  }
}

/// The difference that is allowed beyond roundings. A GELU differs by its tanh
/// (2e-7 of the value, and twice that in the derivative), a sum by its order:
/// each of at most 131 additions rounds a partial sum below 131.
double toleranceOf(const Kinds &kinds) {
  switch (kinds.back()) {
  case SINTER_POST_BIAS_GRAD:
  case SINTER_POST_A_SUM:
  case SINTER_POST_B_SUM:
    return 131 * 131 * 0x1p-24;
  default:
    return isGelu(kinds) ? 1e-6 : 0;
  }
}

/// NaN in the result.
int64_t countNan(const OneProduct &product) {
  const Operand &result = product.operands().back();
  int64_t count = 0;
  for (size_t i = 0; i < result.values.size(); ++i)
    count += std::isnan(result.load(static_cast<int64_t>(i)));
  return count;
}

/// Prepares with and without the epilogue; returns its number, 0 if the plan
/// does not have it.
uint32_t compareForms(OneProduct product, const Kinds &kinds) {
  for (uint32_t kind : kinds)
    product.post(kind);
  uint32_t epilogue = cuda::LtPlan::make(product.params).epilogue;
  if (product.refusal() != "")
    return 0;
  CAPTURE(epilogue);
  OneProduct refused = product;
  REQUIRE(product.check().find("then a kernel") == std::string::npos);
  Refused all("all");
  REQUIRE(refused.check().find("product without epilogue " +
                               std::to_string(epilogue) + ", then a kernel") ==
          0);
  requireSame(refused, product, toleranceOf(kinds));
  return epilogue;
}

} // namespace

TEST_CASE("cublasLt: every epilogue without the library's", "[lt][fallback]") {
  std::set<uint32_t> seen;
  int compared = 0;
  for (auto [in, out] : types)
    for (const Kinds &kinds : epilogues)
      for (const Form &form : forms)
        for (int variant = 0; variant < 3; ++variant) {
          OneProduct product = form(in, out);
          if (variant > 0)
            product.post(SINTER_POST_ADD);
          if (variant > 1)
            product.post(SINTER_POST_SCALE, -1.5f);
          if (isOperandSum(kinds) && product.params.batchRank)
            continue; // not in an artifact
          if (uint32_t epilogue = compareForms(product, kinds)) {
            seen.insert(epilogue);
            ++compared;
          }
        }
  REQUIRE(seen == std::set<uint32_t>{2, 4, 6, 32, 36, 130, 134, 136, 152, 160,
                                     164, 192, 208, 256, 512});
  CHECK(compared > 1000);
  CAPTURE(compared);
}

TEST_CASE("cublasLt: products without epilogue in pieces of columns",
          "[lt][fallback]") {
  // Columns of the library's product are our rows; each has 40 floats.
  constexpr uint64_t column = 40 * sizeof(float);
  struct Case {
    int64_t rows;
    uint64_t columnsInHalf;
    const char *pieces;
  };
  for (uint32_t type : {SINTER_BF16, SINTER_F16})
    for (const Kinds &kinds : epilogues)
      for (auto [rows, columns, pieces] :
           {Case{24, 24, ""}, Case{24, 12, ", in 2 pieces"},
            Case{24, 7, ", in 4 pieces"}, Case{24, 1, ", in 24 pieces"},
            Case{150, 70, ", in 3 pieces"}})
        for (int variant = 0; variant < 4; ++variant) {
          if (isOperandSum(kinds))
            continue; // straight into the result
          OneProduct product(type, type, rows, 40, 30);
          if (variant & 1)
            product.post(SINTER_POST_ADD);
          if (variant & 2)
            product.transposeA().transposeB();
          for (uint32_t kind : kinds)
            product.post(kind);
          bool isSummed = kinds.back() == SINTER_POST_BIAS_GRAD;
          uint64_t running = isSummed && columns < uint64_t(rows) ? column : 0;
          OneProduct inPieces = product;
          inPieces.workspace(2 * (columns * column + running) + 512);
          // Room for no more than that, in spite of alignment.
          if (columns < uint64_t(rows))
            inPieces.workspace(2 * (columns * column + running) + 256);
          Refused all("all");
          product.check();
          std::string text = inPieces.check();
          INFO(text);
          REQUIRE(text.find(std::string("a kernel") + pieces) !=
                  std::string::npos);
          requireSame(inPieces, product, isSummed ? toleranceOf(kinds) : 0);
        }
}

TEST_CASE("cublasLt: one product of a batch at a time", "[lt][fallback]") {
  for (const Kinds &kinds :
       {Kinds{SINTER_POST_BIAS, SINTER_POST_GELU_TANH},
        Kinds{SINTER_POST_RELU_BITS}, Kinds{SINTER_POST_RELU_GRAD},
        Kinds{SINTER_POST_GELU_TANH_GRAD}})
    // Whole products, then five columns of each.
    for (uint64_t columns : {13, 5})
      for (auto form : {batches, heads}) {
        OneProduct product = form(SINTER_BF16, SINTER_BF16);
        for (uint32_t kind : kinds)
          product.post(kind);
        if (product.refusal() != "")
          continue;
        OneProduct inPieces = product;
        inPieces.workspace(2 * columns * uint64_t(product.params.n) * 4 + 256);
        Refused all("all");
        product.check();
        std::string text = inPieces.check();
        REQUIRE(text.find(", in ") != std::string::npos);
        requireSame(inPieces, product, 0);
      }
}

TEST_CASE("cublasLt: NaN and infinity without the library's epilogue",
          "[lt][fallback]") {
  for (auto [in, out] : types)
    for (const Kinds &kinds : epilogues)
      for (bool isAdded : {false, true}) {
        OneProduct product(in, out, 24, 40, 30);
        if (isAdded)
          product.post(SINTER_POST_ADD);
        for (uint32_t kind : kinds)
          product.post(kind);
        product.poison();
        OneProduct refused = product;
        product.run();
        {
          Refused all("all");
          REQUIRE(refused.run().find("then a kernel") != std::string::npos);
        }
        if (kinds.back() == SINTER_POST_RELU ||
            kinds.back() == SINTER_POST_RELU_BITS) {
          // The library's ReLU makes 0 of NaN, which training must see.
          REQUIRE(countNan(product) == 0);
          REQUIRE(countNan(refused) > 0);
          OneProduct training = product;
          training.keepNan();
          REQUIRE(training.run().find("then a kernel") != std::string::npos);
          requireSame(training, refused, 0);
          continue;
        }
        // Sums with 3e4 round to more.
        double tolerance = toleranceOf(kinds);
        requireSame(refused, product,
                    tolerance > 1e-5 ? tolerance * 16 : tolerance);
      }
}

TEST_CASE("cublasLt: only what is refused falls back", "[lt][fallback]") {
  auto product = [](uint32_t in, uint32_t out, uint32_t kind) {
    return OneProduct(in, out, 24, 40, 30)
               .post(kind)
               .run()
               .find("then a kernel") != std::string::npos;
  };
  Refused some("4:bf16:f32+2:tf32:*");
  CHECK(product(SINTER_BF16, SINTER_F32, SINTER_POST_BIAS));
  CHECK_FALSE(product(SINTER_BF16, SINTER_BF16, SINTER_POST_BIAS));
  CHECK_FALSE(product(SINTER_F16, SINTER_F32, SINTER_POST_BIAS));
  CHECK_FALSE(product(SINTER_BF16, SINTER_F32, SINTER_POST_RELU));
  CHECK(product(SINTER_TF32, SINTER_F32, SINTER_POST_RELU));
  CHECK_FALSE(product(SINTER_F32, SINTER_F32, SINTER_POST_RELU));
  for (const char *wrong : {"", "4", "4:bf16", "4:bf16:f64", "x:*:*", "4:*:*:*",
                            "4:*:*+", ":*:*", "4:tf16:*"}) {
    CAPTURE(wrong);
    CHECK_FALSE(sim::readRefusals(wrong));
  }
}

TEST_CASE("cublasLt: a ReLU that cannot fall back stays the library's",
          "[lt][fallback]") {
  auto product = [] {
    return OneProduct(SINTER_BF16, SINTER_BF16, 24, 40, 30)
        .post(SINTER_POST_RELU)
        .keepNan();
  };
  CHECK(product().check().find("then a kernel") != std::string::npos);
  std::string chosen = product().workspace(300).check();
  CHECK(chosen.find("then a kernel") == std::string::npos);
  CHECK(chosen.find("epilogue 2") != std::string::npos);
}

TEST_CASE("cublasLt: what cannot fall back says why in one line",
          "[lt][fallback]") {
  auto product = [] {
    return OneProduct(SINTER_BF16, SINTER_BF16, 24, 40, 30)
        .post(SINTER_POST_BIAS);
  };
  {
    Refused all("all");
    CHECK(
        product().workspace(318).refusal() ==
        "cuBLASLt 13.1.0 has no algorithm for this product of 40x24x30 "
        "(epilogue 4) in the 318 bytes of scratch that --workspace promised; "
        "without the epilogue: a column of its float32 product takes 160 bytes "
        "and does not fit in half of the 318 bytes of scratch that "
        "--workspace promised");
    for (uint64_t bytes : {0, 8, 255})
      CHECK(OneProduct(SINTER_F16, SINTER_F16, 24, 1, 30)
                .post(SINTER_POST_BIAS)
                .workspace(bytes)
                .refusal()
                .find("and does not fit in half of the " +
                      std::to_string(bytes)) != std::string::npos);
  }
  Refused plain("4:*:*+1:*:f32");
  CHECK(product().refusal() ==
        "cuBLASLt 13.1.0 has no algorithm for this product of 40x24x30 "
        "(epilogue 4) in the 33554432 bytes of scratch that --workspace "
        "promised; without the epilogue: cuBLASLt 13.1.0 has no algorithm for "
        "this product of 40x24x30 (epilogue 1) in the 33550592 bytes of "
        "scratch that --workspace promised");
  CHECK(OneProduct(SINTER_F32, SINTER_F32, 24, 40, 30).refusal() ==
        "cuBLASLt 13.1.0 has no algorithm for this product of 40x24x30 "
        "(epilogue 1) in the 33554432 bytes of scratch that --workspace "
        "promised");
}

namespace {
const lt::Api *standIn = nullptr;
bool isPlainInvalid = false;

/// A heuristic that calls epilogues impossible and gives no reason.
int invalidEpilogue(lt::Handle handle, lt::Desc desc, lt::Layout a,
                    lt::Layout b, lt::Layout c, lt::Layout d,
                    lt::Preference preference, int requested,
                    lt::HeuristicResult *results, int *returned) {
  int status = standIn->matmulAlgoGetHeuristic(
      handle, desc, a, b, c, d, preference, requested, results, returned);
  bool isEpilogue = status == lt::statusSuccess && *returned == 0;
  return isEpilogue || isPlainInvalid ? int(lt::statusInvalidValue) : status;
}
} // namespace

TEST_CASE("cublasLt: an epilogue may be an invalid value", "[lt][fallback]") {
  standIn = &sim::ltApi();
  lt::Api api = *standIn;
  api.matmulAlgoGetHeuristic = invalidEpilogue;
  api.lastError = nullptr;
  auto context = cuda::LtContext::create(api);
  REQUIRE(context.ok());
  auto kernels = sim::createLtKernels();
  Refused all("all");
  // The stand-in refuses in two ways, depending on the shape.
  int numInvalid = 0, numUnsupported = 0;
  for (isPlainInvalid = false;; isPlainInvalid = true) {
    for (int64_t k = 1; k < 9; ++k) {
      cuda::LtFallbacks fallbacks;
      fallbacks.openKernels = [&] {
        return rt::Result<cuda::LtKernels *>(kernels.get());
      };
      OneProduct product(SINTER_F32, SINTER_F32, 24, 40, k);
      product.post(SINTER_POST_BIAS).params.postOps[0].slice = 2;
      sinter_slice slices[4] = {};
      sinter_command command = callOf(&product.params);
      command.slices = slices;
      command.numSlices = 4;
      auto call = cuda::prepareLtMatmul(**context, command,
                                        cuda::LibraryOptions(), fallbacks);
      CHECK(call.ok() == !isPlainInvalid);
      if (call.ok()) {
        CHECK(fallbacks.numFallbacks == 1);
        ++numUnsupported;
      } else {
        CHECK(call.status().code() == SINTER_DEVICE_FAILED);
        CHECK(call.status().message() ==
              "cublasLtMatmulAlgoGetHeuristic failed: INVALID_VALUE (7)");
        ++numInvalid;
      }
    }
    if (isPlainInvalid)
      break;
  }
  CHECK(numUnsupported == 8);
  CHECK(numInvalid == 8);
}

TEST_CASE("cublasLt: the stand-in refuses in both ways", "[lt][fallback]") {
  standIn = &sim::ltApi();
  static std::set<std::pair<int, int>> answers;
  answers.clear();
  lt::Api api = *standIn;
  api.matmulAlgoGetHeuristic =
      [](lt::Handle handle, lt::Desc desc, lt::Layout a, lt::Layout b,
         lt::Layout c, lt::Layout d, lt::Preference preference, int requested,
         lt::HeuristicResult *results, int *returned) {
        int status = standIn->matmulAlgoGetHeuristic(
            handle, desc, a, b, c, d, preference, requested, results, returned);
        answers.emplace(status, *returned);
        return status;
      };
  auto context = cuda::LtContext::create(api);
  REQUIRE(context.ok());
  Refused all("all");
  for (int64_t k = 1; k < 9; ++k) {
    OneProduct product(SINTER_F32, SINTER_F32, 24, 40, k);
    product.post(SINTER_POST_RELU);
    sinter_slice slices[3] = {};
    sinter_command command = callOf(&product.params);
    command.slices = slices;
    command.numSlices = 3;
    cuda::LtFallbacks none;
    auto call =
        cuda::prepareLtMatmul(**context, command, cuda::LibraryOptions(), none);
    REQUIRE(call.status().code() == SINTER_UNSUPPORTED);
    CHECK(none.numFallbacks == 0);
  }
  CHECK(answers == std::set<std::pair<int, int>>{{lt::statusSuccess, 0},
                                                 {lt::statusNotSupported, 0}});
}

TEST_CASE("cublasLt: fallbacks are counted and said once", "[lt][fallback]") {
  std::vector<std::string> notes;
  cuda::LibraryOptions options;
  options.note = [&](const std::string &line) { notes.push_back(line); };
  auto library = sim::createSimLibrary(options);
  OneProduct plain(SINTER_F32, SINTER_F32, 24, 40, 30);
  OneProduct biased = plain, active = plain;
  biased.post(SINTER_POST_BIAS);
  active.post(SINTER_POST_RELU);
  sinter_slice slices[4] = {};
  for (sinter_slice &slice : slices)
    slice = {SINTER_SPACE_ARENA, 0, 0, 1 << 16};
  auto prepare = [&](OneProduct &product) {
    sinter_command command = callOf(&product.params);
    command.slices = slices;
    command.numSlices = 3 + product.params.numPostOps;
    if (product.params.numPostOps)
      product.params.postOps[0].slice = 2;
    rt::CallMeans means;
    means.workspaceBytes = 1 << 20;
    means.keepsNan = false;
    REQUIRE(library->prepare(command, means).ok());
  };
  prepare(biased);
  library->endLoading();
  CHECK(notes.empty());
  Refused some("4:*:*+2:*:*");
  prepare(plain);
  prepare(biased);
  prepare(active);
  library->endLoading();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "2 of 3 matrix products run without their epilogue, which a kernel "
        "then applies; the first because cuBLASLt 13.1.0 has no algorithm for "
        "this product of 40x24x30 (epilogue 4) in the 1048576 bytes of scratch "
        "that --workspace promised");
  // Another program on the same device.
  prepare(plain);
  library->endLoading();
  CHECK(notes.size() == 1);
  prepare(active);
  library->endLoading();
  REQUIRE(notes.size() == 2);
  CHECK(notes[1].find("1 of 1 matrix products") == 0);
}

namespace {
/// The largest relative error that ex2.approx may have, in one direction.
template <int Sign> struct Approximate {
  static float exp2(float x) {
    return float(std::exp2(double(x)) * (1 + Sign * 0x1p-22));
  }
};

template <class Machine> double worstTanh() {
  double worst = 0;
  auto visit = [&](float x) {
    double error =
        std::abs(double(cuda::tanhByExp2<Machine>(x)) - std::tanh(double(x)));
    worst = std::max(worst, error);
  };
  for (float x = 0; x < 12; x += 1.3e-6f)
    visit(x);
  for (float x = 0x1p-130f; x < 0x1p127f; x *= 1.37f) {
    visit(x);
    visit(-x);
  }
  return worst;
}
} // namespace

TEST_CASE("cublasLt: tanh over exp2", "[lt][fallback]") {
  CHECK(worstTanh<sim::HostMachine>() <= 2e-7);
  CHECK(worstTanh<Approximate<1>>() <= 2e-7);
  CHECK(worstTanh<Approximate<-1>>() <= 2e-7);
  auto tanh = cuda::tanhByExp2<sim::HostMachine>;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(tanh(infinity) == 1);
  CHECK(tanh(-infinity) == -1);
  CHECK(std::isnan(tanh(std::nanf(""))));
  CHECK(std::signbit(tanh(-0.0f)));
  CHECK(tanh(-0.0f) == 0);
}
