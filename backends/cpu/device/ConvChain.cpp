//===- ConvChain.cpp - convolutions that run in bands ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvChain.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvChainMember.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "runtime/base/CpuId.h"

#include "sinter/abi.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// Bytes of a band: what it reads of the first input and writes between the
/// convolutions and of the last result. They fit in the cache of level 2 beside
/// the filters.
int64_t bandBytes(uint64_t workspaceBytes) {
  constexpr uint64_t least = 256 * 1024, most = 1536 * 1024;
  return static_cast<int64_t>(std::clamp(
      std::min(hostL2Bytes() * 3 / 4, workspaceBytes / 8), least, most));
}

/// One of `parts` parts that differ by at most one row.
Rows partOf(Rows rows, int64_t number, int64_t parts) {
  return {rows.begin + rows.count() * number / parts,
          rows.begin + rows.count() * (number + 1) / parts};
}

/// A worker's place in an image.
struct Progress {
  std::array<Rows, SINTER_MAX_CHAIN> held; // of each result but the last
  std::array<Rows, SINTER_MAX_CHAIN> next; // that each member computes
};

class ConvChain final : public LibraryChain {
public:
  explicit ConvChain(std::span<const sinter_command> commands)
      : members_(commands.begin(), commands.end()) {
    uint32_t first = 0;
    for (const sinter_command &command : commands) {
      firstBuffer_.push_back(first);
      first += command.numSlices;
    }
    for (size_t i = 0; i < members_.size(); ++i)
      alone_.push_back(std::make_unique<Alone>(*this, i));
  }

  /// False if the chain cannot be computed in bands.
  Result<bool> prepare(const CallMeans &means, const PrepareMember &prepare);

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override;
  Status bind(const Scratch &scratch, int threads) override;
  Status run(void *const *buffers, const CallContext &context) override;
  std::string description() const override;
  LibraryCall &member(size_t index) override { return *alone_[index]; }

private:
  class Alone final : public LibraryCall {
  public:
    Alone(const ConvChain &chain, size_t index)
        : chain_(chain), index_(index) {}
    uint64_t sharedBytes() const override { return 0; }
    uint64_t perWorkerBytes() const override { return chain_.perWorkerBytes(); }
    Status bind(const Scratch &, int) override { return {}; }
    Status run(void *const *buffers, const CallContext &context) override {
      return chain_.runAlone(index_, buffers, context);
    }
    std::string description() const override {
      return chain_.members_[index_].description();
    }

  private:
    const ConvChain &chain_;
    const size_t index_;
  };

  const ChainMember &last() const { return members_.back(); }
  int64_t images() const { return last().params().batch; }
  /// The rows of range `number` of an image.
  Rows range(int64_t number) const {
    return partOf({0, last().resultRows()}, number, ranges_);
  }
  /// Calls function(band) for the bands of `rows`.
  template <class Function>
  void forEachBand(Rows rows, Function function) const {
    const int64_t bands = ceilDiv(rows.count(), bandRows_);
    for (int64_t i = 0; i < bands; ++i)
      function(partOf(rows, i, bands));
  }
  int64_t bytesOfBand(int64_t rows) const;
  bool chooseBands(const CallMeans &means);
  void plan(Rows result, Progress &progress) const;
  void advance(Progress &progress) const;
  double flopsOf(const Progress &progress) const;
  Status prepareParts(const Progress &progress, const PrepareMember &prepare);
  Status prepareRanges(const PrepareMember &prepare);
  Status preparePieces(const PrepareMember &prepare);
  bool computesLittleTwice() const;
  Rows window(size_t member, const Progress &progress) const {
    return members_[member + 1].inputRows(progress.next[member + 1]);
  }
  Status runBand(Progress &progress, int64_t image, void *const *buffers,
                 uint8_t *scratch, const CallContext &context) const;
  Status runAlone(size_t index, void *const *buffers,
                  const CallContext &context) const;
  CallContext limited(const CallContext &context) const {
    CallContext fewer = context;
    fewer.threads = std::min(context.threads, threads_);
    return fewer;
  }

