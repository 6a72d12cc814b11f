//===- SequencesTest.cpp - values that are not tensors of known shape -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Sequences and optionals disappear at import; so do the coordinates of a mask
// if their uses have a static form.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/OneNode.h"

using namespace sinter::test;
using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;
using ::onnx::NodeProto;

namespace {

void gives(const ModelBuilder &b, const std::vector<Values> &inputs,
           const Sizes &shape, const Values &expected) {
  Imported result = b.import();
  INFO(result.text());
  REQUIRE(result.module);
  CHECK(result.count("unrealized_conversion_cast") == 0);
  std::vector<sinter::ir::Tensor> y = evaluate(result, inputs);
  CHECK(Sizes(y[0].shape().begin(), y[0].shape().end()) == shape);
  CHECK((y[0].isFloat()
             ? y[0].floats
             : Values(y[0].ints.begin(), y[0].ints.end())) == expected);
}

void rejects(const ModelBuilder &b, const std::string &part, int code) {
  Imported result = b.import();
  INFO(result.text());
  CHECK(result.errors.exitCode() == code);
  CHECK(result.says(part));
}

/// x [2, 5] is split along dimension 1; the test adds the rest of the graph.
ModelBuilder splitting(const Sizes &split, bool isScalar = false) {
  ModelBuilder b(18);
  b.input("x", {int64_t(2), int64_t(5)});
  b.ints("split", isScalar ? Sizes{} : Sizes{int64_t(split.size())}, split);
  ModelBuilder::setInt(b.node("SplitToSequence", {"x", "split"}, {"s"}), "axis",
                       1);
  b.ints("one", {}, {1});
  b.ints("last", {}, {-1});
  b.output("y", 0);
  return b;
}

const Values kX = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/// y = x [2, 3] with `updates` written where the mask m is true, through the
/// coordinates of m.
ModelBuilder masking(int64_t opset = 18) {
  ModelBuilder b(opset);
  b.input("x", {int64_t(2), int64_t(3)});
  b.input("m", {int64_t(2), int64_t(3)}, ::onnx::TensorProto::BOOL);
  b.output("y", 0);
  b.node("NonZero", {"m"}, {"nonzero"}, "find");
  ModelBuilder::setInts(b.node("Transpose", {"nonzero"}, {"at"}), "perm",
                        {1, 0});
  b.node("Shape", {"at"}, {"sizes"});
  b.ints("zero", {1}, {0});
  b.ints("open", {1}, {-1});
  b.node("Gather", {"sizes", "zero"}, {"count"});
  return b;
}

} // namespace

TEST_CASE("sequences of known length disappear") {
  ModelBuilder at = splitting({2, 3});
  at.node("SequenceAt", {"s", "one"}, {"y"});
  gives(at, {kX}, {2, 3}, {3, 4, 5, 8, 9, 10});

  ModelBuilder chunks = splitting({2}, /*isScalar=*/true);
  chunks.node("SequenceAt", {"s", "last"}, {"y"});
  gives(chunks, {kX}, {2, 1}, {5, 10});

  ModelBuilder joined = splitting({2, 1, 2});
  joined.node("SequenceErase", {"s", "one"}, {"t"});
  ModelBuilder::setInt(joined.node("ConcatFromSequence", {"t"}, {"y"}), "axis",
                       -1);
  gives(joined, {kX}, {2, 4}, {1, 2, 4, 5, 6, 7, 9, 10});

  ModelBuilder stacked(18);
  stacked.input("x", {int64_t(2)});
  stacked.output("y", 0);
  stacked.ints("zero", {}, {0});
  stacked.node("Neg", {"x"}, {"n"});
  stacked.node("SequenceEmpty", {}, {"s0"});
  stacked.node("SequenceInsert", {"s0", "x"}, {"s1"});
  stacked.node("SequenceInsert", {"s1", "n", "zero"}, {"s2"});
  NodeProto &stack = stacked.node("ConcatFromSequence", {"s2"}, {"y"});
  ModelBuilder::setInt(stack, "axis", 1);
  ModelBuilder::setInt(stack, "new_axis", 1);
  gives(stacked, {{1, 2}}, {2, 2}, {-1, 1, -2, 2});

  ModelBuilder length = splitting({2, 1, 2});
  length.node("SequenceLength", {"s"}, {"y"});
  gives(length, {kX}, {}, {3});
}

