//===- Contraction.cpp - every contraction as products of matrices --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/Contraction.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/fuse/Fusion.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace sinter::codegen {

using passes::MatmulForm;
using enum ProductDim;

int64_t ProductOperand::stride(ProductDim dim, unsigned loop) const {
  for (const ProductTerm &term : terms)
    if (term.dim == dim && term.loop == loop)
      return term.factor;
  return 0;
}

bool ProductOperand::movesWindow(ProductDim dim, unsigned loop) const {
  for (const WindowPosition &window : windows)
    for (const ProductTerm &term : window.terms)
      if (term.dim == dim && term.loop == loop)
        return true;
  return false;
}

int64_t Contraction::size(ProductDim dim) const {
  int64_t product = 1;
  for (int64_t loop : loopsOf(dim))
    product *= loop;
  return product;
}

void Contraction::transpose() {
  std::swap(a, b);
  std::swap(loops[static_cast<unsigned>(rows)],
            loops[static_cast<unsigned>(columns)]);
  auto swapDims = [](MutableArrayRef<ProductTerm> terms) {
    for (ProductTerm &term : terms)
      if (term.dim == rows || term.dim == columns)
        term.dim = term.dim == rows ? columns : rows;
  };
  swapDims(result);
  for (ProductOperand *operand : {&a, &b}) {
    swapDims(operand->terms);
    for (WindowPosition &window : operand->windows)
      swapDims(window.terms);
  }
}

