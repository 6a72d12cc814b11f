//===- Fabric.cpp - what connects the processes of a job ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/Fabric.h"

#include "compiler/base/Text.h"

#include "sinter/abi.h"

#include "llvm/ADT/StringExtras.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static constexpr int64_t kMostProcesses = 1 << 20; // as of --world

namespace {

/// Reads members of an object. The first mistake counts; later reads return
/// zero. The ranges are wider than any link, and within them no time of a
/// message overflows.
class Reader {
public:
  /// `where`: before the text of a mistake, as "link 2: ".
  Reader(const json::Object &object, std::string where)
      : object_(object), where_(std::move(where)) {}

  void knowsOnly(llvm::ArrayRef<StringRef> keys) {
    for (const auto &member : object_)
      if (!llvm::is_contained(keys, StringRef(member.first)))
        return fail("unknown key '" + shown(member.first.str()) + "'; it has " +
                    llvm::join(keys, ", "));
  }
  bool has(StringRef key) const { return object_.get(key); }

  double latencyUs(StringRef key) {
    return number(key, 0, 1e9, "a number from 0 to 1e9");
  }
  double bytesPerUs(StringRef key) {
    return 1000 * number(key, 1e-6, 1e9, "a number from 1e-6 to 1e9");
  }
  int64_t processes(StringRef key) {
    std::optional<int64_t> number = object_.getInteger(key);
    if (number && *number >= 2 && *number <= kMostProcesses)
      return *number;
    fail(("'" + key + "' must be a whole number from 2 to " +
          llvm::Twine(kMostProcesses))
             .str());
    return 0;
  }
  bool truth(StringRef key) {
    std::optional<bool> truth = object_.getBoolean(key);
    if (!truth)
      fail(("'" + key + "' must be true or false").str());
    return truth.value_or(false);
  }
  std::string text(StringRef key) {
    std::optional<StringRef> text = object_.getString(key);
    if (!text)
      fail(("'" + key + "' must be a text").str());
    return text.value_or("").str();
  }

  void fail(const std::string &text) {
    if (mistake_.empty())
      mistake_ = where_ + text;
  }
  llvm::Error finish() {
    return mistake_.empty() ? llvm::Error::success()
                            : llvm::createStringError(mistake_);
  }

private:
  double number(StringRef key, double least, double most, StringRef expected) {
    std::optional<double> number = object_.getNumber(key);
    if (number && *number >= least && *number <= most)
      return *number;
    fail(("'" + key + "' must be " + expected).str());
    return 0;
  }

  const json::Object &object_;
  const std::string where_;
  std::string mistake_;
};

} // namespace

/// Link `number` of `count`, from 1. `inner`: the processes that the one before
/// connects.
static llvm::Expected<Fabric::Link>
readLink(const json::Value &value, size_t number, size_t count, int64_t inner) {
  const std::string where = "link " + std::to_string(number);
  const json::Object *object = value.getAsObject();
  if (!object)
    return llvm::createStringError(where + ": must be an object");
  Reader reader(*object, where + ": ");
  reader.knowsOnly({"processes", "latency_us", "gb_per_s"});
  Fabric::Link link;
  link.latencyUs = reader.latencyUs("latency_us");
  link.bytesPerUs = reader.bytesPerUs("gb_per_s");
  const bool isLast = number == count;
  if (isLast && reader.has("processes"))
    reader.fail("the last link connects all processes, so it has no "
                "'processes'");
  else if (!isLast && !reader.has("processes"))
    reader.fail("'processes' is missing, the number that it connects; only the "
                "last link has none");
  if (!isLast)
    link.processes = reader.processes("processes");
  if (!isLast && inner && (link.processes <= inner || link.processes % inner))
    reader.fail("'processes' must be a multiple of the " +
                std::to_string(inner) +
                " of the link before, and more: the innermost link is first");
  if (llvm::Error error = reader.finish())
    return std::move(error);
  return link;
}

