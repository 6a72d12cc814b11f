//===- Manifest.cpp - what a checkpoint says about itself -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Manifest.h"

#include "runtime/base/Hash.h"
#include "runtime/base/NumberText.h"
#include "runtime/train/SafetensorsHeader.h"

#include <charconv>
#include <nlohmann/json.hpp>

using namespace sinter::rt;

namespace {

using Json = nlohmann::ordered_json;

// The last member, on a line of its own; its checksum covers all before it.
const char hashKey[] = "  \"xxh3\": \"";

/// Reads members of one object and remembers the first that is missing or
/// wrong.
class Reader {
public:
  explicit Reader(const Json &object) : object_(object) {}

  int64_t integer(const char *key) {
    auto found = object_.find(key);
    if (found == object_.end() || !found->is_number_integer())
      return missing(key), 0;
    // A number above INT64_MAX would come out negative.
    int64_t value = found->get<int64_t>();
    if (found->is_number_unsigned() && value < 0)
      return missing(key), 0;
    return value;
  }
  int64_t count(const char *key) {
    int64_t value = integer(key);
    if (value < 0)
      missing(key);
    return value;
  }
  bool boolean(const char *key) {
    auto found = object_.find(key);
    if (found == object_.end() || !found->is_boolean())
      return missing(key), false;
    return found->get<bool>();
  }
  std::string text(const char *key) {
    auto found = object_.find(key);
    if (found == object_.end() || !found->is_string())
      return missing(key), "";
    return found->get<std::string>();
  }
  uint64_t hash(const char *key) {
    std::string hex = text(key);
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    if (error != std::errc() || end != hex.data() + hex.size())
      missing(key);
    return value;
  }
  Manifest::Texts texts(const char *key) {
    Manifest::Texts result;
    if (const Json *object = member(key))
      for (const auto &[name, value] : object->items()) {
        if (!value.is_string())
          return missing(key), result;
        result.emplace_back(name, value.get<std::string>());
      }
    return result;
  }
  std::vector<std::string> list(const char *key) {
    std::vector<std::string> result;
    if (const Json *array = member(key))
      for (const Json &value : *array) {
        if (!value.is_string())
          return missing(key), result;
        result.push_back(value.get<std::string>());
      }
    return result;
  }
  std::vector<int64_t> counts(const char *key) {
    std::vector<int64_t> result;
    if (const Json *array = member(key))
      for (const Json &value : *array) {
        if (!value.is_number_unsigned() || value.get<int64_t>() < 0)
          return missing(key), result;
        result.push_back(value.get<int64_t>());
      }
    return result;
  }
  const Json *member(const char *key) {
    auto found = object_.find(key);
    if (found == object_.end() || !found->is_structured())
      return missing(key), nullptr;
    return &*found;
  }
  Status status() const { return status_; }

private:
  void missing(const char *key) {
    if (status_.ok())
      status_ = Status::invalid(std::string("its field \"") + key +
                                "\" is missing or wrong");
  }
  const Json &object_;
  Status status_;
};

/// Checks the checksum in the last line against the text before it.
Status checkHash(const std::string &text) {
  size_t at = text.rfind(hashKey);
  Status damaged = Status::invalid("is damaged (its checksum does not match)");
  size_t digits = sizeof(hashKey) - 1;
  if (at == std::string::npos || text.size() < at + digits + 16)
    return damaged;
  std::string expected = toHex(hash64(std::string_view(text).substr(0, at)));
  if (text.compare(at + digits, 16, expected) != 0 ||
      text.substr(at + digits + 16) != "\"\n}\n")
    return damaged;
  return {};
}

//===----------------------------------------------------------------------===//
// Text. The library's trees are not used for it: destroying them takes memory,
// and without it the process would end.
//===----------------------------------------------------------------------===//

std::string member(const std::string &key, const std::string &value) {
  return jsonText(key) + ": " + value;
}

/// "{...}" or "[...]" with one item in each line.
std::string block(const char *brackets, const std::vector<std::string> &items,
                  size_t indent = 2) {
  std::string text(1, brackets[0]);
  for (const std::string &item : items)
    text +=
        (text.size() == 1 ? "\n" : ",\n") + std::string(indent + 2, ' ') + item;
  if (!items.empty())
    text += "\n" + std::string(indent, ' ');
  return text + brackets[1];
}

std::string textsBlock(const Manifest::Texts &texts) {
  std::vector<std::string> items;
  for (const auto &[name, value] : texts)
    items.push_back(member(name, jsonText(value)));
  return block("{}", items);
}

std::string partFileBlock(const Manifest::PartFile &file) {
  std::vector<std::string> parts;
  for (const Manifest::PartOfState &part : file.parts) {
    std::string dims;
    for (int64_t size : part.dims)
      dims += (dims.empty() ? "" : ", ") + std::to_string(size);
    parts.push_back(block("{}",
                          {member("name", jsonText(part.name)),
                           member("dims", "[" + dims + "]"),
                           member("first", std::to_string(part.firstElement)),
                           member("elements", std::to_string(part.elements)),
                           member("xxh3", jsonText(toHex(part.hash)))},
                          8));
  }
  return block("{}",
               {member("file", jsonText(file.name)),
                member("bytes", std::to_string(file.bytes)),
                member("parts", block("[]", parts, 6))},
               4);
}

Result<Manifest::PartFile> readPartFile(const Json &json) {
  Reader reader(json);
  Manifest::PartFile file;
  file.name = reader.text("file");
  file.bytes = static_cast<uint64_t>(reader.count("bytes"));
  // It names a file of the directory, nothing else.
  if (file.name.empty() || file.name.find('/') != std::string::npos)
    return Status::invalid("its field \"file\" is missing or wrong");
  if (const Json *parts = reader.member("parts"))
    for (const Json &part : *parts) {
      Reader partReader(part);
      file.parts.push_back({partReader.text("name"), partReader.counts("dims"),
                            static_cast<uint64_t>(partReader.count("first")),
                            static_cast<uint64_t>(partReader.count("elements")),
                            partReader.hash("xxh3")});
      SINTER_RETURN_IF_ERROR(partReader.status());
    }
  SINTER_RETURN_IF_ERROR(reader.status());
  return file;
}

std::string listBlock(const std::vector<std::string> &list, size_t indent) {
  std::vector<std::string> items;
  for (const std::string &text : list)
    items.push_back(jsonText(text));
  return block("[]", items, indent);
}

} // namespace

