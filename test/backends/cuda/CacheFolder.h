//===- CacheFolder.h - a plan cache for one test ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_CUDA_CACHEFOLDER_H
#define SINTER_TEST_BACKENDS_CUDA_CACHEFOLDER_H

#include "backends/cuda/library/PlanCache.h"

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace sinter::test {

/// The folder does not exist at first and is removed at the end.
class CacheFolder {
public:
  CacheFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "sinter-plans-XXXXXX")
            .string();
    if (::mkdtemp(pattern.data()))
      root_ = pattern;
  }
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  CacheFolder(const CacheFolder &) = delete;
  CacheFolder &operator=(const CacheFolder &) = delete;

  std::string path() const { return (root_ / "sinter").string(); }
  /// Does what the start of a program does.
  std::shared_ptr<cuda::PlanCache> open(const std::string &device = "device") {
    return std::make_shared<cuda::PlanCache>(
        path(), device,
        [this](const std::string &line) { notes.push_back(line); });
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::is_directory(path()))
      for (const auto &entry : std::filesystem::directory_iterator(path()))
        found.push_back(entry.path());
    return found;
  }

  std::vector<std::string> notes;

private:
  std::filesystem::path root_;
};

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_CACHEFOLDER_H
