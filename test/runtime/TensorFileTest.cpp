//===- TensorFileTest.cpp - weights from files of several formats ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TensorFile.h"
#include "TrainerRuns.h"
#include "runtime/train/Safetensors.h"

#include <catch2/catch.hpp>

using namespace trainerruns;
using sinter::rt::NamedTensor;
using sinter::rt::TensorFile;

namespace {

using Arguments = std::vector<std::string>;

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A field of a protocol buffer.
std::string field(int number, const std::string &bytes) {
  std::string size;
  size_t rest = bytes.size();
  for (; rest >= 128; rest >>= 7)
    size += char(rest | 128);
  return char(number << 3 | 2) + (size + char(rest)) + bytes;
}
std::string field(int number, int value) {
  return {char(number << 3), char(value)};
}

/// A TensorProto without its data.
std::string tensor(const std::string &name, std::vector<int> dims, int type) {
  std::string text;
  for (int dim : dims)
    text += field(1, dim);
  return text + field(2, type) + field(8, name);
}

std::string model(const std::vector<std::string> &tensors) {
  std::string graph = field(2, std::string("graph"));
  for (const std::string &one : tensors)
    graph += field(5, one);
  return field(1, 8) + field(7, graph);
}

std::string bytesOf(const TensorFile &file, const char *name) {
  const TensorFile::Entry *entry = file.find(name);
  REQUIRE(entry);
  std::vector<uint8_t> bytes(entry->sizeBytes);
  REQUIRE(file.read(*entry, bytes).ok());
  return {bytes.begin(), bytes.end()};
}

std::string errorOf(const std::string &path) {
  auto file = sinter::rt::openTensorFile(path);
  REQUIRE(!file.ok());
  CHECK(file.status().code() == SINTER_INVALID);
  return file.status().message();
}

const std::vector<float> weight = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
const std::vector<float> bias = {-1, -2, -3};

} // namespace

TEST_CASE("tensor files: the initializers of an ONNX model",
          "[train][tensorfile]") {
  TempFolder folder;
  std::string w = testfiles::bytesOf(weight), b = testfiles::bytesOf(bias);
  std::string path = folder / "m.onnx";
  write(folder / "m.onnx.data", "skipped!" + w);
  auto external = [&](const std::string &location, const std::string &offset,
                      const std::string &length) {
    auto pair = [](const char *key, const std::string &value) {
      return field(13, field(1, std::string(key)) + field(2, value));
    };
    return tensor("fc.weight", {3, 4}, 1) + pair("location", location) +
           pair("offset", offset) + pair("length", length) + field(14, 1);
  };
  for (const std::string &first : {tensor("fc.weight", {3, 4}, 1) + field(9, w),
                                   tensor("fc.weight", {3, 4}, 1) + field(4, w),
                                   external("m.onnx.data", "8", "48")}) {
    write(path,
          model({first, tensor("fc.bias", {3}, 1) + field(9, b),
                 tensor("steps", {}, 7) + field(7, std::string("\x85\x02")),
                 tensor("words", {1}, 8) + field(6, std::string("x"))}));
    auto file = sinter::rt::openTensorFile(path);
    INFO(file.status().message());
    REQUIRE(file.ok());
    CHECK((*file)->entries().size() == 3);
    CHECK(bytesOf(**file, "fc.weight") == w);
    CHECK(bytesOf(**file, "fc.bias") == b);
    CHECK(bytesOf(**file, "steps") == littleEndian(261, 8));
    CHECK((*file)->find("fc.weight")->dims == std::vector<int64_t>{3, 4});
  }
  for (auto [location, offset, length] :
       {std::tuple{"../m.onnx.data", "8", "48"},
        {"/etc/passwd", "8", "48"},
        {"..", "8", "48"},
        {"m.onnx.data", "9", "48"},
        {"m.onnx.data", "-8", "48"},
        {"m.onnx.data", "8", "44"},
        {"m.onnx.data", "18446744073709551615", "48"}}) {
    write(path, model({external(location, offset, length)}));
    CHECK(has(errorOf(path), "external data of \"fc.weight\" "));
  }
  write(path, model({tensor("fc.bias", {4}, 1) + field(9, b)}));
  CHECK(has(errorOf(path), "initializer \"fc.bias\" has 12 bytes"));
  // A truncated file causes no crash and gives no tensor that it does not
  // contain.
  std::string whole = model({tensor("fc.bias", {3}, 1) + field(9, b)});
  for (size_t size = 0; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    auto file = sinter::rt::openTensorFile(path);
    if (file.ok())
      CHECK((*file)->entries().empty());
  }
}

