//===- StoredIntegersTest.cpp - constants of integers, by their bytes -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/StoredIntegers.h"
#include "ir/Tensor.h"

#include "mlir/IR/Builders.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sinter::ir;

namespace {

using Ints = std::vector<int64_t>;

/// These integers, each one `repeats` times: few are stored within an
/// attribute, many in a resource.
ElementsAttr constantOf(const Ints &ints, Type element, int64_t repeats) {
  Tensor tensor(
      RankedTensorType::get({int64_t(ints.size()), repeats}, element));
  for (size_t i = 0; i < tensor.ints.size(); ++i)
    tensor.ints[i] = ints[i / repeats];
  return tensor.toAttr();
}

} // namespace

TEST_CASE("the range of stored integers") {
  MLIRContext context;
  Builder b(&context);
  struct {
    Type element;
    Ints ints;
  } cases[] = {{b.getI8Type(), {-128, 5, 127}},
               {b.getIntegerType(8, false), {255, 3, 7}},
               {b.getI16Type(), {-300, 2, 1}},
               {b.getIntegerType(16, false), {65535, 9, 8}},
               {b.getI32Type(), {-2147483647 - 1, 4, 2147483647}},
               {b.getIntegerType(32, false), {4294967295, 1, 2}},
               {b.getI64Type(), {INT64_MIN, 0, INT64_MAX}},
               {b.getI32Type(), {-7, -7, -7}}};
  for (const auto &[element, ints] : cases)
    for (int64_t repeats : {1, 1000}) {
      std::optional<IntegerRange> range =
          integerRange(constantOf(ints, element, repeats));
      REQUIRE(range);
      CHECK(range->least == *std::min_element(ints.begin(), ints.end()));
      CHECK(range->greatest == *std::max_element(ints.begin(), ints.end()));
    }
  CHECK(!integerRange(constantOf({1, 2}, b.getIntegerType(64, false), 1)));
  CHECK(!integerRange(constantOf({0, 1}, b.getI1Type(), 1)));
  CHECK(!integerRange(constantOf({0, 1}, b.getI1Type(), 2000)));
  CHECK(!integerRange(
      Tensor(RankedTensorType::get({3}, b.getF32Type())).toAttr()));
  CHECK(!integerRange(
      Tensor(RankedTensorType::get({0}, b.getI8Type())).toAttr()));
}

TEST_CASE("stored integers less a zero point, in 8 bits") {
  MLIRContext context;
  Builder b(&context);
  for (int64_t repeats : {1, 1000}) {
    for (const auto &[ints, zero] :
         {std::pair<Ints, int64_t>{{-5, 3, 250}, 123}, {{9, 9, 9}, 9}}) {
      ElementsAttr narrow =
          narrowedIntegers(constantOf(ints, b.getI32Type(), repeats), zero,
                           b.getIntegerType(8), "codes");
      Ints expected;
      for (int64_t each : ints)
        expected.insert(expected.end(), repeats, each - zero);
      CHECK(Tensor::fromAttr(narrow)->ints == expected);
    }
  }
}

TEST_CASE("constants as integers of 16 bits") {
  MLIRContext context;
  Builder b(&context);
  using Small = std::vector<int16_t>;
  CHECK(smallIntegers(constantOf({-1, 255, 32767}, b.getI32Type(), 1)) ==
        Small{-1, 255, 32767});
  CHECK(smallIntegers(constantOf({4, 4}, b.getI8Type(), 3000)) == Small{4});
  CHECK(!smallIntegers(constantOf({1, 32768}, b.getI32Type(), 1)));
  CHECK(!smallIntegers(constantOf({1, -40000}, b.getI64Type(), 5000)));
  CHECK(!smallIntegers(constantOf({1, 40000}, b.getIntegerType(16, false), 1)));
}
