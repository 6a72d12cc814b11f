//===- WhyNode.cpp - the reasons behind what became of one node -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/inspect/Why.h"
#include "ir/Provenance.h"

#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

Answer WhyIndex::whyPrecision(StringRef node) const {
  Answer answer;
  answer.problem = whyNotComputed(node);
  add(node, "assign-precision", {"fp32", "tf32", "bf16", "fp16"}, answer);
  if (!answer.reasons.empty()) {
    answer.headline = "the precision of " + shown(node);
  } else if (policy_ == "fp32") {
    answer.headline = shown(node) + " has the types of the model";
    addReason(answer, "assign-precision",
              "the policy is fp32: --precision was not given or is fp32, so "
              "nothing is narrowed");
  } else {
    answer.headline = shown(node) + " computes no float32 value";
    addFate(node, answer);
    add(node, "place-ops", {"no-code"}, answer);
    addReason(answer, "assign-precision",
              "the policy is about float32 ops, of which the node has none");
  }
  return answer;
}

Answer WhyIndex::whyDevice(StringRef node) const {
  Answer answer;
  answer.problem = whyNotComputed(node);
  answer.headline = "the device of " + shown(node);
  add(node, "place-ops", {"device", "state-device"}, answer);
  // A gradient is placed with its node.
  if (StringRef of = ir::nodeOfName(node); answer.reasons.empty() && of != node)
    add(of, "place-ops", {"device"}, answer);
  // A copy that is computed again has no remark of its own.
  if (!answer.reasons.empty()) {
    Answer again;
    add(node, "rematerialize", {"recomputed"}, again);
    for (const Answer::Reason &copy : again.reasons)
      addReason(answer, copy.pass, "on the same device: " + copy.text);
    return answer;
  }
  const Numbers commands = commandsOf_.lookup(node);
  for (size_t command : commands)
    addReason(answer, "plan-memory", commands_[command].text);
  if (!commands.empty()) {
    addReason(answer, "place-ops",
              "it has no device of its own: its ops run where their operands "
              "are, or belong to another node that is placed");
    return answer;
  }
  addFate(node, answer);
  addReason(answer, "place-ops",
            "the node is not placed: nothing of it is computed at run time, "
            "or it is part of a node that is placed");
  return answer;
}

Answer WhyIndex::whyLibrary(StringRef node) const {
  Answer answer;
  answer.problem = whyNotComputed(node);
  bool isCalled = false;
  for (size_t command : commandsOf_.lookup(node)) {
    isCalled |= commands_[command].kernel.empty();
    addReason(answer, "plan-memory", commands_[command].text);
  }
  answer.headline = isCalled ? "a call or copy computes " + shown(node) +
                                   ", or a part of it, or what it is a part of"
                             : "no library computes " + shown(node);
  add(node, "place-ops", {"library-call", "generated", "no-code"}, answer);
  if (answer.reasons.empty())
    addFate(node, answer);
  if (answer.reasons.empty())
    addReason(answer, "place-ops", "nothing of it is computed at run time");
  return answer;
}

Answer WhyIndex::whyLayout(StringRef node) const {
  Answer answer;
  answer.problem = whyNotComputed(node);
  answer.headline = "the layout of " + shown(node);
  add(node, "assign-layouts", {"channels-last", "channels-first"}, answer);
  add(node, "align-contractions", {"padded-channels", "channels"}, answer);
  if (answer.reasons.empty())
    addReason(
        answer, "assign-layouts",
        "layouts are chosen for convolutions; all else follows those that "
        "it is connected with, or is as the model has it");
  return answer;
}

Answer WhyIndex::whyRecomputed(StringRef node) const {
  Answer answer;
  answer.problem = whyNotComputed(node);
  add(node, "rematerialize", {"recomputed"}, answer);
  bool isTwice = !answer.reasons.empty();
  answer.headline =
      shown(node) + (isTwice ? " is computed a second time to save memory"
                             : " is not computed a second time to save memory");
  for (size_t command : commandsOf_.lookup(node))
    addReason(answer, "plan-memory",
              commands_[command].text + ": has ops of the node; a kernel may "
                                        "compute cheap ones again that it "
                                        "would else read");
  if (!isTwice)
    addReason(answer, "rematerialize",
              "its results are kept, or are not needed after the peak of "
              "memory: --remat and --memory-limit decide that");
  return answer;
}

