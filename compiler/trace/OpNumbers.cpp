//===- OpNumbers.cpp - ops that remarks can be told by --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/trace/OpNumbers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sinter;

// The metadata of the location with a number: ["op", 7].
static constexpr llvm::StringLiteral kTag = "op";

static std::optional<unsigned> numberOf(FusedLoc location) {
  auto metadata = dyn_cast_or_null<ArrayAttr>(location.getMetadata());
  if (!metadata || metadata.size() != 2)
    return std::nullopt;
  auto tag = dyn_cast<StringAttr>(metadata[0]);
  auto number = dyn_cast<IntegerAttr>(metadata[1]);
  if (!tag || tag.getValue() != kTag || !number)
    return std::nullopt;
  return static_cast<unsigned>(number.getInt());
}

void compiler::numberOps(ModuleOp module) {
  Builder builder(module.getContext());
  unsigned count = 0;
  for (auto function : module.getOps<func::FuncOp>())
    function.getBody().walk([&](Operation *op) {
      // Each kernel has copies of the constants that it reads.
      if (op->hasTrait<OpTrait::ConstantLike>())
        return;
      Attribute metadata = builder.getArrayAttr(
          {builder.getStringAttr(kTag), builder.getI64IntegerAttr(count++)});
      op->setLoc(FusedLoc::get(builder.getContext(), {op->getLoc()}, metadata));
    });
}

static void collectNumbers(Location location, std::vector<unsigned> &numbers) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return;
  if (std::optional<unsigned> number = numberOf(fused))
    numbers.push_back(*number);
  for (Location part : fused.getLocations())
    collectNumbers(part, numbers);
}

std::vector<unsigned> compiler::numbersIn(Location location) {
  std::vector<unsigned> numbers;
  collectNumbers(location, numbers);
  llvm::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

static Location withoutNumbers(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return location;
  SmallVector<Location> parts;
  for (Location part : fused.getLocations())
    parts.push_back(withoutNumbers(part));
  if (numberOf(fused))
    return parts.front();
  return FusedLoc::get(location.getContext(), parts, fused.getMetadata());
}

void compiler::eraseNumbers(Operation *op) {
  op->walk([](Operation *inner) {
    inner->setLoc(withoutNumbers(inner->getLoc()));
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(withoutNumbers(argument.getLoc()));
  });
}
