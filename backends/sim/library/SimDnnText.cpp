//===- SimDnnText.cpp - descriptors of the simulated cuDNN as text --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One line per object, after the objects that it refers to by number:
//   type engine count-of-values {attribute type count bytes-or-numbers}
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimDnnText.h"
#include "backends/cuda/library/DnnApi.h"

#include <sstream>

using namespace sinter;
using namespace sinter::sim;
namespace dnn = sinter::cuda::dnn;

namespace {

constexpr const char *firstLine = "simulated-cudnn-plan";

class Writer {
public:
  size_t write(const DnnObject &object) {
    if (auto known = numbers_.find(&object); known != numbers_.end())
      return known->second;
    std::ostringstream line;
    size_t count = 0;
    for (const auto &[attribute, value] : object.values) {
      ++count;
      line << ' ' << attribute << ' ' << value.type << ' ' << value.count << ' '
           << (value.objects.empty() ? value.bytes.size()
                                     : value.objects.size());
      for (const auto &part : value.objects)
        line << ' ' << write(*part);
      if (value.objects.empty())
        for (uint8_t byte : value.bytes)
          // A handle has no meaning in another process.
          line << ' ' << (value.type == dnn::typeHandle ? 0 : int(byte));
    }
    text << object.type << ' ' << object.engine << ' ' << count << line.str()
         << '\n';
    size_t number = numbers_.size();
    numbers_.emplace(&object, number);
    return number;
  }
  std::ostringstream text;

private:
  std::map<const DnnObject *, size_t> numbers_;
};

bool readValue(std::istream &in,
               const std::vector<std::shared_ptr<DnnObject>> &objects,
               DnnObject &object) {
  constexpr size_t most = 1 << 20;
  int attribute = 0;
  size_t parts = 0;
  DnnObject::Value value;
  if (!(in >> attribute >> value.type >> value.count >> parts) || parts > most)
    return false;
  for (size_t i = 0, part = 0; i < parts; ++i) {
    if (!(in >> part))
      return false;
    if (value.type != dnn::typeDescriptor) {
      value.bytes.push_back(static_cast<uint8_t>(part));
      continue;
    }
    if (part >= objects.size())
      return false;
    value.objects.push_back(objects[part]);
  }
  if (value.type == dnn::typeDescriptor && value.objects.empty())
    return false;
  object.values[attribute] = std::move(value);
  return true;
}

} // namespace

std::string sinter::sim::writeObject(const DnnObject &object) {
  Writer writer;
  writer.text << firstLine << '\n';
  writer.write(object);
  return writer.text.str();
}

std::shared_ptr<DnnObject> sinter::sim::readObject(const std::string &text) {
  std::istringstream in(text);
  std::string word;
  if (!(in >> word) || word != firstLine)
    return nullptr;
  std::vector<std::shared_ptr<DnnObject>> objects;
  auto object = std::make_shared<DnnObject>();
  size_t count = 0;
  while (in >> object->type >> object->engine >> count) {
    for (size_t i = 0; i < count; ++i)
      if (!readValue(in, objects, *object))
        return nullptr;
    if (!checkObject(*object).empty())
      return nullptr;
    object->finalized = true;
    objects.push_back(std::move(object));
    object = std::make_shared<DnnObject>();
  }
  return objects.empty() ? nullptr : objects.back();
}
