//===- MeetingServer.cpp - the leader's side of a meeting -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/MeetingServer.h"

#include "runtime/base/BlockSignals.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <poll.h>
#include <system_error>

using namespace sinter::rt;
using std::chrono::milliseconds;

namespace {

constexpr const char *protocol = "sinter meeting 1";

/// Of a connection that has not joined.
constexpr uint32_t mostJoinBytes = 4096;
constexpr milliseconds joinPatience(10000);
constexpr size_t mostStrangers = 64;

/// A process that does not read does not hold up the others for longer.
constexpr int64_t sendTimeoutMs = 2000;

constexpr milliseconds lastMoment(2000);

/// Compares in a time that does not tell how much is equal.
bool isSameToken(const std::string &a, const std::string &b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

} // namespace

Message JoinRequest::message() const {
  return {MessageKind::Join, rank, protocol,
          std::to_string(world) + "\n" + token};
}

Result<JoinRequest> JoinRequest::read(const Message &message) {
  const size_t line = message.bytes.find('\n');
  if (message.kind != MessageKind::Join || message.name != protocol ||
      line == std::string::npos || line > 9 || message.number < 0)
    return Status::invalid("this is not a process of this version of Sinter");
  JoinRequest request;
  request.rank = static_cast<uint32_t>(message.number);
  for (char digit : message.bytes.substr(0, line)) {
    if (digit < '0' || digit > '9')
      return Status::invalid("a number of processes that is not a number");
    request.world = request.world * 10 + static_cast<uint32_t>(digit - '0');
  }
  request.token = message.bytes.substr(line + 1);
  return request;
}

Message Activity::message() const {
  return {MessageKind::Alive, step, std::to_string(messages),
          isTraining ? "+" : ""};
}

std::optional<Activity> Activity::read(const Message &message) {
  Activity activity;
  const char *begin = message.name.data(), *end = begin + message.name.size();
  auto [rest, error] = std::from_chars(begin, end, activity.messages);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  activity.step = message.number;
  activity.isTraining = !message.bytes.empty();
  return activity;
}

Result<std::unique_ptr<MeetingServer>>
MeetingServer::start(const std::string &host, uint16_t port,
                     const Options &options) {
  Result<Listener> listener = Listener::open(host, port);
  if (!listener.ok())
    return listener.status();
  std::unique_ptr<MeetingServer> server(
      new MeetingServer(std::move(*listener), options));
  BlockSignals blocked;
  try {
    server->thread_ = std::thread([server = server.get()] { server->serve(); });
  } catch (const std::system_error &error) {
    return Status::failed(std::string("cannot start a thread: ") +
                          error.what());
  }
  return server;
}

MeetingServer::~MeetingServer() {
  isLeaving_ = true;
  if (thread_.joinable())
    thread_.join();
}

void MeetingServer::serve() {
  std::vector<pollfd> polled;
  while (!isOver()) {
    polled.assign(1, {listener_.fd(), POLLIN, 0});
    std::vector<Member *> order;
    for (Member &member : members_) {
      polled.push_back({member.wire.fd(), POLLIN, 0});
      order.push_back(&member);
    }
    (void)::poll(polled.data(), polled.size(), 100);
    for (size_t i = 0; i < order.size(); ++i)
      if (polled[i + 1].revents)
        read(*order[i]);
    if (polled[0].revents)
      welcome();
    checkTime();
    members_.remove_if([](const Member &member) {
      return !member.rank && !member.wire.isOpen();
    });
  }
}

/// All have left or are gone. After an end, the others get a moment to read it.
bool MeetingServer::isOver() const {
  if (!isLeaving_)
    return false;
  return (hasEnded_ && Clock::now() - ended_ > lastMoment) ||
         std::all_of(members_.begin(), members_.end(), [](const Member &one) {
           return one.hasLeft || one.isGone;
         });
}

void MeetingServer::welcome() {
  while (std::optional<Wire> wire = listener_.accept()) {
    const auto strangers =
        std::count_if(members_.begin(), members_.end(),
                      [](const Member &member) { return !member.rank; });
    if (static_cast<size_t>(strangers) >= mostStrangers)
      continue; // closes it
    Member &member = members_.emplace_back();
    member.address = wire->peer();
    member.wire = std::move(*wire);
    member.heard = Clock::now();
  }
}

std::string MeetingServer::nameOf(const Member &member) const {
  return "rank " + std::to_string(member.rank.value_or(0)) + " (" +
         member.address + ")";
}

MeetingServer::Member *MeetingServer::find(uint32_t rank) {
  for (Member &member : members_)
    if (member.rank == rank)
      return &member;
  return nullptr;
}

void MeetingServer::read(Member &member) {
  if (!member.wire.isOpen())
    return;
  Status status =
      member.wire.readAvailable(member.rank ? mostMessageBytes : mostJoinBytes);
  while (member.wire.isOpen()) {
    std::optional<Message> message = member.wire.take();
    if (!message)
      break;
    member.heard = Clock::now();
    if (member.rank)
      handle(member, std::move(*message));
    else
      admit(member, *message);
  }
  if (!status.ok())
    lose(member, "has ended: " + status.message());
}

/// Closes the connection. Of a process that the others still need, that ends
/// the job.
void MeetingServer::lose(Member &member, const std::string &why) {
  member.wire.close();
  if (!member.rank || member.isGone)
    return;
  member.isGone = true;
  if (!member.hasLeft)
    endJob(SINTER_INTERRUPTED, nameOf(member) + " " + why);
}

void MeetingServer::admit(Member &member, const Message &message) {
  auto refuse = [&](const std::string &why) {
    send(member, {MessageKind::Refused, 0, why, ""});
    member.wire.close();
  };
  Result<JoinRequest> request = JoinRequest::read(message);
  if (!request.ok())
    return refuse(request.status().message());
  if (!isSameToken(request->token, options_.token)) {
    refused_ = member.address;
    return refuse("the token is another one (SINTER_TOKEN, or the job's name)");
  }
  if (hasEnded_) {
    // As those that were in the job hear it: a restart may help.
    send(member, {MessageKind::End, end_.code(), end_.message(), ""});
    return member.wire.close();
  }
  std::string wrong;
  if (request->world != options_.world)
    wrong = "rank " + std::to_string(request->rank) + " (" + member.address +
            ") was started with " + std::to_string(request->world) +
            " processes, rank 0 with " + std::to_string(options_.world);
  else if (request->rank >= options_.world)
    wrong = "rank " + std::to_string(request->rank) + " (" + member.address +
            ") is not below " + std::to_string(options_.world);
  else if (const Member *other = find(request->rank))
    wrong = "two processes have rank " + std::to_string(request->rank) + ": " +
            other->address + " and " + member.address;
  if (!wrong.empty()) {
    refuse(wrong);
    // A job that is complete goes on without it.
    return numJoined_ < options_.world ? endJob(SINTER_FAILED, wrong) : void();
  }
  member.rank = request->rank;
  if (++numJoined_ < options_.world)
    return;
  // From now on, all say that they are alive.
  for (Member &each : members_)
    each.heard = each.moved = Clock::now();
  sendToAll({MessageKind::Joined, 0, "", ""});
}

/// Sends the value called `name`, which is dropped after its last reader.
void MeetingServer::give(Member &member, const std::string &name) {
  auto place = values_.find(name);
  if (place == values_.end())
    return;
  send(member, {MessageKind::Value, 0, name, place->second.bytes});
  if (--place->second.readers == 0)
    values_.erase(place);
}

void MeetingServer::handle(Member &member, Message message) {
  switch (message.kind) {
  case MessageKind::Put: {
    const auto readers = message.number > 0
                             ? static_cast<uint32_t>(message.number)
                             : options_.world;
    auto [place, isNew] =
        values_.emplace(message.name, Value{std::move(message.bytes), readers});
    if (!isNew)
      return endJob(SINTER_FAILED,
                    nameOf(member) + " has put '" + message.name + "' twice");
    for (Member &other : members_)
      if (std::erase(other.waitsFor, message.name))
        give(other, message.name);
    return;
  }
  case MessageKind::Get:
    if (values_.contains(message.name))
      give(member, message.name);
    else
      member.waitsFor.push_back(message.name);
    return;
  case MessageKind::Alive:
    if (std::optional<Activity> activity = Activity::read(message);
        activity && *activity != member.activity) {
      member.activity = *activity;
      member.moved = Clock::now();
    }
    return;
  case MessageKind::Leave:
    member.hasLeft = true;
    return;
  case MessageKind::Fail:
    return endJob(SINTER_FAILED, nameOf(member) + ": " + message.name);
  case MessageKind::Allow:
  case MessageKind::Saved:
  case MessageKind::Question:
    for (Member &other : members_)
      if (other.rank && *other.rank != 0)
        send(other, message);
    return;
  case MessageKind::Ask:
    if (Member *leader = find(0)) {
      message.name = "rank " + std::to_string(*member.rank);
      send(*leader, message);
    }
    return;
  default:
    return endJob(SINTER_FAILED,
                  nameOf(member) + " has sent a message of an unknown kind");
  }
}

/// "rank 1", "ranks 1, 2 and 5".
std::string MeetingServer::missingText() {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < options_.world; ++rank)
    if (!find(rank))
      missing.push_back(rank);
  std::string text = missing.size() > 1 ? "ranks " : "rank ";
  constexpr size_t mostNamed = 8;
  for (size_t i = 0; i < missing.size() && i < mostNamed; ++i)
    text += (i == 0                    ? ""
             : i + 1 == missing.size() ? " and "
                                       : ", ") +
            std::to_string(missing[i]);
  return missing.size() > mostNamed
             ? text + " and " + std::to_string(missing.size() - mostNamed) +
                   " others"
             : text;
}

