//===- OnnxTensors.cpp - the initializers of an ONNX model ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Decodes only the names, types, shapes and bytes of initializers, straight
// from the protocol buffer's wire format:
//
//   ModelProto { 7: GraphProto { 5: TensorProto { 1: dims, 2: data_type,
//     4 float_data, 5 int32_data, 7 int64_data, 10 double_data, 8: name,
//     9: raw_data, 13: external_data { 1: key, 2: value }, 14: data_location
//
// Lengths are checked against what is left of the message; external data must
// be in the model's folder.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/data/ByteSource.h"
#include "runtime/train/TensorFile.h"

#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

using namespace sinter::rt;

namespace {

using Bytes = std::span<const uint8_t>;

/// Walks over the fields of one message.
class Wire {
public:
  explicit Wire(Bytes bytes) : rest_(bytes) {}

  /// The next field; false at the end, or when the message is damaged.
  bool next() {
    if (rest_.empty())
      return false;
    uint64_t key = 0;
    if (!varint(key) || key >> 3 == 0)
      return fail();
    field = key >> 3;
    type = key & 7;
    switch (type) {
    case 0:
      return varint(value) || fail();
    case 1:
      return take(8) || fail();
    case 2: {
      uint64_t length = 0;
      return (varint(length) && take(length)) || fail();
    }
    case 5:
      return take(4) || fail();
    default:
      return fail();
    }
  }
  bool isDamaged() const { return isDamaged_; }

  uint64_t field = 0, type = 0;
  uint64_t value = 0; // of a varint
  Bytes bytes;        // of the others
  std::string text() const { return {bytes.begin(), bytes.end()}; }

  bool varint(uint64_t &result) {
    result = 0;
    for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      result |= shift < 64 ? uint64_t(byte & 0x7f) << shift : 0;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }
  bool isAtEnd() const { return rest_.empty(); }

private:
  bool take(uint64_t length) {
    if (length > rest_.size())
      return false;
    bytes = rest_.first(length);
    rest_ = rest_.subspan(length);
    return true;
  }
  bool fail() {
    isDamaged_ = true;
    return false;
  }
  Bytes rest_;
  bool isDamaged_ = false;
};

/// TensorProto.DataType; nothing for strings, complex numbers and types smaller
/// than a byte.
std::optional<sinter_dtype> dtypeOf(uint64_t type) {
  switch (type) {
  case 1:
    return SINTER_F32;
  case 2:
    return SINTER_U8;
  case 3:
    return SINTER_I8;
  case 4:
    return SINTER_U16;
  case 5:
    return SINTER_I16;
  case 6:
    return SINTER_I32;
  case 7:
    return SINTER_I64;
  case 9:
    return SINTER_BOOL;
  case 10:
    return SINTER_F16;
  case 11:
    return SINTER_F64;
  case 12:
    return SINTER_U32;
  case 13:
    return SINTER_U64;
  case 16:
    return SINTER_BF16;
  }
  return std::nullopt;
}

class OnnxTensors final : public TensorFile {
public:
  Status open(const std::string &path) {
    path_ = path;
    Result<std::vector<uint8_t>> bytes = readFile(path);
    if (!bytes.ok())
      return bytes.status();
    Wire model(*bytes);
    while (model.next())
      if (model.field == 7 && model.type == 2) {
        Wire graph(model.bytes);
        while (graph.next())
          if (graph.field == 5 && graph.type == 2)
            SINTER_RETURN_IF_ERROR(addTensor(graph.bytes));
        if (graph.isDamaged())
          return damaged();
      }
    return model.isDamaged() ? damaged() : Status();
  }
  const std::string &path() const override { return path_; }

  Status read(const Entry &entry, std::span<uint8_t> out) const override {
    const Data &data = data_.at(entry.name);
    if (data.file)
      return data.file->read(entry.offsetBytes, out);
    std::memcpy(out.data(), data.bytes.data(), out.size());
    return {};
  }

private:
  struct Data {
    std::vector<uint8_t> bytes; // or, for external data:
    std::shared_ptr<InputFile> file;
  };

  Status damaged() const {
    return Status::invalid(path_ + ": is not an ONNX model, or it is damaged");
  }

  /// Appends the packed or single numbers of a typed field, each narrowed to
  /// `size` bytes.
  static bool addNumbers(const Wire &field, size_t size,
                         std::vector<uint8_t> &out) {
    auto add = [&](uint64_t value) {
      for (size_t i = 0; i < size; ++i)
        out.push_back(static_cast<uint8_t>(value >> (8 * i)));
    };
    if (field.type == 0) {
      add(field.value);
      return true;
    }
    if (field.field == 4 || field.field == 10) { // fixed width
      out.insert(out.end(), field.bytes.begin(), field.bytes.end());
      return true;
    }
    Wire numbers(field.bytes);
    for (uint64_t value = 0; !numbers.isAtEnd(); add(value))
      if (!numbers.varint(value))
        return false;
    return true;
  }

