//===- Places.cpp - programs on several devices ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Tables.h"
#include "passes/Failure.h"
#include "passes/plan/Footprint.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

std::vector<Row<sinter_place_desc>> compiler::placeRows(TableData &data,
                                                        ModuleOp module) {
  std::vector<Row<sinter_place_desc>> rows;
  for (StringRef name : ir::deviceNames(module))
    rows.push_back(
        {{}, {data.string(name), data.string(name.split(':').first)}});
  return rows;
}

std::vector<int64_t> compiler::arenaRows(ModuleOp module) {
  std::vector<int64_t> bytes;
  if (!ir::deviceNames(module).empty())
    for (auto program : module.getOps<exec::ProgramOp>())
      llvm::append_range(bytes, exec::arenaBytes(program));
  return bytes;
}

std::vector<int64_t> compiler::workspaceRows(ModuleOp module,
                                             StringRef otherwise,
                                             const ArtifactInfo &info) {
  SmallVector<StringRef> devices = ir::deviceNames(module);
  if (devices.empty())
    devices.push_back(otherwise);
  std::vector<int64_t> rows;
  for (auto [place, device] : llvm::enumerate(devices)) {
    const bool isHost = ir::isHostDevice(device);
    int64_t bytes =
        passes::plan::footprintOf(module, place, info.workspaceBytes,
                                  /*hasOwnMemory=*/!isHost)
            .workspace;
    const bool isAny = isHost && !info.isCpuLimited && bytes;
    rows.push_back(isAny ? static_cast<int64_t>(UINT64_MAX) : bytes);
  }
  return rows;
}

static StringRef kindOf(exec::KernelOp kernel, StringRef otherwise) {
  auto kind = kernel->getAttrOfType<StringAttr>(exec::ExecDialect::kTargetAttr);
  return kind ? kind.getValue() : otherwise;
}

FailureOr<passes::TargetCode>
compiler::generateForPlaces(ModuleOp module, const passes::Target &target,
                            ArrayRef<passes::ProgramDevice> devices,
                            const passes::CodeGenOptions &options) {
  SmallVector<exec::KernelOp> kernels(module.getOps<exec::KernelOp>());
  auto isOther = [&](exec::KernelOp kernel) {
    return kindOf(kernel, target.name()) != target.name();
  };
  if (llvm::none_of(kernels, isOther))
    return target.generateKernels(module, options);

  passes::TargetCode all;
  SmallVector<StringRef> kinds{target.name()};
  for (exec::KernelOp kernel : kernels)
    if (!llvm::is_contained(kinds, kindOf(kernel, target.name())))
      kinds.push_back(kindOf(kernel, target.name()));
  for (StringRef kind : kinds) {
    const passes::Target *own = nullptr;
    for (const passes::ProgramDevice &device : devices)
      if (device.target->name() == kind)
        own = device.target;
    if (!own)
      return module.emitError() << "no target for kernels of " << kind;
    // A target generates code for every kernel of a module, so it gets a module
    // with only its own kernels.
    OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
    SmallVector<std::pair<exec::KernelOp, exec::KernelOp>> copies;
    OpBuilder builder(part->getBodyRegion());
    for (exec::KernelOp kernel : kernels)
      if (kindOf(kernel, target.name()) == kind)
        copies.push_back(
            {kernel, cast<exec::KernelOp>(builder.clone(*kernel))});
    if (copies.empty() ||
        (options.form == passes::CodeForm::Ptx && !own->traits().hasPtx))
      continue;
    FailureOr<passes::TargetCode> code = own->generateKernels(*part, options);
    if (failed(code)) {
      if (Attribute kind = (*part)->getAttr(passes::kFailureAttr))
        module->setAttr(passes::kFailureAttr, kind);
      return failure();
    }
    for (auto &[kernel, copy] : copies)
      kernel->setAttrs(copy->getAttrDictionary());
    llvm::move(code->objects, std::back_inserter(all.objects));
    llvm::move(code->images, std::back_inserter(all.images));
    all.text += code->text;
    if (!code->features.empty())
      all.features += (all.features.empty() ? "" : ",") + code->features;
  }
  return all;
}
