//===- StateTableLoad.cpp - states from files -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/StateTable.h"

#include "runtime/exec/DividedStates.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

using namespace sinter::rt;

std::string StateTable::mismatch(size_t index,
                                 const TensorFile::Entry &entry) const {
  const sinter_tensor_desc &tensor = desc(index).tensor;
  std::span<const int64_t> ours = dims(index);
  if (tensor.dtype == entry.dtype &&
      std::equal(ours.begin(), ours.end(), entry.dims.begin(),
                 entry.dims.end()))
    return "";
  return "\"" + names_[index] + "\" is " + elementTypeName(entry.dtype) +
         shapeText(entry.dims) + " in the file, " +
         elementTypeName(tensor.dtype) + shapeText(ours) + " in the program";
}

std::vector<std::string> StateTable::differences(const TensorFile &file) const {
  std::vector<std::string> result;
  std::unordered_map<std::string, const TensorFile::Entry *> entries;
  for (const TensorFile::Entry &entry : file.entries())
    entries[entry.name] = &entry;
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
    auto found = entries.find(names_[i]);
    if (found == entries.end()) {
      result.push_back("\"" + names_[i] + "\" is missing in the file");
      continue;
    }
    std::string text = mismatch(i, *found->second);
    if (!text.empty())
      result.push_back(text);
    entries.erase(found);
  }
  for (const TensorFile::Entry &entry : file.entries())
    if (entries.count(entry.name))
      result.push_back("\"" + entry.name + "\" is unknown to the program");
  return result;
}

/// An average starts with the value of its weight.
void StateTable::addAverages(Chosen &chosen) const {
  for (size_t i = 0, loaded = chosen.size(); i < size(); ++i) {
    auto isLoaded = [&](size_t index) {
      return [index](const auto &one) { return one.first == index; };
    };
    if (desc(i).role != SINTER_STATE_SLOT || !desc(i).slot ||
        std::strcmp(desc(i).slot, SINTER_SLOT_EMA) != 0 ||
        std::any_of(chosen.begin(), chosen.end(), isLoaded(i)))
      continue;
    auto weight = std::find_if(chosen.begin(), chosen.begin() + loaded,
                               isLoaded(desc(i).of));
    if (weight != chosen.begin() + loaded)
      chosen.emplace_back(i, weight->second);
  }
}

/// Writes to each holder its part of `whole` and the rounding of all of it.
/// Without holders, writes the rounding to `program`.
Status StateTable::writeDivided(size_t index, std::span<const uint8_t> whole,
                                sinter_program *program) const {
  auto write = [](sinter_program *to, size_t state,
                  const std::vector<uint8_t> &bytes) -> Status {
    const sinter_status code = sinter_program_write_state(
        to, static_cast<uint32_t>(state), bytes.data());
    return code ? Status(code, sinter_last_error()) : Status();
  };
  for (size_t i = 0; i < holders_.size(); ++i)
    SINTER_RETURN_IF_ERROR(write(holders_[i], index,
                                 partOf(desc(index), whole, firstHolder_ + i)));
  for (size_t i = 0; i < size(); ++i) {
    if (desc(i).role != SINTER_STATE_ROUNDED || desc(i).of != index)
      continue;
    const std::vector<uint8_t> rounded = roundedBytes(desc(i), whole);
    for (sinter_program *holder : holders_)
      SINTER_RETURN_IF_ERROR(write(holder, i, rounded));
    if (holders_.empty())
      SINTER_RETURN_IF_ERROR(write(program, i, rounded));
  }
  return {};
}

Status StateTable::write(const TensorFile &file, const Chosen &chosen,
                         sinter_program *program) const {
  std::vector<uint8_t> copy;
  for (auto [index, entry] : chosen) {
    auto number = static_cast<uint32_t>(index);
    if (isDivided(index)) {
      copy.resize(entry->sizeBytes);
      SINTER_RETURN_IF_ERROR(file.read(*entry, copy));
      SINTER_RETURN_IF_ERROR(writeDivided(index, copy, program));
      if (holders_.empty())
        wholes_[index] = copy;
      continue;
    }
    auto *bytes = static_cast<uint8_t *>(sinter_program_state(program, number));
    if (bytes) {
      SINTER_RETURN_IF_ERROR(file.read(*entry, {bytes, entry->sizeBytes}));
      continue;
    }
    copy.resize(entry->sizeBytes);
    SINTER_RETURN_IF_ERROR(file.read(*entry, copy));
    if (sinter_status code =
            sinter_program_write_state(program, number, copy.data()))
      return Status(code, sinter_last_error());
  }
  return {};
}

/// Whether `file` has all weights of the program, in their shapes.
bool StateTable::hasWeights(const TensorFile &file) const {
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i) || !isWeight(i))
      continue;
    const TensorFile::Entry *entry = file.find(names_[i]);
    if (!entry || !mismatch(i, *entry).empty())
      return false;
  }
  return true;
}

