//===- Wire.cpp - messages over TCP ---------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Wire.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace sinter::rt;
using Clock = std::chrono::steady_clock;

namespace {

struct Header {
  uint32_t kind, nameBytes, bytes;
  uint32_t unused = 0;
  int64_t number;
};

struct FreeAddresses {
  void operator()(addrinfo *list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string &host, uint16_t port,
                          bool isListener) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (isListener ? AI_PASSIVE : 0);
  addrinfo *list = nullptr;
  const int error =
      ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    return Status::failed("the host '" + host +
                          "' is not known: " + ::gai_strerror(error));
  return Addresses(list);
}

Status ofErrno(const std::string &what) {
  return Status::ofSystem(SINTER_FAILED, what + ": " + std::strerror(errno),
                          errno);
}

/// The address of one side of a connection.
std::string addressOf(int (*side)(int, sockaddr *, socklen_t *), int fd,
                      bool withPort) {
  sockaddr_storage address = {};
  auto *any = reinterpret_cast<sockaddr *>(&address);
  socklen_t length = sizeof(address);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (side(fd, any, &length) != 0 ||
      ::getnameinfo(any, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return withPort ? std::string(host) + ":" + port : host;
}

/// Waits until `fd` is ready for `events` or the time is over.
bool waitFor(int fd, short events, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - Clock::now());
    pollfd one = {fd, events, 0};
    const int ready = ::poll(
        &one, 1,
        static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1000)));
    if (ready > 0)
      return true;
    if ((ready < 0 && errno != EINTR) || Clock::now() >= until)
      return false;
  }
}

Clock::time_point inMs(int64_t timeoutMs) {
  return Clock::now() + std::chrono::milliseconds(timeoutMs);
}

/// Small messages go at once, and a host that is gone is noticed.
void prepare(int fd) {
  const int on = 1, idle = 10, interval = 5, count = 3;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
                     sizeof(interval));
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

constexpr const char *closedText = "the connection was closed";

} // namespace

//===----------------------------------------------------------------------===//
// Wire
//===----------------------------------------------------------------------===//

Wire::Wire(Wire &&other) noexcept { *this = std::move(other); }

Wire &Wire::operator=(Wire &&other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    read_ = std::move(other.read_);
    taken_ = std::exchange(other.taken_, 0);
  }
  return *this;
}

