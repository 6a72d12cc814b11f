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
  const sinter_tensor_desc &tensor =
      sinter_program_artifact(program)->states[index].tensor;
  const void *bytes = sinter_program_state(program, index);
  if (!bytes && tensor.sizeBytes) {
    copy.resize(tensor.sizeBytes);
    SINTER_RETURN_IF_ERROR(
        lastError(sinter_program_read_state(program, index, copy.data())));
    bytes = copy.data();
  }
  return std::span(static_cast<const uint8_t *>(bytes), tensor.sizeBytes);
}

Result<StateTable::Snapshot>
StateTable::snapshot(sinter_program *program) const {
  Snapshot snapshot;
  snapshot.copies.resize(size());
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
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

std::string StateTable::mismatch(size_t index,
                                 const SafetensorsFile::Entry &entry) const {
  const sinter_tensor_desc &tensor = desc(index).tensor;
  std::span<const int64_t> ours = dims(index);
  if (tensor.dtype == entry.dtype &&
      std::equal(ours.begin(), ours.end(), entry.dims.begin(),
                 entry.dims.end()))
    return "";
  return "\"" + names_[index] + "\" is " + elementTypeName(entry.dtype) +
         shapeText(entry.dims) + " there, " + elementTypeName(tensor.dtype) +
         shapeText(ours) + " here";
}

std::vector<std::string>
StateTable::differences(const SafetensorsFile &file) const {
  std::vector<std::string> result;
  std::unordered_map<std::string, const SafetensorsFile::Entry *> entries;
  for (const SafetensorsFile::Entry &entry : file.entries())
    entries[entry.name] = &entry;
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
    auto found = entries.find(names_[i]);
    if (found == entries.end()) {
      result.push_back("\"" + names_[i] + "\" is missing there");
      continue;
    }
    std::string text = mismatch(i, *found->second);
    if (!text.empty())
      result.push_back(text);
    entries.erase(found);
  }
  for (const SafetensorsFile::Entry &entry : file.entries())
    if (entries.count(entry.name))
      result.push_back("\"" + entry.name + "\" is unknown here");
  return result;
}

Status StateTable::load(const SafetensorsFile &file,
                        sinter_program *program) const {
  std::vector<std::string> different = differences(file);
  if (!different.empty())
    return Status::invalid(
        file.path() + ": belongs to another model: " + listText(different));
  Result<InitReport> report = loadMatching(file, program);
  return report.ok() ? Status() : report.status();
}

Result<StateTable::InitReport>
StateTable::loadMatching(const SafetensorsFile &file,
                         sinter_program *program) const {
  InitReport report;
  std::unordered_map<std::string, size_t> indices;
  for (size_t i = 0; i < size(); ++i)
    if (isKept(i))
      indices[names_[i]] = i;
  std::unordered_map<std::string, size_t> others;
  for (size_t i = 0; i < size(); ++i)
    for (const std::string &alias : aliases(i))
      others.emplace(alias, i);
  std::vector<std::pair<size_t, const SafetensorsFile::Entry *>> chosen;
  std::vector<std::string> different;
  std::vector<std::pair<size_t, const SafetensorsFile::Entry *>> shared;
  for (const SafetensorsFile::Entry &entry : file.entries()) {
    auto found = indices.find(entry.name);
    if (found == indices.end()) {
      if (auto other = others.find(entry.name); other != others.end())
        shared.emplace_back(other->second, &entry);
      else
        report.extra.push_back(entry.name);
      continue;
    }
    std::string text = mismatch(found->second, entry);
    if (!text.empty())
      different.push_back(text);
    chosen.emplace_back(found->second, &entry);
    indices.erase(found);
  }
  for (auto [index, entry] : shared) {
    auto found = indices.find(names_[index]);
    std::string text = mismatch(index, *entry);
    if (text.empty() && found == indices.end()) {
      auto first = std::find_if(chosen.begin(), chosen.end(),
                                [&](auto &one) { return one.first == index; });
      std::vector<uint8_t> one(first->second->sizeBytes), two(entry->sizeBytes);
      SINTER_RETURN_IF_ERROR(file.read(*first->second, one));
      SINTER_RETURN_IF_ERROR(file.read(*entry, two));
      if (one != two)
        text = "\"" + first->second->name + "\" and \"" + entry->name +
               "\" are one tensor here and differ there";
    } else if (found != indices.end()) {
      chosen.emplace_back(index, entry);
      indices.erase(found);
    }
    if (!text.empty())
      different.push_back(text);
  }
  if (!different.empty())
    return Status::invalid(file.path() + ": " + listText(different));
  if (chosen.empty() && size() > 0)
    return Status::invalid(file.path() +
                           ": has none of the model's states (it has " +
                           listText(report.extra) + ")");
  // An average begins where its weight does.
  for (size_t i = 0, loaded = chosen.size(); i < size(); ++i) {
    if (desc(i).role != SINTER_STATE_SLOT || !desc(i).slot ||
        std::strcmp(desc(i).slot, "ema") != 0 || !indices.count(names_[i]))
      continue;
    for (size_t j = 0; j < loaded; ++j)
      if (chosen[j].first == desc(i).of)
        chosen.emplace_back(i, chosen[j].second);
  }
  std::vector<uint8_t> copy;
  for (auto [index, entry] : chosen) {
    auto number = static_cast<uint32_t>(index);
    auto *bytes = static_cast<uint8_t *>(sinter_program_state(program, number));
    if (bytes) {
      SINTER_RETURN_IF_ERROR(file.read(*entry, {bytes, entry->sizeBytes}));
      continue;
    }
    copy.resize(entry->sizeBytes);
    SINTER_RETURN_IF_ERROR(file.read(*entry, copy));
    SINTER_RETURN_IF_ERROR(
        lastError(sinter_program_write_state(program, number, copy.data())));
  }
  for (size_t i = 0; i < size(); ++i)
    if (indices.count(names_[i]) && (desc(i).role == SINTER_STATE_PARAM ||
                                     desc(i).role == SINTER_STATE_BUFFER))
      report.missing.push_back(names_[i]);
  report.numLoaded = chosen.size();
  return report;
}
