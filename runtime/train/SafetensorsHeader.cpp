//===- SafetensorsHeader.cpp - the JSON header of a safetensors file ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The header is read event by event, so that one of many megabytes needs no
// tree and duplicate keys and unexpected nesting are detected.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/SafetensorsHeader.h"

#include "runtime/base/Hash.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

using namespace sinter::rt;

namespace {

using Json = nlohmann::json;

/// Accepts {NAME: {dtype, shape, data_offsets}, .., "__metadata__": {KEY:
/// TEXT}}.
class HeaderReader final : public nlohmann::json_sax<Json> {
public:
  std::vector<SafetensorsFile::Entry> entries;
  std::unordered_map<std::string, std::string> metadata;
  std::string error;

  bool start_object(std::size_t) override {
    if (level_ == Level::Start)
      level_ = Level::Top;
    else if (level_ == Level::Top && name_ == "__metadata__")
      level_ = Level::Metadata;
    else if (level_ == Level::Top)
      level_ = Level::Tensor;
    else
      return fail("is nested where a value is expected");
    return true;
  }
  bool key(string_t &text) override {
    if (level_ == Level::Top)
      return beginTensor(text);
    if (level_ == Level::Tensor) {
      field_ = text == "dtype"          ? Field::Type
               : text == "shape"        ? Field::Shape
               : text == "data_offsets" ? Field::Offsets
                                        : Field::None;
      if (field_ == Field::None)
        return fail("has the unknown field \"" + text.substr(0, 64) + "\"");
      if (seen_ & bit(field_))
        return fail("has its " + text + " twice");
      seen_ |= bit(field_);
      return true;
    }
    metadataKey_ = text;
    return true;
  }
  bool string(string_t &text) override {
    if (level_ == Level::Metadata) {
      metadata[metadataKey_] = text;
      return true;
    }
    if (level_ != Level::Tensor || field_ != Field::Type)
      return fail("has text where it does not belong");
    std::optional<sinter_dtype> dtype = safetensorsType(text);
    if (!dtype)
      return fail("has the dtype \"" + text.substr(0, 64) +
                  "\", which is not supported");
    entries.back().dtype = *dtype;
    return true;
  }
  bool start_array(std::size_t) override {
    if (level_ != Level::Tensor ||
        (field_ != Field::Shape && field_ != Field::Offsets))
      return fail("has a list where it does not belong");
    level_ = Level::List;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != Level::List || value > uint64_t(INT64_MAX))
      return fail("has a number that is out of place or too large");
    if (field_ == Field::Offsets) {
      if (numOffsets_ == 2)
        return fail("has more than two offsets");
      offsets_[numOffsets_++] = value;
      return true;
    }
    if (entries.back().dims.size() == SINTER_MAX_RANK)
      return fail("has a rank above 32");
    entries.back().dims.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool end_array() override {
    level_ = Level::Tensor;
    return true;
  }
  bool end_object() override {
    if (level_ == Level::Tensor) {
      level_ = Level::Top;
      return endTensor();
    }
    level_ = level_ == Level::Metadata ? Level::Top : Level::End;
    name_.clear();
    return true;
  }
  bool number_integer(number_integer_t) override {
    return fail("has a negative number");
  }
  bool number_float(number_float_t, const string_t &) override {
    return fail("has a number that is not whole");
  }
  bool null() override { return fail("has a null"); }
  bool boolean(bool) override { return fail("has a boolean"); }
  bool binary(binary_t &) override { return fail("has binary data"); }
  bool parse_error(std::size_t position, const std::string &,
                   const Json::exception &) override {
    name_.clear();
    return fail("is not valid JSON at byte " + std::to_string(position));
  }

private:
  enum class Level { Start, Top, Tensor, List, Metadata, End };
  enum class Field { None, Type, Shape, Offsets };
  static unsigned bit(Field field) {
    return 1u << static_cast<unsigned>(field);
  }

  bool beginTensor(const std::string &name) {
    name_ = name;
    if (!names_.insert(name).second)
      return fail("appears twice");
    if (name == "__metadata__")
      return true;
    entries.emplace_back().name = name;
    seen_ = 0;
    numOffsets_ = 0;
    field_ = Field::None;
    return true;
  }
  bool endTensor() {
    if (seen_ != (bit(Field::Type) | bit(Field::Shape) | bit(Field::Offsets)) ||
        numOffsets_ != 2)
      return fail("lacks dtype, shape or two data_offsets");
    if (offsets_[0] > offsets_[1])
      return fail("has data_offsets in the wrong order");
    SafetensorsFile::Entry &entry = entries.back();
    entry.offsetBytes = offsets_[0];
    entry.sizeBytes = offsets_[1] - offsets_[0];
    return true;
  }
  bool fail(const std::string &what) {
    if (error.empty())
      error = (name_.empty() ? "its header "
                             : "tensor \"" + name_.substr(0, 128) + "\" ") +
              what;
    return false;
  }

  Level level_ = Level::Start;
  Field field_ = Field::None;
  unsigned seen_ = 0;
  std::string name_, metadataKey_;
  std::unordered_set<std::string> names_;
  uint64_t offsets_[2] = {0, 0};
  int numOffsets_ = 0;
};

} // namespace

Result<std::vector<SafetensorsFile::Entry>>
sinter::rt::parseSafetensorsHeader(std::string_view json) {
  HeaderReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader) ||
      !reader.error.empty())
    return Status::invalid(reader.error.empty() ? "its header is not valid JSON"
                                                : reader.error);
  for (SafetensorsFile::Entry &entry : reader.entries) {
    auto found = reader.metadata.find("xxh3:" + entry.name);
    if (found == reader.metadata.end())
      continue;
    const std::string &hex = found->second;
    auto [end, error] =
        std::from_chars(hex.data(), hex.data() + hex.size(), entry.hash, 16);
    if (error != std::errc() || end != hex.data() + hex.size())
      return Status::invalid("the checksum of tensor \"" + entry.name +
                             "\" is not a hexadecimal number");
    entry.hasHash = true;
  }
  return std::move(reader.entries);
}

std::string sinter::rt::jsonText(const std::string &text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string
sinter::rt::safetensorsHeader(std::span<const NamedTensor> tensors) {
  // Written without the library's trees: destroying them takes memory, and
  // without it the process would end.
  std::string text = "{\"__metadata__\":{\"format\":\"sinter\"";
  for (const NamedTensor &tensor : tensors)
    text += "," + jsonText("xxh3:" + tensor.name) + ":" +
            jsonText(toHex(hash64(tensor.bytes)));
  text += "}";
  uint64_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    text += "," + jsonText(tensor.name) +
            ":{\"dtype\":" + jsonText(safetensorsTypeName(tensor.dtype)) +
            ",\"shape\":[";
    for (size_t i = 0; i < tensor.dims.size(); ++i)
      text += (i ? "," : "") + std::to_string(tensor.dims[i]);
    text += "],\"data_offsets\":[" + std::to_string(offset);
    offset += tensor.bytes.size();
    text += "," + std::to_string(offset) + "]}";
  }
  return text + "}";
}
