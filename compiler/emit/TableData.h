//===- TableData.h - C structs as constants of an object file ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The compiler fills the tables of abi.h as C structs; only their pointers
// become relocations. So the artifact has the layout of the header by
// construction. This requires that the compiler's machine has the artifact's
// layout: little-endian, 64-bit.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_TABLEDATA_H
#define SINTER_COMPILER_EMIT_TABLEDATA_H

// Padding in a struct would copy undefined bytes to the artifact.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#include "sinter/abi.h"
#pragma GCC diagnostic pop

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace sinter::compiler {

/// The offsets of the pointers of a struct, ascending.
template <class T> struct PointerFields;
template <> struct PointerFields<sinter_slice> {
  static constexpr std::array<size_t, 0> offsets{};
};
template <> struct PointerFields<sinter_matmul> {
  static constexpr std::array<size_t, 0> offsets{};
};
template <> struct PointerFields<sinter_conv> {
  static constexpr std::array<size_t, 0> offsets{};
};
template <> struct PointerFields<sinter_attention> {
  static constexpr std::array<size_t, 0> offsets{};
};
template <> struct PointerFields<sinter_scan_value> {
  static constexpr std::array<size_t, 0> offsets{};
};
template <> struct PointerFields<sinter_scan> {
  static constexpr std::array offsets{offsetof(sinter_scan, commands),
                                      offsetof(sinter_scan, values)};
};
template <> struct PointerFields<sinter_tensor_desc> {
  static constexpr std::array offsets{offsetof(sinter_tensor_desc, name),
                                      offsetof(sinter_tensor_desc, dims)};
};
template <> struct PointerFields<sinter_state_desc> {
  static constexpr std::array offsets{
      offsetof(sinter_state_desc, tensor) + offsetof(sinter_tensor_desc, name),
      offsetof(sinter_state_desc, tensor) + offsetof(sinter_tensor_desc, dims),
      offsetof(sinter_state_desc, slot), offsetof(sinter_state_desc, aliases)};
};
template <> struct PointerFields<sinter_command> {
  // `params` of library calls is at one offset; other kinds have numbers there.
  static_assert(offsetof(sinter_command, matmul.params) ==
                    offsetof(sinter_command, conv.params) &&
                offsetof(sinter_command, matmul.params) ==
                    offsetof(sinter_command, attention.params) &&
                offsetof(sinter_command, matmul.params) ==
                    offsetof(sinter_command, scan.params));
  static constexpr std::array offsets{offsetof(sinter_command, slices),
                                      offsetof(sinter_command, label),
                                      offsetof(sinter_command, matmul.params)};
};
template <> struct PointerFields<sinter_kernel_desc> {
  static constexpr std::array offsets{offsetof(sinter_kernel_desc, name),
                                      offsetof(sinter_kernel_desc, cpu),
                                      offsetof(sinter_kernel_desc, sim)};
};
template <> struct PointerFields<sinter_image> {
  static constexpr std::array offsets{offsetof(sinter_image, bytes)};
};
template <> struct PointerFields<sinter_entry> {
  static constexpr std::array offsets{
      offsetof(sinter_entry, name), offsetof(sinter_entry, inputs),
      offsetof(sinter_entry, outputs), offsetof(sinter_entry, commands)};
};
template <> struct PointerFields<sinter_index_check> {
  static constexpr std::array offsets{offsetof(sinter_index_check, node)};
};
template <> struct PointerFields<sinter_export_piece> {
  static constexpr std::array offsets{offsetof(sinter_export_piece, bytes)};
};
template <> struct PointerFields<sinter_training> {
  static constexpr std::array offsets{offsetof(sinter_training, optimizer),
                                      offsetof(sinter_training, loss)};
};
template <> struct PointerFields<sinter_place_desc> {
  static constexpr std::array offsets{offsetof(sinter_place_desc, device),
                                      offsetof(sinter_place_desc, target)};
};
template <> struct PointerFields<sinter_artifact> {
  static constexpr std::array offsets{offsetof(sinter_artifact, name),
                                      offsetof(sinter_artifact, buildId),
                                      offsetof(sinter_artifact, target),
                                      offsetof(sinter_artifact, manifest),
                                      offsetof(sinter_artifact, cpuFeatures),
                                      offsetof(sinter_artifact, states),
                                      offsetof(sinter_artifact, entries),
                                      offsetof(sinter_artifact, kernels),
                                      offsetof(sinter_artifact, images),
                                      offsetof(sinter_artifact, exportPieces),
                                      offsetof(sinter_artifact, training),
                                      offsetof(sinter_artifact, constants),
                                      offsetof(sinter_artifact, next),
                                      offsetof(sinter_artifact, places),
                                      offsetof(sinter_artifact, arenas),
                                      offsetof(sinter_artifact, sliceDtypes),
                                      offsetof(sinter_artifact, workspaces),
                                      offsetof(sinter_artifact, indexChecks)};
};

/// A struct with its pointer fields given separately, in the order of
/// PointerFields. Where the constant is null, the bytes of `value` stay: NULL,
/// or numbers that share the place in a union.
template <class T> struct Row {
  static constexpr size_t numPointers = PointerFields<T>::offsets.size();
  T value{};
  std::array<llvm::Constant *, numPointers> pointers{};
};

class TableData {
public:
  explicit TableData(llvm::Module &module) : module_(module) {}

  /// A NUL-terminated string; equal strings share one constant.
  llvm::Constant *string(llvm::StringRef text);
  llvm::Constant *bytes(llvm::StringRef bytes, unsigned alignment = 1);
  llvm::Constant *int64s(llvm::ArrayRef<int64_t> values);
  llvm::Constant *offset(llvm::Constant *base, uint64_t bytes);
  /// A symbol that another object defines.
  llvm::Constant *externalData(llvm::StringRef name);
  llvm::Constant *externalFunction(llvm::StringRef name);

  /// A table, or NULL if it has no rows. With a name it is a global symbol.
  template <class T>
  llvm::Constant *table(llvm::ArrayRef<Row<T>> rows,
                        llvm::StringRef name = "") {
    static_assert(std::is_trivially_copyable_v<T> &&
                  std::is_standard_layout_v<T>);
    if (rows.empty())
      return nullptr;
    std::vector<RawRow> raw;
    for (const Row<T> &row : rows)
      raw.push_back({reinterpret_cast<const char *>(&row.value), row.pointers});
    return rawTable(raw, sizeof(T), alignof(T), PointerFields<T>::offsets,
                    name);
  }

private:
  struct RawRow {
    const char *bytes;
    llvm::ArrayRef<llvm::Constant *> pointers;
  };
  llvm::Constant *rawTable(llvm::ArrayRef<RawRow> rows, size_t rowBytes,
                           size_t alignment,
                           llvm::ArrayRef<size_t> pointerOffsets,
                           llvm::StringRef name);
  llvm::Constant *add(llvm::Constant *initializer, unsigned alignment,
                      llvm::StringRef name = "");

  llvm::Module &module_;
  llvm::StringMap<llvm::Constant *> strings_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_TABLEDATA_H