TEST_CASE("a loop appends to a sequence") {
  ModelBuilder b(18);
  b.input("x", {int64_t(2)});
  b.output("y", 0);
  b.ints("trips", {}, {3});
  b.node("SequenceEmpty", {}, {"empty"});
  NodeProto &loop =
      b.node("Loop", {"trips", "", "x", "empty"}, {"last", "parts"});
  ::onnx::GraphProto &body =
      *ModelBuilder::attribute(loop, "body", ::onnx::AttributeProto::GRAPH)
           .mutable_g();
  for (const char *name : {"i", "go", "v", "s"})
    body.add_input()->set_name(name);
  auto add = [&](const char *op, const Names &inputs, const char *output) {
    NodeProto &node = *body.add_node();
    node.set_op_type(op);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
  };
  add("Identity", {"go"}, "still");
  add("Add", {"v", "v"}, "doubled");
  add("SequenceInsert", {"s", "doubled"}, "longer");
  for (const char *name : {"still", "doubled", "longer"})
    body.add_output()->set_name(name);
  ModelBuilder::setInt(b.node("ConcatFromSequence", {"parts"}, {"y"}), "axis",
                       0);
  gives(b, {{1, 3}}, {6}, {2, 6, 4, 12, 8, 24});
}

TEST_CASE("what is no sequence, and where sequences cannot be") {
  ModelBuilder far = splitting({2, 3});
  far.ints("seven", {}, {7});
  far.node("SequenceAt", {"s", "seven"}, {"y"}, "pick");
  rejects(far, "'pick' (SequenceAt): position 7 is out of range", 2);

  ModelBuilder sum = splitting({2, 4});
  sum.node("SequenceAt", {"s", "one"}, {"y"});
  rejects(sum, "do not make up the dimension's 5", 2);

  ModelBuilder tensor = splitting({2, 3});
  tensor.node("SequenceAt", {"x", "one"}, {"y"});
  rejects(tensor, "is a tensor; it must be a sequence", 2);

  ModelBuilder op = splitting({2, 3});
  op.node("Neg", {"s"}, {"y"}, "minus");
  rejects(op, "'minus' (Neg): input 's' is a sequence; it must be a tensor", 2);

  ModelBuilder output = splitting({2, 3});
  output.node("SequenceErase", {"s"}, {"y"});
  rejects(output,
          "operator SequenceErase is not supported here: graph output "
          "'y' is a sequence",
          3);

  ModelBuilder where = splitting({2, 3});
  where.input("i", {}, ::onnx::TensorProto::INT64);
  where.node("SequenceAt", {"s", "i"}, {"y"});
  rejects(where, "input 'position' ('i') must be known at compile time", 3);

  ModelBuilder empty(18);
  empty.input("x", {int64_t(2)});
  empty.output("y", 0);
  empty.node("SequenceEmpty", {}, {"s"});
  ModelBuilder::setInt(empty.node("ConcatFromSequence", {"s"}, {"y"}), "axis",
                       0);
  rejects(empty, "the sequence is empty", 2);
}

TEST_CASE("optionals are their values") {
  for (bool isThere : {true, false}) {
    ModelBuilder b(18);
    b.input("x", {int64_t(2)});
    b.output("y", 0);
    b.node("Optional", isThere ? Names{"x"} : Names{}, {"o"});
    b.node("OptionalHasElement", {"o"}, {"y"});
    gives(b, {{1, 2}}, {}, {double(isThere)});
    b.graph().mutable_node(1)->set_op_type("OptionalGetElement");
    if (isThere)
      gives(b, {{1, 2}}, {2}, {1, 2});
    else
      rejects(b, "the optional has no value", 2);
  }
}