namespace {

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

std::optional<Contraction> readMatmul(ir::DotGeneralOp op) {
  std::optional<MatmulForm> form = passes::matmulForm(
      op, passes::ViewDepth::loops, passes::ViewDepth::loops);
  if (!form)
    return std::nullopt;
  Contraction c;
  c.op = op;
  c.loops = {form->batch, {form->m}, {form->n}, {form->k}};
  c.a.base = form->a;
  c.b.base = form->b;
  c.a.offset = form->aOffset;
  c.b.offset = form->bOffset;
  auto terms = [&](ArrayRef<int64_t> strides, ProductDim first,
                   ProductDim second) {
    SmallVector<ProductTerm> list;
    for (auto [loop, stride] : llvm::enumerate(strides.drop_back(2)))
      list.push_back({batch, static_cast<unsigned>(loop), stride});
    list.push_back({first, 0, strides.end()[-2]});
    list.push_back({second, 0, strides.end()[-1]});
    return list;
  };
  c.a.terms = terms(form->aStrides, rows, depth);
  c.b.terms = terms(form->bStrides, depth, columns);
  c.result = terms(form->cStrides, rows, columns);
  return c;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The strides of an activation by role.
struct Activation {
  int64_t image, channel;
  SmallVector<int64_t> spatial, spatialShape;

  Activation(RankedTensorType type, bool channelsLast) {
    SmallVector<int64_t> strides = ir::rowMajorStrides(type.getShape());
    int64_t channelDim = channelsLast ? type.getRank() - 1 : 1;
    image = strides[0];
    channel = strides[channelDim];
    for (int64_t dim = 1; dim < type.getRank(); ++dim)
      if (dim != channelDim) {
        spatial.push_back(strides[dim]);
        spatialShape.push_back(type.getDimSize(dim));
      }
  }
};

/// Builds the contraction of a convolution: adds the loops of each dimension,
/// outermost first, with their terms.
class ConvBuilder {
public:
  template <class OpTy>
  ConvBuilder(OpTy op, RankedTensorType input, RankedTensorType filter,
              RankedTensorType output)
      : input(input, op.getChannelsLast()),
        output(output, op.getChannelsLast()),
        channelsLast(op.getChannelsLast()), images(input.getDimSize(0)),
        groups(op.getGroups()), filters(filter.getDimSize(0) / groups),
        channels(filter.getDimSize(1)), taps(filter.getShape().drop_front(2)),
        filterStrides(ir::rowMajorStrides(filter.getShape())),
        strides(op.getStrides()), dilations(op.getDilations()),
        padsLow(op.getPadsLow()) {
    c.op = op;
  }

  Contraction forward(Value x, Value w);
  Contraction inputGrad(Value dy, Value w);
  Contraction filterGrad(Value x, Value dy);

private:
  /// Adds a loop to `dim`; returns its term.
  ProductTerm loop(ProductDim dim, int64_t size) {
    auto &loops = c.loops[static_cast<unsigned>(dim)];
    loops.push_back(size);
    return {dim, static_cast<unsigned>(loops.size() - 1), 1};
  }
  static void add(SmallVectorImpl<ProductTerm> &terms, ProductTerm term,
                  int64_t factor) {
    terms.push_back({term.dim, term.loop, factor});
  }
  SmallVector<ProductTerm> loopsOf(ProductDim dim, ArrayRef<int64_t> sizes) {
    SmallVector<ProductTerm> list;
    for (int64_t size : sizes)
      list.push_back(loop(dim, size));
    return list;
  }
  /// Adds loops over a channel dimension and over taps of the filter. The loop
  /// that is contiguous in the activation comes last.
  std::pair<ProductTerm, SmallVector<ProductTerm>>
  channelAndTaps(ProductDim dim, int64_t channelSize) {
    if (!channelsLast) {
      ProductTerm channel = loop(dim, channelSize);
      return {channel, loopsOf(dim, taps)};
    }
    SmallVector<ProductTerm> list = loopsOf(dim, taps);
    return {loop(dim, channelSize), list};
  }
  /// Adds the positions at which the input is read, by output position and tap.
  void addInputWindows(ProductOperand &operand, ArrayRef<ProductTerm> positions,
                       ArrayRef<ProductTerm> tapLoops) {
    for (size_t i = 0; i < taps.size(); ++i) {
      WindowPosition window{
          {}, -padsLow[i], 1, input.spatialShape[i], input.spatial[i]};
      add(window.terms, positions[i], strides[i]);
      add(window.terms, tapLoops[i], dilations[i]);
      operand.windows.push_back(window);
    }
  }

  Contraction c;
  Activation input, output;
  bool channelsLast;
  int64_t images, groups;
  int64_t filters, channels; // of a group
  ArrayRef<int64_t> taps;
  SmallVector<int64_t> filterStrides;
  ArrayRef<int64_t> strides, dilations, padsLow;
};

/// rows: output positions; columns: filters; depth: elements of a window.
Contraction ConvBuilder::forward(Value x, Value w) {
  c.a.base = x;
  c.b.base = w;
  ProductTerm group = loop(batch, groups), image = loop(rows, images);
  SmallVector<ProductTerm> positions = loopsOf(rows, output.spatialShape);
  ProductTerm filter = loop(columns, filters);
  auto [channel, tapLoops] = channelAndTaps(depth, channels);

  add(c.a.terms, group, channels * input.channel);
  add(c.a.terms, image, input.image);
  add(c.a.terms, channel, input.channel);
  addInputWindows(c.a, positions, tapLoops);

  add(c.b.terms, group, filters * filterStrides[0]);
  add(c.b.terms, filter, filterStrides[0]);
  add(c.b.terms, channel, filterStrides[1]);
  for (auto [tap, stride] :
       llvm::zip_equal(tapLoops, ArrayRef(filterStrides).drop_front(2)))
    add(c.b.terms, tap, stride);

  add(c.result, group, filters * output.channel);
  add(c.result, image, output.image);
  add(c.result, filter, output.channel);
  for (auto [position, stride] : llvm::zip_equal(positions, output.spatial))
    add(c.result, position, stride);
  return c;
}

/// rows: input positions; columns: input channels; depth: filters and taps. An
/// input position gets contributions from the windows that contain it.
Contraction ConvBuilder::inputGrad(Value dy, Value w) {
  c.a.base = dy;
  c.b.base = w;
  ProductTerm group = loop(batch, groups), image = loop(rows, images);
  SmallVector<ProductTerm> positions = loopsOf(rows, input.spatialShape);
  ProductTerm channel = loop(columns, channels);
  auto [filter, tapLoops] = channelAndTaps(depth, filters);

  add(c.a.terms, group, filters * output.channel);
  add(c.a.terms, image, output.image);
  add(c.a.terms, filter, output.channel);
  for (size_t i = 0; i < taps.size(); ++i) {
    WindowPosition window{
        {}, padsLow[i], strides[i], output.spatialShape[i], output.spatial[i]};
    add(window.terms, positions[i], 1);
    add(window.terms, tapLoops[i], -dilations[i]);
    c.a.windows.push_back(window);
  }

  add(c.b.terms, group, filters * filterStrides[0]);
  add(c.b.terms, filter, filterStrides[0]);
  add(c.b.terms, channel, filterStrides[1]);
  for (auto [tap, stride] :
       llvm::zip_equal(tapLoops, ArrayRef(filterStrides).drop_front(2)))
    add(c.b.terms, tap, stride);

  add(c.result, group, channels * input.channel);
  add(c.result, image, input.image);
  add(c.result, channel, input.channel);
  for (auto [position, stride] : llvm::zip_equal(positions, input.spatial))
    add(c.result, position, stride);
  return c;
}

/// rows: filters; columns: elements of a window; depth: output positions.
Contraction ConvBuilder::filterGrad(Value x, Value dy) {
  c.a.base = dy;
  c.b.base = x;
  ProductTerm group = loop(batch, groups), filter = loop(rows, filters);
  auto [channel, tapLoops] = channelAndTaps(columns, channels);
  ProductTerm image = loop(depth, images);
  SmallVector<ProductTerm> positions = loopsOf(depth, output.spatialShape);

  add(c.a.terms, group, filters * output.channel);
  add(c.a.terms, filter, output.channel);
  add(c.a.terms, image, output.image);
  for (auto [position, stride] : llvm::zip_equal(positions, output.spatial))
    add(c.a.terms, position, stride);

  add(c.b.terms, group, channels * input.channel);
  add(c.b.terms, channel, input.channel);
  add(c.b.terms, image, input.image);
  addInputWindows(c.b, positions, tapLoops);

  add(c.result, group, filters * filterStrides[0]);
  add(c.result, filter, filterStrides[0]);
  add(c.result, channel, filterStrides[1]);
  for (auto [tap, stride] :
       llvm::zip_equal(tapLoops, ArrayRef(filterStrides).drop_front(2)))
    add(c.result, tap, stride);
  return c;
}

std::optional<Contraction> readConv(Operation *op) {
  auto type = [](Value value) { return ir::tensorType(value); };
  auto [first, second] = passes::multiplied(op);
  if (auto conv = dyn_cast<ir::ConvOp>(op))
    return ConvBuilder(conv, type(conv.getInput()), type(conv.getFilter()),
                       type(conv.getResult()))
        .forward(first, second);
  if (auto conv = dyn_cast<ir::ConvInputGradOp>(op))
    return ConvBuilder(conv, type(conv.getResult()), type(conv.getFilter()),
                       type(conv.getOutputGrad()))
        .inputGrad(first, second);
  auto conv = cast<ir::ConvFilterGradOp>(op);
  return ConvBuilder(conv, type(conv.getInput()), type(conv.getResult()),
                     type(conv.getOutputGrad()))
      .filterGrad(first, second);
}

//===----------------------------------------------------------------------===//
// The canonical form
//===----------------------------------------------------------------------===//

/// Joins two neighbouring loops of a dimension if all operands and the result
/// are accessed as by a single loop; removes loops of one step.
class LoopJoiner {
public:
  explicit LoopJoiner(Contraction &c) : c(c) {}

  void run() {
    for (ProductDim dim : {batch, rows, columns, depth}) {
      auto &loops = c.loops[static_cast<unsigned>(dim)];
      for (unsigned loop = loops.size(); loop-- > 0;)
        if (loops[loop] == 1)
          remove(dim, loop);
      for (unsigned loop = loops.size(); loop-- > 1;)
        if (walksAsOne(dim, loop)) {
          loops[loop] *= loops[loop - 1];
          remove(dim, loop - 1);
        }
    }
  }

private:
  SmallVector<SmallVector<ProductTerm> *> termLists() {
    SmallVector<SmallVector<ProductTerm> *> lists{&c.result};
    for (ProductOperand *operand : {&c.a, &c.b}) {
      lists.push_back(&operand->terms);
      for (WindowPosition &window : operand->windows)
        lists.push_back(&window.terms);
    }
    return lists;
  }
  static int64_t factor(ArrayRef<ProductTerm> terms, ProductDim dim,
                        unsigned loop) {
    for (const ProductTerm &term : terms)
      if (term.dim == dim && term.loop == loop)
        return term.factor;
    return 0;
  }
  bool walksAsOne(ProductDim dim, unsigned inner) {
    return llvm::all_of(termLists(), [&](auto *terms) {
      return factor(*terms, dim, inner - 1) ==
             factor(*terms, dim, inner) * c.loopsOf(dim)[inner];
    });
  }
  /// Removes a loop, whose value is 0 or part of the next loop's value.
  void remove(ProductDim dim, unsigned loop) {
    auto &loops = c.loops[static_cast<unsigned>(dim)];
    loops.erase(loops.begin() + loop);
    for (auto *terms : termLists()) {
      llvm::erase_if(*terms, [&](const ProductTerm &term) {
        return term.dim == dim && term.loop == loop;
      });
      for (ProductTerm &term : *terms)
        term.loop -= term.dim == dim && term.loop > loop;
    }
  }

  Contraction &c;
};

/// A window that never leaves its tensor needs no bounds check; without a
/// divisor it becomes plain terms.
void dropInnerWindows(const Contraction &c, ProductOperand &operand) {
  llvm::erase_if(operand.windows, [&](WindowPosition &window) {
    int64_t least = window.constant, most = window.constant;
    for (const ProductTerm &term : window.terms) {
      int64_t last = (c.loopsOf(term.dim)[term.loop] - 1) * term.factor;
      least += std::min<int64_t>(last, 0);
      most += std::max<int64_t>(last, 0);
    }
    // Reading a negative position as unsigned keeps its remainder only modulo a
    // power of two, so other divisors need the bounds check.
    window.mayLeave = least <= -window.divisor ||
                      most >= window.size * window.divisor ||
                      !llvm::isPowerOf2_64(window.divisor);
    if (window.mayLeave || window.divisor != 1)
      return false;
    for (const ProductTerm &term : window.terms)
      operand.terms.push_back(
          {term.dim, term.loop, term.factor * window.stride});
    operand.offset += window.constant * window.stride;
    return true;
  });
}

bool isAddressable(const Contraction &c) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  for (ProductDim dim : {batch, rows, columns, depth})
    if (c.size(dim) > limit)
      return false;
  for (const ProductOperand *operand : {&c.a, &c.b}) {
    if (!isa<BlockArgument>(operand->base))
      return false;
    for (const WindowPosition &window : operand->windows) {
      // Positions before the division must fit in 32 bits with their sign.
      int64_t reach = std::abs(window.constant) + window.size * window.divisor;
      for (const ProductTerm &term : window.terms)
        reach += std::abs(term.factor) * c.loopsOf(term.dim)[term.loop];
      if (reach > limit)
        return false;
    }
  }
  return true;
}

} // namespace

