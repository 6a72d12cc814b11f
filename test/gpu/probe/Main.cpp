//===- Main.cpp - sinter-gpu-probe ----------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//   sinter-gpu-probe NAME [WORD..] [--device=cuda:0] [--json=FILE]
//                    [--seconds=9] [--replays=1000] [--spoil]
//
// Exits with 0 if all cases are right, 1 if one is wrong, 75 if there was no
// time for one, and 77 if what the probe needs is missing.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/probe/Probe.h"

#include <cstdio>
#include <cstdlib>

using namespace sinter;
using namespace sinter::probe;

namespace {

struct Row {
  const char *name;
  void (*probe)(Report &report);
  const char *meaning;
};

constexpr Row rows[] = {
    {"driver", probeDriver, "the driver itself: memory, a kernel, events"},
    {"load", probeLoad, "LIST: loads PTX; a line is FILE OFFSET SIZE"},
    {"replay", probeReplay, "FILE SYMBOL ..: many runs as graphs"},
    {"products", probeProducts, "cuBLASLt"},
    {"convolutions", probeConvolutions, "cuDNN: convolutions and gradients"},
    {"sums", probeSums, "cuDNN: convolutions with sums of channels"},
    {"attention", probeAttention, "cuDNN: attention and its gradients"},
    {"non-finite", probeNonFinite,
     "[products | convolutions]: NaN and infinity"},
};

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto value = [&](const char *name, std::string &to) {
      if (!word.starts_with(name))
        return false;
      to = word.substr(std::string(name).size());
      return true;
    };
    std::string number;
    if (value("--seconds=", number))
      options.seconds = std::strtod(number.c_str(), nullptr);
    else if (value("--replays=", number))
      options.replays = std::atoi(number.c_str());
    else if (word == "--spoil")
      options.spoil = true;
    else if (value("--device=", options.device) ||
             value("--json=", options.json))
      continue;
    else if (options.name.empty())
      options.name = word;
    else
      options.words.push_back(word);
  }
  for (const Row &row : rows)
    if (options.name == row.name) {
      Report report(options);
      row.probe(report);
      return report.finish();
    }
  std::fprintf(stderr,
               "sinter-gpu-probe NAME [WORD..] [--device=cuda:0] "
               "[--json=FILE] [--seconds=9] [--replays=1000] [--spoil]\n");
  for (const Row &row : rows)
    std::fprintf(stderr, "  %-13s %s\n", row.name, row.meaning);
  return 2;
}