TEST_CASE("what is written through a mask's coordinates is a selection") {
  const Values x = {1, 2, 3, 4, 5, 6}, mask = {0, 1, 0, 1, 1, 0};
  // masked_scatter: the first elements of a list, in order.
  ModelBuilder scatter = masking();
  scatter.input("v", {int64_t(6)});
  scatter.node("Slice", {"v", "zero", "count", "zero"}, {"head"});
  scatter.node("ScatterND", {"x", "at", "head"}, {"y"});
  gives(scatter, {x, mask, {10, 20, 30, 40, 50, 60}}, {2, 3},
        {1, 10, 3, 20, 30, 6});
  // index_put: one value, repeated.
  ModelBuilder put = masking();
  put.floats("half", {}, {0.5f});
  put.node("Expand", {"half", "count"}, {"many"});
  put.node("Reshape", {"many", "open"}, {"flat"});
  NodeProto &write = put.node("ScatterND", {"x", "at", "flat"}, {"y"});
  gives(put, {x, mask}, {2, 3}, {1, 0.5, 3, 0.5, 0.5, 6});
  ModelBuilder::setString(write, "reduction", "add");
  gives(put, {x, mask}, {2, 3}, {1, 2.5, 3, 4.5, 5.5, 6});

  // Assignment to what was selected; a row to the rows of a mask, flattened.
  ModelBuilder change = masking();
  change.floats("ten", {}, {10});
  change.node("GatherND", {"x", "at"}, {"old"});
  change.node("Mul", {"old", "ten"}, {"more"});
  change.node("Neg", {"more"}, {"less"});
  change.node("Expand", {"less", "count"}, {"many"});
  change.node("ScatterND", {"x", "at", "many"}, {"y"});
  gives(change, {x, mask}, {2, 3}, {1, -20, 3, -40, -50, 6});
  ModelBuilder rows = masking();
  rows.floats("row", {3}, {7, 8, 9});
  rows.ints("three", {1}, {3});
  ModelBuilder::setInt(rows.node("Concat", {"count", "three"}, {"to"}), "axis",
                       0);
  rows.node("Expand", {"row", "to"}, {"many"});
  rows.node("Reshape", {"many", "open"}, {"flat"});
  rows.node("ScatterND", {"x", "at", "flat"}, {"y"});
  gives(rows, {x, {0, 0, 0, 1, 1, 1}}, {2, 3}, {1, 2, 3, 7, 8, 9});

  ModelBuilder read = masking();
  read.node("GatherND", {"x", "at"}, {"some"});
  read.node("Softmax", {"some"}, {"y"});
  rejects(read,
          "operator Softmax is not supported here: input 'some' is a "
          "tensor whose size depends on values that must be known",
          3);
  ModelBuilder other = masking();
  other.floats("two", {2}, {1, 2});
  other.node("GatherND", {"x", "at"}, {"some"});
  other.node("Add", {"some", "two"}, {"y"});
  rejects(other, "operator Add is not supported here: of a tensor whose", 3);
  ModelBuilder out = masking();
  out.node("Identity", {"at"}, {"y"});
  rejects(out, "operator Identity is not supported here: graph output 'y'", 3);
}

TEST_CASE("reductions of rows whose bounds are not known") {
  const Values x = {1, 2, 3, 4, 5, 6};
  const std::pair<const char *, Values> rows[] = {{"ReduceSum", {8, 10}},
                                                  {"ReduceMean", {4, 5}},
                                                  {"ReduceMax", {5, 6}},
                                                  {"ReduceMin", {3, 4}}};
  for (const auto &[op, expected] : rows) {
    ModelBuilder b(18);
    b.input("x", {int64_t(3), int64_t(2)});
    b.input("from", {int64_t(1)}, ::onnx::TensorProto::INT64);
    b.input("to", {int64_t(1)}, ::onnx::TensorProto::INT64);
    b.output("y", 0);
    b.ints("zero", {1}, {0});
    b.node("Slice", {"x", "from", "to"}, {"part"});
    ModelBuilder::setInt(b.node(op, {"part", "zero"}, {"y"}), "keepdims", 0);
    INFO(op);
    gives(b, {x, {1}, {9}}, {2}, expected);
    gives(b, {x, {-2}, {3}}, {2}, expected);
  }
  ModelBuilder b(18);
  b.input("x", {int64_t(3), int64_t(2)});
  b.input("to", {int64_t(1)}, ::onnx::TensorProto::INT64);
  b.output("y", 0);
  b.ints("zero", {1}, {0});
  b.node("Slice", {"x", "zero", "to"}, {"part"});
  b.node("Neg", {"part"}, {"y"}, "minus");
  rejects(b, "operator Neg is not supported here: of a tensor whose size", 3);
}
