//===- FileTest.cpp - files, hashes and memory blocks ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/base/Hash.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::rt;
namespace fs = std::filesystem;

namespace {

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string pattern =
        (fs::temp_directory_path() / "sinter-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path = pattern;
  }
  ~TemporaryDirectory() { fs::remove_all(path); }
  std::string operator/(const char *name) const { return path + "/" + name; }
  std::string path;
};

} // namespace

TEST_CASE("file: what is written is read again", "[file]") {
  TemporaryDirectory dir;
  std::vector<uint8_t> bytes(100000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 7);
  REQUIRE(writeFileAtomic(dir / "a", bytes).ok());
  auto again = readFile(dir / "a");
  REQUIRE(again.ok());
  REQUIRE(*again == bytes);
  REQUIRE(*fileSize(dir / "a") == bytes.size());

  REQUIRE(writeFileAtomic(dir / "a", std::string("short")).ok());
  REQUIRE(readFile(dir / "a")->size() == 5);
  std::span<const uint8_t> pieces[] = {
      {bytes.data(), 3}, {}, {bytes.data(), 2}};
  REQUIRE(writeFileAtomic(dir / "b", pieces).ok());
  REQUIRE(readFile(dir / "b")->size() == 5);
  REQUIRE(writeFileAtomic(dir / "empty", std::string()).ok());
  REQUIRE(readFile(dir / "empty")->empty());
  // No temporary file is left.
  REQUIRE(std::distance(fs::directory_iterator(dir.path),
                        fs::directory_iterator()) == 3);

  auto mapped = MappedFile::open(dir / "b");
  REQUIRE(mapped.ok());
  REQUIRE(mapped->bytes().size() == 5);
  REQUIRE(mapped->bytes()[1] == bytes[1]);
  REQUIRE(MappedFile::open(dir / "empty")->bytes().empty());
}

TEST_CASE("file: errors name the path and the reason", "[file]") {
  TemporaryDirectory dir;
  auto missing = readFile(dir / "none");
  REQUIRE(missing.status().code() == SINTER_INVALID);
  REQUIRE(missing.status().message() ==
          dir.path + "/none: No such file or directory");
  REQUIRE(readFile(dir.path).status().message() ==
          dir.path + ": is a directory, not a file");
  REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
  REQUIRE(readFile(dir / "fifo").status().message() ==
          dir.path + "/fifo: is not a regular file");
  REQUIRE_FALSE(readFile("/dev/zero").ok());
  REQUIRE(writeFileAtomic(dir / "big", std::string(100, 'x')).ok());
  REQUIRE(readFile(dir / "big", 99).status().code() == SINTER_INVALID);
  REQUIRE(readFile(dir / "big", 100).ok());

  Status status = writeFileAtomic(dir / "no/such/place", std::string("x"));
  REQUIRE(status.code() == SINTER_INVALID);
  fs::create_directory(dir / "folder");
  REQUIRE_FALSE(writeFileAtomic(dir / "folder", std::string("x")).ok());
  // The failed write left no temporary file.
  for (const auto &entry : fs::directory_iterator(dir.path))
    REQUIRE(entry.path().string().find(".tmp.") == std::string::npos);
  REQUIRE_FALSE(fsyncDirectory(dir / "none").ok());
}

TEST_CASE("file: a process that is killed while it writes leaves nothing",
          "[file]") {
  TemporaryDirectory dir;
  REQUIRE(writeFileAtomic(dir / "kept", std::string("old")).ok());
  const std::string large(1 << 20, 'x');
  pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The write that passes the limit ends the process.
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit = {1 << 16, 1 << 16}, none = {0, 0};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::setrlimit(RLIMIT_CORE, &none);
    (void)writeFileAtomic(dir / "kept", large).ok();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGXFSZ);
  REQUIRE(readFile(dir / "kept")->size() == 3);
  for (const auto &entry : fs::directory_iterator(dir.path))
    REQUIRE(entry.path().filename() == "kept");
}

TEST_CASE("file: parent directories", "[file]") {
  REQUIRE(parentDirectory("a/b") == "a");
  REQUIRE(parentDirectory("b") == ".");
  REQUIRE(parentDirectory("/b") == "/");
  REQUIRE(parentDirectory("/a/b/c") == "/a/b");
}

TEST_CASE("hash: pieces and the whole agree", "[hash]") {
  // XXH3-64 of no bytes with seed 0, from the specification of xxHash.
  REQUIRE(toHex(hash64(std::string_view())) == "2d06800538d394c2");
  std::string text(5000, 'q');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i);
  Hasher64 hasher;
  hasher.update(std::string_view(text).substr(0, 17));
  hasher.update(std::string_view(text).substr(17, 3000));
  hasher.update(std::string_view(text).substr(3017));
  REQUIRE(hasher.digest() == hash64(text));
  text[4000] ^= 1;
  REQUIRE(hasher.digest() != hash64(text));
}

TEST_CASE("memory block: aligned, zeroed, refused", "[file]") {
  for (uint64_t size :
       {uint64_t(1), uint64_t(63), uint64_t(4096), uint64_t(5) << 20}) {
    auto block = AlignedBlock::allocate(size, "a test");
    REQUIRE(block.ok());
    REQUIRE(reinterpret_cast<uintptr_t>(block->data()) % 64 == 0);
    REQUIRE(block->sizeBytes() == size);
    REQUIRE(std::all_of(block->data(), block->data() + size,
                        [](uint8_t byte) { return byte == 0; }));
    block->data()[size - 1] = 1;
    AlignedBlock moved = std::move(*block);
    REQUIRE(block->data() == nullptr);
    REQUIRE(moved.data()[size - 1] == 1);
  }
  REQUIRE(AlignedBlock::allocate(0, "nothing")->data() == nullptr);
  for (uint64_t size : {UINT64_MAX, UINT64_MAX / 8}) {
    auto refused = AlignedBlock::allocate(size, "the arena");
    REQUIRE(refused.status().code() == SINTER_OUT_OF_MEMORY);
    REQUIRE(refused.status().message().find("the arena") != std::string::npos);
  }
}
