//===- ConvChain.cpp - convolutions that run in bands ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvChain.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "runtime/base/CpuId.h"

#include "sinter/abi.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

constexpr int64_t floatBytes = 4;

/// Bytes of a band: what it reads of the first input and writes between the
/// convolutions and of the last result. They fit in the cache of level 2 beside
/// the filters.
int64_t bandBytes(uint64_t workspaceBytes) {
  constexpr uint64_t least = 256 * 1024, most = 1536 * 1024;
  return static_cast<int64_t>(std::clamp(
      std::min(hostL2Bytes() * 3 / 4, workspaceBytes / 8), least, most));
}

/// Rows of an image.
struct Rows {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
  bool isEmpty() const { return begin >= end; }
};

/// One of `parts` parts that differ by at most one row.
Rows partOf(Rows rows, int64_t number, int64_t parts) {
  return {rows.begin + rows.count() * number / parts,
          rows.begin + rows.count() * (number + 1) / parts};
}

/// A convolution on some rows of an image.
struct Part {
  sinter_conv params;
  sinter_command command;
  std::unique_ptr<LibraryCall> call;
};

/// One convolution of a chain.
class Member {
public:
  explicit Member(const sinter_command &command)
      : command_(command), params_(*command.conv.params),
        inputRowBytes_(floatBytes * params_.inputDims[1] * params_.channels),
        resultRowBytes_(floatBytes * params_.outputDims[1] * params_.filters) {}

  const sinter_conv &params() const { return params_; }
  const sinter_command &command() const { return command_; }
  int64_t inputRowBytes() const { return inputRowBytes_; }
  int64_t resultRowBytes() const { return resultRowBytes_; }
  int64_t resultRows() const { return params_.outputDims[0]; }
  int64_t windowHeight() const {
    return (params_.kernel[0] - 1) * params_.dilations[0] + 1;
  }
  double flopsOfRow() const {
    return 2.0 * static_cast<double>(params_.outputDims[1] * params_.filters) *
           static_cast<double>(params_.channels / params_.groups *
                               params_.kernel[0] * params_.kernel[1]);
  }

  bool fits(bool isLast) const;
  /// Whether `next` reads the result in the same shape.
  bool isReadBy(const Member &next) const;
  /// The rows of the input within the windows of `result`.
  Rows inputRows(Rows result) const;

  /// Makes the call for `result`, if there is none that can compute it.
  Status preparePart(Rows result, const PrepareMember &prepare);
  /// Whether each part is worth a call. Those of a few points may also be
  /// computed in another way, which rounds otherwise.
  bool hasLargeParts() const {
    constexpr int64_t leastPoints = 32;
    return std::ranges::all_of(parts_, [](const auto &each) {
      const int64_t *dims = each.second.params.outputDims;
      return dims[0] * dims[1] >= leastPoints;
    });
  }
  uint64_t partBytes() const;
  /// Whether each part needs only scratch of a worker.
  bool isLocal() const;
  Status bind(const Scratch &scratch, int threads);
  std::string description() const;

  /// Computes `result` of image `image`. `input` is the first row that it
  /// needs, `to` its own first row; `buffers` are the member's own.
  Status run(Rows result, int64_t image, const void *input, void *to,
             void *const *buffers, const CallContext &context) const;

private:
  /// Rows of the result, padding before and after the input.
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  Key keyOf(Rows result) const;
  /// The rows of the windows, which may begin before the input and end after.
  Rows windowRows(Rows result) const;

  const sinter_command &command_;
  const sinter_conv &params_;
  const int64_t inputRowBytes_, resultRowBytes_;
  std::map<Key, Part> parts_;
};

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

  const Member &last() const { return members_.back(); }
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

  std::vector<Member> members_;
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
// One convolution
//===----------------------------------------------------------------------===//

bool Member::fits(bool isLast) const {
  const sinter_conv &p = params_;
  if (command_.conv.byLoops || p.dtype != SINTER_F32 ||
      (p.outDtype && p.outDtype != SINTER_F32) ||
      p.direction != SINTER_CONV_FORWARD || p.spatialRank != 2 ||
      p.layout != SINTER_CHANNELS_LAST || p.batch < 1 || p.channels < 1 ||
      p.outputDims[0] < 1 || p.outputDims[1] < 1 ||
      // Each window has a row of the input.
      p.padsLow[0] >= windowHeight() || p.padsHigh[0] >= windowHeight() ||
      command_.slices[1].space != SINTER_SPACE_CONSTANT)
    return false;
  // Others may be computed by another algorithm for a band than for an image,
  // with another order of sums.
  const bool isPointwise = p.kernel[0] == 1 && p.kernel[1] == 1,
             isDepthwise = p.groups == p.channels && p.groups == p.filters;
  if (!isDepthwise && !(isPointwise && p.groups == 1))
    return false;
  return std::ranges::all_of(
      std::span(p.postOps, p.numPostOps), [&](const sinter_post_op &op) {
        const sinter_post_op_traits *traits = sinter_post_op_row(op.kind);
        return traits->slice == SINTER_POST_SLICE_NONE ||
               (traits->slice == SINTER_POST_SLICE_READ &&
                (traits->extent == SINTER_POST_EXTENT_COLUMN ||
                 (traits->extent == SINTER_POST_EXTENT_RESULT && isLast)));
      });
}