std::string sinter::rt::manifestText(const Manifest &manifest) {
  std::vector<std::string> items;
  auto add = [&](const char *key, const std::string &value) {
    items.push_back(member(key, value));
  };
  auto flag = [](bool value) { return value ? "true" : "false"; };
  add("format",
      std::to_string(manifest.partFiles.empty() ? 2 : Manifest::formatVersion));
  add("model", jsonText(manifest.model));
  add("buildId", jsonText(manifest.buildId));
  add("step", std::to_string(manifest.step));
  add("epoch", std::to_string(manifest.epoch));
  add("batchInEpoch", std::to_string(manifest.batchInEpoch));
  add("batch", std::to_string(manifest.batch));
  add("rows", std::to_string(manifest.rows));
  add("seed", std::to_string(manifest.seed));
  add("shuffle", flag(manifest.shuffle));
  add("evaluated", flag(manifest.evaluated));
  add("totalSteps", std::to_string(manifest.totalSteps));
  if (manifest.loss)
    add("lastLoss", realText(*manifest.loss));
  const DatasetFingerprint &data = manifest.data;
  add("data",
      block("{}", {member("sizeBytes", std::to_string(data.sizeBytes)),
                   member("modifiedNs", std::to_string(data.modifiedNs)),
                   member("contentHash", jsonText(toHex(data.contentHash)))}));
  if (!manifest.header.features.empty())
    add("header",
        block("{}",
              {member("label", jsonText(manifest.header.label)),
               member("features", listBlock(manifest.header.features, 4))}));
  add("options", textsBlock(manifest.options));
  add("recipe", textsBlock(manifest.recipe));
  add("stateTable", jsonText(toHex(manifest.stateTableHash)));
  add("payloadBytes", std::to_string(manifest.payloadBytes));
  std::vector<std::string> tensors;
  for (const Manifest::Tensor &tensor : manifest.tensors)
    tensors.push_back(block("{}",
                            {member("name", jsonText(tensor.name)),
                             member("xxh3", jsonText(toHex(tensor.hash)))},
                            4));
  add("tensors", block("[]", tensors));
  std::vector<std::string> files;
  for (const Manifest::PartFile &file : manifest.partFiles)
    files.push_back(partFileBlock(file));
  if (!files.empty())
    add("partFiles", block("[]", files));
  std::string text = block("{}", items, 0);
  text.resize(text.size() - 2); // "\n}"
  text += ",\n";
  return text + hashKey + toHex(hash64(text)) + "\"\n}\n";
}

