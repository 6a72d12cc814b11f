//===- Tables.cpp - the artifact as an object file ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Tables.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace {

constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> createTargetMachine(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, "x86-64", "", {}, llvm::Reloc::PIC_));
}

FailureOr<std::string> toObject(ModuleOp module, llvm::Module &tables) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(error);
  if (!machine)
    return module.emitError() << "cannot write object files: " << error;
  tables.setTargetTriple(kTriple);
  tables.setDataLayout(machine->createDataLayout());
  SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError() << "cannot write object files for " << kTriple;
  passes.run(tables);
  return std::string(object);
}

/// A 128-bit hash of everything that determines what the artifact does: the
/// program's text, without locations and weights, and the options below.
std::string buildId(ModuleOp module, const passes::Target &target,
                    const passes::CodeGenOptions &options,
                    const ArtifactInfo &info) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().useLocalScope());
  stream << '\n'
         << target.name() << '\n'
         << options.optLevel << '\n'
         << info.manifest;
  llvm::BLAKE3 hash;
  hash.update(text);
  return llvm::toHex(hash.final<16>(), /*LowerCase=*/true);
}

FailureOr<std::vector<Row<sinter_kernel_desc>>>
kernelRows(TableData &data, ModuleOp module, const passes::TargetCode &code,
           KernelEntries &entries) {
  std::vector<Row<sinter_kernel_desc>> rows;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    bool isCuda = kernel.getGrid().has_value();
    if (!kernel.getTiles() && !isCuda)
      return kernel.emitError()
             << "kernel @" << kernel.getSymName()
             << " has no number of tiles: no code was generated for it";
    entries[kernel.getSymName()] = {
        static_cast<uint32_t>(rows.size()),
        static_cast<int64_t>(kernel.getTiles().value_or(1))};
    auto &row = rows.emplace_back();
    sinter_kernel_desc &desc = row.value;
    desc.numBuffers = kernel.getNumBuffers();
    if (isCuda) {
      llvm::copy(*kernel.getGrid(), desc.grid);
      llvm::copy(*kernel.getBlock(), desc.block);
      desc.sharedBytes = kernel.getShared().value_or(0);
      if (kernel->hasAttr(passes::kWaitsAttr))
        desc.flags |= SINTER_KERNEL_WAITS;
      if (kernel.getKind() == ir::KernelKind::persistent)
        desc.flags |= SINTER_KERNEL_PERSISTENT;
    }
    // A kernel in an image has no function in an object.
    llvm::Constant *function = code.images.empty() || !isCuda
                                   ? data.externalFunction(kernel.getSymName())
                                   : nullptr;
    row.pointers = {data.string(kernel.getSymName()),
                    isCuda ? nullptr : function, isCuda ? function : nullptr};
  }
  return rows;
}

std::vector<Row<sinter_image>> imageRows(TableData &data,
                                         const passes::TargetCode &code) {
  std::vector<Row<sinter_image>> rows;
  for (const passes::KernelImage &image : code.images) {
    auto &row = rows.emplace_back();
    row.value.kind = image.isBinary ? SINTER_IMAGE_CUBIN : SINTER_IMAGE_PTX;
    row.value.arch = image.arch;
    // c_str: text ends with its NUL.
    row.value.sizeBytes = image.bytes.size() + (image.isBinary ? 0 : 1);
    row.pointers[0] =
        data.bytes(StringRef(image.bytes.c_str(), row.value.sizeBytes), 16);
  }
  return rows;
}

FailureOr<std::vector<Row<sinter_export_piece>>>
exportRows(TableData &data, ModuleOp module, const StateTable &states,
           ArrayRef<ExportPiece> pieces) {
  std::vector<Row<sinter_export_piece>> rows;
  for (const ExportPiece &piece : pieces) {
    auto &row = rows.emplace_back();
    row.value.state = SINTER_NONE;
    if (piece.state.empty()) {
      row.value.sizeBytes = piece.bytes.size();
      row.pointers[0] = data.bytes(piece.bytes);
      continue;
    }
    auto it = states.numbers.find(piece.state);
    if (it == states.numbers.end())
      return module.emitError()
             << "the exported model names the state '" << piece.state
             << "', which the program does not have";
    // A weight that has an average is exported as its average.
    auto average = states.averages.find(it->second);
    row.value.state =
        average == states.averages.end() ? it->second : average->second;
    row.value.sizeBytes = states.rows[it->second].value.tensor.sizeBytes;
  }
  return rows;
}

} // namespace

