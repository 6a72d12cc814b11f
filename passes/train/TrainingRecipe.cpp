//===- TrainingRecipe.cpp - what a training program was asked for ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/train/Training.h"

#include "sinter/program_names.h"

using namespace mlir;

namespace sinter::passes {
namespace {

/// Converts to the type of any field.
struct AnyField {
  template <class Field> operator Field() const;
};
/// The number of fields of an aggregate: that of the most values that
/// initialize it.
template <class Aggregate, class... Values> constexpr unsigned countFields() {
  if constexpr (requires { Aggregate{Values{}..., AnyField{}}; })
    return countFields<Aggregate, Values..., AnyField>();
  else
    return sizeof...(Values);
}

constexpr unsigned kRows = 0
#define SINTER_TRAINING_OPTION(FIELD, KEY, WHEN) +1
#include "passes/train/TrainingOptions.def"
    ;
static_assert(kRows == countFields<BuildTrainingOptions>(),
              "TrainingOptions.def lacks an option of Passes.td");

enum class When { always, changed, apart };

Attribute attributeOf(Builder &b, const std::string &value) {
  return b.getStringAttr(value);
}
Attribute attributeOf(Builder &b, bool value) { return b.getBoolAttr(value); }
Attribute attributeOf(Builder &b, int64_t value) {
  return b.getI64IntegerAttr(value);
}
Attribute attributeOf(Builder &b, double value) {
  return b.getF64FloatAttr(value);
}

} // namespace

DictionaryAttr recipeOf(MLIRContext *context,
                        const BuildTrainingOptions &options) {
  const BuildTrainingOptions defaults;
  Builder b(context);
  NamedAttrList recipe;
  auto record = [&](StringRef key, When when, const auto &value,
                    const auto &ofDefaults) {
    if (when == When::always || (when == When::changed && value != ofDefaults))
      recipe.append(key, attributeOf(b, value));
  };
#define SINTER_TRAINING_OPTION(FIELD, KEY, WHEN)                               \
  record(KEY, When::WHEN, options.FIELD, defaults.FIELD);
#include "passes/train/TrainingOptions.def"
  for (auto [name, value] : optimizerValues(options))
    recipe.append(name, b.getF64FloatAttr(value));
  return recipe.getDictionary(context);
}

} // namespace sinter::passes
