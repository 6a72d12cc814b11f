//===- SpanningSum.h - sums over replicas of several processes --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A message's arrays are cut into a share for each process. Each process gets
// its share of all others and sums it: a reduce_scatter. Each sends its share
// to all: an all_gather. An all_reduce is both, as many bytes as a ring would
// move. The tree of the sum is that of ReplicaSum.h whatever process a replica
// is in.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_SPANNINGSUM_H
#define SINTER_BACKENDS_COMMON_DEVICE_SPANNINGSUM_H

#include "backends/common/device/ReplicaSum.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/SpanningGroup.h"
#include "runtime/collective/SpanningMemory.h"

#include <cstring>
#include <vector>

namespace sinter::plain {

/// The steps of a message, in the order of the functions. All threads wait for
/// each other between them. Steps that an operation does not have do nothing.
///
/// A process with one replica exchanges pieces of the arrays themselves if the
/// Exchange takes pieces. Else what is sent, and the results, are gathered in a
/// buffer.
class SpanningSum {
public:
  explicit SpanningSum(rt::SpanningGroup group)
      : group_(std::move(group)),
        isDirect_(group_.count == 1 && group_.exchange->takesPieces()),
        from_(group_.processes), to_(group_.processes) {}

  const rt::SpanningGroup &group() const { return group_; }

  /// The buffers are in `memory` where that is large enough for a message.
  void use(std::span<uint8_t> memory) { given_ = memory; }

  /// Begins a message. buffers[l] are those of local replica l, as
  /// Communicator::run has them. One thread.
  void begin(const rt::Collective &what, std::vector<void *const *> buffers) {
    if (group_.meeting)
      group_.meeting->countMessages();
    what_ = what;
    elementBytes_ = rt::elementBytes(what.dtype);
    buffers_ = std::move(buffers);
    cut();
    const rt::SpanningMemory memory =
        rt::spanningMemory(what, group_.processes, group_.count);
    copies_ = memory.copies;
    if (given_.size() < memory.totalBytes()) {
      own_.resize(std::max<uint64_t>(own_.size(), memory.totalBytes()));
      given_ = own_;
    }
    received_ = given_.data() + memory.stagedBytes;
  }

  /// Copies what this process sends: part `part` of `parts`. Any thread.
  /// False for a dtype that cannot be summed.
  bool stage(uint32_t part, uint32_t parts) {
    if (isDirect_)
      return true;
    if (!hasSums()) {
      stageParts(part, parts);
      return true;
    }
    bool isSummed = true;
    forEachRun(
        partOf({0, total()}, part, parts),
        [&](const Piece &piece, uint64_t offset, uint64_t at, uint64_t count) {
          const Range range = share(piece.process);
          uint8_t *to = resultAt(piece.process, at);
          std::vector<const void *> from;
          for (void *const *each : buffers_)
            from.push_back(addressOf(each[piece.array], offset));
          if (from.size() > 1 && copies_ == 1) {
            isSummed &= sumReplicas(what_.dtype, from, {to}, 0, count);
            return;
          }
          for (const void *each : from) {
            std::memcpy(to, each, count * elementBytes_);
            to += range.size() * elementBytes_;
          }
        });
    return isSummed;
  }

  /// Gets this process's share of the others. One thread.
  rt::Status exchangeParts() {
    if (!hasSums())
      return {};
    const uint64_t mine = copies_ * share(group_.process).size();
    for (uint32_t p = 0; p < group_.processes; ++p) {
      from_[p].clear();
      to_[p].clear();
      if (p == group_.process)
        continue;
      add(to_[p], receivedFrom(p), mine);
      if (!isDirect_)
        add(from_[p], resultAt(p, share(p).begin), copies_ * share(p).size());
    }
    if (isDirect_)
      for (const Piece &piece : pieces_)
        add(from_[piece.process], sourceOf(piece), piece.count);
    return group_.exchange->exchange(from_, to_);
  }

