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
  std::vector<std::span<const std::span<const uint8_t>>> sent; // by process
  std::vector<uint64_t> sentBytes;                             // by process
  std::barrier<> barrier;
};

class ThreadExchange final : public rt::Exchange {
public:
  ThreadExchange(Wires &wires, uint32_t process)
      : wires_(wires), process_(process) {}
  rt::Status exchange(std::span<const std::span<const uint8_t>> from,
                      std::span<const std::span<uint8_t>> to) override {
    wires_.sent[process_] = from;
    wires_.barrier.arrive_and_wait();
    rt::Status status;
    for (uint32_t p = 0; p < to.size(); ++p) {
      if (p == process_)
        continue;
      wires_.sentBytes[process_] += from[p].size();
      const std::span<const uint8_t> other = wires_.sent[p][process_];
      if (other.size() != to[p].size())
        status = rt::Status::failed("lengths differ");
      else
        std::copy(other.begin(), other.end(), to[p].begin());
    }
    wires_.barrier.arrive_and_wait();
    return status;
  }
  std::string transport() const override { return "threads"; }
  void abort() override {}

private:
  Wires &wires_;
  uint32_t process_;
};

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_THREADEXCHANGE_H
