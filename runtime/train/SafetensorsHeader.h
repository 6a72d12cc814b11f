//===- SafetensorsHeader.h - the JSON of safetensors ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Used by Safetensors.cpp only; separate so that the JSON library is included
// once.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_TRAIN_SAFETENSORSHEADER_H
#define SINTER_RUNTIME_TRAIN_SAFETENSORSHEADER_H

#include "runtime/train/Safetensors.h"

#include <string_view>

namespace sinter::rt {

/// The header's entries in its own order, with `offsetBytes` relative to the
/// data; offsets are only checked to be in order (begin <= end).
/// Errors do not begin with a file name.
Result<std::vector<SafetensorsFile::Entry>>
parseSafetensorsHeader(std::string_view json);

/// `text` as JSON has it, in quotes. Bytes that are not valid UTF-8, which
/// names from ONNX may have, are replaced.
std::string jsonText(const std::string &text);

/// The header text of `tensors`, without padding.
std::string safetensorsHeader(std::span<const NamedTensor> tensors);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_TRAIN_SAFETENSORSHEADER_H