/// The symbol of the tables for a target; `suffix` is the target's name, "" for
/// the first target.
static std::string artifactSymbol(const ArtifactInfo &info, StringRef suffix) {
  return "sinter_artifact_" + info.symbol +
         (suffix.empty() ? "" : "_" + suffix.str());
}

/// Appends the target's name to the names of its kernels: several targets share
/// one file.
static void renameKernels(ModuleOp module, StringRef target) {
  MLIRContext *context = module.getContext();
  for (auto kernel : module.getOps<exec::KernelOp>())
    kernel.setSymName((kernel.getSymName() + "_" + target).str());
  module.walk([&](exec::LaunchOp launch) {
    launch.setKernelAttr(FlatSymbolRefAttr::get(
        context, (launch.getKernel() + "_" + target).str()));
  });
}

/// The states as text, such as "w : tensor<3x4xf32> param". All targets must
/// agree on it; each has its own rounded parameters.
static std::vector<std::string> stateTexts(ModuleOp module) {
  std::vector<std::string> texts;
  for (auto state : module.getOps<ir::StateOp>()) {
    if (state.getRole() == ir::StateRole::rounded)
      continue;
    llvm::raw_string_ostream(texts.emplace_back())
        << (state.getOnnx() ? *state.getOnnx() : state.getSymName()) << " : "
        << state.getWholeType() << " "
        << ir::stringifyStateRole(state.getRole());
  }
  return texts;
}

static bool usesSimulated(ModuleOp module) {
  return llvm::any_of(ir::deviceNames(module),
                      [](StringRef name) { return name.starts_with("sim:"); });
}

namespace {
/// One target's part of a program.
struct Part {
  bool isFirst;
  StringRef target; // suffix of symbols; "" for the first target
};
} // namespace