/// Says which buffers of a command of `node` are those of other nodes.
void WhyIndex::addOtherBuffers(const Command &command, StringRef node,
                               Answer &answer) const {
  constexpr size_t kMost = 6;
  std::string start = "@" + command.entry + ": ";
  std::string writer = ", written by command " + command.number() + ", ";
  size_t count = 0;
  llvm::SetVector<StringRef> names;
  for (const TraceRemark *buffer : buffers_)
    if (StringRef text = buffer->text;
        text.starts_with(start) && text.contains(writer) &&
        !llvm::is_contained(buffer->nodes, node)) {
      ++count;
      names.insert(buffer->nodes.begin(), buffer->nodes.end());
    }
  if (!count)
    return;
  std::vector<std::string> list;
  for (StringRef name : names.getArrayRef().take_front(kMost))
    list.push_back(shown(name));
  addReason(answer, "plan-memory",
            "and " + std::to_string(count) + " more of " +
                StringRef(command.text).split(": ").second.str() + " (" +
                StringRef(command.text).split(": ").first.str() + "): " +
                llvm::join(list, ", ") + (names.size() > kMost ? ", ..." : ""));
}

Answer WhyIndex::whyBytes(StringRef node) const {
  Answer answer;
  answer.problem = whyUnknown(node);
  answer.headline = "the memory of " + shown(node);
  add(node, "plan-memory", {"peak-buffer", "buffer"}, answer);
  bool hasBuffer = !answer.reasons.empty();
  // What replicas divide.
  add(node, "build-training", {"part", "whole"}, answer);
  add(node, "divide-weights", {"part", "whole"}, answer);
  for (size_t command : commandsOf_.lookup(node))
    addOtherBuffers(commands_[command], node, answer);
  if (!hasBuffer) {
    addFate(node, answer);
    addReason(answer, "plan-memory",
              "it has no buffer: its values are computed within a kernel, are "
              "those of another node, or are not computed at run time");
  }
  return answer;
}

Answer WhyIndex::whyPeak() const {
  Answer answer;
  answer.headline = trace_.devices.size() > 1
                        ? "what is live at the peak of the arena of each device"
                        : "what is live at the peak of the arena";
  struct Live {
    const TraceRemark *remark;
    int64_t bytes = 0; // "64" of "@main: 64 bytes: ..."
  };
  // What is live follows its peak.
  std::vector<std::pair<const TraceRemark *, std::vector<Live>>> peaks;
  for (const TraceStep &step : trace_.steps)
    for (const TraceRemark &remark : step.remarks) {
      if (remark.pass == "plan-memory" && remark.kind == "peak")
        peaks.push_back({&remark, {}});
      if (remark.kind != "live-at-peak" || peaks.empty())
        continue;
      std::vector<Live> &live = peaks.back().second;
      live.push_back({&remark});
      StringRef bytes = StringRef(remark.text).split(": ").second;
      bytes.split(' ').first.getAsInteger(10, live.back().bytes);
    }
  for (auto &[peak, live] : peaks) {
    addReason(answer, peak->pass, peak->text);
    llvm::stable_sort(
        live, [](const Live &a, const Live &b) { return a.bytes > b.bytes; });
    for (const Live &entry : live) {
      llvm::ArrayRef<std::string> nodes = entry.remark->nodes;
      auto [bytes, rest] = StringRef(entry.remark->text).split(" bytes: ");
      std::string name =
          nodes.empty() ? "a value without a node" : shown(nodes.front());
      if (nodes.size() > 1)
        name += " and " + std::to_string(nodes.size() - 1) + " more";
      addReason(answer, peak->pass,
                bytes.str() + " bytes: " + name + ": " + rest.str());
    }
  }
  if (answer.reasons.empty())
    answer.problem =
        "the trace ends before the phase plan, so there is no peak";
  return answer;
}