bool Member::isReadBy(const Member &next) const {
  const sinter_conv &p = params_, &q = next.params_;
  return p.batch == q.batch && p.filters == q.channels &&
         std::equal(p.outputDims, p.outputDims + 2, q.inputDims);
}

Rows Member::windowRows(Rows result) const {
  const int64_t begin = result.begin * params_.strides[0] - params_.padsLow[0];
  return {begin,
          begin + (result.count() - 1) * params_.strides[0] + windowHeight()};
}

Rows Member::inputRows(Rows result) const {
  const Rows rows = windowRows(result);
  return {std::max<int64_t>(rows.begin, 0),
          std::min(rows.end, params_.inputDims[0])};
}

Member::Key Member::keyOf(Rows result) const {
  const Rows rows = windowRows(result);
  return {result.count(), std::max<int64_t>(0, -rows.begin),
          std::max<int64_t>(0, rows.end - params_.inputDims[0])};
}

Status Member::preparePart(Rows result, const PrepareMember &prepare) {
  auto [at, isNew] = parts_.try_emplace(keyOf(result));
  if (!isNew)
    return {};
  Part &part = at->second;
  part.params = params_;
  part.params.batch = 1;
  part.params.inputDims[0] = inputRows(result).count();
  std::tie(part.params.outputDims[0], part.params.padsLow[0],
           part.params.padsHigh[0]) = at->first;
  part.command = command_;
  part.command.conv.params = &part.params;
  auto call = prepare(part.command);
  if (!call.ok())
    return call.status();
  part.call = std::move(*call);
  return {};
}

uint64_t Member::partBytes() const {
  uint64_t bytes = 0;
  for (const auto &[key, part] : parts_)
    bytes = std::max(bytes, part.call->perWorkerBytes());
  return bytes;
}

bool Member::isLocal() const {
  return std::ranges::all_of(parts_, [](const auto &each) {
    return each.second.call->sharedBytes() == 0;
  });
}

Status Member::bind(const Scratch &scratch, int threads) {
  for (auto &[key, part] : parts_)
    SINTER_RETURN_IF_ERROR(part.call->bind(scratch, threads));
  return {};
}

std::string Member::description() const {
  return parts_.begin()->second.call->description();
}

Status Member::run(Rows result, int64_t image, const void *input, void *to,
                   void *const *buffers, const CallContext &context) const {
  constexpr size_t mostSlices = 3 + SINTER_MAX_POST_OPS;
  std::array<void *, mostSlices> addresses;
  const uint32_t count = command_.numSlices;
  std::copy_n(buffers, count, addresses.begin());
  addresses[0] = const_cast<void *>(input);
  addresses[count - 1] = to;
  const int64_t offset =
      (image * resultRows() + result.begin) * resultRowBytes_;
  for (uint32_t i = 0; i < params_.numPostOps; ++i)
    if (const sinter_post_op &op = params_.postOps[i];
        sinter_post_op_row(op.kind)->extent == SINTER_POST_EXTENT_RESULT)
      addresses[op.slice] = static_cast<uint8_t *>(buffers[op.slice]) + offset;
  return parts_.at(keyOf(result)).call->run(addresses.data(), context);
}

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
  for (const Member &member : std::span(members_).first(count - 1))
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
                             [](const Member &member) {
                               return member.hasLargeParts() &&
                                      member.isLocal();
                             }) &&
         perWorkerBytes() <= means.workspaceBytes;
}

uint64_t ConvChain::perWorkerBytes() const {
  uint64_t bytes = 0;
  for (const Member &member : members_)
    bytes = std::max(bytes, member.partBytes());
  return static_cast<uint64_t>(heldBytes_) + bytes;
}

Status ConvChain::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  threads_ = threads;
  Scratch ofParts = scratch;
  ofParts.perWorker += heldBytes_;
  for (Member &member : members_)
    SINTER_RETURN_IF_ERROR(member.bind(ofParts, threads));
  return {};
}

std::string ConvChain::description() const {
  std::string text = "in bands of " + std::to_string(bandRows_) +
                     (bandRows_ == 1 ? " row: " : " rows: ");
  for (const Member &member : members_)
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
    const Member &member = members_[i];
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
  const Member &member = members_[index];
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
