//===- StateTable.cpp - the states of a program by their file names -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/StateTable.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

using namespace sinter::rt;

std::string sinter::rt::listText(const std::vector<std::string> &items,
                                 size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), most); ++i)
    text += (i ? ", " : "") + items[i];
  if (items.size() > most)
    text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

static std::string fileName(const sinter_artifact &artifact, uint32_t index) {
  const sinter_state_desc &state = artifact.states[index];
  std::string owner = state.of < artifact.numStates
                          ? artifact.states[state.of].tensor.name
                          : state.tensor.name;
  switch (state.role) {
  case SINTER_STATE_SLOT:
  case SINTER_STATE_ACCUM:
    return (state.slot ? state.slot : "slot") + ("/" + owner);
  default:
    return state.tensor.name;
  }
}

Result<StateTable> StateTable::create(const sinter_artifact &artifact) {
  StateTable table;
  table.states_ = artifact.states;
  std::unordered_set<std::string> seen;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    table.names_.push_back(fileName(artifact, i));
    if (!seen.insert(table.names_.back()).second)
      return Status::invalid("the program has two states named \"" +
                             table.names_.back() + "\"");
  }
  return table;
}

std::optional<size_t> StateTable::counter(std::string_view slot) const {
  for (size_t i = 0; i < size(); ++i)
    if (states_[i].role == SINTER_STATE_SLOT && states_[i].slot &&
        states_[i].slot == slot && states_[i].of == SINTER_NONE)
      return i;
  return std::nullopt;
}

std::vector<std::string> StateTable::aliases(size_t index) const {
  std::vector<std::string> names;
  const char *text = states_[index].aliases;
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

void StateTable::addAliases(Snapshot &snapshot) const {
  std::unordered_map<std::string, NamedTensor> tensors;
  for (const NamedTensor &tensor : snapshot.tensors)
    tensors.emplace(tensor.name, tensor);
  for (size_t i = 0; i < size(); ++i) {
    auto found = tensors.find(names_[i]);
    if (found == tensors.end())
      continue;
    for (std::string &alias : aliases(i)) {
      NamedTensor tensor = found->second;
      tensor.name = std::move(alias);
      if (!tensors.count(std::string(tensor.name)))
        snapshot.tensors.push_back(std::move(tensor));
    }
  }
}

uint64_t StateTable::hash() const {
  Hasher64 hasher;
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
    hasher.update(names_[i]);
    hasher.update(std::string_view("\0", 1));
    hasher.update(elementTypeName(desc(i).tensor.dtype));
    hasher.update(shapeText(dims(i)));
  }
  return hasher.digest();
}

static Status lastError(sinter_status code) {
  return code == SINTER_OK ? Status() : Status(code, sinter_last_error());
}

Result<std::span<const uint8_t>>
sinter::rt::stateBytes(sinter_program *program, uint32_t index,
                       std::vector<uint8_t> &copy) {
  const uint64_t size =
      sinter_held_bytes(&sinter_program_artifact(program)->states[index]);
  const void *bytes = sinter_program_state(program, index);
  if (!bytes && size) {
    copy.resize(size);
    SINTER_RETURN_IF_ERROR(
        lastError(sinter_program_read_state(program, index, copy.data())));
    bytes = copy.data();
  }
  return std::span(static_cast<const uint8_t *>(bytes), size);
}

bool StateTable::hasDivided() const {
  for (size_t i = 0; i < size(); ++i)
    if (isDivided(i))
      return true;
  return false;
}

Result<StateTable::Part> StateTable::heldPart(size_t index) const {
  const sinter_state_desc &state = desc(index);
  const uint64_t size = state.tensor.sizeBytes,
                 element = elementBytes(
                     static_cast<sinter_dtype>(state.tensor.dtype)),
                 begin = std::min(size, firstHolder_ * state.partBytes),
                 end =
                     std::min(size, begin + holders_.size() * state.partBytes);
  Part part{index,
            begin / element,
            {static_cast<int64_t>((end - begin) / element)},
            std::vector<uint8_t>(holders_.size() * state.partBytes)};
  for (size_t i = 0; i < holders_.size(); ++i)
    SINTER_RETURN_IF_ERROR(lastError(
        sinter_program_read_state(holders_[i], static_cast<uint32_t>(index),
                                  part.bytes.data() + i * state.partBytes)));
  part.bytes.resize(end - begin); // without the zeros beyond the whole
  return part;
}

Result<std::vector<StateTable::Part>> StateTable::parts() const {
  std::vector<Part> parts;
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i) || !isDivided(i) || holders_.empty())
      continue;
    Result<Part> part = heldPart(i);
    if (!part.ok())
      return part.status();
    parts.push_back(std::move(*part));
  }
  return parts;
}

