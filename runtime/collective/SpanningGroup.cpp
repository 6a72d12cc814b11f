//===- SpanningGroup.cpp - replicas in several processes ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/SpanningGroup.h"

#include "runtime/collective/Rendezvous.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

using namespace sinter::rt;

namespace {

struct Groups {
  std::mutex mutex;
  std::map<std::string, SpanningGroup> byName;
};

Groups &groups() {
  static auto *all = new Groups;
  return *all;
}

std::string nameOf(const uint8_t *group) {
  return {reinterpret_cast<const char *>(group), SINTER_GROUP_BYTES};
}

} // namespace

Status sinter::rt::nameGroupOfThreads(const GroupRequest &request,
                                      const MakeExchange &make,
                                      uint8_t *group) {
  nameLocalGroup(group);
  if (!request.meeting)
    return {};
  if (!make)
    return {SINTER_UNSUPPORTED,
            "this program has no way to sum over several processes"};
  SpanningGroup spanning;
  spanning.first = request.first;
  spanning.count = request.count;
  spanning.meeting = request.meeting;
  spanning.process = request.meeting->rank();
  spanning.processes = request.meeting->world();
  Result<std::unique_ptr<Exchange>> exchange = make(*request.meeting);
  if (!exchange.ok())
    return exchange.status();
  spanning.exchange = std::move(*exchange);
  request.meeting->setTransport(spanning.exchange->transport());
  std::lock_guard lock(groups().mutex);
  groups().byName[nameOf(group)] = std::move(spanning);
  return {};
}

Status
sinter::rt::nameGroupByLeader(const GroupRequest &request,
                              const std::function<Status(uint8_t *group)> &name,
                              uint8_t *group) {
  if (!request.meeting)
    return name(group);
  Meeting &meeting = *request.meeting;
  if (!meeting.sharesMemory())
    return {SINTER_UNSUPPORTED, "--transport=tcp: the library of this device "
                                "chooses how it sends values"};
  constexpr const char *key = "the group's name";
  if (meeting.rank() == 0) {
    SINTER_RETURN_IF_ERROR(name(group));
    return meeting.put(key, nameOf(group));
  }
  Result<std::string> bytes = meeting.get(key);
  if (!bytes.ok())
    return bytes.status();
  if (bytes->size() != SINTER_GROUP_BYTES)
    return Status::failed("rank 0 has sent a group's name of another length");
  std::copy(bytes->begin(), bytes->end(), group);
  return {};
}

std::optional<SpanningGroup> sinter::rt::spanningGroup(const uint8_t *group) {
  std::lock_guard lock(groups().mutex);
  auto place = groups().byName.find(nameOf(group));
  return place == groups().byName.end() ? std::nullopt
                                        : std::optional(place->second);
}

void sinter::rt::forgetSpanningGroup(const uint8_t *group) {
  std::lock_guard lock(groups().mutex);
  groups().byName.erase(nameOf(group));
}