static LogicalResult emitPart(CompiledProgram &program, const Part &part,
                              ModuleOp module, const passes::Target &target,
                              const passes::CodeGenOptions &options,
                              const ArtifactInfo &info) {
  std::string id = buildId(module, target, options, info);
  if (!part.isFirst)
    renameKernels(module, part.target);
  FailureOr<passes::TargetCode> code =
      generateForPlaces(module, target, info.devices, options);
  if (failed(code))
    return failure();

  llvm::LLVMContext context;
  llvm::Module tables("tables", context);
  TableData data(tables);
  KernelEntries kernelEntries;
  FailureOr<std::vector<Row<sinter_kernel_desc>>> kernels =
      kernelRows(data, module, *code, kernelEntries);
  FailureOr<StateTable> states = stateTable(data, module);
  FailureOr<std::vector<Row<sinter_training>>> training =
      trainingRow(data, module);
  if (failed(kernels) || failed(states) || failed(training))
    return failure();
  FailureOr<std::vector<ConstantPiece>> constants = constantPieces(module);
  if (failed(constants))
    return failure();
  std::vector<Row<sinter_place_desc>> placeTable = placeRows(data, module);
  const passes::DeviceTraits &traits = target.traits();
  const bool isSimulated = traits.isSimulated || usesSimulated(module);
  program.runtime.isSimulated |= isSimulated;
  program.runtime.hasGloo |= (traits.isHost || isSimulated) &&
                             !training->empty() &&
                             training->front().value.replicas > 1;
  ConstantPlaces places;
  if (part.isFirst) {
    program.symbol = info.symbol;
    program.constants = std::move(*constants);
    for (const ConstantPiece &piece : program.constants)
      program.constantsBytes =
          std::max(program.constantsBytes, piece.offset + piece.bytes.size());
  } else {
    places = ConstantPlaces(*constants, program);
    for (Row<sinter_state_desc> &state : states->rows)
      if (state.value.initOffsetBytes != UINT64_MAX)
        state.value.initOffsetBytes = places(state.value.initOffsetBytes);
  }
  std::string sliceDtypes;
  std::vector<Row<sinter_entry>> entries =
      entryRows(data, module, kernelEntries, places, info.way, sliceDtypes);
  std::vector<Row<sinter_image>> images = imageRows(data, *code);

  // The first target has the pieces; they name states by number.
  std::string exportSymbol = "sinter_export_" + info.symbol;
  llvm::Constant *exportTable = nullptr;
  if (part.isFirst) {
    FailureOr<std::vector<Row<sinter_export_piece>>> pieces =
        exportRows(data, module, *states, info.exportPieces);
    if (failed(pieces))
      return failure();
    program.numExportPieces = pieces->size();
    program.states = stateTexts(module);
    exportTable = data.table<sinter_export_piece>(
        *pieces, info.otherTargets.empty() ? "" : exportSymbol);
  } else {
    if (stateTexts(module) != program.states)
      return module.emitError() << "the program for " << part.target
                                << " has different states from the first one";
    exportTable =
        program.numExportPieces ? data.externalData(exportSymbol) : nullptr;
  }

  Row<sinter_artifact> artifact;
  sinter_artifact &a = artifact.value;
  a.magic = SINTER_ABI_MAGIC;
  a.major = SINTER_ABI_MAJOR;
  a.minor = SINTER_ABI_MINOR;
  a.sizeofArtifact = sizeof(sinter_artifact);
  a.sizeofCommand = sizeof(sinter_command);
  a.sizeofState = sizeof(sinter_state_desc);
  a.constantsBytes = program.constantsBytes;
  a.stateBytes = states->bytes;
  a.numStates = states->rows.size();
  a.numEntries = entries.size();
  a.numKernels = kernels->size();
  a.numExportPieces = program.numExportPieces;
  a.numImages = images.size();
  a.numPlaces = placeTable.size();
  a.isUnordered = info.isUnordered;
  artifact.pointers = {
      data.string(info.modelName), data.string(id), data.string(target.name()),
      data.string(info.manifest), data.string(code->features),
      data.table<sinter_state_desc>(states->rows),
      data.table<sinter_entry>(entries),
      data.table<sinter_kernel_desc>(*kernels),
      data.table<sinter_image>(images), exportTable,
      data.table<sinter_training>(*training),
      // The symbol is defined even if there are no constants.
      program.constantsBytes
          ? data.externalData("sinter_constants_" + info.symbol)
          : nullptr,
      info.otherTargets.empty()
          ? nullptr
          : data.externalData(artifactSymbol(info, info.otherTargets.front())),
      data.table<sinter_place_desc>(placeTable),
      placeTable.empty() ? nullptr : data.int64s(arenaRows(module)),
      data.bytes(sliceDtypes),
      data.int64s(workspaceRows(module, target.firstDevice(), info)),
      data.table<sinter_index_check>(indexCheckRows(data, module))};
  data.table<sinter_artifact>(artifact, artifactSymbol(info, part.target));

  FailureOr<std::string> object = toObject(module, tables);
  if (failed(object))
    return failure();
  llvm::move(code->objects, std::back_inserter(program.objects));
  program.objects.push_back(std::move(*object));
  return success();
}

FailureOr<CompiledProgram>
compiler::emitProgram(ModuleOp module, const passes::Target &target,
                      const passes::CodeGenOptions &options,
                      const ArtifactInfo &info) {
  CompiledProgram program;
  if (failed(emitPart(program, {true, ""}, module, target, options, info)))
    return failure();
  return program;
}

LogicalResult compiler::addTarget(CompiledProgram &program, ModuleOp module,
                                  const passes::Target &target,
                                  const passes::CodeGenOptions &options,
                                  const ArtifactInfo &info) {
  return emitPart(program, {false, target.name()}, module, target, options,
                  info);
}