  /// Sums part `part` of `parts` of this process's share, in the place of its
  /// first copy, or where the result belongs. Any thread.
  bool sum(uint32_t part, uint32_t parts) {
    if (!hasSums())
      return true;
    if (isDirect_)
      return sumPieces();
    const Range mine = share(group_.process);
    const uint64_t bytes = mine.size() * elementBytes_;
    std::vector<const void *> from;
    for (uint32_t p = 0; p < group_.processes; ++p)
      for (uint32_t copy = 0; copy < copies_; ++copy)
        from.push_back(
            (p == group_.process ? resultAt(p, mine.begin) : receivedFrom(p)) +
            copy * bytes);
    const Range range = partOf({0, mine.size()}, part, parts);
    return sumReplicas(what_.dtype, from,
                       {resultAt(group_.process, mine.begin)}, range.begin,
                       range.end);
  }

  /// Sends this process's share to the others. One thread.
  rt::Status exchangeResults() {
    if (what_.op == SINTER_REDUCE_SCATTER)
      return {};
    Pieces mine;
    for (Pieces &pieces : to_)
      pieces.clear();
    if (isDirect_)
      for (const Piece &piece : pieces_) {
        add(to_[piece.process], targetOf(piece), piece.count);
        if (piece.process == group_.process)
          add(mine, hasSums() ? targetOf(piece) : sourceOf(piece), piece.count);
      }
    else {
      for (uint32_t p = 0; p < group_.processes; ++p)
        add(to_[p], resultAt(p, share(p).begin), share(p).size());
      mine = to_[group_.process];
    }
    std::ranges::fill(from_, mine);
    return group_.exchange->exchange(from_, to_);
  }

  /// Copies the results to the arrays of local replica `replica`. Any thread.
  void deliver(uint32_t replica) {
    if (isDirect_)
      return deliverOwnPart();
    void *const *to = buffers_[replica] + what_.elements.size();
    for (const Piece &piece : pieces_)
      if (what_.op != SINTER_REDUCE_SCATTER)
        copy(addressOf(to[piece.array], piece.offset),
             resultAt(piece.process, piece.at), piece.count);
      else if (piece.process == group_.process)
        copy(to[piece.array],
             resultAt(piece.process, piece.at + partIn(piece) * replica),
             partIn(piece));
  }

private:
  using Pieces = rt::Pieces;

  struct Range {
    uint64_t begin, end;
    uint64_t size() const { return end - begin; }
  };
  /// A part of an array that is in one share, at `at` of all shares, one after
  /// the other. In elements.
  struct Piece {
    size_t array;
    uint64_t offset, count, at;
    uint32_t process;
  };

  bool hasSums() const { return what_.op != SINTER_ALL_GATHER; }
  Range share(uint32_t process) const {
    return {shares_[process], shares_[process + 1]};
  }
  uint64_t total() const { return shares_.back(); } // elements of all arrays
  /// Where element `at` of the share of `process` is: the first copy of what is
  /// sent to it, and then its result.
  uint8_t *resultAt(uint32_t process, uint64_t at) {
    const uint64_t begin = share(process).begin;
    return given_.data() + (copies_ * begin + (at - begin)) * elementBytes_;
  }
  /// Where what another process sends is: copies of this process's share.
  uint8_t *receivedFrom(uint32_t process) {
    const uint64_t place = process < group_.process ? process : process - 1;
    return received_ +
           place * copies_ * share(group_.process).size() * elementBytes_;
  }
  uint8_t *addressOf(void *array, uint64_t offset) const {
    return static_cast<uint8_t *>(array) + offset * elementBytes_;
  }
  void copy(void *to, const void *from, uint64_t count) const {
    if (count) // else the addresses may be null
      std::memcpy(to, from, count * elementBytes_);
  }
  void add(Pieces &pieces, uint8_t *at, uint64_t count) const {
    if (count)
      pieces.emplace_back(at, count * elementBytes_);
  }

