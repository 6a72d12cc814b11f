//===- GlooExchange.cpp - processes that exchange bytes by Gloo -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/library/GlooExchange.h"

#include "runtime/base/BlockSignals.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Meeting.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <set>
#include <vector>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// A process that dies ends its connections, and the meeting watches that all
/// are alive; Gloo itself need not give up.
constexpr std::chrono::hours noTimeout(24 * 365);

struct MeetingEnded : std::exception {
  explicit MeetingEnded(Status status) : status(std::move(status)) {}
  const char *what() const noexcept override {
    return status.message().c_str();
  }
  Status status;
};

/// The meeting as Gloo wants it.
class MeetingStore final : public gloo::rendezvous::Store {
public:
  explicit MeetingStore(Meeting &meeting) : meeting_(meeting) {}

  void set(const std::string &key, const std::vector<char> &data) override {
    Status put =
        meeting_.put(prefix + key, std::string(data.begin(), data.end()));
    if (!put.ok())
      throw MeetingEnded(put);
  }
  std::vector<char> get(const std::string &key) override {
    Result<std::string> value = meeting_.get(prefix + key);
    if (!value.ok())
      throw MeetingEnded(value.status());
    return {value->begin(), value->end()};
  }
  /// get() waits.
  void wait(const std::vector<std::string> &) override {}
  void wait(const std::vector<std::string> &,
            const std::chrono::milliseconds &) override {}

private:
  static constexpr const char *prefix = "gloo/";
  Meeting &meeting_;
};

class GlooExchange final : public Exchange {
public:
  GlooExchange(std::shared_ptr<gloo::transport::Device> device,
               std::shared_ptr<gloo::rendezvous::Context> context)
      : device_(std::move(device)), context_(std::move(context)) {}

  Status exchange(std::span<const std::span<const uint8_t>> from,
                  std::span<const std::span<uint8_t>> to) override {
    Buffers sent, received;
    Status status = run([&] {
      for (int p = 0; p < context_->size; ++p) {
        if (p == context_->rank)
          continue;
        const auto index = static_cast<size_t>(p);
        if (!to[index].empty())
          begin(received, to[index].data(), to[index].size()).recv(p, slot);
      }
      // Each begins with its successor, so that not all send to one.
      for (int i = 1; i < context_->size; ++i) {
        const int p = (context_->rank + i) % context_->size;
        const auto index = static_cast<size_t>(p);
        if (!from[index].empty())
          begin(sent, const_cast<uint8_t *>(from[index].data()),
                from[index].size())
              .send(p, slot);
      }
      bool isDone = true;
      for (auto &buffer : received)
        isDone &= buffer->waitRecv(noTimeout);
      for (auto &buffer : sent)
        isDone &= buffer->waitSend(noTimeout);
      return isDone;
    });
    std::lock_guard lock(mutex_);
    inUse_.clear();
    return status;
  }

  void abort() override {
    std::lock_guard lock(mutex_);
    isAborted_ = true;
    for (gloo::transport::UnboundBuffer *buffer : inUse_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }

private:
  using Buffers = std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>>;
  /// Thrown after abort().
  struct Aborted {};
  /// Messages between two processes arrive in the order in which they are sent.
  static constexpr uint64_t slot = 1;

  gloo::transport::UnboundBuffer &begin(Buffers &buffers, void *data,
                                        size_t size) {
    buffers.push_back(context_->createUnboundBuffer(data, size));
    std::lock_guard lock(mutex_);
    // abort() ends waiting for those that it sees. Nobody would end this one.
    if (isAborted_)
      throw Aborted();
    inUse_.insert(buffers.back().get());
    return *buffers.back();
  }

  /// All exceptions of Gloo in here are about connections.
  template <typename Function> Status run(Function function) {
    try {
      return function() ? Status() : aborted();
    } catch (const Aborted &) {
      return aborted();
    } catch (const std::exception &error) {
      return aborted(std::string(" (Gloo: ") + error.what() + ")");
    }
  }
  static Status aborted(const std::string &why = "") {
    return Status::failed(std::string("a process ") + leftGroupText + why);
  }

  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::mutex mutex_; // guards what follows
  bool isAborted_ = false;
  std::set<gloo::transport::UnboundBuffer *> inUse_;
};

} // namespace

Result<std::unique_ptr<Exchange>>
sinter::cpu::makeGlooExchange(Meeting &meeting) {
  BlockSignals blocked; // of Gloo's thread
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = meeting.localHost();
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(
        static_cast<int>(meeting.rank()), static_cast<int>(meeting.world()));
    MeetingStore store(meeting);
    context->connectFullMesh(store, device);
    return std::unique_ptr<Exchange>(
        std::make_unique<GlooExchange>(std::move(device), std::move(context)));
  } catch (const MeetingEnded &error) {
    return error.status;
  } catch (const std::exception &error) {
    return Status::failed(std::string("Gloo: ") + error.what());
  }
}
