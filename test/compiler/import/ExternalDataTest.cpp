//===- ExternalDataTest.cpp - tensor bytes in other files -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The items are those of the bad-input list: external data (34-42).
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/ModelBuilder.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace sinter::test;
namespace fs = std::filesystem;

namespace {

/// A folder with model.onnx, whose initializer w [2] is in another file.
class ExternalModel {
public:
  ExternalModel() {
    std::string pattern =
        (fs::temp_directory_path() / "sinter-import-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    fs::create_directory(folder / "model");
    write("model/weights.bin",
          std::string("\0\0\x80\x3f\0\0\0\x40", 8)); // 1, 2
    builder.input("x", {int64_t(2)});
    auto &tensor = *builder.graph().add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    builder.node("Add", {"x", "w"}, {"y"}, "add");
    builder.output("y");
  }
  ~ExternalModel() { fs::remove_all(folder); }

  void write(const std::string &name, const std::string &bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  ExternalModel &set(const std::string &key, const std::string &value) {
    auto &entry = *builder.graph().mutable_initializer(0)->add_external_data();
    entry.set_key(key);
    entry.set_value(value);
    return *this;
  }
  Imported import() {
    write("model/model.onnx", builder.model.SerializeAsString());
    Imported result;
    result.context = std::make_unique<mlir::MLIRContext>();
    result.module = sinter::compiler::importOnnxFile(
        (folder / "model/model.onnx").string(), {}, result.context.get(),
        result.errors);
    return result;
  }
  void rejects(const std::string &part) {
    Imported result = import();
    INFO(result.text());
    CHECK(result.errors.exitCode() == 2);
    CHECK(result.says("initializer 'w'"));
    CHECK(result.says(part));
  }

  fs::path folder;
  ModelBuilder builder;
};

} // namespace

TEST_CASE("external data is read") {
  ExternalModel plain;
  Imported result = plain.set("location", "weights.bin").import();
  REQUIRE(result.text() == "");
  CHECK(evaluate(result, {{10, 20}})[0].floats == std::vector<double>{11, 22});
  ExternalModel ranged;
  ranged.write("model/weights.bin",
               std::string("....\0\0\x80\x3f\0\0\0\x40", 12));
  Imported part = ranged.set("location", "weights.bin")
                      .set("offset", "4")
                      .set("length", "8")
                      .import();
  REQUIRE(part.text() == "");
  CHECK(evaluate(part, {{10, 20}})[0].floats == std::vector<double>{11, 22});
}

TEST_CASE("locations outside of the model's folder are refused") {
  for (const char *location :
       {"../secret.bin", "/etc/passwd", "a/../../secret.bin", "C:\\windows\\x",
        "\\\\?\\x", "C:/x"}) {
    ExternalModel model;
    model.write("secret.bin", "12345678");
    model.set("location", location).rejects("external data has the location");
  }
  ExternalModel().set("location", "").rejects("external data has no location");
  ExternalModel().rejects("external data has no location");
  ExternalModel()
      .set("location", "*/_ORT_MEM_ADDR_/*")
      .rejects("cannot be opened");
}

TEST_CASE("links are refused") {
  ExternalModel last;
  last.write("secret.bin", "12345678");
  fs::create_symlink(last.folder / "secret.bin",
                     last.folder / "model/link.bin");
  last.set("location", "link.bin").rejects("symbolic link");
  ExternalModel parent;
  fs::create_directory(parent.folder / "other");
  parent.write("other/w.bin", "12345678");
  fs::create_directory_symlink(parent.folder / "other",
                               parent.folder / "model/sub");
  parent.set("location", "sub/w.bin").rejects("symbolic link");
  ExternalModel hard;
  hard.write("secret.bin", "12345678");
  fs::create_hard_link(hard.folder / "secret.bin",
                       hard.folder / "model/hard.bin");
  hard.set("location", "hard.bin").rejects("hard links");
}

TEST_CASE("offsets and lengths are checked") {
  for (const char *offset :
       {"18446744073709551615", "-1", "1e9", "", "99999999999999999999"}) {
    ExternalModel model;
    Imported result =
        model.set("location", "weights.bin").set("offset", offset).import();
    INFO(offset << ": " << result.text());
    CHECK(result.errors.exitCode() == 2);
  }
  ExternalModel()
      .set("location", "weights.bin")
      .set("offset", "1")
      .rejects("has 8 bytes");
  ExternalModel()
      .set("location", "weights.bin")
      .set("length", "4")
      .rejects("length 4");
  ExternalModel()
      .set("location", "weights.bin")
      .set("colour", "red")
      .rejects("unknown key");
  ExternalModel folder;
  fs::create_directory(folder.folder / "model/sub");
  folder.set("location", "sub").rejects("is not a regular file");
}

TEST_CASE("models that are no plain files are refused") {
  ExternalModel model;
  sinter::compiler::ImportErrors errors;
  CHECK_FALSE(sinter::compiler::loadOnnxFile(model.folder.string(), errors));
  CHECK_FALSE(sinter::compiler::loadOnnxFile("/dev/zero", errors));
  CHECK_FALSE(sinter::compiler::loadOnnxFile("/nowhere/model.onnx", errors));
  REQUIRE(errors.lines().size() == 3);
  CHECK(errors.lines()[0].find("it is a directory") != std::string::npos);
  CHECK(errors.lines()[1].find("not a regular file") != std::string::npos);
  CHECK(errors.lines()[2].find("No such file") != std::string::npos);
}