void MeetingServer::checkTime() {
  const Clock::duration pause = watch_.pause();
  started_ += pause;
  allInSteps_ += pause;
  for (Member &member : members_) {
    member.heard += pause;
    member.moved += pause;
  }
  const Clock::time_point now = Clock::now();
  for (Member &member : members_)
    if (!member.rank && now - member.heard > joinPatience)
      member.wire.close();
  if (hasEnded_)
    return;
  if (numJoined_ < options_.world &&
      now - started_ > milliseconds(options_.joinTimeoutMs))
    return endJob(SINTER_INTERRUPTED,
                  missingText() + " did not join within " +
                      std::to_string(options_.joinTimeoutMs / 1000) + " s" +
                      (refused_.empty() ? ""
                                        : "; " + refused_ +
                                              " was refused, because its "
                                              "token is another one"));
  if (numJoined_ < options_.world && options_.onLate && !hasSaidLate_ &&
      now - started_ > milliseconds(options_.lateMs)) {
    hasSaidLate_ = true;
    options_.onLate(missingText());
  }
  for (const Member &member : members_)
    if (numJoined_ == options_.world && member.rank && !member.hasLeft &&
        !member.isGone &&
        now - member.heard > milliseconds(options_.aliveTimeoutMs))
      return endJob(SINTER_INTERRUPTED,
                    nameOf(member) + " has sent nothing for " +
                        std::to_string(options_.aliveTimeoutMs / 1000) +
                        " s: it is stopped, or its host is gone");
  checkProgress(now);
  if (hasEnded_ || now - beat_ < std::chrono::seconds(1))
    return;
  beat_ = now;
  sendToAll({MessageKind::Alive, 0, "", ""});
}

