//===- Npy.cpp - arrays in NumPy's .npy form ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html. The
// header is a Python literal. Only the form that NumPy itself writes is
// understood; nothing is evaluated.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Npz.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

using namespace sinter;
using namespace sinter::tools;

static constexpr std::string_view kMagic = "\x93NUMPY";

namespace {
struct DtypeName {
  sinter_dtype dtype;
  const char *descr; // without the byte order
};
constexpr DtypeName dtypeNames[] = {
    {SINTER_BOOL, "b1"}, {SINTER_U8, "u1"},   {SINTER_I8, "i1"},
    {SINTER_U16, "u2"},  {SINTER_I16, "i2"},  {SINTER_U32, "u4"},
    {SINTER_I32, "i4"},  {SINTER_U64, "u8"},  {SINTER_I64, "i8"},
    {SINTER_F16, "f2"},  {SINTER_BF16, "V2"}, {SINTER_F32, "f4"},
    {SINTER_F64, "f8"}};

struct Header {
  sinter_dtype dtype;
  bool bigEndian = false, columnMajor = false;
  std::vector<int64_t> dims;
};
} // namespace

// The text after 'key': in a dict literal, without leading spaces.
static std::optional<std::string_view> valueOf(std::string_view dict,
                                               std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + std::string(key) + quote;
    size_t at = dict.find(quoted);
    if (at == std::string_view::npos)
      continue;
    std::string_view rest = dict.substr(at + quoted.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
    return rest;
  }
  return std::nullopt;
}

static bool parseDescr(std::string_view text, Header &header) {
  // '<f4' with its quotes.
  if (text.size() < 5 || (text[0] != '\'' && text[0] != '"') ||
      text[4] != text[0])
    return false;
  header.bigEndian = text[1] == '>';
  if (!strchr("<>|=", text[1]))
    return false;
  for (const DtypeName &name : dtypeNames)
    if (text.substr(2, 2) == name.descr) {
      header.dtype = name.dtype;
      return true;
    }
  return false;
}

static bool parseShape(std::string_view text, Header &header) {
  if (!text.starts_with("("))
    return false;
  const char *at = text.data() + 1, *end = text.data() + text.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == ','))
      ++at;
    if (at == end)
      return false;
    if (*at == ')')
      return true;
    int64_t size = 0;
    auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 ||
        header.dims.size() == SINTER_MAX_RANK)
      return false;
    header.dims.push_back(size);
    at = next;
  }
}

static bool parseHeader(std::string_view dict, Header &header) {
  auto descr = valueOf(dict, "descr"), order = valueOf(dict, "fortran_order"),
       shape = valueOf(dict, "shape");
  if (!descr || !order || !shape)
    return false;
  header.columnMajor = order->starts_with("True");
  return parseDescr(*descr, header) && parseShape(*shape, header);
}

static void swapBytes(uint8_t *bytes, uint64_t count, uint32_t width) {
  for (uint64_t i = 0; i < count; ++i)
    std::reverse(bytes + i * width, bytes + (i + 1) * width);
}

// Copies `from`, whose first index varies fastest, to row-major `to`.
static void transpose(const uint8_t *from, HostTensor &to) {
  uint32_t width = rt::elementBytes(to.dtype);
  std::vector<int64_t> index(to.dims.size(), 0), strides(to.dims.size(), 1);
  for (size_t d = 1; d < to.dims.size(); ++d)
    strides[d] = strides[d - 1] * to.dims[d - 1];
  for (int64_t i = 0; i < to.elements(); ++i) {
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d)
      position += index[d] * strides[d];
    std::memcpy(to.bytes.data() + i * width, from + position * width, width);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == to.dims[d];)
      index[d] = 0;
  }
}

rt::Result<std::shared_ptr<HostTensor>>
tools::parseNpy(const std::string &name, std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  if (bytes.size() < 12 || !text.starts_with(kMagic))
    return rt::Status::invalid("'" + name + "' is not a .npy array");
  bool longHeader = bytes[6] >= 2;
  uint64_t headerBytes = bytes[8] | bytes[9] << 8;
  if (longHeader)
    headerBytes |= uint64_t(bytes[10]) << 16 | uint64_t(bytes[11]) << 24;
  uint64_t begin = longHeader ? 12 : 10;
  Header header;
  if (bytes[6] < 1 || bytes[6] > 3 || headerBytes > bytes.size() - begin ||
      !parseHeader(text.substr(begin, headerBytes), header))
    return rt::Status::invalid(
        "'" + name + "' is not a plain array of numbers as NumPy writes it");
  std::span<const uint8_t> data = bytes.subspan(begin + headerBytes);
  std::optional<uint64_t> size = rt::tensorBytes(header.dims, header.dtype);
  if (!size || *size != data.size())
    return rt::Status::invalid("'" + name + "' " + rt::shapeText(header.dims) +
                               " has " + std::to_string(data.size()) +
                               " bytes of data, which do not fit its shape");
  auto tensor = HostTensor::zeros(name, header.dtype, header.dims);
  if (!tensor.ok())
    return tensor.status();
  if (header.columnMajor && header.dims.size() > 1)
    transpose(data.data(), **tensor);
  else if (*size)
    std::memcpy((*tensor)->bytes.data(), data.data(), *size);
  if (header.bigEndian)
    swapBytes((*tensor)->bytes.data(), (*tensor)->elements(),
              rt::elementBytes(header.dtype));
  return tensor;
}

std::string tools::npyHeader(const HostTensor &tensor) {
  const char *descr = "";
  for (const DtypeName &name : dtypeNames)
    if (name.dtype == tensor.dtype)
      descr = name.descr;
  bool single = rt::elementBytes(tensor.dtype) == 1 || descr[0] == 'V';
  std::string dict = "{'descr': '" + std::string(single ? "|" : "<") + descr +
                     "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.dims)
    dict += std::to_string(size) + ", ";
  if (tensor.dims.size() > 1)
    dict.resize(dict.size() - 2);
  else if (!tensor.dims.empty())
    dict.resize(dict.size() - 1); // "(3,)"
  dict += "), }";
  // The data begins at a multiple of 64 bytes.
  size_t head = kMagic.size() + 4;
  dict.append((64 - (head + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(dict.size() & 255);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}
