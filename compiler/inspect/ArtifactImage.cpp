//===- ArtifactImage.cpp - the artifact in a file, without running it -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/ArtifactImage.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace sinter;
using namespace sinter::compiler;
using llvm::Error;
using llvm::StringRef;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

static Error damaged(const llvm::Twine &what) {
  return llvm::createStringError("is damaged: " + what);
}

// The loaded image may be larger than the file because of zero-filled memory.
// This bounds the difference.
static constexpr uint64_t kMaxZeros = uint64_t(1) << 30;

Error ArtifactImage::load(StringRef bytes) {
  auto elf = ElfFile::create(bytes);
  if (!elf)
    return elf.takeError();
  auto headers = elf->program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_LOAD)
      continue;
    uint64_t end = header.p_vaddr + header.p_memsz;
    if (end < header.p_vaddr || end > bytes.size() + kMaxZeros)
      return damaged("a segment is out of bounds");
    sizeBytes_ = std::max(sizeBytes_, end);
  }
  // A word of zeros after the end terminates every text in the image.
  memory_.resize(sizeBytes_ / 8 + 2);
  char *memory = reinterpret_cast<char *>(memory_.data());
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_LOAD)
      continue;
    if (header.p_offset > bytes.size() ||
        header.p_filesz > bytes.size() - header.p_offset ||
        header.p_filesz > header.p_memsz)
      return damaged("a segment lies outside the file");
    std::memcpy(memory + header.p_vaddr, bytes.data() + header.p_offset,
                header.p_filesz);
  }
  return Error::success();
}

// Position-independent files store addresses as "image + addend".
Error ArtifactImage::relocate(StringRef bytes) {
  auto elf = ElfFile::create(bytes);
  if (!elf)
    return elf.takeError();
  auto sections = elf->sections();
  if (!sections)
    return sections.takeError();
  char *memory = reinterpret_cast<char *>(memory_.data());
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_RELA)
      continue;
    auto relocations = elf->relas(section);
    if (!relocations)
      return relocations.takeError();
    for (const auto &relocation : *relocations) {
      if (relocation.getType(false) != llvm::ELF::R_X86_64_RELATIVE)
        continue;
      uint64_t target = relocation.r_addend;
      if (relocation.r_offset > sizeBytes_ - 8 || target > sizeBytes_)
        return damaged("an address is out of bounds");
      uint64_t address = reinterpret_cast<uint64_t>(memory + target);
      std::memcpy(memory + relocation.r_offset, &address, sizeof(address));
    }
  }
  return Error::success();
}

Error ArtifactImage::findArtifact(StringRef bytes) {
  auto elf = ElfFile::create(bytes);
  if (!elf)
    return elf.takeError();
  auto sections = elf->sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = elf->symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto names = elf->getStringTableForSymtab(section);
    if (!names)
      return names.takeError();
    for (const auto &symbol : *symbols) {
      llvm::Expected<StringRef> name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (!name->starts_with("sinter_artifact_") || symbol.st_shndx == 0)
        continue;
      if (symbol.st_value % 8 || symbol.st_value > sizeBytes_ ||
          sizeof(sinter_artifact) > sizeBytes_ - symbol.st_value)
        return damaged("the artifact is out of bounds");
      artifacts_.push_back(reinterpret_cast<const sinter_artifact *>(
          reinterpret_cast<const char *>(memory_.data()) + symbol.st_value));
      return Error::success();
    }
  }
  return llvm::createStringError("is neither a library nor a trainer that "
                                 "sinterc made, or was stripped");
}

bool ArtifactImage::contains(const void *address, uint64_t count,
                             uint64_t sizeBytes) const {
  if (!count)
    return true;
  uint64_t begin = reinterpret_cast<uint64_t>(memory_.data());
  uint64_t at = reinterpret_cast<uint64_t>(address);
  return at >= begin && at - begin <= sizeBytes_ &&
         count <= (sizeBytes_ - (at - begin)) / sizeBytes &&
         (sizeBytes < 8 || at % 8 == 0);
}

bool ArtifactImage::isText(const char *text) const {
  return contains(text, 1, 1);
}

bool ArtifactImage::isTensor(const sinter_tensor_desc &tensor) const {
  return isText(tensor.name) && tensor.rank <= SINTER_MAX_RANK &&
         contains(tensor.dims, tensor.rank, sizeof(int64_t));
}

/// Whether what the member of `command`'s kind refers to is in the file.
bool ArtifactImage::refersInside(const sinter_artifact &artifact,
                                 const sinter_command &command) const {
  switch (command.kind) {
  case SINTER_CMD_LAUNCH:
    return command.launch.kernel < artifact.numKernels;
  case SINTER_CMD_MATMUL:
    return contains(command.matmul.params, 1, sizeof(sinter_matmul));
  case SINTER_CMD_CONV:
    return contains(command.conv.params, 1, sizeof(sinter_conv));
  case SINTER_CMD_ATTENTION:
    return contains(command.attention.params, 1, sizeof(sinter_attention));
  default:
    return true;
  }
}

bool ArtifactImage::isCommand(const sinter_artifact &artifact,
                              const sinter_command &command) const {
  return isText(command.label) &&
         contains(command.slices, command.numSlices, sizeof(sinter_slice)) &&
         command.numReads <= command.numSlices &&
         refersInside(artifact, command);
}