llvm::Expected<Fabric> Fabric::read(const json::Object &object) {
  Reader reader(object, "");
  reader.knowsOnly({"name", "links", "copy_gb_per_s", "ring"});
  Fabric fabric;
  fabric.name = reader.has("name") ? reader.text("name") : "a fabric";
  fabric.isRing = reader.has("ring") && reader.truth("ring");
  if (reader.has("copy_gb_per_s"))
    fabric.copyBytesPerUs = reader.bytesPerUs("copy_gb_per_s");
  const json::Array *links = object.getArray("links");
  if (!links || links->empty())
    reader.fail("'links' must be a list of one link or more");
  if (llvm::Error error = reader.finish())
    return std::move(error);
  for (const json::Value &value : *links) {
    llvm::Expected<Link> link =
        readLink(value, fabric.links.size() + 1, links->size(),
                 fabric.links.empty() ? 0 : fabric.links.back().processes);
    if (!link)
      return link.takeError();
    fabric.links.push_back(*link);
  }
  return fabric;
}

llvm::ArrayRef<Fabric::Link> Fabric::linksFor(int64_t world) const {
  size_t count = 1;
  while (links[count - 1].processes && links[count - 1].processes < world)
    ++count;
  return llvm::ArrayRef(links).take_front(count);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Half of an all_reduce around a ring. Every process sends a part to the next
/// one, world - 1 times; a part makes every hop of the ring but one. The
/// processes send at the same time, and a part goes on as soon as it has
/// arrived. So the latency is the sum over the hops of a part, of the slowest
/// one, which leaves out the fastest hop. The hops are a pipeline: its rate is
/// that of the slowest link.
static double ringUs(const Fabric &fabric, double bytes, int64_t world) {
  llvm::ArrayRef<Fabric::Link> links = fabric.linksFor(world);
  double latency = 0, fastest = links.back().latencyUs, rate = 0;
  int64_t inner = 1; // processes that the links before connect
  for (const Fabric::Link &link : links) {
    const bool isOuter = &link == &links.back();
    // From process i to i + 1 across a border of the inner groups, but not of
    // this link's; the hop back to process 0 goes over the outermost link.
    const int64_t hops =
        isOuter ? (world - 1) / inner + 1
                : (world - 1) / inner - (world - 1) / link.processes;
    latency += static_cast<double>(hops) * link.latencyUs;
    fastest = std::min(fastest, link.latencyUs);
    rate = inner == 1 ? link.bytesPerUs : std::min(rate, link.bytesPerUs);
    inner = link.processes;
  }
  const auto count = static_cast<double>(world);
  return latency - fastest + (count - 1) / count * bytes / rate;
}

/// Half of an all_reduce: each process sends a part of `bytes` to each other
/// one at once. The slowest link is done last.
static double directUs(const Fabric &fabric, double bytes, int64_t world) {
  const auto count = static_cast<double>(world);
  double latency = 0, transfer = 0, inner = 1;
  for (const Fabric::Link &link : fabric.linksFor(world)) {
    latency = std::max(latency, link.latencyUs);
    const double reached = link.processes
                               ? std::min<double>(double(link.processes), count)
                               : count;
    transfer =
        std::max(transfer, (reached - inner) / count * bytes / link.bytesPerUs);
    inner = reached;
  }
  return latency + transfer;
}

double compiler::messageUs(const Fabric &fabric, uint32_t op, uint64_t bytes,
                           int64_t world) {
  if (world < 2)
    return 0;
  const auto whole = static_cast<double>(bytes);
  const bool isHalf = op != SINTER_ALL_REDUCE;
  double us =
      (isHalf ? 1 : 2) * (fabric.isRing ? ringUs(fabric, whole, world)
                                        : directUs(fabric, whole, world));
  // What is sent is staged, parts are summed, and results are copied back.
  if (fabric.copyBytesPerUs > 0)
    us += (isHalf ? 2 : 3) * whole / fabric.copyBytesPerUs;
  return us;
}
