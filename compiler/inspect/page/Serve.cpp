//===- Serve.cpp - a page on 127.0.0.1 ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A server for one user: one request after the other, GET of two paths. "/" is
// the page. "/version" is a number that changes with the page; the page asks
// for it every second and loads itself again.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/Serve.h"

#include "compiler/ExitCode.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// A browser that sends or takes nothing for so long is given up, because the
// next one waits.
static constexpr int kTimeoutSeconds = 5;
static constexpr size_t kMostRequestBytes = 16 << 10;

namespace {

class Server {
public:
  Server(llvm::ArrayRef<std::string> files,
         llvm::function_ref<int(std::string &)> make)
      : files_(files), make_(make) {}
  ~Server() {
    if (socket_ >= 0)
      close(socket_);
  }
  Server(const Server &) = delete;

  /// Makes the page for the first time.
  int begin() {
    stamp_ = stampOfFiles(files_);
    return make_(page_);
  }
  /// Returns what went wrong; "" if nothing.
  std::string listenOn(uint16_t port);
  uint16_t port() const { return port_; }
  void answerOne();

private:
  void update();
  std::string answer(StringRef request);

  llvm::ArrayRef<std::string> files_;
  llvm::function_ref<int(std::string &)> make_;
  std::string page_, stamp_;
  uint64_t version_ = 1;
  bool isOld_ = false; // the files have changed, and no page could be made
  int socket_ = -1;
  uint16_t port_ = 0;
};

} // namespace

std::string Server::listenOn(uint16_t port) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0)
    return std::strerror(errno);
  int yes = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof(address);
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  if (bind(socket_, generic, size) || listen(socket_, 16) ||
      getsockname(socket_, generic, &size))
    return std::strerror(errno);
  port_ = ntohs(address.sin_port);
  return "";
}

std::string compiler::stampOfFiles(llvm::ArrayRef<std::string> files) {
  std::string stamp;
  for (const std::string &path : files) {
    llvm::sys::fs::file_status status;
    if (llvm::sys::fs::status(path, status))
      stamp += "gone;";
    else
      stamp +=
          std::to_string(status.getSize()) + "@" +
          std::to_string(
              status.getLastModificationTime().time_since_epoch().count()) +
          ";";
  }
  return stamp;
}

void Server::update() {
  std::string stamp = stampOfFiles(files_);
  if (stamp == stamp_)
    return;
  stamp_ = std::move(stamp);
  std::string page;
  isOld_ = make_(page) != kExitDone;
  if (isOld_)
    return;
  page_ = std::move(page);
  ++version_;
}

static std::string response(StringRef status, StringRef type, StringRef body) {
  return ("HTTP/1.1 " + status + "\r\nContent-Type: " + type +
          "; charset=utf-8\r\nContent-Length: " + llvm::Twine(body.size()) +
          "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" + body)
      .str();
}

// Another site must not read the page through a name of its own that leads to
// 127.0.0.1, so the host must be one of this machine's.
std::string Server::answer(StringRef request) {
  std::string port = ":" + std::to_string(port_);
  bool isLocal = false;
  for (StringRef line : llvm::split(request, "\r\n"))
    if (line.consume_front_insensitive("host:")) {
      line = line.trim();
      isLocal = line == "127.0.0.1" + port || line == "localhost" + port;
    }
  if (!isLocal)
    return response("403 Forbidden", "text/plain", "another host\n");
  StringRef path = request.split("\r\n").first;
  if (!path.consume_front("GET ") || !path.contains(" HTTP/1."))
    return response("405 Method Not Allowed", "text/plain", "only GET\n");
  path = path.split(' ').first.split('?').first;
  if (path == "/version") {
    update();
    return response("200 OK", "text/plain",
                    std::to_string(version_) + (isOld_ ? " old" : ""));
  }
  if (path != "/")
    return response("404 Not Found", "text/plain", "not found\n");
  update();
  return response("200 OK", "text/html", page_);
}

void Server::answerOne() {
  int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0)
    return;
  timeval limit{kTimeoutSeconds, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  std::string request;
  char bytes[4096];
  while (!StringRef(request).contains("\r\n\r\n") &&
         request.size() < kMostRequestBytes) {
    ssize_t got = recv(connection, bytes, sizeof(bytes), 0);
    if (got <= 0)
      break;
    request.append(bytes, got);
  }
  std::string reply;
  if (StringRef(request).contains("\r\n\r\n"))
    reply = answer(request);
  for (size_t sent = 0; sent < reply.size();) {
    ssize_t count = send(connection, reply.data() + sent, reply.size() - sent,
                         MSG_NOSIGNAL);
    if (count <= 0)
      break;
    sent += count;
  }
  close(connection);
}

int compiler::servePage(uint16_t port, llvm::ArrayRef<std::string> files,
                        llvm::function_ref<int(std::string &page)> make) {
  Server server(files, make);
  if (std::string wrong = server.listenOn(port); !wrong.empty()) {
    llvm::errs() << "sinter-inspect: error: 127.0.0.1:" << port << ": " << wrong
                 << "; --port=N takes another port\n";
    return kExitFailed;
  }
  if (int code = server.begin())
    return code;
  llvm::outs() << "http://127.0.0.1:" << server.port() << "/\n";
  llvm::outs().flush();
  while (true)
    server.answerOne();
}
