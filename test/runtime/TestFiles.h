//===- TestFiles.h - folders and data files for tests -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_TESTFILES_H
#define SINTER_TEST_RUNTIME_TESTFILES_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <zlib.h>

namespace testfiles {

/// A folder that is removed with the object.
class TempFolder {
public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "sinter-test-XXXXXX")
            .string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;
  std::string operator/(const std::string &name) const {
    return path_ + "/" + name;
  }
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

inline void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string bigEndian32(uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

inline std::string littleEndian(uint64_t value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += char(i < 8 ? value >> (8 * i) : 0);
  return text;
}

/// An IDX file of bytes.
inline std::string idx(const std::vector<uint32_t> &dims,
                       const std::string &data) {
  std::string text = {0, 0, 8, char(dims.size())};
  for (uint32_t dim : dims)
    text += bigEndian32(dim);
  return text + data;
}

/// `windowBits` as in zlib: 31 gzip, -15 raw deflate.
inline std::string deflated(const std::string &data, int windowBits) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string gzip(const std::string &data) { return deflated(data, 31); }

/// An .npy file with the given dict literal.
inline std::string npyWithHeader(const std::string &dict,
                                 const std::string &data) {
  std::string header = dict + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + littleEndian(header.size(), 2) +
         header + data;
}

inline std::string npy(const std::string &descr, const std::string &shape,
                       const std::string &data) {
  return npyWithHeader("{'descr': '" + descr +
                           "', 'fortran_order': False, 'shape': " + shape +
                           ", }",
                       data);
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

struct ZipMember {
  std::string name, data;
  bool deflate = false;
};

/// A zip archive without zip64.
inline std::string zip(const std::vector<ZipMember> &members) {
  std::string text, directory;
  for (const ZipMember &member : members) {
    std::string stored =
        member.deflate ? deflated(member.data, -15) : member.data;
    uint32_t crc = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef *>(member.data.data()),
              static_cast<uInt>(member.data.size())));
    std::string common =
        littleEndian(20, 2) + littleEndian(0, 2) +
        littleEndian(member.deflate ? 8 : 0, 2) + littleEndian(0, 4) +
        littleEndian(crc, 4) + littleEndian(stored.size(), 4) +
        littleEndian(member.data.size(), 4) +
        littleEndian(member.name.size(), 2) + littleEndian(0, 2);
    directory += "PK\x01\x02" + littleEndian(20, 2) + common +
                 littleEndian(0, 10) + littleEndian(text.size(), 4) +
                 member.name;
    text += "PK\x03\x04" + common + member.name + stored;
  }
  return text + directory + "PK\x05\x06" + littleEndian(0, 4) +
         littleEndian(members.size(), 2) + littleEndian(members.size(), 2) +
         littleEndian(directory.size(), 4) + littleEndian(text.size(), 4) +
         littleEndian(0, 2);
}

} // namespace testfiles

#endif // SINTER_TEST_RUNTIME_TESTFILES_H