Status StateTable::load(const TensorFile &file, sinter_program *program) const {
  std::vector<std::string> different = differences(file);
  if (!different.empty())
    return Status::invalid(file.path() +
                           (hasWeights(file)
                                ? ": was written by another recipe (optimizer, "
                                  "precision, averaging): "
                                : ": belongs to another model: ") +
                           listText(different));
  Chosen chosen;
  for (size_t i = 0; i < size(); ++i)
    if (isKept(i))
      chosen.emplace_back(i, file.find(names_[i]));
  return write(file, chosen, program);
}

Result<std::vector<std::string>>
StateTable::loadWeights(const TensorFile &file, sinter_program *program) const {
  std::unordered_map<std::string, const TensorFile::Entry *> entries;
  for (const TensorFile::Entry &entry : file.entries())
    entries[entry.name] = &entry;
  Chosen chosen;
  std::vector<std::string> different, missing;
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
    auto found = entries.find(names_[i]);
    std::string text = found == entries.end()
                           ? "\"" + names_[i] + "\" is missing in the file"
                           : mismatch(i, *found->second);
    if (text.empty())
      chosen.emplace_back(i, found->second);
    else
      (isWeight(i) ? different : missing)
          .push_back(isWeight(i) ? text : names_[i]);
  }
  if (!different.empty())
    return Status::invalid(
        file.path() + ": belongs to another model: " + listText(different));
  addAverages(chosen);
  SINTER_RETURN_IF_ERROR(write(file, chosen, program));
  return missing;
}

namespace {

/// Whether any optimizer could have a slot of that name: "m/fc.weight" if the
/// table has a parameter "fc.weight", or the counter "t/t".
bool isSlotName(const std::string &name,
                const std::unordered_set<std::string> &weights) {
  size_t slash = name.find('/');
  if (slash == std::string::npos)
    return false;
  std::string owner = name.substr(slash + 1);
  return weights.count(owner) || name.substr(0, slash) == owner;
}

} // namespace

Result<StateTable::InitReport>
StateTable::init(const TensorFile &file, sinter_program *program,
                 const InitOptions &options) const {
  InitReport report;
  std::unordered_map<std::string, size_t> indices; // of all names of states
  std::unordered_set<std::string> weights;
  for (size_t i = 0; i < size(); ++i) {
    if (!isKept(i))
      continue;
    indices.emplace(names_[i], i);
    if (isWeight(i))
      weights.insert(names_[i]);
    for (const std::string &alias : aliases(i)) {
      indices.emplace(alias, i);
      weights.insert(alias);
    }
  }
  std::unordered_map<size_t, const TensorFile::Entry *> taken;
  std::unordered_map<std::string, std::string> mapped;
  Chosen chosen;
  std::vector<std::string> different;
  for (const TensorFile::Entry &entry : file.entries()) {
    std::string name = options.rename ? options.rename(entry.name) : entry.name;
    if (auto [first, isNew] = mapped.emplace(name, entry.name); !isNew)
      return Status::invalid(file.path() + ": \"" + first->second +
                             "\" and \"" + entry.name + "\" both become \"" +
                             name + "\"");
    auto found = indices.find(name);
    const bool isSlot = found != indices.end() ? !isWeight(found->second)
                                               : isSlotName(name, weights);
    if (isSlot && !options.slots) {
      ++report.numSlots;
      report.hasAverages |= name.starts_with(SINTER_SLOT_EMA "/");
      continue;
    }
    if (found == indices.end()) {
      report.extra.push_back(entry.name);
      continue;
    }
    if (options.skips &&
        (options.skips(names_[found->second]) || options.skips(name)))
      continue;
    std::string text = mismatch(found->second, entry);
    auto [first, isNew] = taken.emplace(found->second, &entry);
    if (text.empty() && !isNew) {
      std::vector<uint8_t> one(entry.sizeBytes), two(entry.sizeBytes);
      SINTER_RETURN_IF_ERROR(file.read(*first->second, one));
      SINTER_RETURN_IF_ERROR(file.read(entry, two));
      if (one != two)
        text = "\"" + first->second->name + "\" and \"" + entry.name +
               "\" are one tensor in the program but differ in the file";
    } else if (text.empty()) {
      chosen.emplace_back(found->second, &entry);
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
  report.numLoaded = chosen.size();
  addAverages(chosen);
  SINTER_RETURN_IF_ERROR(write(file, chosen, program));
  for (size_t i = 0; i < size(); ++i)
    if (isWeight(i) && !taken.count(i) &&
        !(options.skips && options.skips(names_[i])))
      report.missing.push_back(names_[i]);
  return report;
}
