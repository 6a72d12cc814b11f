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

#include <array>
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
  MeetingStore(Meeting &meeting, std::string prefix)
      : meeting_(meeting), prefix_(std::move(prefix)) {}

  void set(const std::string &key, const std::vector<char> &data) override {
    Status put =
        meeting_.put(prefix_ + key, std::string(data.begin(), data.end()));
    if (!put.ok())
      throw MeetingEnded(put);
  }
  std::vector<char> get(const std::string &key) override {
    Result<std::string> value = meeting_.get(prefix_ + key);
    if (!value.ok())
      throw MeetingEnded(value.status());
    return {value->begin(), value->end()};
  }
  /// get() waits.
  void wait(const std::vector<std::string> &) override {}
  void wait(const std::vector<std::string> &,
            const std::chrono::milliseconds &) override {}

private:
  Meeting &meeting_;
  const std::string prefix_;
};

/// A connection of each process with each other one.
using Mesh = std::shared_ptr<gloo::rendezvous::Context>;

/// Of any two processes, the one with the lower rank sends over the first mesh,
/// the other over the second. Gloo's thread does not wait for the lock of a
/// connection, it tries again and again. If a connection that has data to read
/// is being written, it takes the processor from the thread that writes.
using Meshes = std::array<Mesh, 2>;

class MeshExchange final : public cpu::GlooExchange {
public:
  MeshExchange(std::shared_ptr<gloo::transport::Device> device, Meshes meshes)
      : device_(std::move(device)), meshes_(std::move(meshes)),
        rank_(meshes_[0]->rank), size_(meshes_[0]->size) {}

  Status exchange(std::span<const Pieces> from, std::span<const Pieces> to,
                  const std::function<Status()> &meanwhile) override {
    Buffers sent, received;
    Status other;
    Status status = run([&] {
      for (int p = 0; p < size_; ++p) {
        if (p == rank_)
          continue;
        const auto index = static_cast<size_t>(p);
        for (std::span<uint8_t> piece : to[index])
          begin(received, mesh(p, rank_), piece).recv(p, slot);
      }
      // Each begins with its successor, so that not all send to one.
      for (int i = 1; i < size_; ++i) {
        const int p = (rank_ + i) % size_;
        const auto index = static_cast<size_t>(p);
        for (std::span<uint8_t> piece : from[index])
          begin(sent, mesh(rank_, p), piece).send(p, slot);
      }
      other = meanwhile();
      bool isDone = true;
      for (auto &buffer : received)
        isDone &= buffer->waitRecv(noTimeout);
      for (auto &buffer : sent)
        isDone &= buffer->waitSend(noTimeout);
      return isDone;
    });
    std::lock_guard lock(mutex_);
    inUse_.clear();
    return other.ok() ? status : other;
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

  gloo::rendezvous::Context &mesh(int sender, int receiver) const {
    return *meshes_[sender < receiver ? 0 : 1];
  }

  gloo::transport::UnboundBuffer &begin(Buffers &buffers,
                                        gloo::rendezvous::Context &mesh,
                                        std::span<uint8_t> piece) {
    buffers.push_back(mesh.createUnboundBuffer(piece.data(), piece.size()));
    std::lock_guard lock(mutex_);
    // abort() has ended the waits on the buffers in use. A wait on a buffer
    // that is added after it would never end.
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
    return leftGroup("a process", why);
  }

  std::shared_ptr<gloo::transport::Device> device_;
  Meshes meshes_;
  const int rank_, size_;
  std::mutex mutex_; // guards what follows
  bool isAborted_ = false;
  std::set<gloo::transport::UnboundBuffer *> inUse_;
};

} // namespace

Result<std::unique_ptr<cpu::GlooExchange>>
sinter::cpu::joinGloo(Meeting &meeting) {
  BlockSignals blocked; // of Gloo's thread
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = meeting.localHost();
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    Meshes meshes;
    for (size_t i = 0; i < meshes.size(); ++i) {
      meshes[i] = std::make_shared<gloo::rendezvous::Context>(
          static_cast<int>(meeting.rank()), static_cast<int>(meeting.world()));
      MeetingStore store(meeting, "gloo/" + std::to_string(i) + "/");
      meshes[i]->connectFullMesh(store, device);
    }
    return std::unique_ptr<cpu::GlooExchange>(
        std::make_unique<MeshExchange>(std::move(device), std::move(meshes)));
  } catch (const MeetingEnded &error) {
    return error.status;
  } catch (const std::exception &error) {
    return Status::failed(std::string("Gloo: ") + error.what());
  }
}