Result<StateTable::Snapshot>
StateTable::snapshot(sinter_program *program) const {
  Snapshot snapshot;
  snapshot.copies.resize(size());
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
    if (isDivided(i) && holders_.empty()) {
      if (auto whole = wholes_.find(i); whole != wholes_.end())
        snapshot.tensors.push_back(
            {names_[i], static_cast<sinter_dtype>(desc(i).tensor.dtype),
             dims(i), whole->second});
      continue;
    }
    if (isDivided(i)) {
      const bool isWhole =
          firstHolder_ == 0 &&
          holders_.size() * desc(i).partBytes >= desc(i).tensor.sizeBytes;
      if (!isWhole)
        continue;
      Result<Part> part = heldPart(i);
      if (!part.ok())
        return part.status();
      snapshot.copies[i] = std::move(part->bytes);
      snapshot.tensors.push_back(
          {names_[i], static_cast<sinter_dtype>(desc(i).tensor.dtype), dims(i),
           snapshot.copies[i]});
      continue;
    }
    Result<std::span<const uint8_t>> bytes =
        stateBytes(program, static_cast<uint32_t>(i), snapshot.copies[i]);
    if (!bytes.ok())
      return bytes.status();
    snapshot.tensors.push_back({names_[i],
                                static_cast<sinter_dtype>(desc(i).tensor.dtype),
                                dims(i), *bytes});
  }
  return snapshot;
}

/// Values that must not be in a state.
enum class Bad { NaN, NaNOrInfinity };

/// The first element of `bytes` that is bad and that differs from the one in
/// `initial` (empty: zeros); nothing if there is none.
template <typename Bits>
static std::optional<size_t> firstBad(std::span<const uint8_t> bytes,
                                      std::span<const uint8_t> initial,
                                      Bits exponent, Bits fraction, Bad bad) {
  const size_t count = bytes.size() / sizeof(Bits);
  auto load = [](const uint8_t *address) {
    Bits bits;
    std::memcpy(&bits, address, sizeof(bits));
    return bits;
  };
  for (size_t i = 0; i < count; ++i) {
    const Bits bits = load(bytes.data() + i * sizeof(Bits));
    if ((bits & exponent) != exponent ||
        (bad == Bad::NaN && (bits & fraction) == 0))
      continue;
    if (initial.empty() || load(initial.data() + i * sizeof(Bits)) != bits)
      return i;
  }
  return std::nullopt;
}

/// Text about what is bad in a state of `total` bytes, of which `bytes` are
/// those from element `begin` on; nothing if nothing is, or it is not of a
/// float type.
static std::optional<std::string> badText(uint32_t dtype,
                                          std::span<const uint8_t> bytes,
                                          std::span<const uint8_t> initial,
                                          uint64_t begin, uint64_t total,
                                          Bad bad) {
  std::optional<size_t> first;
  uint64_t fraction = 0;
  switch (dtype) {
  case SINTER_F16:
    fraction = 0x3ff;
    first = firstBad<uint16_t>(bytes, initial, 0x7c00, 0x3ff, bad);
    break;
  case SINTER_BF16:
    fraction = 0x7f;
    first = firstBad<uint16_t>(bytes, initial, 0x7f80, 0x7f, bad);
    break;
  case SINTER_F32:
    fraction = 0x7fffff;
    first = firstBad<uint32_t>(bytes, initial, 0x7f800000, 0x7fffff, bad);
    break;
  case SINTER_F64:
    fraction = (uint64_t(1) << 52) - 1;
    first = firstBad<uint64_t>(bytes, initial, uint64_t(0x7ff) << 52, fraction,
                               bad);
    break;
  }
  if (!first)
    return std::nullopt;
  const uint64_t size = elementBytes(static_cast<sinter_dtype>(dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + *first * size, size);
  return std::string(bits & fraction ? "NaN" : "an infinity") + " (element " +
         std::to_string(begin + *first) + " of " +
         std::to_string(total / size) + ")";
}

Result<std::optional<std::string>>
StateTable::findNonFinite(sinter_program *program) const {
  const sinter_artifact &artifact = *sinter_program_artifact(program);
  std::vector<uint8_t> copy;
  for (size_t i = 0; i < size(); ++i) {
    // All that a process has of the parts of other replicas is their rounding,
    // in which a large weight may be infinite.
    const bool isRounding =
        desc(i).role == SINTER_STATE_ROUNDED && isDivided(desc(i).of);
    if ((!isKept(i) && !isRounding) || (isDivided(i) && holders_.empty()))
      continue;
    uint64_t begin = 0;
    Result<std::span<const uint8_t>> bytes = std::span<const uint8_t>();
    if (isDivided(i)) {
      Result<Part> part = heldPart(i);
      if (!part.ok())
        return part.status();
      begin = part->firstElement;
      copy = std::move(part->bytes);
      bytes = std::span<const uint8_t>(copy);
    } else {
      bytes = stateBytes(program, static_cast<uint32_t>(i), copy);
    }
    if (!bytes.ok())
      return bytes.status();
    std::span<const uint8_t> initial;
    if (desc(i).initOffsetBytes != UINT64_MAX)
      initial = {artifact.constants + desc(i).initOffsetBytes +
                     begin * elementBytes(static_cast<sinter_dtype>(
                                 desc(i).tensor.dtype)),
                 bytes->size()};
    if (std::optional<std::string> what =
            badText(desc(i).tensor.dtype, *bytes, initial, begin,
                    desc(i).tensor.sizeBytes,
                    isRounding ? Bad::NaN : Bad::NaNOrInfinity))
      return std::optional("state \"" + names_[i] + "\" has " + *what);
  }
  return std::optional<std::string>();
}

Status StateTable::checkFinite(sinter_program *program) const {
  Result<std::optional<std::string>> found = findNonFinite(program);
  SINTER_RETURN_IF_ERROR(found.status());
  return *found ? Status::failed(**found) : Status();
}
