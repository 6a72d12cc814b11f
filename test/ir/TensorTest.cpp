//===- TensorTest.cpp - constants of 16-bit floats ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Tensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace {

double decoded(uint16_t bits, const llvm::fltSemantics &semantics) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

uint16_t encoded(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.bitcastToAPInt().getZExtValue();
}

std::vector<uint16_t> allBits() {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = i;
  return bits;
}

uint64_t bitsOf(double value) { return llvm::bit_cast<uint64_t>(value); }

} // namespace

TEST_CASE("16-bit floats are read and rounded as APFloat does it") {
  MLIRContext context;
  for (FloatType element : {FloatType(BFloat16Type::get(&context)),
                            FloatType(Float16Type::get(&context))}) {
    const llvm::fltSemantics &semantics = element.getFloatSemantics();
    std::vector<uint16_t> bits = allBits();
    auto type = RankedTensorType::get({int64_t(bits.size())}, element);
    Tensor read = Tensor::fromBytes(type, bits.data());
    size_t wrong = 0;
    for (uint16_t each : bits)
      wrong += bitsOf(read.floats[each]) != bitsOf(decoded(each, semantics));
    CHECK(wrong == 0);

    // Every number, the midpoint to the next one, and the neighbours of that.
    std::vector<double> values = {0.0, -0.0, 1e300, -1e300, 1e-300, -1e-300};
    for (uint16_t each : bits) {
      double value = decoded(each, semantics),
             next = decoded(each + 1, semantics), half = (value + next) / 2;
      if (!std::isfinite(value)) {
        values.push_back(value);
        continue;
      }
      // The number after the largest would be as far away as the one below it.
      if (!std::isfinite(next))
        half = value + (value - decoded(each - 1, semantics)) / 2;
      for (double one : {value, half, std::nextafter(half, 0.0),
                         std::nextafter(half, 2 * half)})
        values.push_back(one);
    }
    Tensor written(RankedTensorType::get({int64_t(values.size())}, element));
    written.floats = values;
    std::vector<char> bytes = written.toBytes();
    wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t word;
      std::memcpy(&word, bytes.data() + 2 * i, 2);
      wrong += word != encoded(values[i], semantics);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("floats are converted piece by piece as in one") {
  MLIRContext context;
  const int64_t count = 200'001; // some pieces, and a part of one
  auto type = RankedTensorType::get({count}, Float32Type::get(&context));
  Tensor values(type);
  for (int64_t i = 0; i < count; ++i)
    values.floats[i] = std::ldexp(static_cast<double>(i * 7919 % 30011) - 15000,
                                  static_cast<int>(i % 40) - 30);
  ElementsAttr attr = values.toAttr();
  REQUIRE(isa<DenseResourceElementsAttr>(attr));
  for (FloatType element :
       {FloatType::getBF16(&context), FloatType::getF16(&context)}) {
    FailureOr<ElementsAttr> converted = convertFloats(attr, element);
    REQUIRE(succeeded(converted));
    REQUIRE(converted->getType() == type.clone(element));
    Tensor expected(type.clone(element));
    expected.floats = values.floats;
    FailureOr<Tensor> got = Tensor::fromAttr(*converted);
    REQUIRE(succeeded(got));
    CHECK(got->toBytes() == expected.toBytes());
  }

  // Values that become equal are a splat; without bytes there is no value.
  for (int64_t i = 0; i < count; ++i)
    values.floats[i] = 1 + std::ldexp(static_cast<double>(i % 3), -20);
  FailureOr<ElementsAttr> ones =
      convertFloats(values.toAttr(), FloatType::getBF16(&context));
  REQUIRE(succeeded(ones));
  CHECK(isa<SplatElementsAttr>(*ones));
  CHECK(failed(convertFloats(*ones, FloatType::getBF16(&context))));
}
