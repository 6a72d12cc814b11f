//===- Signature.cpp - what a PyTorch exporter says about a file ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Signature.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

namespace sinter::compiler {

// The fields `metadata_props` of newer versions of the format. The generated
// classes keep them as unknown fields.
static constexpr int kGraphMetadata = 16, kNodeMetadata = 9;

/// The value of `key` in the metadata of a message; empty if it is missing.
static std::string metadata(const google::protobuf::UnknownFieldSet &fields,
                            int number, llvm::StringRef key) {
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField &field = fields.field(i);
    if (field.number() != number ||
        field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    ::onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(field.length_delimited()) &&
        llvm::StringRef(entry.key()) == key)
      return entry.value();
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

/// Reads "p_fc_weight: PARAMETER target='fc.weight'". Nothing for other lines.
static std::optional<SignatureEntry> readEntry(llvm::StringRef line) {
  auto [placeholder, rest] = line.trim().split(": ");
  auto [kind, fields] = rest.split(" target='");
  auto [target, flags] = fields.split('\'');
  SignatureEntry entry;
  if (kind == "PARAMETER")
    entry.kind = SignatureEntry::Kind::Parameter;
  else if (kind == "BUFFER")
    entry.kind = SignatureEntry::Kind::Buffer;
  else if (kind == "CONSTANT_TENSOR")
    entry.kind = SignatureEntry::Kind::Constant;
  else
    return std::nullopt;
  if (placeholder.empty() || target.empty())
    return std::nullopt;
  entry.placeholder = placeholder.str();
  entry.target = target.str();
  entry.isPersistent = !flags.contains("persistent=False");
  return entry;
}

std::optional<Signature> Signature::read(const ::onnx::GraphProto &graph) {
  std::string text =
      metadata(graph.unknown_fields(), kGraphMetadata,
               "pkg.torch.export.ExportedProgram.graph_signature");
  if (text.empty())
    return std::nullopt;
  Signature signature;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto [name, rest] = line.trim().split(": ");
    if (rest == "USER_INPUT")
      signature.inputs_.push_back(name.str());
    if (rest == "USER_OUTPUT")
      signature.outputs_.push_back(name.str());
    if (rest.consume_front("BUFFER_MUTATION target='"))
      signature.changed_.push_back(rest.split('\'').first.str());
    std::optional<SignatureEntry> entry = readEntry(line);
    if (!entry)
      continue;
    size_t index = signature.entries_.size();
    if (!signature.placeholders_.try_emplace(entry->placeholder, index).second)
      continue;
    signature.targets_.try_emplace(entry->target, index);
    signature.entries_.push_back(std::move(*entry));
  }
  return signature;
}

const SignatureEntry *Signature::byPlaceholder(llvm::StringRef name) const {
  auto found = placeholders_.find(name);
  return found == placeholders_.end() ? nullptr : &entries_[found->second];
}

const SignatureEntry *Signature::byTarget(llvm::StringRef name) const {
  auto found = targets_.find(name);
  return found == targets_.end() ? nullptr : &entries_[found->second];
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The names after '%' in `text`.
static std::vector<std::string> valuesIn(llvm::StringRef text) {
  std::vector<std::string> values;
  for (size_t at = text.find('%'); at != llvm::StringRef::npos;
       at = text.find('%', at + 1)) {
    llvm::StringRef name = text.drop_front(at + 1).take_while(isNameCharacter);
    if (!name.empty())
      values.push_back(name.str());
  }
  return values;
}

/// Splits a list at its commas, except those inside brackets and strings. Ends
/// at the bracket that closes the list.
static std::vector<llvm::StringRef> splitList(llvm::StringRef text) {
  std::vector<llvm::StringRef> items;
  size_t begin = 0, depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth-- == 0) {
        if (i > begin)
          items.push_back(text.slice(begin, i).trim());
        return items;
      }
    } else if (c == ',' && depth == 0) {
      items.push_back(text.slice(begin, i).trim());
      begin = i + 1;
    }
  }
  return items;
}

std::optional<FxCall> readFxCall(const ::onnx::NodeProto &node) {
  std::string text =
      metadata(node.unknown_fields(), kNodeMetadata, "pkg.torch.onnx.fx_node");
  llvm::StringRef rest = text;
  if (!rest.consume_front("%"))
    return std::nullopt;
  FxCall call;
  call.result = rest.take_while(isNameCharacter).str();
  rest = rest.split("[target=").second;
  llvm::StringRef target;
  std::tie(target, rest) = rest.split("](args = (");
  target.consume_front("torch.ops.");
  auto [space, name] = target.split('.');
  call.target = (space + "." + name.split('.').first).str();
  if (call.result.empty() || target.empty())
    return std::nullopt;
  call.values = valuesIn(rest);
  call.keywords = rest.rsplit("kwargs = {").second.str();
  for (llvm::StringRef item : splitList(rest))
    if (!item.empty())
      call.arguments.push_back({item.str(), valuesIn(item)});
  return call;
}

std::string rewriteRules(const ::onnx::NodeProto &node) {
  return metadata(node.unknown_fields(), kNodeMetadata,
                  "pkg.onnxscript.rewriter.rule_name");
}

/// Reads a list as Python prints it: ['', 'layer1', 'layer1.0', 'add']. The
/// call itself is last.
std::string modulePath(const ::onnx::NodeProto &node) {
  std::string text = metadata(node.unknown_fields(), kNodeMetadata,
                              "pkg.torch.onnx.name_scopes");
  llvm::StringRef rest = text;
  if (!rest.consume_front("["))
    return "";
  std::vector<llvm::StringRef> scopes = splitList(rest);
  return scopes.size() < 2 ? "" : scopes[scopes.size() - 2].trim("'\"").str();
}

} // namespace sinter::compiler