  Status addTensor(Bytes message) {
    Entry entry;
    Data data;
    uint64_t type = 0;
    bool isExternal = false;
    std::map<std::string, std::string> external;
    std::vector<Wire> typed;
    for (Wire tensor(message);;) {
      if (!tensor.next()) {
        if (tensor.isDamaged())
          return damaged();
        break;
      }
      switch (tensor.field) {
      case 1:
        if (tensor.type == 0) {
          entry.dims.push_back(static_cast<int64_t>(tensor.value));
        } else if (tensor.type == 2) {
          Wire dims(tensor.bytes);
          for (uint64_t dim = 0; !dims.isAtEnd();
               entry.dims.push_back(static_cast<int64_t>(dim)))
            if (!dims.varint(dim))
              return damaged();
        }
        break;
      case 2:
        type = tensor.value;
        break;
      case 4:
      case 5:
      case 7:
      case 10:
      case 11:
        typed.push_back(tensor);
        break;
      case 8:
        entry.name = tensor.text();
        break;
      case 9:
        data.bytes.assign(tensor.bytes.begin(), tensor.bytes.end());
        break;
      case 13: {
        std::string key, value;
        Wire pair(tensor.bytes);
        while (pair.next())
          (pair.field == 1 ? key : value) = pair.text();
        external[key] = value;
        break;
      }
      case 14:
        isExternal = tensor.value == 1;
        break;
      }
    }
    std::optional<sinter_dtype> dtype = dtypeOf(type);
    if (!dtype)
      return {}; // no state has such a type
    entry.dtype = *dtype;
    for (const Wire &field : typed)
      if (!addNumbers(field, elementBytes(*dtype), data.bytes))
        return damaged();
    for (int64_t dim : entry.dims)
      if (dim < 0)
        return damaged();
    std::optional<uint64_t> size = tensorBytes(entry.dims, entry.dtype);
    if (!size)
      return damaged();
    entry.sizeBytes = *size;
    if (isExternal)
      SINTER_RETURN_IF_ERROR(openExternal(external, entry, data));
    else if (data.bytes.size() != *size)
      return Status::invalid(path_ + ": initializer \"" + entry.name +
                             "\" has " + std::to_string(data.bytes.size()) +
                             " bytes, which does not fit its shape " +
                             shapeText(entry.dims) + " of " +
                             elementTypeName(entry.dtype));
    if (!data_.emplace(entry.name, std::move(data)).second)
      return Status::invalid(path_ + ": initializer \"" + entry.name +
                             "\" appears twice");
    entries_.push_back(std::move(entry));
    return {};
  }

  Status openExternal(std::map<std::string, std::string> &external,
                      Entry &entry, Data &data) {
    const std::string &location = external["location"];
    auto wrong = [&](const char *what) {
      return Status::invalid(path_ + ": external data of \"" + entry.name +
                             "\" " + what);
    };
    if (location.empty() || location == "." || location == ".." ||
        location.find_first_of(std::string_view("/\\\0", 3)) !=
            std::string::npos)
      return wrong("is not in a file beside the model");
    auto number = [](const std::string &text, uint64_t &value) {
      if (text.empty())
        return true;
      auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size();
    };
    uint64_t offset = 0, length = entry.sizeBytes;
    if (!number(external["offset"], offset) ||
        !number(external["length"], length) || length != entry.sizeBytes)
      return wrong("does not have the size that its shape needs");
    std::shared_ptr<InputFile> &file = files_[location];
    if (!file) {
      Result<std::shared_ptr<InputFile>> opened =
          InputFile::open(parentDirectory(path_) + "/" + location);
      if (!opened.ok())
        return opened.status();
      file = *opened;
    }
    if (offset > file->sizeBytes() || length > file->sizeBytes() - offset)
      return wrong("lies outside its file");
    entry.offsetBytes = offset;
    data.file = file;
    return {};
  }

  std::string path_;
  std::map<std::string, Data> data_;
  std::map<std::string, std::shared_ptr<InputFile>> files_;
};

} // namespace

Result<std::unique_ptr<TensorFile>>
sinter::rt::openOnnxTensors(const std::string &path) {
  auto file = std::make_unique<OnnxTensors>();
  SINTER_RETURN_IF_ERROR(file->open(path));
  return std::unique_ptr<TensorFile>(std::move(file));
}
