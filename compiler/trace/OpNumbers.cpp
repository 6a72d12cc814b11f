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

// A number is a location of its own, beside that of the op: fused[NAMES,
// fused<["op", 7]>[unknown]]. Merged locations then have each name once.
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
      Location number = FusedLoc::get({}, metadata, builder.getContext());
      op->setLoc(FusedLoc::get(builder.getContext(), {op->getLoc(), number}));
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

namespace {

/// Takes numbers from locations. Ops share theirs with others.
class NumberRemoval {
public:
  Location from(Location location) {
    auto fused = dyn_cast<FusedLoc>(location);
    if (!fused)
      return location;
    if (numberOf(fused))
      return UnknownLoc::get(location.getContext());
    auto known = results_.find(location);
    if (known != results_.end())
      return known->second;
    SmallVector<Location> parts;
    for (Location part : fused.getLocations())
      parts.push_back(from(part));
    // It drops unknown ones.
    Location result =
        FusedLoc::get(parts, fused.getMetadata(), location.getContext());
    results_.try_emplace(location, result);
    return result;
  }

private:
  llvm::DenseMap<Location, Location> results_;
};

} // namespace

void compiler::eraseNumbers(Operation *op) {
  NumberRemoval removal;
  op->walk([&](Operation *inner) {
    inner->setLoc(removal.from(inner->getLoc()));
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(removal.from(argument.getLoc()));
  });
}
