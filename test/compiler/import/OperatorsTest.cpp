//===- OperatorsTest.cpp - what newer operator sets added -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Debian's conformance suite ends with operator set 17. This file tests later
// operators, and corner cases that the suite omits, with values computed by
// hand or by PyTorch.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/OneNode.h"

#include <functional>
#include <limits>

using namespace sinter::test;
using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;
using ::onnx::NodeProto;

TEST_CASE("an activation whose parameters have no default needs them") {
  OneNode("RNN", 22)
      .x({2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .floats({1, 1, 3}, {0.5f, 0.5f, 0.5f})
      .floats({1, 1, 1}, {0.5f})
      .set("hidden_size", 1)
      .set("activations", std::vector<std::string>{"ScaledTanh"})
      .fails("the function 'ScaledTanh' needs 'activation_alpha' and "
             "'activation_beta'");
}

TEST_CASE("activations of newer operator sets") {
  OneNode("Gelu", 20)
      .x({3}, {-1, 0, 2})
      .gives({3}, {-0.15865526, 0, 1.9544997});
  OneNode("Gelu", 20)
      .x({3}, {-1, 0, 2})
      .set("approximate", "tanh")
      .gives({3}, {-0.15880801, 0, 1.9545977});
  OneNode("Mish", 18).x({2}, {-1, 2}).gives({2}, {-0.30340147, 1.9439590});
  OneNode("Swish", 24)
      .x({2}, {-1, 2})
      .set("alpha", 2.0)
      .gives({2}, {-0.11920292, 1.9640276});
  OneNode("Gelu", 19)
      .x({1}, {1})
      .fails("exists from operator set 20; the model imports 19");
  OneNode("Gelu", 20)
      .x({1}, {1})
      .set("approximate", "no")
      .fails("attribute 'approximate'");
}

TEST_CASE("reductions take axes as input from operator set 18 on") {
  OneNode("ReduceMax", 18)
      .x({2, 2}, {1, 2, 3, 4})
      .ints({-1})
      .set("keepdims", 0)
      .gives({2}, {2, 4});
  OneNode("ReduceSumSquare", 18)
      .x({2, 2}, {1, 2, 3, 4})
      .set("noop_with_empty_axes", 1)
      .gives({2, 2}, {1, 4, 9, 16});
  OneNode("ReduceMean", 18).x({2, 2}, {1, 2, 3, 4}).gives({1, 1}, {2.5});
  OneNode("ReduceMean", 18)
      .x({2, 2}, {1, 2, 3, 4})
      .ints({0, -2})
      .fails("name a dimension twice");
  OneNode("ReduceMean", 18)
      .x({2, 2}, {1, 2, 3, 4})
      .ints({2})
      .fails("out of range for rank 2");
  OneNode("ReduceMax", 13)
      .x({2, 0}, {})
      .set("axes", Sizes{0})
      .set("keepdims", 0)
      .gives({0}, {});
}

TEST_CASE("the maximum that LogSumExp subtracts has no gradient") {
  OneNode node("ReduceLogSumExp", 18);
  node.x({2, 2}, {1, 3, -1000, -1000}).ints({1});
  node.gives({2, 1}, {3.1269280, -999.30685});
  Imported result = node.builder.import();
  CHECK(result.count("sinter.stop_gradient") == 1);
  CHECK(result.count("sinter.reduce") == 2);
}

TEST_CASE("normalisations of newer operator sets") {
  const Values x = {1, 3, 5, 7};
  OneNode("GroupNormalization", 18)
      .x({1, 4, 1}, x)
      .floats({2}, {1, 2})
      .floats({2}, {0, 1})
      .set("num_groups", 2)
      .set("epsilon", 0.0)
      .gives({1, 4, 1}, {-1, 1, -1, 3});
  OneNode("GroupNormalization", 21)
      .x({1, 4, 1}, x)
      .floats({4}, {1, 2, 3, 4})
      .floats({4}, {0, 0, 1, 1})
      .set("num_groups", 2)
      .set("epsilon", 0.0)
      .gives({1, 4, 1}, {-1, 2, -2, 5});
  OneNode("RMSNormalization", 23)
      .x({1, 2}, {3, 4})
      .floats({2}, {1, 2})
      .set("epsilon", 0.0)
      .gives({1, 2}, {0.84852814, 2.2627417});
  OneNode("GroupNormalization", 18)
      .x({1, 4, 1}, x)
      .floats({3}, {1, 2, 3})
      .floats({3}, {1, 2, 3})
      .set("num_groups", 3)
      .fails("must divide the 4 channels");
}

TEST_CASE("Pad in all modes, of either sign") {
  const Values x = {1, 2, 3};
  OneNode("Pad", 18).x({3}, x).ints({2, 1}).gives({6}, {0, 0, 1, 2, 3, 0});
  OneNode("Pad", 18).x({3}, x).ints({-1, 1}).floats({}, {9}).gives({3},
                                                                   {2, 3, 9});
  OneNode("Pad", 18)
      .x({3}, x)
      .ints({2, 1})
      .set("mode", "reflect")
      .gives({6}, {3, 2, 1, 2, 3, 2});
  OneNode("Pad", 18)
      .x({3}, x)
      .ints({2, 1})
      .set("mode", "edge")
      .gives({6}, {1, 1, 1, 2, 3, 3});
  OneNode("Pad", 19)
      .x({3}, x)
      .ints({2, 1})
      .set("mode", "wrap")
      .gives({6}, {2, 3, 1, 2, 3, 1});
  OneNode("Pad", 18).x({1, 3}, x).ints({1, 0}).absent().ints({-1}).gives(
      {1, 4}, {0, 1, 2, 3});
  OneNode("Pad", 19)
      .x({3}, x)
      .ints({-1, 0})
      .set("mode", "wrap")
      .gives({2}, {2, 3});
  OneNode("Pad", 18)
      .x({3}, x)
      .ints({-1, 2})
      .set("mode", "edge")
      .gives({4}, {2, 3, 3, 3});
  for (const char *mode : {"wrap", "reflect"})
    OneNode("Pad", 19)
        .x({3}, x)
        .ints({-1, 2})
        .set("mode", mode)
        .fails("a negative pad beside a positive one in dimension 0", 3);
  // 'wrap' came with set 19.
  OneNode("Pad", 18)
      .x({3}, x)
      .ints({1, 1})
      .set("mode", "wrap")
      .fails("node 'n' (Pad): the mode 'wrap' exists from operator set 19; the "
             "model imports 18");
  OneNode("Pad", 18)
      .x({3}, x)
      .ints({1, 1})
      .set("mode", "mirror")
      .fails("'mirror'; it must be 'constant', 'reflect' or 'edge'");
  OneNode("Pad", 19)
      .x({3}, x)
      .ints({1, 1})
      .set("mode", "mirror")
      .fails("it must be 'constant', 'reflect', 'edge' or 'wrap'");
  OneNode("Pad", 18).x({3}, x).ints({-4, 0}).fails(
      "do not fit dimension 0 of size 3");
  OneNode("Pad", 18)
      .x({0}, {})
      .ints({1, 0})
      .set("mode", "edge")
      .fails("is empty");
}

TEST_CASE("Resize of newer operator sets") {
  const Values x = {1, 2, 3, 4};
  // Of set 10: the next element below where it gets larger, else above.
  OneNode("Resize", 10)
      .x({1, 1, 1, 4}, x)
      .floats({4}, {1, 1, 1, 0.6f})
      .gives({1, 1, 1, 2}, {1, 3});
  OneNode("Resize", 10)
      .x({1, 1, 1, 2}, {1, 2})
      .floats({4}, {1, 1, 1, 1.5f})
      .gives({1, 1, 1, 3}, {1, 1, 2});
  // Antialiased, as PyTorch's interpolate(antialias=True).
  OneNode("Resize", 18)
      .x({1, 1, 1, 4}, x)
      .absent()
      .absent()
      .ints({1, 1, 1, 2})
      .set("mode", "linear")
      .set("antialias", 1)
      .set("exclude_outside", 1)
      .gives({1, 1, 1, 2}, {1.7142857, 3.2857143});
  // The edge is repeated, as in ONNX Runtime.
  OneNode("Resize", 18)
      .x({1, 1, 1, 4}, x)
      .absent()
      .absent()
      .ints({1, 1, 1, 3})
      .set("mode", "linear")
      .set("antialias", 1)
      .gives({1, 1, 1, 3}, {1.2727273, 2.5, 3.7272727});
  OneNode("Resize", 18)
      .x({1, 1, 1, 4}, x)
      .absent()
      .absent()
      .ints({8})
      .set("axes", Sizes{3})
      .gives({1, 1, 1, 8}, {1, 1, 2, 2, 3, 3, 4, 4});
  OneNode("Resize", 18)
      .x({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
      .absent()
      .absent()
      .ints({4, 4})
      .set("keep_aspect_ratio_policy", "not_larger")
      .set("nearest_mode", "floor")
      .gives({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  OneNode("Resize", 18)
      .x({4}, x)
      .absent()
      .floats({1}, {0.125})
      .set("mode", "linear")
      .gives({0}, {});
  OneNode("Resize", 18)
      .x({4}, x)
      .floats({2}, {0, 0.5})
      .floats({1}, {2})
      .set("mode", "linear")
      .set("coordinate_transformation_mode", "tf_crop_and_resize")
      .fails("disagree on the size of the result", 3);
  OneNode("Resize", 18)
      .x({4}, x)
      .absent()
      .floats({1}, {-1})
      .fails("it must be positive");
  OneNode("Resize", 18).x({4}, x).fails("exactly one of 'scales' and 'sizes'");
}

TEST_CASE("modes of Resize") {
  const Values x = {1, 2};
  OneNode("Resize", 10)
      .x({2}, x)
      .floats({1}, {2})
      .set("mode", "cubic")
      .fails("the mode 'cubic' exists in Resize from operator set 11; the "
             "model imports 10");
  OneNode("Upsample", 9)
      .x({2}, x)
      .floats({1}, {2})
      .set("mode", "smooth")
      .fails("'smooth'; it must be 'nearest' or 'linear'");
  OneNode("Resize", 11)
      .x({2}, x)
      .absent()
      .floats({1}, {2})
      .set("mode", "smooth")
      .fails("'smooth'; it must be 'nearest', 'linear' or 'cubic'");
}

TEST_CASE("Resize by scales multiplies sizes in float32") {
  // The float32 numbers 0.7 and 1.3 are below the decimal ones, and 0.3 is
  // above: the exact products are 6.9999999, 12.9999995 and 3.0000001.
  const Values x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  OneNode("Resize", 19)
      .x({10}, x)
      .absent()
      .floats({1}, {0.7f})
      .set("nearest_mode", "floor")
      .set("coordinate_transformation_mode", "asymmetric")
      .gives({7}, {0, 1, 2, 4, 5, 7, 8});
  OneNode("Resize", 19)
      .x({10}, x)
      .absent()
      .floats({1}, {0.3f})
      .gives({3}, {1, 4, 8});
  OneNode("Resize", 10)
      .x({10}, x)
      .floats({1}, {1.3f})
      .gives({13}, {0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9});
  OneNode("Upsample", 9)
      .x({10}, x)
      .floats({1}, {1.3f})
      .gives({13}, {0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9});
}

/// Resize of {0, 1, ..., size - 1}; the scales or sizes are to be added.
class Resized : public OneNode {
public:
  Resized(int64_t size, const char *mode,
          const char *coordinates = "align_corners")
      : OneNode("Resize", 19) {
    Values values;
    for (int64_t i = 0; i < size; ++i)
      values.push_back(double(i));
    x({size}, values).absent().set("mode", mode);
    set("nearest_mode", "floor");
    set("coordinate_transformation_mode", coordinates);
  }
};

TEST_CASE("Resize with corners aligned") {
  // The length is 4 x 0.6, as for ONNX's reference evaluator.
  Resized(4, "linear").floats({1}, {0.6f}).gives({2}, {0, 2.142857});
  Resized(4, "linear")
      .floats({1}, {0.6f})
      .warns("node 'n' (Resize): align_corners uses 2.4000001 as the length of "
             "dimension 0, like ONNX's reference evaluator; ONNX Runtime and "
             "PyTorch use 2, so their results differ");
  // Only the rounding of the scale; 'nearest' depends on it.
  Resized(10, "linear").floats({1}, {0.7f}).warns("");
  Resized(20, "linear").floats({1}, {0.3f}).warns("");
  Resized(20, "nearest").floats({1}, {0.3f}).gives({6}, {0, 3, 7, 11, 15, 18});
  Resized(20, "nearest").floats({1}, {0.3f}).warns("uses 6.00000024");
  Resized(4, "linear").floats({1}, {1.5}).warns("");
  Resized(4, "linear", "half_pixel").floats({1}, {0.6f}).warns("");
  // With sizes, the length is the size, without a rounding.
  Resized(25, "nearest")
      .absent()
      .ints({7})
      .gives({7}, {0, 4, 8, 12, 16, 20, 24});
  Resized(25, "nearest").absent().ints({7}).warns("");
  // The first position is 1, not a little less.
  Resized(5, "nearest", "half_pixel_symmetric")
      .floats({1}, {0.5})
      .gives({2}, {1, 3});
}

TEST_CASE("Split with num_outputs makes the last part smaller") {
  OneNode b("Split", 18);
  b.x({5}, {1, 2, 3, 4, 5}).set("num_outputs", 2);
  b.builder.graph().mutable_node(0)->add_output("z");
  b.gives({3}, {1, 2, 3});
  OneNode("Split", 18)
      .x({5}, {1, 2, 3, 4, 5})
      .ints({4})
      .fails("do not make up the dimension's 5");
  OneNode("Split", 18)
      .x({5}, {1, 2, 3, 4, 5})
      .ints({-1})
      .fails("do not make up");
}

TEST_CASE("attention") {
  // Equal keys: the mean of the values that the mask allows.
  OneNode("Attention", 23)
      .x({1, 1, 2, 1}, {1, 1})
      .x({1, 1, 2, 1}, {2, 2})
      .x({1, 1, 2, 1}, {4, 8})
      .gives({1, 1, 2, 1}, {6, 6});
  OneNode("Attention", 23)
      .x({1, 1, 2, 1}, {1, 1})
      .x({1, 1, 2, 1}, {2, 2})
      .x({1, 1, 2, 1}, {4, 8})
      .set("is_causal", 1)
      .gives({1, 1, 2, 1}, {4, 6});
  OneNode("Attention", 23)
      .x({1, 1, 4}, {1, 1, 1, 1})
      .x({1, 2, 2}, {1, 1, 1, 1})
      .x({1, 2, 2}, {1, 2, 3, 4})
      .set("q_num_heads", 4)
      .set("kv_num_heads", 2)
      .gives({1, 1, 4}, {2, 2, 3, 3});
}

TEST_CASE("quantised values") {
  const int32_t u8 = ::onnx::TensorProto::UINT8, i8 = ::onnx::TensorProto::INT8;
  OneNode("QuantizeLinear", 13)
      .x({4}, {-1, 0.5, 1.5, 1000})
      .floats({}, {1})
      .typed(u8, {}, {2})
      .gives({4}, {1, 2, 4, 255});
  OneNode("QuantizeLinear", 21)
      .x({1, 4}, {1, 2, 3, 4})
      .floats({1, 2}, {1, 0.5f})
      .absent()
      .set("axis", 1)
      .set("block_size", 2)
      .gives({1, 4}, {1, 2, 6, 8});
  OneNode("DequantizeLinear", 21)
      .typed(i8, {2, 2}, {-1, 2, 3, 4})
      .floats({2}, {1, 0.5f})
      .typed(i8, {2}, {0, 1})
      .set("axis", 0)
      .gives({2, 2}, {-1, 2, 1, 1.5});
  // A zero point of each column of each matrix.
  OneNode("MatMulInteger", 10)
      .typed(u8, {1, 2}, {3, 5})
      .typed(u8, {2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .typed(u8, {}, {1})
      .typed(u8, {2, 1, 1, 2}, {1, 2, 3, 4})
      .gives({2, 1, 1, 2}, {8, 8, 20, 20});
  OneNode("MatMulInteger", 10)
      .typed(u8, {1, 2}, {3, 5})
      .typed(u8, {2, 1}, {1, 2})
      .typed(i8, {}, {1})
      .fails("the zero point has another element type than its codes");
}

TEST_CASE("float16 overflows in no step of a node") {
  const int32_t u16 = ::onnx::TensorProto::UINT16,
                i32 = ::onnx::TensorProto::INT32;
  OneNode("Gemm", 13)
      .half({1, 2}, {300, 300})
      .half({2, 1}, {300, 300})
      .half({1}, {-60000})
      .set("alpha", 0.5)
      .gives({1, 1}, {30000});
  OneNode("Conv", 11)
      .half({1, 1, 2}, {200, 200})
      .half({1, 1, 2}, {200, 200})
      .half({1}, {-60000})
      .gives({1, 1, 1}, {20000});
  OneNode("QuantizeLinear", 21)
      .half({3}, {1, 2, -1})
      .half({}, {1})
      .typed(u16, {}, {32768})
      .gives({3}, {32769, 32770, 32767});
  OneNode("DequantizeLinear", 21)
      .typed(i32, {2}, {100000, -70000})
      .half({}, {0.0078125})
      .gives({2}, {781, -547});
  OneNode("NegativeLogLikelihoodLoss", 13)
      .half({4, 1}, {-30000, -30000, -30000, -30000})
      .typed(i32, {4}, {0, 0, 0, 0})
      .gives({}, {30000});
  OneNode("BatchNormalization", 15)
      .half({1, 1, 1}, {2048})
      .floats({1}, {1e5f})
      .floats({1}, {0.5f})
      .floats({1}, {2047.3f})
      .floats({1}, {1e8f})
      .gives({1, 1, 1}, {7.5});
}

TEST_CASE("the logarithm of sums of integers is not supported") {
  for (const char *op : {"ReduceLogSum", "ReduceLogSumExp"})
    OneNode(op, 13)
        .typed(::onnx::TensorProto::INT32, {2}, {1, 2})
        .fails("of integers", 3);
}

TEST_CASE("integers never trap") {
  ModelBuilder b;
  b.ints("a", {3}, {INT64_MIN, 5, 7});
  b.ints("b", {3}, {-1, 0, 2});
  b.node("Div", {"a", "b"}, {"q"});
  b.node("Mod", {"a", "b"}, {"r"});
  b.output("q", 0);
  b.output("r", 0);
  Imported result = b.import();
  REQUIRE(result.text() == "");
  auto values = evaluate(result, {});
  REQUIRE(values.size() == 2);
  CHECK(values[0].ints == std::vector<int64_t>{INT64_MIN, 0, 3});
  CHECK(values[1].ints == std::vector<int64_t>{0, 0, 1});
}

TEST_CASE("huge results are refused at once") {
  const int64_t huge = int64_t(1) << 40;
  OneNode("Expand", 13)
      .x({1}, {1})
      .ints({huge, huge})
      .fails("larger than any device's memory");
  OneNode("Tile", 13)
      .x({2}, {1, 2})
      .ints({huge})
      .fails("larger than any device's memory");
  OneNode("ConstantOfShape", 9)
      .ints({huge, 2})
      .fails("larger than any device's memory");
  OneNode("Pad", 13)
      .x({1}, {1})
      .ints({INT64_MAX, 0})
      .fails("do not fit dimension 0");
  OneNode("Reshape", 13).x({4}, {1, 2, 3, 4}).ints({huge, huge}).fails("");
  OneNode("Resize", 13)
      .x({2}, {1, 2})
      .absent()
      .floats({1}, {1e30f})
      .fails("a scale is");
}

TEST_CASE("windows") {
  const Values x = {1, 2, 3, 4, 5};
  OneNode("MaxPool", 12)
      .x({1, 1, 5}, x)
      .set("kernel_shape", Sizes{2})
      .set("strides", Sizes{2})
      .set("ceil_mode", 1)
      .gives({1, 1, 3}, {2, 4, 5});
  OneNode("AveragePool", 19)
      .x({1, 1, 5}, x)
      .set("kernel_shape", Sizes{2})
      .set("dilations", Sizes{2})
      .gives({1, 1, 3}, {2, 3, 4});
  OneNode("AveragePool", 12)
      .x({1, 1, 5}, x)
      .set("kernel_shape", Sizes{3})
      .set("pads", Sizes{1, 1})
      .set("count_include_pad", 1)
      .gives({1, 1, 5}, {1, 2, 3, 4, 3});
  // Indices in row-major and column-major order.
  const Values eight = {1, 2, 3, 4, 5, 6, 7, 8};
  const Values column = {0, 4, 2, 6, 1, 5, 3, 7};
  for (int storage : {0, 1})
    OneNode("MaxPool", 12)
        .x({1, 1, 2, 2, 2}, eight)
        .second()
        .set("kernel_shape", Sizes{1, 1, 1})
        .set("storage_order", storage)
        .gives({1, 1, 2, 2, 2},
               storage ? column : Values{0, 1, 2, 3, 4, 5, 6, 7});
  for (const Sizes &bad :
       {Sizes{0}, Sizes{-1}, Sizes{INT64_MAX}, Sizes{1, 1}}) {
    OneNode("MaxPool", 12)
        .x({1, 1, 5}, x)
        .set("kernel_shape", bad)
        .fails("'kernel_shape'");
    OneNode("MaxPool", 12)
        .x({1, 1, 5}, x)
        .set("kernel_shape", Sizes{2})
        .set("strides", bad)
        .fails("'strides'");
  }
  OneNode("MaxPool", 12)
      .x({1, 1, 5}, x)
      .set("kernel_shape", Sizes{6})
      .fails("larger than the padded input");
  OneNode("Conv", 12)
      .x({1, 3, 5}, Values(15, 1))
      .floats({2, 1, 3}, std::vector<float>(6, 1))
      .set("group", 2)
      .fails("must divide the channels (3)");
  OneNode("Conv", 12)
      .x({1, 3, 5}, Values(15, 1))
      .floats({2, 1, 3}, std::vector<float>(6, 1))
      .fails("takes 1 channels; the input has 3");
}

TEST_CASE("equations") {
  OneNode("Einsum", 12)
      .x({2, 2}, {1, 2, 3, 4})
      .set("equation", "ii->i")
      .gives({2}, {1, 4});
  OneNode("Einsum", 12)
      .x({2, 2}, {1, 2, 3, 4})
      .set("equation", "ij->ji")
      .gives({2, 2}, {1, 3, 2, 4});
  OneNode("Einsum", 12)
      .x({2}, {1, 2})
      .x({2}, {3, 4})
      .set("equation", "i,j")
      .gives({2, 2}, {3, 4, 6, 8});
  OneNode("Einsum", 12)
      .x({2, 1}, {1, 2})
      .x({1, 2}, {3, 4})
      .set("equation", "...a,a...->...")
      .gives({2}, {3, 8});
  OneNode("Einsum", 12)
      .x({2}, {1, 2})
      .set("equation", "i->ii")
      .fails("repeats a letter");
  OneNode("Einsum", 12)
      .x({2}, {1, 2})
      .set("equation", "i->k")
      .fails("unknown letter");
  OneNode("Einsum", 12).x({2}, {1, 2}).set("equation", "i!").fails("malformed");
  OneNode("Einsum", 12).x({2}, {1, 2}).set("equation", "ij").fails("rank 1");
  OneNode("Einsum", 12)
      .x({2}, {1, 2})
      .set("equation", "i,i")
      .fails("the node has 1 inputs");
}

TEST_CASE("indices known to be out of range are refused") {
  OneNode("Gather", 13)
      .x({2}, {1, 2})
      .ints({2})
      .fails("index 2 is out of range");
  OneNode("Gather", 13).x({2}, {1, 2}).ints({-2}).gives({1}, {1});
  OneNode("Slice", 13)
      .x({4}, {1, 2, 3, 4})
      .ints({INT64_MAX})
      .ints({INT64_MIN})
      .ints({0})
      .ints({-2})
      .gives({2}, {4, 2});
  OneNode("Slice", 13)
      .x({4}, {1, 2, 3, 4})
      .ints({0})
      .ints({2})
      .ints({0})
      .ints({0})
      .fails("a step is 0");
}

TEST_CASE("operators of sets 17 to 27 that do not fit") {
  // Their values are those of ONNX's own cases: test/e2e/inference/newer.test.
  const Values x = {1, 2, 3, 4};
  OneNode("CumProd", 25)
      .x({4}, x)
      .ints({0})
      .fails("exists from operator set 26");
  OneNode("BitCast", 26)
      .x({4}, x)
      .set("to", 6)
      .fails("between these types, which are not both integers", 3);
  OneNode("BitCast", 26)
      .typed(::onnx::TensorProto::INT32, {1}, {-1})
      .set("to", 13)
      .fails("the types have different sizes");
  OneNode("TensorScatter", 24)
      .x({1, 2, 2}, x)
      .x({1, 3, 2}, Values(6))
      .fails("does not fit a cache");
  OneNode("Col2Im", 18)
      .x({1, 4, 1}, x)
      .ints({3, 3})
      .ints({2, 2})
      .fails("the image has 4 blocks; the input has 1");
  OneNode("CenterCropPad", 18).x({4}, x).ints({-1}).fails("negative size");
  OneNode("AffineGrid", 20)
      .x({1, 2, 2}, x)
      .ints({1, 1, 2, 2})
      .fails("theta of shape [1, 2, 2] does not fit");
  OneNode("DFT", 20)
      .x({1, 4, 3}, Values(12))
      .fails("it must have 1 (real) or 2 (complex)");
  OneNode("DFT", 20)
      .x({1, 2, 2}, x)
      .set("onesided", 1)
      .fails("no transform of length 2");
  OneNode("STFT", 17).x({1, 4, 1}, x).ints({0}).fails("every 0 samples");
  OneNode("Attention", 23)
      .x({1, 1, 1, 4}, x)
      .x({1, 1, 1, 4}, x)
      .x({1, 1, 1, 4}, x)
      .set("left_window_size", 1)
      .fails("attribute 'left_window_size' of operator set 23", 3);
  OneNode("RotaryEmbedding", 23)
      .x({1, 1, 1, 4}, x)
      .floats({1, 1, 1}, {1})
      .floats({1, 1, 1}, {0})
      .fails("angles of shape [1, 1, 1] do not fit");
  OneNode("LinearAttention", 27)
      .x({1, 1, 4}, x)
      .x({1, 1, 4}, x)
      .x({1, 1, 4}, x)
      .set("q_num_heads", 1)
      .set("kv_num_heads", 1)
      .fails("input 'decay' or 'beta' is missing");
  OneNode("Range", 28).x({}, {1}).fails("operator set 28 is not supported");
}
