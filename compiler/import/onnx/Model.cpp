//===- Model.cpp - bytes -> parsed ONNX model -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphCheck.h"
#include "compiler/import/onnx/Import.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;

namespace sinter::compiler {

/// protobuf's own limit: sizes are int32.
static constexpr int64_t kMaxModelBytes = INT32_MAX;
static constexpr int64_t kMinIrVersion = 3, kMaxIrVersion = 14;

OnnxModel::OnnxModel(std::unique_ptr<::onnx::ModelProto> proto,
                     std::string path, int directoryFd)
    : proto_(std::move(proto)), path_(std::move(path)),
      directoryFd_(directoryFd) {}

OnnxModel::~OnnxModel() {
  if (directoryFd_ >= 0)
    ::close(directoryFd_);
}

std::vector<const ::onnx::AttributeProto *>
OnnxModel::defaultsOf(const ::onnx::FunctionProto &function) const {
  std::vector<const ::onnx::AttributeProto *> defaults;
  auto found =
      functionDefaults_.find(functionKey(function.domain(), function.name()));
  if (found != functionDefaults_.end())
    for (const auto &attribute : found->second)
      defaults.push_back(attribute.get());
  return defaults;
}

bool OnnxModel::readNewerFields(ImportErrors &errors) {
  constexpr int kAttributeProto = 11; // of FunctionProto, since IR version 9
  for (const ::onnx::FunctionProto &function : proto_->functions()) {
    const auto &fields = function.unknown_fields();
    for (int i = 0; i < fields.field_count(); ++i) {
      if (fields.field(i).number() != kAttributeProto)
        continue;
      auto attribute = std::make_unique<::onnx::AttributeProto>();
      bool isRead =
          fields.field(i).type() ==
              google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
          attribute->ParseFromString(fields.field(i).length_delimited());
      // A graph would have to be checked like the model's own.
      if (!isRead || attribute->has_g() || attribute->graphs_size() ||
          !attribute->ref_attr_name().empty()) {
        errors.invalid(shown(path_, 512) + ": function " +
                       quoted(function.name()) +
                       ": a default attribute is damaged or a graph");
        return false;
      }
      functionDefaults_[functionKey(function.domain(), function.name())]
          .push_back(std::move(attribute));
    }
  }
  return true;
}

/// What the user probably gave instead of a model, from its first bytes.
static std::string describeBytes(llvm::StringRef head) {
  if (head.empty())
    return "the file is empty";
  if (head.starts_with("\x1f\x8b"))
    return "it is gzip data; decompress it first";
  if (head.starts_with("PK\x03\x04"))
    return "it is a zip archive (a PyTorch checkpoint?); export the model to "
           "ONNX first";
  if (head.starts_with("version https://git-lfs"))
    return "it is a Git LFS pointer; fetch the file first";
  if (head.starts_with("\x7f"
                       "ELF"))
    return "it is an ELF file";
  return "its protobuf data is damaged or incomplete";
}

/// Checks of the parsed message that need nothing else.
static bool checkHeader(const ::onnx::ModelProto &proto, llvm::StringRef path,
                        ImportErrors &errors) {
  std::string file = shown(path, 512);
  if (!proto.has_graph()) {
    errors.invalid(file + ": not an ONNX model: it has no graph");
    return false;
  }
  int64_t version = proto.ir_version();
  if (version < kMinIrVersion || version > kMaxIrVersion) {
    errors.invalid(file + ": ir_version " + std::to_string(version) +
                   " is not supported; " + std::to_string(kMinIrVersion) +
                   " to " + std::to_string(kMaxIrVersion) + " are");
    return false;
  }
  return true;
}

static void silenceProtobuf() { google::protobuf::SetLogHandler(nullptr); }

std::shared_ptr<OnnxModel> loadOnnxFile(llvm::StringRef path,
                                        ImportErrors &errors) {
  std::string file = shown(path, 512), name = path.str();
  auto cannotRead = [&](const std::string &why) {
    errors.invalid(file + ": cannot read the model: " + why);
    return nullptr;
  };
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return cannotRead(std::strerror(errno));
  auto closeFd = llvm::make_scope_exit([&] { ::close(fd); });
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return cannotRead(std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return cannotRead(S_ISDIR(info.st_mode) ? "it is a directory"
                                            : "it is not a regular file");
  if (info.st_size > kMaxModelBytes)
    return cannotRead(
        "it is larger than 2 GiB; use external data for the weights");

  char head[64] = {};
  ssize_t headBytes = ::pread(fd, head, sizeof(head), 0);
  if (headBytes < 0)
    return cannotRead(std::strerror(errno));
  silenceProtobuf();
  auto proto = std::make_unique<::onnx::ModelProto>();
  google::protobuf::io::FileInputStream stream(fd, 1 << 16);
  bool isParsed = headBytes > 0 && proto->ParseFromZeroCopyStream(&stream);
  if (stream.GetErrno())
    return cannotRead(std::strerror(stream.GetErrno()));
  if (!isParsed) {
    errors.invalid(file + ": not an ONNX model: " +
                   describeBytes(llvm::StringRef(head, headBytes)));
    return nullptr;
  }
  if (!checkHeader(*proto, path, errors))
    return nullptr;

  size_t slash = path.rfind('/');
  std::string directory = slash == llvm::StringRef::npos ? "."
                          : slash == 0                   ? "/"
                                       : path.take_front(slash).str();
  int directoryFd =
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto model = std::make_shared<OnnxModel>(std::move(proto), name, directoryFd);
  return model->readNewerFields(errors) ? model : nullptr;
}

std::shared_ptr<OnnxModel> loadOnnxBytes(llvm::ArrayRef<char> bytes,
                                         llvm::StringRef name,
                                         ImportErrors &errors) {
  silenceProtobuf();
  auto proto = std::make_unique<::onnx::ModelProto>();
  if (bytes.empty() || bytes.size() > size_t(kMaxModelBytes) ||
      !proto->ParseFromArray(bytes.data(), int(bytes.size()))) {
    llvm::StringRef head(bytes.data(), std::min<size_t>(bytes.size(), 64));
    errors.invalid(shown(name, 512) +
                   ": not an ONNX model: " + describeBytes(head));
    return nullptr;
  }
  if (!checkHeader(*proto, name, errors))
    return nullptr;
  auto model = std::make_shared<OnnxModel>(std::move(proto), name.str(), -1);
  return model->readNewerFields(errors) ? model : nullptr;
}

std::vector<OnnxInput> onnxInputs(const OnnxModel &model) {
  const ::onnx::GraphProto &graph = model.proto().graph();
  llvm::StringSet<> initializers;
  for (const auto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  for (const auto &tensor : graph.sparse_initializer())
    initializers.insert(tensor.values().name());

  std::vector<OnnxInput> inputs;
  for (const ::onnx::ValueInfoProto &info : graph.input()) {
    if (initializers.contains(info.name()) || !info.type().has_tensor_type())
      continue;
    const ::onnx::TypeProto::Tensor &type = info.type().tensor_type();
    OnnxInput input{{info.name(), std::nullopt}, type.elem_type()};
    if (type.has_shape()) {
      input.dims.emplace();
      for (const auto &dim : type.shape().dim()) {
        OnnxInput::Dim &to = input.dims->emplace_back();
        if (dim.has_dim_value())
          to.size = dim.dim_value();
        else
          to.symbol = dim.dim_param();
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

} // namespace sinter::compiler