  std::vector<ChainMember> members_;
  std::vector<uint32_t> firstBuffer_; // by member
  std::vector<std::unique_ptr<Alone>> alone_;
  /// A range is what one worker computes, band by band, with no other's help.
  int64_t ranges_ = 0; // of an image
  int64_t bandRows_ = 0;
  /// In a worker's scratch, by result: the most rows, and where they begin.
  std::array<int64_t, SINTER_MAX_CHAIN> heldRows_ = {}, heldOffset_ = {};
  int64_t heldBytes_ = 0; // of all results
  /// What a member computes by itself: all rows, each once.
  std::array<std::vector<Rows>, SINTER_MAX_CHAIN> pieces_;
  Scratch scratch_;
  int threads_ = 1;
};

/// The first failure among workers.
class FirstFailure {
public:
  bool has() const { return isSet_.load(std::memory_order_relaxed); }
  void add(Status status) {
    if (!status.ok() && !isSet_.exchange(true))
      status_ = std::move(status);
  }
  /// When all workers are done.
  Status take() { return std::move(status_); }

private:
  std::atomic<bool> isSet_{false};
  Status status_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

/// With no rows of an earlier band.
int64_t ConvChain::bytesOfBand(int64_t rows) const {
  Rows band = {0, rows};
  int64_t bytes = 0;
  for (size_t i = members_.size(); i-- > 0;) {
    bytes += band.count() * members_[i].resultRowBytes();
    // As if the image had no end.
    const sinter_conv &p = members_[i].params();
    const int64_t most =
        (band.count() - 1) * p.strides[0] + members_[i].windowHeight();
    band = {0, std::min(most, p.inputDims[0])};
  }
  return bytes + band.count() * members_.front().inputRowBytes();
}

bool ConvChain::chooseBands(const CallMeans &means) {
  // So many that a worker that is interrupted does not delay the others much.
  constexpr int64_t rangesOfThread = 4;
  const int64_t rows = last().resultRows(),
                wanted =
                    means.threads == 1 ? 1 : rangesOfThread * means.threads;
  ranges_ = std::min(rows, ceilDiv(wanted, images()));
  const int64_t rangeRows = ceilDiv(rows, ranges_);
  const int64_t fitting = bandBytes(means.workspaceBytes);
  int64_t most = 1;
  while (most < rangeRows && bytesOfBand(most + 1) <= fitting)
    ++most;
  bandRows_ = ceilDiv(rangeRows, ceilDiv(rangeRows, most));
  const bool isOneBand = images() * ranges_ == 1 && bandRows_ == rows;
  return !isOneBand && bytesOfBand(1) <= fitting && computesLittleTwice();
}

/// Whether the rows that two ranges need, which both compute, are few.
bool ConvChain::computesLittleTwice() const {
  constexpr double most = 1.05;
  double inRanges = 0, atOnce = 0;
  Progress whole;
  for (int64_t number = 0; number < ranges_; ++number) {
    Progress own;
    forEachBand(range(number), [&](Rows band) {
      plan(band, own);
      inRanges += flopsOf(own);
      advance(own);
      plan(band, whole);
      atOnce += flopsOf(whole);
      advance(whole);
    });
  }
  return inRanges <= most * atOnce;
}

/// What members compute for `result` after what `progress` holds.
void ConvChain::plan(Rows result, Progress &progress) const {
  progress.next[members_.size() - 1] = result;
  for (size_t i = members_.size() - 1; i-- > 0;) {
    if (progress.next[i + 1].isEmpty()) {
      progress.next[i] = {};
      continue;
    }
    const Rows needed = window(i, progress);
    progress.next[i] = {std::max(needed.begin, progress.held[i].end),
                        needed.end};
  }
}

/// What is held when the members have computed what plan() says.
void ConvChain::advance(Progress &progress) const {
  for (size_t i = 0; i + 1 < members_.size(); ++i)
    if (!progress.next[i].isEmpty())
      progress.held[i] = window(i, progress);
}

double ConvChain::flopsOf(const Progress &progress) const {
  double flops = 0;
  for (size_t i = 0; i < members_.size(); ++i)
    if (!progress.next[i].isEmpty())
      flops += static_cast<double>(progress.next[i].count()) *
               members_[i].flopsOfRow();
  return flops;
}

Status ConvChain::prepareParts(const Progress &progress,
                               const PrepareMember &prepare) {
  for (size_t i = 0; i < members_.size(); ++i)
    if (!progress.next[i].isEmpty())
      SINTER_RETURN_IF_ERROR(
          members_[i].preparePart(progress.next[i], prepare));
  return {};
}

Status ConvChain::prepareRanges(const PrepareMember &prepare) {
  Status status;
  for (int64_t number = 0; number < ranges_; ++number) {
    Progress progress;
    forEachBand(range(number), [&](Rows band) {
      plan(band, progress);
      if (status.ok())
        status = prepareParts(progress, prepare);
      advance(progress);
      for (size_t i = 0; i + 1 < members_.size(); ++i)
        heldRows_[i] = std::max(heldRows_[i], progress.held[i].count());
    });
  }
  return status;
}

/// Cuts all rows of each result in pieces, also those that no member reads.
Status ConvChain::preparePieces(const PrepareMember &prepare) {
  Progress progress;
  forEachBand({0, last().resultRows()}, [&](Rows band) {
    plan(band, progress);
    for (size_t i = 0; i < members_.size(); ++i)
      if (const Rows next = progress.next[i]; !next.isEmpty())
        pieces_[i].push_back(
            {pieces_[i].empty() ? 0 : pieces_[i].back().end, next.end});
    advance(progress);
  });
  for (size_t i = 0; i < members_.size(); ++i) {
    pieces_[i].back().end = members_[i].resultRows();
    for (Rows piece : pieces_[i])
      SINTER_RETURN_IF_ERROR(members_[i].preparePart(piece, prepare));
  }
  return {};
}

Result<bool> ConvChain::prepare(const CallMeans &means,
                                const PrepareMember &prepare) {
  const size_t count = members_.size();
  if (count < 2 || count > SINTER_MAX_CHAIN)
    return false;
  for (size_t i = 0; i < count; ++i)
    if (!members_[i].fits(i + 1 == count) ||
        (i + 1 < count && !members_[i].isReadBy(members_[i + 1])))
      return false;
  // A band of the result must not overwrite what later bands read.
  const sinter_command &end = last().command();
  for (const ChainMember &member : std::span(members_).first(count - 1))
    for (uint32_t i = &member != &members_.front();
         i < member.command().numReads; ++i)
      if (overlaps(member.command().slices[i], end.slices[end.numSlices - 1]))
        return false;
  if (!chooseBands(means))
    return false;
  SINTER_RETURN_IF_ERROR(prepareRanges(prepare));
  SINTER_RETURN_IF_ERROR(preparePieces(prepare));
  for (size_t i = 0; i + 1 < count; ++i) {
    heldOffset_[i] = heldBytes_;
    heldBytes_ += alignUp(heldRows_[i] * members_[i].resultRowBytes());
  }
  return std::ranges::all_of(members_,
                             [](const ChainMember &member) {
                               return member.hasLargeParts() &&
                                      member.isLocal();
                             }) &&
         perWorkerBytes() <= means.workspaceBytes;
}

uint64_t ConvChain::perWorkerBytes() const {
  uint64_t bytes = 0;
  for (const ChainMember &member : members_)
    bytes = std::max(bytes, member.partBytes());
  return static_cast<uint64_t>(heldBytes_) + bytes;
}

Status ConvChain::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  threads_ = threads;
  Scratch ofParts = scratch;
  ofParts.perWorker += heldBytes_;
  for (ChainMember &member : members_)
    SINTER_RETURN_IF_ERROR(member.bind(ofParts, threads));
  return {};
}

