//===- SimLtRefusal.cpp - products that the stand-in refuses --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimLtRefusal.h"
#include "backends/sim/library/SimLtProblem.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

using namespace sinter;
using namespace sinter::sim;
namespace lt = sinter::cuda::lt;

namespace {

std::mutex refusalsMutex;
std::vector<LtRefusal> currentRefusals;

LtInput inputOf(const LtProblem &problem) {
  switch (problem.a.type) {
  case lt::bf16:
    return LtInput::Bf16;
  case lt::f16:
    return LtInput::F16;
  default:
    return problem.operation.computeType == lt::compute32FFastTf32
               ? LtInput::Tf32
               : LtInput::F32;
  }
}

/// The part of `text` before the first `mark`, which is removed from it.
std::string_view takePart(std::string_view &text, char mark) {
  std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

bool readEpilogue(std::string_view word, LtRefusal &refusal) {
  uint32_t number = 0;
  auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), number);
  refusal.epilogue = number;
  return error == std::errc() && end == word.data() + word.size();
}

bool readInput(std::string_view word, LtRefusal &refusal) {
  for (auto [name, input] :
       {std::pair("f32", LtInput::F32), std::pair("tf32", LtInput::Tf32),
        std::pair("bf16", LtInput::Bf16), std::pair("f16", LtInput::F16)})
    if (word == name)
      refusal.input = input;
  return refusal.input.has_value();
}

bool readOutput(std::string_view word, LtRefusal &refusal) {
  for (auto [name, type] :
       {std::pair("f32", lt::f32), std::pair("bf16", lt::bf16),
        std::pair("f16", lt::f16)})
    if (word == name)
      refusal.output = type;
  return refusal.output.has_value();
}

} // namespace

bool LtRefusal::matches(const LtProblem &problem) const {
  if (epilogue ? *epilogue != problem.operation.epilogue
               : problem.operation.epilogue == lt::epilogueDefault)
    return false;
  return (!input || *input == inputOf(problem)) &&
         (!output || *output == problem.d.type);
}

std::optional<std::vector<LtRefusal>>
sinter::sim::readRefusals(std::string_view text) {
  std::vector<LtRefusal> refusals;
  if (text == "all")
    return std::vector{LtRefusal()};
  bool isLast = false;
  while (!isLast) {
    isLast = text.find('+') == std::string_view::npos;
    std::string_view words = takePart(text, '+');
    LtRefusal &refusal = refusals.emplace_back();
    if (std::count(words.begin(), words.end(), ':') != 2)
      return std::nullopt;
    for (auto read : {readEpilogue, readInput, readOutput}) {
      std::string_view word = takePart(words, ':');
      if (word != "*" && !read(word, refusal))
        return std::nullopt;
    }
  }
  return refusals;
}

void sinter::sim::setLtRefusals(std::vector<LtRefusal> refusals) {
  std::lock_guard lock(refusalsMutex);
  currentRefusals = std::move(refusals);
}

bool sinter::sim::isRefused(const LtProblem &problem) {
  std::lock_guard lock(refusalsMutex);
  return std::any_of(
      currentRefusals.begin(), currentRefusals.end(),
      [&](const LtRefusal &refusal) { return refusal.matches(problem); });
}