Operation *Contraction::find(Block &body) {
  for (Operation &op : body)
    if (ir::isContraction(&op))
      return &op;
  return nullptr;
}

std::optional<Contraction> Contraction::read(Block &body) {
  Operation *op = find(body);
  if (!op)
    return std::nullopt;
  auto dot = dyn_cast<ir::DotGeneralOp>(op);
  std::optional<Contraction> c = dot ? readMatmul(dot) : readConv(op);
  if (!c)
    return std::nullopt;
  dropInnerWindows(*c, c->a);
  dropInnerWindows(*c, c->b);
  LoopJoiner(*c).run();
  if (!isAddressable(*c))
    return std::nullopt;
  return c;
}

bool Contraction::isCountable(Operation *op, int64_t stretches) {
  auto dot = dyn_cast<ir::DotGeneralOp>(op);
  if (!dot) {
    Block body;
    for (Value operand : op->getOperands())
      body.addArgument(operand.getType(), op->getLoc());
    Operation *alone = op->clone();
    alone->setOperands(body.getArguments());
    body.push_back(alone);
    return read(body).has_value();
  }
  // The layout phase brings the op into a readable form and keeps its sizes.
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  auto product = [](Value operand, ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= ir::tensorType(operand).getDimSize(dim);
    return size;
  };
  return product(dot.getLhs(), dot.getLhsBatch()) <= limit &&
         product(dot.getLhs(), dot.getLhsFree()) <= limit &&
         product(dot.getRhs(), dot.getRhsFree()) <= limit &&
         product(dot.getLhs(), dot.getLhsContract()) / stretches <= limit;
}

} // namespace sinter::codegen
