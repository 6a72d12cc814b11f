//===- PlanCache.h - what was chosen for calls, in files --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Choices depend on how long something took, and execution plans take seconds
// to make. Both are kept in files of the user's cache folder, one for each
// problem, so that the next start computes with the same. The first that is
// stored counts: processes that choose at the same time agree, and results of a
// binary are repeatable on a machine. A file that is damaged counts as none.
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
  /// Is told, at most once, in one line, why nothing is kept.
  using Note = std::function<void(const std::string &line)>;

  /// `device` is part of every key: name, architecture, driver. `folder` is
  /// made when it is first written to; empty: the user has none.
  PlanCache(std::string folder, std::string device, Note note);

  /// "$XDG_CACHE_HOME/sinter/plans", by default below ~/.cache; empty without a
  /// home. Relative values of the variable do not count, as its rule says.
  static std::string userFolder();

  /// Whether what is chosen now can be kept.
  bool isWritable();

  /// What was stored for `problem`, one line that also names the library and
  /// its version.
  std::optional<std::string> find(const std::string &problem);

  /// Stores `value`, unless there is one: what counts from now on. Nothing when
  /// it could not be stored.
  std::optional<std::string> store(const std::string &problem,
                                   std::string value);

  /// The library does not take what find() gave: it counts as damaged.
  void discard(const std::string &problem);

private:
  std::string keyOf(const std::string &problem) const;
  std::string pathOf(const std::string &key) const;
  std::optional<std::string> load(const std::string &key, bool &isDamaged);
  void removeDamaged(const std::string &key);
  rt::Result<bool> publish(const std::string &path, const std::string &content);
  void tell(const std::string &reason);

  const std::string folder_, device_;
  Note note_; // null once it was told
  std::optional<bool> isWritable_;
  std::map<std::string, std::string> known_; // by key: never changes
};

/// The index of the fastest; of those that differ by no more than a measurement
/// does, the heuristics' first. One time at least is finite.
int fastest(std::span<const double> leastUs);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_PLANCACHE_H
