//===- NpyHeader.cpp - the header of NumPy's .npy files -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Format: "\x93NUMPY", major, minor, header length (16 bits in version 1, 32
// after it), then a Python dict literal with exactly the keys descr,
// fortran_order and shape. The literal is parsed by the small grammar below;
// whatever else NumPy could evaluate there is refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/NpyHeader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

using namespace sinter::rt;

namespace {

constexpr uint8_t npyMagic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

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

struct KnownType {
  const char *code; // without the byte order
  sinter_dtype dtype;
};
constexpr KnownType knownTypes[] = {
    {"b1", SINTER_BOOL}, {"u1", SINTER_U8},   {"i1", SINTER_I8},
    {"u2", SINTER_U16},  {"i2", SINTER_I16},  {"u4", SINTER_U32},
    {"i4", SINTER_I32},  {"u8", SINTER_U64},  {"i8", SINTER_I64},
    {"f2", SINTER_F16},  {"V2", SINTER_BF16}, {"f4", SINTER_F32},
    {"f8", SINTER_F64},
};

/// Types without a byte order, which NumPy marks by '|'.
bool hasNoOrder(const KnownType &type) {
  return elementBytes(type.dtype) == 1 || type.code[0] == 'V';
}

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
                 std::string &descr, NpyHeader &header) {
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
      std::optional<std::string_view> word = literal.string();
      if (!word)
        return malformed;
      descr = *word;
    } else if (*key == "fortran_order" && !seenOrder) {
      seenOrder = true;
      header.isColumnMajor = literal.takeWord("True");
      if (!header.isColumnMajor && !literal.takeWord("False"))
        return malformed;
    } else if (*key == "shape" && !seenShape) {
      seenShape = true;
      if (!parseShape(literal, header.dims))
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
                  NpyHeader &header) {
  if (descr.find('O') != std::string::npos)
    return Status::invalid(origin + ": holds Python objects (dtype object), "
                                    "which only Python can read; save numbers");
  if (descr.size() == 3)
    for (const KnownType &type : knownTypes)
      if (descr.compare(1, 2, type.code) == 0) {
        char order = descr[0];
        if (order != '<' && order != '>' && !(order == '|' && hasNoOrder(type)))
          break;
        header.dtype = type.dtype;
        header.isBigEndian = order == '>';
        return {};
      }
  return Status::invalid(origin + ": its dtype \"" + descr.substr(0, 32) +
                         "\" is not supported (bool, integers and floats are)");
}

} // namespace

Result<NpyHeader> sinter::rt::parseNpyHeader(const std::string &origin,
                                             std::span<const uint8_t> head,
                                             uint64_t sizeBytes) {
  constexpr uint64_t maxHeaderBytes = 64 << 10; // NumPy itself stops at 10000
  if (head.size() < 10 ||
      !std::equal(std::begin(npyMagic), std::end(npyMagic), head.begin())) {
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
  NpyHeader header;
  std::string descr;
  std::string_view text(reinterpret_cast<const char *>(head.data()) + start,
                        length);
  SINTER_RETURN_IF_ERROR(parseDict(origin, text, descr, header));
  SINTER_RETURN_IF_ERROR(parseDescr(origin, descr, header));
  header.dataOffsetBytes = start + length;
  std::optional<uint64_t> dataBytes = tensorBytes(header.dims, header.dtype);
  if (!dataBytes || sizeBytes - header.dataOffsetBytes != *dataBytes)
    return Status::invalid(
        origin + ": has " + std::to_string(sizeBytes - header.dataOffsetBytes) +
        " bytes of data, which does not fit its shape " +
        shapeText(header.dims) + " of " + elementTypeName(header.dtype));
  return header;
}

std::string sinter::rt::npyHeaderText(sinter_dtype dtype,
                                      std::span<const int64_t> dims) {
  std::string descr;
  for (const KnownType &type : knownTypes)
    if (type.dtype == dtype)
      descr = (hasNoOrder(type) ? "|" : "<") + std::string(type.code);
  std::string dict =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t size : dims)
    dict += std::to_string(size) + ", ";
  if (dims.size() > 1)
    dict.resize(dict.size() - 2);
  else if (!dims.empty())
    dict.resize(dict.size() - 1); // "(3,)"
  dict += "), }";
  // The data begins at a multiple of 64 bytes.
  constexpr size_t prefixBytes = sizeof(npyMagic) + 4;
  dict.append((64 - (prefixBytes + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  std::string header(npyMagic, npyMagic + sizeof(npyMagic));
  header += '\1'; // version 1.0
  header += '\0';
  header += static_cast<char>(dict.size() & 255);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}
