//===- Export.cpp - the trainer's "export" --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An .onnx file is spliced together from what the compiler prepared: literal
// bytes and the bytes of states. No graph is rewritten here.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/harness/Commands.h"
#include "runtime/harness/OutputFile.h"
#include "runtime/harness/Session.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unordered_map>

using namespace sinter::rt;

static Status exportOnnx(const sinter_artifact &artifact,
                         const Session &session, const std::string &path) {
  if (!artifact.exportPieces)
    return Status::invalid("export: the program was not compiled from an .onnx "
                           "file; use -o weights.safetensors");
  Result<StateTable::Snapshot> snapshot =
      session.states().snapshot(session.program());
  if (!snapshot.ok())
    return snapshot.status();
  std::unordered_map<std::string_view, std::span<const uint8_t>> states;
  for (const NamedTensor &tensor : snapshot->tensors)
    states.emplace(tensor.name, tensor.bytes);
  std::vector<std::span<const uint8_t>> pieces;
  for (uint32_t i = 0; i < artifact.numExportPieces; ++i) {
    const sinter_export_piece &piece = artifact.exportPieces[i];
    if (piece.bytes) {
      pieces.emplace_back(piece.bytes, piece.sizeBytes);
      continue;
    }
    const auto bytes = piece.state < artifact.numStates
                           ? states.find(session.states().name(piece.state))
                           : states.end();
    if (bytes == states.end() || bytes->second.size() != piece.sizeBytes)
      return Status::failed(
          "export: the program's table of the .onnx file does "
          "not match its states");
    pieces.push_back(bytes->second);
  }
  return writeFileAtomic(path, pieces);
}

Status sinter::rt::runExport(const sinter_artifact &artifact,
                             const TrainerOptions &options) {
  const std::string &path = options.output;
  bool onnx = path.ends_with(".onnx");
  if (!onnx && !path.ends_with(".safetensors"))
    return Status::invalid("-o " + path +
                           ": expected a name ending in .onnx or .safetensors");
  InputFiles inputs;
  inputs.addWeights("a file of --checkpoint", options.checkpoint);
  SINTER_RETURN_IF_ERROR(checkOutput("-o", path, inputs));
  TrainerOptions oneThread = options;
  oneThread.threads = 1;
  Result<std::unique_ptr<Session>> session =
      Session::create(artifact, oneThread);
  if (!session.ok())
    return session.status();
  std::vector<std::string> missingSlots;
  Result<Manifest> manifest = loadWeights(**session, options, missingSlots);
  if (!manifest.ok())
    return manifest.status();
  if (onnx) {
    SINTER_RETURN_IF_ERROR(exportOnnx(artifact, **session, path));
  } else {
    Result<StateTable::Snapshot> snapshot =
        (*session)->states().snapshot((*session)->program());
    if (!snapshot.ok())
      return snapshot.status();
    if (!missingSlots.empty())
      std::fprintf(stderr,
                   "note: the checkpoint is from another optimizer; left out: "
                   "%s\n",
                   listText(missingSlots).c_str());
    std::erase_if(snapshot->tensors, [&](const NamedTensor &tensor) {
      return std::find(missingSlots.begin(), missingSlots.end(), tensor.name) !=
             missingSlots.end();
    });
    (*session)->states().addAliases(*snapshot);
    SINTER_RETURN_IF_ERROR(writeSafetensors(path, snapshot->tensors));
  }
  std::printf("%s: state after step %lld\n", path.c_str(),
              static_cast<long long>(manifest->step));
  return {};
}
