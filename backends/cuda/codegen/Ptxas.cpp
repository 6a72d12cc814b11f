//===- Ptxas.cpp - NVIDIA's assembler of PTX ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <list>

using namespace sinter;
using namespace sinter::cuda;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {

/// The first release that reads PTX 8.1, the version of generated kernels.
constexpr unsigned kOldestMajor = 12, kOldestMinor = 1;

/// A file that is removed at the end.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) {
    error_ = fs::createTemporaryFile("sinter", suffix, path_);
    if (!error_)
      llvm::sys::RemoveFileOnSignal(path_);
  }
  ~TemporaryFile() {
    if (error_)
      return;
    fs::remove(path_);
    llvm::sys::DontRemoveFileOnSignal(path_);
  }
  TemporaryFile(const TemporaryFile &) = delete;

  std::error_code error() const { return error_; }
  StringRef path() const { return path_; }
  std::error_code write(StringRef text) const {
    std::error_code error = error_;
    if (error)
      return error;
    llvm::raw_fd_ostream os(path_, error);
    if (error)
      return error;
    os << text;
    os.close();
    error = os.error();
    os.clear_error();
    return error;
  }
  /// "" if it cannot be read.
  std::string read() const {
    auto bytes = llvm::MemoryBuffer::getFile(path_, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
    return bytes ? (*bytes)->getBuffer().str() : "";
  }

private:
  llvm::SmallString<128> path_;
  std::error_code error_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

static std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  auto add = [&](StringRef folder) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "ptxas");
    if (fs::can_execute(path))
      paths.push_back(std::string(path));
  };
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME");
      home && !home->empty()) {
    add(*home + "/bin");
    return paths;
  }
  if (auto onPath = llvm::sys::findProgramByName("ptxas"))
    paths.push_back(*onPath);
  add("/usr/local/cuda/bin");
  return paths;
}

/// The version of the ptxas at `path`, "12.4.131"; otherwise `why` says what is
/// wrong with it.
static std::optional<std::string> usableVersion(StringRef path,
                                                std::string &why) {
  TemporaryFile output("txt");
  if (std::error_code error = output.error()) {
    why = "no temporary file for ptxas: " + error.message();
    return std::nullopt;
  }
  std::string problem;
  int code = llvm::sys::ExecuteAndWait(
      path, {path, "--version"}, std::nullopt,
      {StringRef(""), output.path(), output.path()}, /*SecondsToWait=*/60,
      /*MemoryLimit=*/0, &problem);
  llvm::SmallVector<StringRef> parts;
  std::string text = output.read();
  unsigned major = 0, minor = 0;
  if (code ||
      !llvm::Regex("V([0-9]+)\\.([0-9]+)\\.([0-9]+)").match(text, &parts) ||
      parts[1].getAsInteger(10, major) || parts[2].getAsInteger(10, minor)) {
    why = (path + " --version does not print a version" +
           (problem.empty() ? "" : ": " + problem))
              .str();
    return std::nullopt;
  }
  std::string version = parts[0].drop_front().str();
  if (std::pair(major, minor) >= std::pair(kOldestMajor, kOldestMinor))
    return version;
  why = (path + " is of release " + version + "; release " +
         llvm::Twine(kOldestMajor) + "." + llvm::Twine(kOldestMinor) +
         " or newer reads the PTX of kernels")
            .str();
  return std::nullopt;
}

std::optional<Ptxas> Ptxas::find(std::string &why) {
  std::vector<std::string> paths = candidates();
  if (paths.empty()) {
    auto home = llvm::sys::Process::GetEnv("CUDA_HOME");
    why = home && !home->empty()
              ? "ptxas was not found in CUDA_HOME's bin"
              : "ptxas was found neither on PATH nor in /usr/local/cuda/bin; "
                "CUDA_HOME names another toolkit";
    return std::nullopt;
  }
  std::string first;
  for (const std::string &path : paths) {
    std::string wrong;
    if (auto version = usableVersion(path, wrong)) {
      Ptxas ptxas;
      ptxas.path_ = path;
      ptxas.version_ = *version;
      return ptxas;
    }
    if (first.empty())
      first = wrong;
  }
  why = first;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

/// The first line of ptxas's messages that tells an error. The source's path is
/// left out.
static std::string firstError(StringRef log, StringRef source) {
  llvm::SmallVector<StringRef> lines;
  log.split(lines, '\n', -1, false);
  StringRef found = lines.empty() ? "it printed nothing" : lines.front();
  for (StringRef line : lines)
    if (line.contains("error") || line.contains("fatal")) {
      found = line;
      break;
    }
  std::string text = found.trim().str();
  for (size_t at; (at = text.find(source.str())) != std::string::npos;)
    text.replace(at, source.size(), "the PTX");
  return text.substr(0, 300);
}

namespace {

/// One run of ptxas.
class Run {
public:
  explicit Run(const Ptxas::Job &job) : job_(job) {}

  /// Returns what keeps it from starting, "" if nothing.
  std::string start(StringRef path) {
    for (std::error_code error :
         {source_.write(job_.ptx), cubin_.error(), log_.error()})
      if (error)
        return "no temporary file for ptxas: " + error.message();
    std::string arch = ("-arch=sm_" + llvm::Twine(job_.arch)).str();
    std::string problem;
    bool isBroken = false;
    process_ = llvm::sys::ExecuteNoWait(
        path, {path, arch, "-o", cubin_.path(), source_.path()}, std::nullopt,
        {StringRef(""), log_.path(), log_.path()}, /*MemoryLimit=*/0, &problem,
        &isBroken);
    return isBroken ? "ptxas could not be started: " + problem : "";
  }

  /// Waits for its end. Returns the cubin, "" on failure.
  std::string finish(const std::string &version, Ptxas::Failure &failure) {
    std::string problem;
    int code = llvm::sys::Wait(process_, std::nullopt, &problem).ReturnCode;
    std::string cubin = code ? "" : cubin_.read();
    if (!cubin.empty())
      return cubin;
    failure.isRejected = code > 0;
    failure.text = "ptxas " + version +
                   (code > 0   ? " does not assemble the PTX for sm_"
                    : code < 0 ? " did not finish on the PTX for sm_"
                               : " wrote nothing for the PTX for sm_") +
                   std::to_string(job_.arch) +
                   (code < 0 ? ": " + problem
                             : ": " + firstError(log_.read(), source_.path()));
    return "";
  }

private:
  Ptxas::Job job_;
  TemporaryFile source_{"ptx"}, cubin_{"cubin"}, log_{"txt"};
  llvm::sys::ProcessInfo process_;
};

} // namespace

std::optional<std::vector<std::string>>
Ptxas::assemble(llvm::ArrayRef<Job> jobs, unsigned processes,
                Failure &failure) const {
  std::vector<std::string> cubins;
  failure = {};
  while (cubins.size() < jobs.size() && failure.text.empty()) {
    std::list<Run> runs;
    for (const Job &job :
         jobs.drop_front(cubins.size()).take_front(std::max(processes, 1u))) {
      std::string problem = runs.emplace_back(job).start(path_);
      if (!problem.empty()) {
        failure.text = problem;
        runs.pop_back();
        break;
      }
    }
    // Those that run are waited for even after a failure.
    for (Run &run : runs) {
      Failure own;
      cubins.push_back(run.finish(version_, own));
      if (failure.text.empty())
        failure = own;
    }
  }
  if (!failure.text.empty())
    return std::nullopt;
  return cubins;
}
