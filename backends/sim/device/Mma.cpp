//===- Mma.cpp - matrix instructions of a warp ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Fragments have the layouts of the PTX manual (mma.m16n8k4 to k32, ldmatrix).
// The arithmetic is IEEE's: products are summed in a chain of fp32 fused
// multiply-adds along k. A GPU rounds its sums differently, within the same
// error bound.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Arithmetic.h"
#include "backends/sim/device/WarpCall.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace sinter::sim {
namespace {

enum class Element { Tf32, F16, BF16, S8 };

struct Shape {
  Element element;
  int k;
  int perRegister; // elements in 32 bits
};

Shape shapeOf(uint32_t kind) {
  switch (kind) {
  case SINTER_SIM_MMA_M16N8K4_TF32:
    return {Element::Tf32, 4, 1};
  case SINTER_SIM_MMA_M16N8K8_TF32:
    return {Element::Tf32, 8, 1};
  case SINTER_SIM_MMA_M16N8K8_BF16:
    return {Element::BF16, 8, 2};
  case SINTER_SIM_MMA_M16N8K16_BF16:
    return {Element::BF16, 16, 2};
  case SINTER_SIM_MMA_M16N8K8_F16:
    return {Element::F16, 8, 2};
  case SINTER_SIM_MMA_M16N8K16_F16:
    return {Element::F16, 16, 2};
  case SINTER_SIM_MMA_M16N8K16_S8:
    return {Element::S8, 16, 4};
  default:
    return {Element::S8, 32, 4};
  }
}

struct Place {
  int lane, reg, slot; // slot: which element of the register
};

// A is 16 x k, row-major: a pair of registers holds rows g and g + 8; the next
// pair holds the next 4 * perRegister columns.
Place placeOfA(const Shape &shape, int row, int column) {
  int width = 4 * shape.perRegister;
  int within = column % width;
  return {(row % 8) * 4 + within / shape.perRegister,
          row / 8 + 2 * (column / width), within % shape.perRegister};
}

// B is k x 8, column-major.
Place placeOfB(const Shape &shape, int row, int column) {
  int width = 4 * shape.perRegister;
  int within = row % width;
  return {column * 4 + within / shape.perRegister, row / width,
          within % shape.perRegister};
}

// C and D are 16 x 8 of 32 bits: two adjacent elements of row g and two of row
// g + 8.
Place placeOfC(int row, int column) {
  return {(row % 8) * 4 + column / 2, 2 * (row / 8) + column % 2, 0};
}

float floatOf(Element element, uint32_t bits, int slot) {
  switch (element) {
  case Element::Tf32: // the lower bits are ignored
    return std::bit_cast<float>(bits & 0xffffe000u);
  case Element::F16:
    return widen(SINTER_SIM_F16, bits >> (16 * slot) & 0xffff);
  default:
    return widen(SINTER_SIM_BF16, bits >> (16 * slot) & 0xffff);
  }
}

int32_t byteOf(uint32_t bits, int slot) {
  return int8_t(bits >> (8 * slot) & 0xff);
}

} // namespace

void computeMma(WarpCall *const *lanes) {
  Shape shape = shapeOf(lanes[0]->mode);
  int regsOfA = shape.k / (2 * shape.perRegister);
  int regsOfB = regsOfA / 2;
  auto registerOf = [&](const Place &place, int first) {
    return lanes[place.lane]->operands[first + place.reg];
  };
  float a[16][32], b[32][8];
  int32_t aBytes[16][32], bBytes[32][8];
  bool isInteger = shape.element == Element::S8;
  for (int k = 0; k < shape.k; ++k) {
    for (int row = 0; row < 16; ++row) {
      Place place = placeOfA(shape, row, k);
      uint32_t bits = registerOf(place, 0);
      if (isInteger)
        aBytes[row][k] = byteOf(bits, place.slot);
      else
        a[row][k] = floatOf(shape.element, bits, place.slot);
    }
    for (int column = 0; column < 8; ++column) {
      Place place = placeOfB(shape, k, column);
      uint32_t bits = registerOf(place, regsOfA);
      if (isInteger)
        bBytes[k][column] = byteOf(bits, place.slot);
      else
        b[k][column] = floatOf(shape.element, bits, place.slot);
    }
  }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      Place place = placeOfC(row, column);
      uint32_t bits = registerOf(place, regsOfA + regsOfB);
      uint32_t &result = lanes[place.lane]->registers[place.reg];
      if (isInteger) {
        for (int k = 0; k < shape.k; ++k)
          bits += uint32_t(aBytes[row][k] * bBytes[k][column]);
        result = bits;
        continue;
      }
      auto sum = std::bit_cast<float>(bits);
      for (int k = 0; k < shape.k; ++k)
        sum = std::fma(a[row][k], b[k][column], sum);
      result = std::bit_cast<uint32_t>(sum);
    }
}

// Lane 8 i + r provides the address of row r of matrix i. Lane l gets elements
// 2 (l % 4) and the next one of row l / 4, or of that column if transposed.
void computeLoadMatrix(WarpCall *const *lanes) {
  for (uint32_t matrix = 0; matrix < lanes[0]->mode; ++matrix) {
    uint16_t rows[8][8];
    for (int row = 0; row < 8; ++row)
      std::memcpy(rows[row], lanes[8 * matrix + row]->address, 16);
    for (int lane = 0; lane < 32; ++lane) {
      int row = lane / 4, column = 2 * (lane % 4);
      bool isTransposed = lanes[lane]->isTransposed;
      uint32_t low = isTransposed ? rows[column][row] : rows[row][column];
      uint32_t high =
          isTransposed ? rows[column + 1][row] : rows[row][column + 1];
      lanes[lane]->registers[matrix] = low | high << 16;
    }
  }
}

} // namespace sinter::sim
