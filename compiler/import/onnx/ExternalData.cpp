//===- ExternalData.cpp - tensor bytes in files beside the model ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ExternalData.h"
#include "compiler/base/Text.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

#include <onnx/onnx_pb.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sinter::compiler {

namespace {
struct Place {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
} // namespace

/// Accepts only decimal digits: no sign, no exponent, no overflow.
static bool parseSize(llvm::StringRef text, uint64_t &value) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit) &&
         !text.getAsInteger(10, value);
}

static std::optional<Place> parsePlace(const ::onnx::TensorProto &tensor,
                                       std::string &why) {
  Place place;
  for (const auto &entry : tensor.external_data()) {
    uint64_t number = 0;
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (!parseSize(entry.value(), number)) {
        why = "external data has the " + entry.key() + " " +
              quoted(entry.value()) + "; it must be a number of bytes";
        return std::nullopt;
      }
      if (entry.key() == "offset")
        place.offset = number;
      else
        place.length = number;
    } else if (entry.key() != "checksum") {
      why = "external data has the unknown key " + quoted(entry.key());
      return std::nullopt;
    }
  }
  return place;
}

/// The kernel rejects paths that lead outside; this check gives the reason.
static bool checkLocation(llvm::StringRef location, std::string &why) {
  bool isDrive = location.size() > 1 && location[1] == ':';
  llvm::SmallVector<llvm::StringRef> parts;
  location.split(parts, '/');
  if (location.empty())
    why = "external data has no location";
  else if (location.contains('\0') || location.contains('\\'))
    why = "external data has the location " + quoted(location) +
          "; it must be a relative path with '/'";
  else if (location.front() == '/' || isDrive ||
           llvm::is_contained(parts, ".."))
    why = "external data has the location " + quoted(location) +
          "; it must lie below the model's folder";
  else
    return true;
  return false;
}

static int openBeneath(int directoryFd, const std::string &location) {
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return int(
      ::syscall(SYS_openat2, directoryFd, location.c_str(), &how, sizeof(how)));
}

std::optional<TensorBytes> readExternalData(const OnnxModel &model,
                                            const ::onnx::TensorProto &tensor,
                                            uint64_t sizeBytes,
                                            std::string &why) {
  std::optional<Place> place = parsePlace(tensor, why);
  if (!place || !checkLocation(place->location, why))
    return std::nullopt;
  if (place->length && *place->length != sizeBytes) {
    why = "external data has the length " + std::to_string(*place->length) +
          "; the tensor's type takes " + std::to_string(sizeBytes) + " bytes";
    return std::nullopt;
  }
  if (model.directoryFd() < 0) {
    why = "external data cannot be read for a model that is not a file";
    return std::nullopt;
  }

  std::string file = "external data file " + quoted(place->location, 200);
  int fd = openBeneath(model.directoryFd(), place->location);
  if (fd < 0) {
    why =
        file + " cannot be opened: " +
        (errno == ELOOP ? std::string("it is, or lies behind, a symbolic link")
         : errno == EXDEV ? std::string("it lies outside the model's folder")
                          : std::string(std::strerror(errno)));
    return std::nullopt;
  }
  auto closeFd = llvm::make_scope_exit([&] { ::close(fd); });
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    why = file + " is not a regular file";
    return std::nullopt;
  }
  if (info.st_nlink > 1) {
    why = file + " has " + std::to_string(info.st_nlink) +
          " hard links; it may belong to something else";
    return std::nullopt;
  }
  uint64_t fileBytes = uint64_t(info.st_size);
  if (sizeBytes > fileBytes || place->offset > fileBytes - sizeBytes) {
    why = file + " has " + std::to_string(fileBytes) +
          " bytes; the tensor needs " + std::to_string(sizeBytes) +
          " at offset " + std::to_string(place->offset);
    return std::nullopt;
  }

  uint64_t capacity = (sizeBytes + 63) / 64 * 64;
  char *buffer =
      static_cast<char *>(std::aligned_alloc(64, capacity ? capacity : 64));
  if (!buffer) {
    why = file + ": no memory for " + std::to_string(sizeBytes) + " bytes";
    return std::nullopt;
  }
  std::shared_ptr<const void> owner(
      buffer, [](const void *p) { std::free(const_cast<void *>(p)); });
  for (uint64_t done = 0; done < sizeBytes;) {
    ssize_t count = ::pread(fd, buffer + done, sizeBytes - done,
                            off_t(place->offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      why = file + " cannot be read: " +
            (count < 0 ? std::strerror(errno) : "it became shorter");
      return std::nullopt;
    }
    done += uint64_t(count);
  }
  return TensorBytes{{buffer, sizeBytes}, std::move(owner)};
}

} // namespace sinter::compiler
