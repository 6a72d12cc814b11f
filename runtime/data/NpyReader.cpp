//===- NpyReader.cpp - NumPy's .npy files ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Format: "\x93NUMPY", major, minor, header length (16 bits in version 1, 32
// after it), then a Python dict literal with exactly the keys descr,
// fortran_order and shape. The literal is parsed by the small grammar below;
// whatever else NumPy could evaluate there is refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/data/Readers.h"

#include <algorithm>
#include <charconv>
#include <string_view>

using namespace sinter::rt;

namespace {

/// A cursor over the dict literal.
class Literal {
public:
  explicit Literal(std::string_view text) : text_(text) {}

  void skipSpace() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' ||
                              text_.front() == '\t' || text_.front() == '\r'))
      text_.remove_prefix(1);
  }
  bool take(char c) {
    skipSpace();
    if (text_.empty() || text_.front() != c)
      return false;
    text_.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!text_.starts_with(word))
      return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool startsList() {
    skipSpace();
    return text_.starts_with("[");
  }
  /// A string in single or double quotes, without escapes.
  std::optional<std::string_view> string() {
    skipSpace();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"'))
      return std::nullopt;
    size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<int64_t> integer() {
    skipSpace();
    int64_t value = 0;
    auto [end, error] =
        std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0)
      return std::nullopt;
    text_.remove_prefix(end - text_.data());
    return value;
  }
  bool atEnd() {
    skipSpace();
    return text_.empty();
  }

private:
  std::string_view text_;
};

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// "(3, 4)", "(3,)" or "()".
bool parseShape(Literal &literal, std::vector<int64_t> &shape) {
  if (!literal.take('('))
    return false;
  while (!literal.take(')')) {
    std::optional<int64_t> dim = literal.integer();
    if (!dim || shape.size() == SINTER_MAX_RANK)
      return false;
    shape.push_back(*dim);
    if (!literal.take(','))
      return literal.take(')');
  }
  return true;
}

Status parseDict(const std::string &origin, std::string_view text,
                 Header &header) {
  Status malformed = Status::invalid(
      origin + ": its .npy header is not what NumPy writes for a plain array");
  Literal literal(text);
  bool seenDescr = false, seenOrder = false, seenShape = false;
  if (!literal.take('{'))
    return malformed;
  while (!literal.take('}')) {
    std::optional<std::string_view> key = literal.string();
    if (!key || !literal.take(':'))
      return malformed;
    if (*key == "descr" && !seenDescr) {
      seenDescr = true;
      if (literal.startsList())
        return Status::invalid(origin + ": is a structured array; save each "
                                        "field as an array of its own");
      std::optional<std::string_view> descr = literal.string();
      if (!descr)
        return malformed;
      header.descr = *descr;
    } else if (*key == "fortran_order" && !seenOrder) {
      seenOrder = true;
      header.fortranOrder = literal.takeWord("True");
      if (!header.fortranOrder && !literal.takeWord("False"))
        return malformed;
    } else if (*key == "shape" && !seenShape) {
      seenShape = true;
      if (!parseShape(literal, header.shape))
        return malformed;
    } else {
      return malformed;
    }
    if (!literal.take(',')) {
      if (!literal.take('}'))
        return malformed;
      break;
    }
  }
  if (!seenDescr || !seenOrder || !seenShape || !literal.atEnd())
    return malformed;
  return {};
}

/// "<f4" and the like.
Status parseDescr(const std::string &origin, const std::string &descr,
                  Column &column) {
  struct Known {
    const char *code;
    sinter_dtype dtype;
  };
  static constexpr Known known[] = {
      {"b1", SINTER_BOOL}, {"u1", SINTER_U8},  {"i1", SINTER_I8},
      {"u2", SINTER_U16},  {"i2", SINTER_I16}, {"u4", SINTER_U32},
      {"i4", SINTER_I32},  {"u8", SINTER_U64}, {"i8", SINTER_I64},
      {"f2", SINTER_F16},  {"f4", SINTER_F32}, {"f8", SINTER_F64},
  };
  if (descr.find('O') != std::string::npos)
    return Status::invalid(origin + ": holds Python objects (dtype object), "
                                    "which only Python can read; save numbers");
  if (descr.size() == 3)
    for (const Known &type : known)
      if (descr.compare(1, 2, type.code) == 0) {
        char order = descr[0];
        bool single = elementBytes(type.dtype) == 1;
        if (order != '<' && order != '>' && !(order == '|' && single))
          break;
        column.dtype = type.dtype;
        column.bigEndian = order == '>';
        return {};
      }
  return Status::invalid(origin + ": its dtype \"" + descr.substr(0, 32) +
                         "\" is not supported (bool, integers and floats are)");
}

} // namespace