std::string ConvChain::description() const {
  std::string text = "in bands of " + std::to_string(bandRows_) +
                     (bandRows_ == 1 ? " row: " : " rows: ");
  for (const ChainMember &member : members_)
    text += (&member == &members_.front() ? "" : "; ") + member.description();
  return text;
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

/// Computes what plan() has written to `progress`. `scratch` is the worker's.
Status ConvChain::runBand(Progress &progress, int64_t image,
                          void *const *buffers, uint8_t *scratch,
                          const CallContext &context) const {
  for (size_t i = 0; i < members_.size(); ++i) {
    const ChainMember &member = members_[i];
    const Rows next = progress.next[i];
    if (next.isEmpty())
      continue;
    const Rows input = member.inputRows(next);
    void *const *own = buffers + firstBuffer_[i];
    const uint8_t *from =
        i == 0 ? static_cast<const uint8_t *>(own[0]) +
                     (image * member.params().inputDims[0] + input.begin) *
                         member.inputRowBytes()
               : scratch + heldOffset_[i - 1] +
                     (input.begin - progress.held[i - 1].begin) *
                         member.inputRowBytes();
    uint8_t *to;
    if (i + 1 == members_.size()) {
      to = static_cast<uint8_t *>(own[member.command().numSlices - 1]) +
           (image * member.resultRows() + next.begin) * member.resultRowBytes();
    } else {
      uint8_t *held = scratch + heldOffset_[i];
      const Rows needed = window(i, progress);
      if (const int64_t kept = progress.held[i].end - needed.begin;
          kept > 0 && needed.begin > progress.held[i].begin)
        std::memmove(held,
                     held + (needed.begin - progress.held[i].begin) *
                                member.resultRowBytes(),
                     static_cast<size_t>(kept * member.resultRowBytes()));
      progress.held[i] = needed;
      to = held + (next.begin - needed.begin) * member.resultRowBytes();
    }
    SINTER_RETURN_IF_ERROR(member.run(next, image, from, to, own, context));
  }
  return {};
}

Status ConvChain::run(void *const *buffers, const CallContext &context) {
  const CallContext fewer = limited(context);
  FirstFailure failure;
  fewer.parallelFor(
      images() * ranges_, 1, [&](int worker, int64_t begin, int64_t end) {
        OneThreadScope::limitWorker(worker);
        uint8_t *scratch = scratch_.perWorker + static_cast<uint64_t>(worker) *
                                                    scratch_.perWorkerStride;
        for (int64_t i = begin; i < end; ++i) {
          Progress progress;
          forEachBand(range(i % ranges_), [&](Rows band) {
            if (failure.has())
              return;
            plan(band, progress);
            failure.add(
                runBand(progress, i / ranges_, buffers, scratch, fewer));
          });
        }
      });
  return failure.take();
}

Status ConvChain::runAlone(size_t index, void *const *buffers,
                           const CallContext &context) const {
  const ChainMember &member = members_[index];
  const std::vector<Rows> &pieces = pieces_[index];
  const auto count = static_cast<int64_t>(pieces.size());
  const CallContext fewer = limited(context);
  FirstFailure failure;
  fewer.parallelFor(
      images() * count, 1, [&](int worker, int64_t begin, int64_t end) {
        OneThreadScope::limitWorker(worker);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t image = i / count;
          const Rows rows = pieces[static_cast<size_t>(i % count)],
                     input = member.inputRows(rows);
          failure.add(member.run(
              rows, image,
              static_cast<const uint8_t *>(buffers[0]) +
                  (image * member.params().inputDims[0] + input.begin) *
                      member.inputRowBytes(),
              static_cast<uint8_t *>(buffers[member.command().numSlices - 1]) +
                  (image * member.resultRows() + rows.begin) *
                      member.resultRowBytes(),
              buffers, fewer));
        }
      });
  return failure.take();
}

Result<std::unique_ptr<LibraryChain>>
sinter::cpu::prepareConvChain(std::span<const sinter_command> commands,
                              const CallMeans &means,
                              const PrepareMember &prepare) {
  auto chain = std::make_unique<ConvChain>(commands);
  Result<bool> isGain = chain->prepare(means, prepare);
  if (!isGain.ok())
    return isGain.status();
  return *isGain ? std::unique_ptr<LibraryChain>(std::move(chain)) : nullptr;
}
