//===- MemoryChart.cpp - charts of the arena over time --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/MemoryChart.h"

#include "runtime/base/NumberText.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/MemoryNeeds.h"
#include "runtime/harness/SumMemory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

using namespace sinter::rt;

/// Bytes in use at each command. Values that share bytes count once.
static std::vector<uint64_t> liveBytes(const std::vector<ArenaValue> &values,
                                       uint32_t numCommands) {
  std::vector<uint64_t> live(numCommands);
  for (uint32_t c = 0; c < numCommands; ++c) {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const ArenaValue &value : values)
      if (value.firstCommand <= c && c <= value.lastCommand)
        ranges.push_back(
            {value.offsetBytes, value.offsetBytes + value.sizeBytes});
    std::sort(ranges.begin(), ranges.end());
    uint64_t end = 0;
    for (auto [begin, last] : ranges) {
      live[c] += last > end ? last - std::max(begin, end) : 0;
      end = std::max(end, last);
    }
  }
  return live;
}

std::string sinter::rt::memoryChart(const sinter_entry &entry, uint32_t place) {
  constexpr uint32_t rows = 24, width = 48;
  std::vector<uint64_t> live =
      liveBytes(arenaValues(entry, place), entry.numCommands);
  auto peak = std::max_element(live.begin(), live.end());
  if (live.empty() || *peak == 0)
    return "";
  std::string text;
  char line[160];
  const size_t step = (live.size() + rows - 1) / rows;
  for (size_t begin = 0; begin < live.size(); begin += step) {
    size_t end = std::min(live.size(), begin + step);
    uint64_t most =
        *std::max_element(&live[begin], &live[begin] + (end - begin));
    std::snprintf(line, sizeof(line), "  %5zu .. %5zu %12s ", begin, end - 1,
                  bytesText(most).c_str());
    auto bars = static_cast<size_t>(double(most) / double(*peak) * width + 0.5);
    text += line + std::string(bars, '#') + "\n";
  }
  auto at = static_cast<size_t>(peak - live.begin());
  text += "  peak " + bytesText(*peak) + " at command " + std::to_string(at) +
          ", " + entry.commands[at].label + "\n";
  return text;
}

/// Escapes `text` for HTML's text and attributes.
static std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

static std::string entryFigure(const sinter_artifact &artifact,
                               const sinter_entry &entry, uint32_t place) {
  constexpr double width = 1200, height = 600;
  const uint64_t arena = arenaBytes(artifact, entry, place);
  std::string text = "<h2>" + escaped(entry.name);
  if (artifact.numPlaces)
    text += " on " + escaped(artifact.places[place].device);
  text += ": " + bytesText(arena) + ", " + std::to_string(entry.numCommands) +
          " commands</h2>\n";
  if (!arena || !entry.numCommands)
    return text;
  text += "<svg viewBox=\"0 0 1200 600\">\n";
  size_t number = 0;
  char shape[200];
  for (const ArenaValue &value : arenaValues(entry, place)) {
    double x = width * value.firstCommand / entry.numCommands,
           w = width * (value.lastCommand - value.firstCommand + 1) /
               entry.numCommands,
           h = height * double(value.sizeBytes) / double(arena),
           y = height - height * double(value.offsetBytes) / double(arena) - h;
    std::snprintf(shape, sizeof(shape),
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                  "fill=\"hsl(%zu,60%%,70%%)\"><title>",
                  x, y, w, h, (number++ * 47) % 360);
    text += shape + escaped(value.label) + ": " + bytesText(value.sizeBytes) +
            " at " + std::to_string(value.offsetBytes) + ", commands " +
            std::to_string(value.firstCommand) + " to " +
            std::to_string(value.lastCommand) + "</title></rect>\n";
  }
  return text + "</svg>\n";
}

std::string sinter::rt::memoryPage(const sinter_artifact &artifact) {
  uint64_t sums = 0;
  for (auto [processes, bytes] : spanningBytesByProcesses(artifact))
    sums = std::max(sums, bytes);
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<title>Memory plan</title><style>body{font-family:sans-serif}"
      "svg{width:100%;border:1px solid #888}rect{stroke:#fff;"
      "stroke-width:.3}</style></head><body>\n<h1>The arena over time</h1>\n"
      "<p>Commands to the right, bytes upwards; in addition, states take " +
      bytesText(stateBytesOfAll(artifact)) +
      (sums ? ", and sums over processes up to " + bytesText(sums) : "") +
      ".</p>\n";
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t place = 0; place < numPlaces(artifact); ++place)
      page += entryFigure(artifact, artifact.entries[i], place);
  return page + "</body></html>\n";
}
