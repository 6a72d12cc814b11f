//===- Hash.h - the content hash of tables and files ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// XXH3 (xxHash, header only inside Hash.cpp): fast and stable between machines
// and versions. It finds damage; it is no defence against an adversary.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_HASH_H
#define SINTER_RUNTIME_BASE_HASH_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

/// XXH3-64 of `bytes`.
uint64_t hash64(std::span<const uint8_t> bytes);
uint64_t hash64(std::string_view text);

/// `hash` as 16 lower-case hexadecimal digits.
std::string toHex(uint64_t hash);

/// XXH3-64 of bytes that arrive in pieces; equal to hash64 of them together.
class Hasher64 {
public:
  Hasher64();
  ~Hasher64();
  Hasher64(const Hasher64 &) = delete;
  Hasher64 &operator=(const Hasher64 &) = delete;

  void update(std::span<const uint8_t> bytes);
  void update(std::string_view text);
  /// The hash of everything so far; more may follow.
  uint64_t digest() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_HASH_H
