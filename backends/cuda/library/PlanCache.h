//===- PlanCache.h - stored choices for library calls -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Choices depend on measured times, and execution plans take seconds to make.
// Both are stored in files in the user's cache folder, one per problem, so that
// later processes use the same ones. The first one stored wins: processes that
// choose at the same time agree, and results of a binary are repeatable on a
// machine. A damaged file counts as missing.
//
// A file: "sinter plan 1", the key, "hash size" of the value (each a line), and
// the value.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_PLANCACHE_H
#define SINTER_BACKENDS_CUDA_LIBRARY_PLANCACHE_H

#include "runtime/base/Status.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace sinter::cuda {

class PlanCache {
public:
  /// Called at most once, with a line that says why nothing is stored.
  using Note = std::function<void(const std::string &line)>;

  /// `device` is part of every key: name, architecture, driver. `folder` is
  /// created when it is first written to; empty: the user has no cache folder.
  PlanCache(std::string folder, std::string device, Note note);

  /// userCacheFolder("plans"): empty without a home folder.
  static std::string userFolder();

  /// Whether a new choice can be stored.
  bool isWritable();

  /// The value stored for `problem`, a line that also names the library and its
  /// version.
  std::optional<std::string> find(const std::string &problem);

  /// Stores `value` unless a value is already stored. Returns the stored value;
  /// nothing if it could not be stored.
  std::optional<std::string> store(const std::string &problem,
                                   std::string value);

  /// Removes a value from find() that the library rejects; it counts as
  /// damaged.
  void discard(const std::string &problem);

private:
  std::string keyOf(const std::string &problem) const;
  std::string pathOf(const std::string &key) const;
  std::optional<std::string> load(const std::string &key, bool &isDamaged);
  void removeDamaged(const std::string &key);
  rt::Result<bool> publish(const std::string &path, const std::string &content);
  void tell(const std::string &reason);

  const std::string folder_, device_;
  Note note_; // null after it was called
  std::optional<bool> isWritable_;
  std::map<std::string, std::string> known_; // by key: never changes
};

/// The index of the fastest. If several differ by no more than measurements do,
/// it is the heuristics' first of them. At least one time must be finite.
int fastest(std::span<const double> leastUs);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_PLANCACHE_H