TEST_CASE("tensor files: NumPy's arrays, scalars and byte orders",
          "[train][tensorfile]") {
  TempFolder folder;
  std::string b = testfiles::bytesOf(bias), swapped;
  for (size_t i = 0; i < b.size(); i += 4)
    swapped += {b[i + 3], b[i + 2], b[i + 1], b[i]};
  write(folder / "w.npz",
        zip({{"fc.bias.npy", npy("<f4", "(3,)", b), true},
             {"swapped.npy", npy(">f4", "(3,)", swapped), false},
             {"bn/num_batches_tracked.npy",
              npy("<i8", "()", littleEndian(7, 8)), false}}));
  auto file = sinter::rt::openTensorFile(folder / "w.npz");
  INFO(file.status().message());
  REQUIRE(file.ok());
  CHECK(bytesOf(**file, "fc.bias") == b);
  CHECK(bytesOf(**file, "swapped") == b);
  CHECK(bytesOf(**file, "bn/num_batches_tracked") == littleEndian(7, 8));
  CHECK((*file)->find("bn/num_batches_tracked")->dims.empty());
}

TEST_CASE("tensor files: another format is named for what it is",
          "[train][tensorfile]") {
  TempFolder folder;
  for (auto [bytes, part] :
       {std::pair<std::string, const char *>{"\x80\x02}q", "PyTorch (pickle)"},
        {"\x80\x04}q", "Python pickle"},
        {zip({{"archive/data.pkl", "x", false}}), "PyTorch (pickle)"},
        {"\x89HDF\r\n\x1a\n", "HDF5"},
        {"GGUF\x03", "GGUF"},
        {"\x1c\0\0\0TFL3", "not a known weight file"},
        {std::string("\x1c\0\0\0TFL3", 8), "TensorFlow Lite"},
        {npy("<f4", "(1,)", "abcd"), "one NumPy array"},
        {"name,value\n", "not a known weight file; expected a run, a "
                         "checkpoint, .safetensors, .onnx or .npz"},
        {"", "not a known weight file"}}) {
    write(folder / "w", bytes);
    INFO(part);
    CHECK(has(errorOf(folder / "w"), part));
  }
  CHECK(has(errorOf(folder.path()), "no checkpoint in it"));
  CHECK(has(errorOf(folder / "none"), "No such file"));
}