void Wire::close() {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

void Wire::shutDown() const { (void)::shutdown(fd_, SHUT_RDWR); }

Status Wire::send(const Message &message, int64_t timeoutMs) const {
  Header header = {static_cast<uint32_t>(message.kind),
                   static_cast<uint32_t>(message.name.size()),
                   static_cast<uint32_t>(message.bytes.size()), 0,
                   message.number};
  std::string all(reinterpret_cast<const char *>(&header), sizeof(header));
  all += message.name;
  all += message.bytes;
  const Clock::time_point until = inMs(timeoutMs);
  for (size_t sent = 0; sent < all.size();) {
    const ssize_t count = ::send(fd_, all.data() + sent, all.size() - sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
      return ofErrno("sending");
    if (!waitFor(fd_, POLLOUT, until))
      return Status::failed("sending: the other side does not read");
  }
  return {};
}

Status Wire::readAvailable(uint32_t mostBytes) {
  read_.erase(0, taken_);
  taken_ = 0;
  char block[16384];
  // Stops after the bytes of one message. The rest stays in the socket's
  // buffer, so that no sender can exhaust this process's memory.
  while (read_.size() <= sizeof(Header) + mostBytes) {
    const ssize_t count = ::recv(fd_, block, sizeof(block), MSG_DONTWAIT);
    if (count > 0) {
      read_.append(block, static_cast<size_t>(count));
      Header header;
      if (read_.size() >= sizeof(header)) {
        std::memcpy(&header, read_.data(), sizeof(header));
        if (uint64_t(header.nameBytes) + header.bytes > mostBytes)
          return Status::failed("what arrived is not a message of this job");
      }
      continue;
    }
    // With a reset, what was sent last may not have been read.
    if (count == 0 || errno == ECONNRESET)
      return Status::failed(closedText);
    if (errno == EINTR)
      continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? Status()
                                                   : ofErrno("receiving");
  }
  return {};
}

std::optional<Message> Wire::take() {
  Header header;
  const size_t there = read_.size() - taken_;
  if (there < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, read_.data() + taken_, sizeof(header));
  const uint64_t length =
      sizeof(header) + uint64_t(header.nameBytes) + header.bytes;
  if (there < length)
    return std::nullopt;
  Message message;
  message.kind = static_cast<MessageKind>(header.kind);
  message.number = header.number;
  const char *at = read_.data() + taken_ + sizeof(header);
  message.name.assign(at, header.nameBytes);
  message.bytes.assign(at + header.nameBytes, header.bytes);
  taken_ += length;
  return message;
}

Result<std::optional<Message>> Wire::receive(int64_t timeoutMs) {
  const Clock::time_point until = inMs(timeoutMs);
  while (true) {
    if (std::optional<Message> message = take())
      return message;
    if (!waitFor(fd_, POLLIN, until))
      return std::optional<Message>();
    if (Status read = readAvailable(); !read.ok()) {
      if (std::optional<Message> last = take())
        return last;
      return read;
    }
  }
}

std::string Wire::peer() const {
  return addressOf(::getpeername, fd_, /*withPort=*/true);
}

std::string Wire::localHost() const {
  return addressOf(::getsockname, fd_, /*withPort=*/false);
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

Result<Listener> Listener::open(const std::string &host, uint16_t port) {
  Result<Addresses> addresses = resolve(host, port, /*isListener=*/true);
  if (!addresses.ok())
    return addresses.status();
  const std::string place = host + ":" + std::to_string(port);
  Status failure;
  for (const addrinfo *one = addresses->get(); one; one = one->ai_next) {
    Wire socket(::socket(one->ai_family,
                         one->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         one->ai_protocol));
    const int on = 1;
    if (socket.isOpen())
      (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on,
                         sizeof(on));
    if (!socket.isOpen() ||
        ::bind(socket.fd(), one->ai_addr, one->ai_addrlen) != 0 ||
        ::listen(socket.fd(), SOMAXCONN) != 0) {
      failure = ofErrno("listening on " + place);
      continue;
    }
    sockaddr_storage bound = {};
    socklen_t length = sizeof(bound);
    (void)::getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&bound),
                        &length);
    const uint16_t network =
        bound.ss_family == AF_INET6
            ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
            : reinterpret_cast<sockaddr_in &>(bound).sin_port;
    return Listener(std::move(socket), ntohs(network));
  }
  return failure;
}

std::optional<Wire> Listener::accept() {
  while (true) {
    const int fd =
        ::accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && errno == EINTR)
      continue;
    if (fd < 0)
      return std::nullopt;
    prepare(fd);
    return Wire(fd);
  }
}

Clock::duration PauseWatch::pause() {
  constexpr std::chrono::milliseconds usual(500);
  const Clock::time_point now = Clock::now();
  const Clock::duration since = now - last_;
  last_ = now;
  return since > usual ? since : Clock::duration::zero();
}

Result<Wire> sinter::rt::connectTo(const std::string &host, uint16_t port,
                                   int64_t timeoutMs) {
  const Clock::time_point until = inMs(timeoutMs);
  Status failure;
  do {
    Result<Addresses> addresses = resolve(host, port, /*isListener=*/false);
    failure = addresses.status();
    for (const addrinfo *one = addresses.ok() ? addresses->get() : nullptr; one;
         one = one->ai_next) {
      Wire socket(::socket(one->ai_family,
                           one->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           one->ai_protocol));
      if (!socket.isOpen())
        return ofErrno("a socket");
      int error = 0;
      if (::connect(socket.fd(), one->ai_addr, one->ai_addrlen) != 0)
        error = errno;
      if (error == EINPROGRESS) {
        socklen_t length = sizeof(error);
        if (!waitFor(socket.fd(), POLLOUT, until))
          error = ETIMEDOUT;
        else if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error,
                              &length) != 0)
          error = errno;
      }
      if (error == 0) {
        prepare(socket.fd());
        return socket;
      }
      failure = Status::ofSystem(SINTER_FAILED, std::strerror(error), error);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (Clock::now() < until);
  return failure.as(SINTER_FAILED, host + ":" + std::to_string(port) + ": " +
                                       failure.message());
}