  /// Where the only replica of this process has its value of a piece. Of what
  /// is gathered, it has only the pieces of this process.
  uint8_t *sourceOf(const Piece &piece) const {
    return addressOf(buffers_[0][piece.array], hasSums() ? piece.offset : 0);
  }
  /// Where it gets the result. Of what is scattered, it gets only those.
  uint8_t *targetOf(const Piece &piece) const {
    return addressOf(buffers_[0][what_.elements.size() + piece.array],
                     what_.op == SINTER_REDUCE_SCATTER ? 0 : piece.offset);
  }
  bool sumPieces() {
    std::vector<const void *> from(group_.processes);
    // All processes fail, also those without a share.
    if (!sumReplicas(what_.dtype, from, {}, 0, 0))
      return false;
    for (const Piece &piece : pieces_) {
      if (piece.process != group_.process)
        continue;
      const uint64_t at = piece.at - share(group_.process).begin;
      for (uint32_t p = 0; p < group_.processes; ++p)
        from[p] = p == group_.process ? sourceOf(piece)
                                      : addressOf(receivedFrom(p), at);
      sumReplicas(what_.dtype, from, {targetOf(piece)}, 0, piece.count);
    }
    return true;
  }
  /// Copies the gathered part that this process has itself.
  void deliverOwnPart() const {
    for (const Piece &piece : pieces_)
      if (!hasSums() && piece.process == group_.process)
        copy(targetOf(piece), sourceOf(piece), piece.count);
  }

  /// Elements of each replica's part of a piece, where replicas have parts.
  uint64_t partIn(const Piece &piece) const {
    return piece.count / group_.count;
  }

  static Range partOf(Range whole, uint32_t part, uint32_t parts) {
    const uint64_t each = rt::spanningShare(whole.size(), parts),
                   begin = std::min(whole.end, whole.begin + each * part);
    return {begin, std::min(whole.end, begin + each)};
  }

  /// Cuts the message: where replicas have parts, a process has those of its
  /// replicas; else the arrays, one after the other, are cut into equal shares.
  void cut() {
    pieces_.clear();
    shares_.assign(1, 0);
    uint64_t all = 0, at = 0;
    for (uint64_t count : what_.elements)
      all += count;
    for (uint32_t p = 0; p < group_.processes; ++p) {
      const Range equal = partOf({0, all}, p, group_.processes);
      uint64_t begin = 0; // of the array, among all
      for (size_t i = 0; i < what_.elements.size(); ++i) {
        const uint64_t count = what_.elements[i],
                       part = count / group_.processes;
        Range range{p * part, (p + 1) * part};
        if (what_.op == SINTER_ALL_REDUCE)
          range = {std::clamp(equal.begin, begin, begin + count) - begin,
                   std::clamp(equal.end, begin, begin + count) - begin};
        begin += count;
        if (!range.size())
          continue;
        pieces_.push_back({i, range.begin, range.size(), at, p});
        at += range.size();
      }
      shares_.push_back(at);
    }
  }

  /// Copies the parts of some replicas, which are not summed, to this process's
  /// share.
  void stageParts(uint32_t first, uint32_t step) {
    for (const Piece &piece : pieces_)
      for (uint32_t l = first;
           piece.process == group_.process && l < group_.count; l += step)
        copy(resultAt(piece.process, piece.at + partIn(piece) * l),
             buffers_[l][piece.array], partIn(piece));
  }

  /// Calls `function` for each part of `range`, of all shares, that is in one
  /// piece: (piece, offset in its array, offset in all shares, count).
  template <typename Function>
  void forEachRun(Range range, Function function) const {
    for (const Piece &piece : pieces_) {
      const uint64_t begin = std::max(piece.at, range.begin),
                     end = std::min(piece.at + piece.count, range.end);
      if (begin < end)
        function(piece, piece.offset + (begin - piece.at), begin, end - begin);
    }
  }

  const rt::SpanningGroup group_;
  const bool isDirect_;
  std::vector<Pieces> from_, to_; // of an exchange, by process
  rt::Collective what_ = {};
  uint32_t elementBytes_ = 0;
  std::vector<void *const *> buffers_; // by local replica
  std::vector<Piece> pieces_;          // by process, then by array
  std::vector<uint64_t> shares_;       // where each begins, and the end
  uint32_t copies_ = 1;                // SpanningMemory::copies
  /// What is sent, by share and then by copy; results replace it. Then what is
  /// received, by process and then by copy.
  std::span<uint8_t> given_;
  uint8_t *received_ = nullptr;
  std::vector<uint8_t> own_; // if too little was given
};

} // namespace sinter::plain

#endif // SINTER_BACKENDS_COMMON_DEVICE_SPANNINGSUM_H
