//===- ThreadExchange.h - threads that play processes -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_THREADEXCHANGE_H
#define SINTER_TEST_RUNTIME_THREADEXCHANGE_H

#include "runtime/collective/Exchange.h"

#include <algorithm>
#include <barrier>
#include <vector>

namespace sinter::test {

struct Wires {
  explicit Wires(uint32_t processes)
      : sent(processes), sentBytes(processes), barrier(processes) {}
  std::vector<std::span<const rt::Pieces>> sent; // by process
  std::vector<uint64_t> sentBytes;               // by process
  std::barrier<> barrier;
};

class ThreadExchange final : public rt::Exchange {
public:
  ThreadExchange(Wires &wires, uint32_t process, bool takesPieces)
      : wires_(wires), process_(process), takesPieces_(takesPieces) {}
  rt::Status exchange(std::span<const rt::Pieces> from,
                      std::span<const rt::Pieces> to) override {
    wires_.sent[process_] = from;
    wires_.barrier.arrive_and_wait();
    rt::Status status;
    std::vector<std::vector<uint8_t>> received(to.size());
    for (uint32_t p = 0; p < to.size(); ++p) {
      if (p == process_)
        continue;
      received[p] = joined(wires_.sent[p][process_]);
      wires_.sentBytes[process_] += joined(from[p]).size();
      if (!takesPieces_ && (from[p].size() > 1 || to[p].size() > 1))
        status = rt::Status::failed("several pieces");
    }
    // As in the memory of other processes, nothing is written before it is
    // read.
    wires_.barrier.arrive_and_wait();
    for (uint32_t p = 0; p < to.size(); ++p) {
      if (p == process_)
        continue;
      if (joined(to[p]).size() != received[p].size())
        status = rt::Status::failed("lengths differ");
      size_t at = 0;
      for (std::span<uint8_t> piece : to[p])
        for (uint8_t &byte : piece)
          byte = at < received[p].size() ? received[p][at++] : 0;
    }
    wires_.barrier.arrive_and_wait();
    return status;
  }
  bool takesPieces() const override { return takesPieces_; }
  std::string transport() const override { return "threads"; }
  void abort() override {}

private:
  static std::vector<uint8_t> joined(const rt::Pieces &pieces) {
    std::vector<uint8_t> bytes;
    for (std::span<uint8_t> piece : pieces)
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    return bytes;
  }

  Wires &wires_;
  uint32_t process_;
  bool takesPieces_;
};

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_THREADEXCHANGE_H