/// Whether the tables of a scan, which has no scan in its body, are inside.
bool ArtifactImage::isScan(const sinter_artifact &artifact,
                           const sinter_command &command) const {
  const sinter_scan *scan = command.scan.params;
  if (command.kind != SINTER_CMD_SCAN)
    return true;
  if (!scan || !contains(scan, 1, sizeof(sinter_scan)) ||
      !contains(scan->commands, scan->numCommands, sizeof(sinter_command)) ||
      !contains(scan->values, scan->numValues, sizeof(sinter_scan_value)))
    return false;
  return llvm::all_of(llvm::ArrayRef(scan->commands, scan->numCommands),
                      [&](const sinter_command &each) {
                        return each.kind != SINTER_CMD_SCAN &&
                               isCommand(artifact, each);
                      });
}

bool ArtifactImage::checkTables(const sinter_artifact &a) const {
  if (!isText(a.name) || !isText(a.buildId) || !isText(a.manifest) ||
      !isText(a.cpuFeatures) || !isText(a.target) ||
      !contains(a.states, a.numStates, sizeof(sinter_state_desc)) ||
      !contains(a.entries, a.numEntries, sizeof(sinter_entry)) ||
      !contains(a.kernels, a.numKernels, sizeof(sinter_kernel_desc)) ||
      !contains(a.images, a.numImages, sizeof(sinter_image)) ||
      !contains(a.places, a.numPlaces, sizeof(sinter_place_desc)) ||
      !contains(a.arenas, uint64_t(a.numPlaces) * a.numEntries,
                sizeof(uint64_t)) ||
      (a.workspaces &&
       !contains(a.workspaces, std::max(a.numPlaces, 1u), sizeof(uint64_t))) ||
      (a.training && !contains(a.training, 1, sizeof(sinter_training))))
    return false;
  if (a.training &&
      (!isText(a.training->optimizer) || !isText(a.training->loss)))
    return false;
  if (!contains(a.constants, a.constantsBytes, 1))
    return false;
  for (uint32_t i = 0; i < a.numStates; ++i)
    if (!isTensor(a.states[i].tensor) ||
        (a.states[i].slot && !isText(a.states[i].slot)))
      return false;
  for (uint32_t i = 0; i < a.numPlaces; ++i)
    if (!isText(a.places[i].device) || !isText(a.places[i].target))
      return false;
  for (uint32_t i = 0; i < a.numKernels; ++i)
    if (!isText(a.kernels[i].name))
      return false;
  for (uint32_t i = 0; i < a.numImages; ++i)
    if (!contains(a.images[i].bytes, a.images[i].sizeBytes, 1))
      return false;
  uint64_t numSlices = 0;
  for (uint32_t i = 0; i < a.numEntries; ++i) {
    const sinter_entry &entry = a.entries[i];
    if (!isText(entry.name) ||
        !contains(entry.inputs, entry.numInputs, sizeof(sinter_tensor_desc)) ||
        !contains(entry.outputs, entry.numOutputs,
                  sizeof(sinter_tensor_desc)) ||
        !contains(entry.commands, entry.numCommands, sizeof(sinter_command)))
      return false;
    for (uint32_t j = 0; j < entry.numInputs; ++j)
      if (!isTensor(entry.inputs[j]))
        return false;
    for (uint32_t j = 0; j < entry.numOutputs; ++j)
      if (!isTensor(entry.outputs[j]))
        return false;
    for (uint32_t j = 0; j < entry.numCommands; ++j) {
      const sinter_command &command = entry.commands[j];
      if (!isCommand(a, command) || !isScan(a, command))
        return false;
      numSlices += command.numSlices;
      if (command.kind == SINTER_CMD_SCAN)
        for (uint32_t k = 0; k < command.scan.params->numCommands; ++k)
          numSlices += command.scan.params->commands[k].numSlices;
    }
  }
  return !a.sliceDtypes || contains(a.sliceDtypes, numSlices, 1);
}

Error ArtifactImage::check(const sinter_artifact &artifact) const {
  if (artifact.magic != SINTER_ABI_MAGIC ||
      artifact.major != SINTER_ABI_MAJOR ||
      artifact.sizeofArtifact != sizeof(sinter_artifact) ||
      artifact.sizeofCommand != sizeof(sinter_command) ||
      artifact.sizeofState != sizeof(sinter_state_desc))
    return llvm::createStringError("was made by another version of Sinter");
  if (!checkTables(artifact))
    return damaged("its tables point outside the file");
  return Error::success();
}

llvm::Expected<std::unique_ptr<ArtifactImage>>
ArtifactImage::read(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError(file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  std::unique_ptr<ArtifactImage> image(new ArtifactImage);
  if (Error error = image->load(bytes))
    return std::move(error);
  if (image->sizeBytes_ < sizeof(sinter_artifact))
    return llvm::createStringError("is not a program");
  if (Error error = image->relocate(bytes))
    return std::move(error);
  if (Error error = image->findArtifact(bytes))
    return std::move(error);
  // The limit ends the walk when the list of a damaged file has a cycle.
  constexpr size_t most = 16;
  for (const sinter_artifact *at = image->artifacts_.pop_back_val(); at;
       at = at->next) {
    if (image->artifacts_.size() == most ||
        !image->contains(at, 1, sizeof(sinter_artifact)))
      return damaged("its list of targets is too long or leaves the file");
    if (Error error = image->check(*at))
      return std::move(error);
    image->artifacts_.push_back(at);
  }
  return std::move(image);
}