std::string sinter::rt::partFileText(const Manifest::PartFile &file) {
  return partFileBlock(file);
}

Result<Manifest::PartFile> sinter::rt::parsePartFile(const std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Status::invalid("is not a JSON object");
  return readPartFile(json);
}

Result<Manifest> sinter::rt::parseManifest(const std::string &text) {
  // The version is checked first: another format may have another checksum.
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Status::invalid("is damaged (not a JSON object)");
  Reader reader(json);
  int64_t version = reader.integer("format");
  if (version > Manifest::formatVersion)
    return Status::invalid("has the format version " + std::to_string(version) +
                           "; this program reads up to " +
                           std::to_string(Manifest::formatVersion));
  SINTER_RETURN_IF_ERROR(checkHash(text));
  Manifest manifest;
  manifest.model = reader.text("model");
  manifest.buildId = reader.text("buildId");
  manifest.step = reader.count("step");
  manifest.epoch = reader.count("epoch");
  manifest.batchInEpoch = reader.count("batchInEpoch");
  manifest.batch = reader.count("batch");
  manifest.rows = reader.count("rows");
  manifest.seed = reader.integer("seed");
  manifest.shuffle = reader.boolean("shuffle");
  manifest.evaluated = reader.boolean("evaluated");
  manifest.totalSteps = reader.count("totalSteps");
  if (auto loss = json.find("lastLoss");
      loss != json.end() && loss->is_number())
    manifest.loss = loss->get<float>();
  manifest.stateTableHash = reader.hash("stateTable");
  manifest.payloadBytes = static_cast<uint64_t>(reader.count("payloadBytes"));
  if (const Json *data = reader.member("data")) {
    Reader dataReader(*data);
    manifest.data.sizeBytes =
        static_cast<uint64_t>(dataReader.count("sizeBytes"));
    manifest.data.modifiedNs = dataReader.integer("modifiedNs");
    manifest.data.contentHash = dataReader.hash("contentHash");
    SINTER_RETURN_IF_ERROR(dataReader.status());
  }
  if (json.contains("header")) { // only for a table that has one
    if (const Json *header = reader.member("header")) {
      Reader headerReader(*header);
      manifest.header.label = headerReader.text("label");
      manifest.header.features = headerReader.list("features");
      SINTER_RETURN_IF_ERROR(headerReader.status());
    }
  }
  if (version > 1) {
    manifest.options = reader.texts("options");
    manifest.recipe = reader.texts("recipe");
  } else {
    manifest.options = {{"seed", std::to_string(manifest.seed)},
                        {"shuffle", manifest.shuffle ? "true" : "false"},
                        {"steps", std::to_string(manifest.totalSteps)}};
  }
  if (const Json *tensors = reader.member("tensors"))
    for (const Json &tensor : *tensors) {
      Reader tensorReader(tensor);
      manifest.tensors.push_back(
          {tensorReader.text("name"), tensorReader.hash("xxh3")});
      SINTER_RETURN_IF_ERROR(tensorReader.status());
    }
  if (version > 2)
    if (const Json *files = reader.member("partFiles"))
      for (const Json &file : *files) {
        Result<Manifest::PartFile> part = readPartFile(file);
        if (!part.ok())
          return part.status();
        manifest.partFiles.push_back(std::move(*part));
      }
  SINTER_RETURN_IF_ERROR(reader.status());
  return manifest;
}