TEST_CASE("init: weights of any source, and nothing else",
          "[harness][train][init]") {
  Bench bench;
  requireOk(bench.train({"--steps=11", "--out=" + bench.path("out")}));
  requireOk(bench.run({"export", "--checkpoint=" + bench.path("out"), "-o",
                       bench.path("w.safetensors")}));
  auto file = sinter::rt::openTensorFile(bench.path("out"));
  REQUIRE(file.ok());
  std::string w = bytesOf(**file, "fc.weight"), b = bytesOf(**file, "fc.bias");
  write(bench.path("w.onnx"),
        model({tensor("fc.weight", {3, 4}, 1) + field(9, w),
               tensor("fc.bias", {3}, 1) + field(9, b)}));
  write(bench.path("w.npz"),
        zip({{"fc.weight.npy", npy("<f4", "(3, 4)", w), true},
             {"fc.bias.npy", npy("<f4", "(3,)", b), false}}));
  int count = 0;
  auto init = [&](const std::string &source, Arguments more) {
    std::string out = "init" + std::to_string(count++);
    more.insert(more.end(), {"--steps=0", "--init=" + bench.path(source),
                             "--out=" + bench.path(out)});
    Outcome outcome = bench.train(more);
    if (outcome.code == 0)
      outcome.out = bench.path(out);
    return outcome;
  };
  const std::string left =
      "note: --init: the optimizer's 2 slots and counters in the file are left "
      "out; --init-slots loads them\n";
  for (auto [source, said] : {std::pair<const char *, std::string>{"out", left},
                              {"out/step-00000011", left},
                              {"w.safetensors", left},
                              {"w.onnx", ""},
                              {"w.npz", ""}}) {
    INFO(source);
    Outcome outcome = init(source, {});
    requireOk(outcome);
    CHECK(outcome.err == said);
    auto made = sinter::rt::openTensorFile(outcome.out);
    REQUIRE(made.ok());
    CHECK(bytesOf(**made, "fc.weight") == w);
    CHECK(bytesOf(**made, "fc.bias") == b);
    CHECK(bytesOf(**made, "momentum/fc.weight") == std::string(48, '\0'));
  }
  Outcome slots = init("out", {"--init-slots"});
  requireOk(slots);
  CHECK(slots.err.empty());
  CHECK(bytesOf(**sinter::rt::openTensorFile(slots.out), "momentum/fc.bias") ==
        bytesOf(**file, "momentum/fc.bias"));

  // A new head, and other names.
  write(bench.path("other.npz"),
        zip({{"model.fc.weight.npy", npy("<f4", "(3, 4)", w), true},
             {"model.fc.bias.npy", npy("<f4", "(5,)", std::string(20, 'x')),
              false}}));
  auto fails = [&](Arguments more, const std::string &part) {
    Outcome outcome = init("other.npz", more);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(has(outcome.err, part));
  };
  fails({}, "has none of the model's states");
  fails({"--init-map=^model[.]="},
        "\"fc.bias\" is float32[5] in the file, float32[3]");
  fails({"--init-map=^model[.]=", "--init-skip=head"},
        "\"fc.bias\" is float32[5] in the file");
  fails({"--init-map=model=", "--init-map=nowhere=x", "--init-skip=bias"},
        "has none of the model's states");
  fails({"--init-map=^model[.]=", "--init-map=nowhere=x", "--init-skip=bias"},
        "--init-map=nowhere: no tensor of the file has such a name");
  fails({"--init-map=^model[.]=", "--init-skip=bias", "--init-skip=nowhere"},
        "--init-skip=nowhere: no state of the model has such a name");
  fails({"--init-map=.*=same"}, "both become \"same\"");
  fails({"--init-map=(=x"}, "--init-map=(=x: is not a regular expression");
  fails({"--init-map=x"}, "expected REGEX=REPLACEMENT");
  Outcome mapped = init(
      "other.npz", {"--init-map=^model[.](f.)[.]=\\1.", "--init-skip=bias"});
  requireOk(mapped);
  CHECK(mapped.err.empty());
  auto made = sinter::rt::openTensorFile(mapped.out);
  CHECK(bytesOf(**made, "fc.weight") == w);
  CHECK(bytesOf(**made, "fc.bias") == std::string(12, '\0'));
  CHECK(bench.train({"--steps=1", "--init-slots"}).code == 2);

  // Values that are not finite are refused.
  write(bench.path("nan.npz"),
        zip({{"fc.bias.npy", npy("<f4", "(3,)", std::string(12, '\xff')),
              false}}));
  Outcome nan = init("nan.npz", {});
  CHECK(nan.code == 2);
  CHECK(has(nan.err, "nan.npz: state \"fc.bias\" has NaN (element 0 of 3)"));
}
