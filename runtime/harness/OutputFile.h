//===- OutputFile.h - files that a command may replace ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A file that an option names as output is replaced without asking. So it is
// looked at before anything is opened for writing: it must not be what the
// command reads and, where outputs of this kind can be recognised, must not be
// another kind of file.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_OUTPUTFILE_H
#define SINTER_RUNTIME_HARNESS_OUTPUTFILE_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace sinter::rt {

/// The files that a command reads, with its own program. They are compared by
/// device and inode, not by name.
class InputFiles {
public:
  InputFiles();
  /// `path` is a file, or a directory whose files count. `what` is for
  /// messages: "the file of --data". What cannot be found is left out.
  void add(const std::string &what, const std::string &path);
  /// The files of the checkpoint that `path` is, or of the newest one in it; or
  /// `path` itself.
  void addWeights(const std::string &what, const std::string &path);
  /// What `path` is of these: "the file of --data"; "" if it is none.
  std::string find(const std::string &path) const;

private:
  struct File {
    dev_t device;
    ino_t inode;
    std::string what;
  };
  std::vector<File> files_;
};

/// How the outputs of one kind begin.
struct OutputKind {
  const char *name; // "a log"
  std::vector<std::string_view> beginnings;
};

/// Whether `option` may write to `path`. SINTER_INVALID if that is one of
/// `inputs`, or a regular file that is not empty and not of `kind`; a null kind
/// cannot be recognised.
Status checkOutput(const std::string &option, const std::string &path,
                   const InputFiles &inputs, const OutputKind *kind = nullptr);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_OUTPUTFILE_H