/// A process that is in a step, alive, and does not come to a message that
/// others have begun: they wait for it. While one saves or evaluates, the
/// others may have to wait for that, so that time does not count.
void MeetingServer::checkProgress(Clock::time_point now) {
  uint64_t most = 0;
  for (const Member &member : members_) {
    if (!member.rank || member.hasLeft || member.isGone)
      continue;
    most = std::max(most, member.activity.messages);
    if (!member.activity.isTraining)
      allInSteps_ = now;
  }
  for (const Member &member : members_) {
    const Activity &activity = member.activity;
    if (member.rank && activity.isTraining && activity.messages < most &&
        now - std::max(member.moved, allInSteps_) >
            milliseconds(options_.aliveTimeoutMs))
      return endJob(SINTER_INTERRUPTED,
                    nameOf(member) + " has made no progress for " +
                        std::to_string(options_.aliveTimeoutMs / 1000) +
                        " s: it is in step " +
                        std::to_string(activity.step + 1) + " and has begun " +
                        std::to_string(activity.messages) +
                        " messages, others " + std::to_string(most));
  }
}

void MeetingServer::endJob(sinter_status code, const std::string &why) {
  if (hasEnded_)
    return;
  hasEnded_ = true;
  ended_ = Clock::now();
  end_ = Status(code, why);
  sendToAll({MessageKind::End, code, why, ""});
}

void MeetingServer::send(Member &member, const Message &message) {
  if (!member.wire.isOpen())
    return;
  const Status sent = member.wire.send(message, sendTimeoutMs);
  // Of one that has closed the connection, read() gets the last messages first.
  if (sent.systemError() != EPIPE && sent.systemError() != ECONNRESET &&
      !sent.ok())
    lose(member, "does not read what is sent to it");
}

void MeetingServer::sendToAll(const Message &message) {
  for (Member &member : members_)
    if (member.rank && !member.isGone)
      send(member, message);
}
