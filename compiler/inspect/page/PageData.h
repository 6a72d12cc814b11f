//===- PageData.h - what the page shows, as JSON ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_PAGEDATA_H
#define SINTER_COMPILER_INSPECT_PAGE_PAGEDATA_H

#include "compiler/trace/Trace.h"

#include "llvm/Support/JSON.h"

namespace sinter::compiler {

/// A program to show.
struct PageProgram {
  std::string title; // the file's name
  Trace trace;
  /// The code of each kernel by its form ("llvm", "ptx", "asm") and symbol.
  std::map<std::string, std::map<std::string, std::string>> code;
  /// More about kernels (registers, FLOPs, ...): {symbol: {name: value}}.
  llvm::json::Object kernels;
  bool isProfiled = false; // whether the next are, or will be, set
  /// The mean microseconds of each command of the program that was profiled;
  /// empty without a profile.
  std::vector<double> commandMicros;
  /// Of each command in the body of a scan, by the scan's number.
  std::map<uint32_t, std::vector<double>> bodyMicros;
  std::string profiledEntry; // "" if the profile does not say
  /// Numbers of nodes that the page can show as colors: {title: {node: n}}.
  llvm::json::Object overlays;

  /// "sim:0"; "device 0" if the trace does not have it.
  std::string deviceName(size_t place) const {
    return place < trace.devices.size() ? trace.devices[place]
                                        : "device " + std::to_string(place);
  }
};

/// What a page is about.
struct PageContent {
  std::vector<PageProgram> programs; // one, or two to compare; may be empty
  llvm::json::Array runs;            // runPageJson()
  /// Of compiled programs beside runs: {"title", "build_id", "text"}.
  llvm::json::Array reports;
  /// Of compiled programs alone: the memory of each entry (PlanPage.cpp), and
  /// the file's name.
  llvm::json::Array plans;
  std::string title;
};

/// Writes the JSON value that docs/inspector.md describes.
void writePageData(const PageContent &content, llvm::raw_ostream &os);

/// The sizes of each input of a program, in its order.
using InputSizes = std::vector<std::vector<int64_t>>;

/// What was measured of one program.
struct Profile {
  std::vector<double> micros; // the mean of each command; a scan's is the sum
                              // of its body's
  /// Of each command in the body of a scan, all trips of a run together; by the
  /// scan's number.
  std::map<uint32_t, std::vector<double>> bodies;
  std::string entry; // of the times; "" if the file does not say
  /// Of the program that was profiled; nothing if the file does not say.
  std::optional<InputSizes> inputs;
};

/// Reads trace events of `sinter-run --trace-events`, or of a trainer's; of the
/// entry that took most time. Returns "" on success,
/// else what is wrong with `text`.
std::string readProfile(llvm::StringRef text, Profile &profile);

/// Reads {title: {node: number}}. Returns "" on success, else what is wrong
/// with `text`.
std::string readOverlays(llvm::StringRef text, llvm::json::Object &overlays);

/// Splits the text of several kernels, as Compilation::kernelText returns it,
/// into one for each function: LLVM IR at its "define", PTX at its ".entry".
/// What a kernel shares with others (declarations, attributes) is left out.
std::map<std::string, std::string> splitLlvm(llvm::StringRef text);
std::map<std::string, std::string> splitPtx(llvm::StringRef text);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_PAGEDATA_H