Status sinter::rt::parseNpyHeader(const std::string &origin,
                                  std::span<const uint8_t> head,
                                  uint64_t sizeBytes, Column &column) {
  constexpr uint64_t maxHeaderBytes = 64 << 10; // NumPy itself stops at 10000
  static constexpr uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (head.size() < 10 || !std::equal(magic, magic + 6, head.begin())) {
    // The first byte of a pickle that np.load(allow_pickle=True) would run.
    bool pickle = !head.empty() && head[0] == 0x80;
    return Status::invalid(origin +
                           (pickle ? ": is a Python pickle, not an .npy file"
                                   : ": is not an .npy file"));
  }
  uint8_t major = head[6];
  if (major < 1 || major > 3)
    return Status::invalid(origin + ": .npy version " + std::to_string(major) +
                           " is unknown");
  uint64_t start = major == 1 ? 10 : 12;
  uint64_t length = head[8] | uint64_t(head[9]) << 8;
  if (major > 1 && head.size() >= 12)
    length |= uint64_t(head[10]) << 16 | uint64_t(head[11]) << 24;
  if (length > maxHeaderBytes)
    return Status::invalid(origin + ": its .npy header of " +
                           std::to_string(length) + " bytes is too large");
  if (head.size() < start + length)
    return Status::invalid(origin + ": ends inside its .npy header");
  Header header;
  std::string_view text(reinterpret_cast<const char *>(head.data()) + start,
                        length);
  SINTER_RETURN_IF_ERROR(parseDict(origin, text, header));
  SINTER_RETURN_IF_ERROR(parseDescr(origin, header.descr, column));
  if (header.fortranOrder && header.shape.size() > 1)
    return Status::invalid(origin +
                           ": is stored in Fortran order; save it with "
                           "np.ascontiguousarray()");
  column.isScalar = header.shape.empty();
  column.rows = 1;
  if (!column.isScalar) {
    column.rows = header.shape.front();
    column.rowDims.assign(header.shape.begin() + 1, header.shape.end());
  }
  column.offsetBytes = start + length;
  std::optional<uint64_t> dataBytes = tensorBytes(header.shape, column.dtype);
  if (!dataBytes || !tensorBytes(column.rowDims, column.dtype) ||
      sizeBytes - column.offsetBytes != *dataBytes)
    return Status::invalid(
        origin + ": has " + std::to_string(sizeBytes - column.offsetBytes) +
        " bytes of data, which does not fit its shape " +
        shapeText(header.shape) + " of " + elementTypeName(column.dtype));
  return {};
}

Status sinter::rt::readNpyDirectory(const std::string &directory,
                                    Dataset &dataset) {
  Result<std::vector<std::string>> names = listFiles(directory);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names) {
    if (!name.ends_with(".npy"))
      continue;
    std::string path = directory + "/" + name;
    Result<std::shared_ptr<InputFile>> file = InputFile::open(path);
    if (!file.ok())
      return file.status();
    uint64_t sizeBytes = (*file)->sizeBytes();
    std::vector<uint8_t> head(std::min<uint64_t>(sizeBytes, 66 << 10));
    SINTER_RETURN_IF_ERROR((*file)->read(0, head));
    Column column;
    column.name = name.substr(0, name.size() - 4);
    column.origin = path;
    SINTER_RETURN_IF_ERROR(parseNpyHeader(path, head, sizeBytes, column));
    column.bytes = std::make_shared<FileBytes>(*file, 0, sizeBytes);
    dataset.files.push_back(std::move(*file));
    dataset.columns.push_back(std::move(column));
  }
  if (dataset.columns.empty())
    return Status::invalid(directory + ": no .npy files in it");
  return {};
}
