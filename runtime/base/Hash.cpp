//===- Hash.cpp - the content hash of tables, checkpoints and programs ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace sinter::rt;

// The state needs 64-byte alignment, which operator new honours in C++17.
struct Hasher64::State {
  XXH3_state_t xxh;
};

uint64_t sinter::rt::hash64(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t sinter::rt::hash64(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

std::string sinter::rt::toHex(uint64_t hash) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4)
    text[i] = "0123456789abcdef"[hash & 15];
  return text;
}

Hasher64::Hasher64() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh);
}

Hasher64::~Hasher64() = default;

void Hasher64::update(std::span<const uint8_t> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

void Hasher64::update(std::string_view text) {
  XXH3_64bits_update(&state_->xxh, text.data(), text.size());
}

uint64_t Hasher64::digest() const { return XXH3_64bits_digest(&state_->xxh); }
