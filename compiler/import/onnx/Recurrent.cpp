//===- Recurrent.cpp - RNN, GRU and LSTM ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A layer is a scan over time. One product multiplies the inputs of all steps
// by their weights beforehand; a step multiplies only the hidden state.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Activation.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Scans.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

namespace {

/// An activation function with its parameters.
struct Activation {
  std::string name;
  double alpha, beta;
};

/// The default parameters; NaN if there is none.
struct Defaults {
  const char *name;
  bool hasAlpha, hasBeta;
  double alpha, beta;
};
constexpr Defaults kActivations[] = {
    {"Relu", false, false, 0, 0},
    {"Tanh", false, false, 0, 0},
    {"Sigmoid", false, false, 0, 0},
    {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},
    {"Affine", true, true, 1, 0},
    {"ScaledTanh", true, true, NAN, NAN},
    {"HardSigmoid", true, true, 0.2f, 0.5f},
    {"LeakyRelu", true, false, 0.01f, 0},
    {"Elu", true, false, 1, 0},
    {"ThresholdedRelu", true, false, 1, 0},
};

/// The common part of the three operators: shapes, options, and the loop over
/// time. `gates` is the number of blocks in W and R; `functions` are the
/// default activations of a direction.
class Recurrent {
public:
  Recurrent(NodeImport &n, int64_t gates,
            llvm::ArrayRef<const char *> functions)
      : n(n), gates_(gates), functions_(functions) {}
  virtual ~Recurrent() = default;

  void run();

protected:
  /// One direction's weights, ready for the steps.
  struct Direction {
    int64_t index;
    Value inputs; // [T, B, gates H]: W x + Wb, plus Rb if it may be added early
    Value recurrent;     // R: [gates H, H]
    Value recurrentBias; // Rb: [gates H], or null
    Value peepholes;     // [3 H], or null
    llvm::ArrayRef<Activation> activations;
  };
  struct State {
    Value hidden, cell; // [B, H]; the cell is the LSTM's
  };
  /// Returns the state after a step; `x` [B, gates H] are the step's inputs.
  virtual State step(const Direction &d, Value x, const State &state) = 0;
  /// Whether all of Rb is added to the inputs at once.
  virtual bool addsBiasEarly() const { return true; }
  virtual bool hasCell() const { return false; }

  /// Block `i` of `count` blocks along the last dimension.
  Value block(Value v, int64_t i) {
    int64_t last = n.rankOf(v) - 1;
    return n.sliceDim(v, last, i * hidden_, (i + 1) * hidden_);
  }
  /// h * R^T for the blocks [from, to).
  Value multiply(Value h, const Direction &d, int64_t from, int64_t to) {
    Value rows = n.sliceDim(d.recurrent, 0, from * hidden_, to * hidden_);
    return n.dot(h, rows, {}, {}, {1}, {1});
  }
  Value activate(const Activation &f, Value x);

  NodeImport &n;
  int64_t steps_ = 0, batch_ = 0, features_ = 0, hidden_ = 0, directions_ = 1;

private:
  bool readActivations();
  bool readShapes();
  Value perDirection(size_t input, int64_t d, Ints shape, StringRef field);
  Value initialState(size_t input, int64_t d, StringRef field);
  bool runDirection(int64_t d, bool isReverse);
  bool runSteps(const Direction &d, bool isReverse, State &state, Value &all);

  int64_t gates_;
  llvm::ArrayRef<const char *> functions_;
  std::vector<Activation> activations_;
  double clip_ = 0;
  bool isBatchFirst_ = false;
  Value x_, lengths_;
  llvm::SmallVector<Value> outputs_, lastHidden_, lastCell_; // per direction
};

Value Recurrent::activate(const Activation &f, Value x) {
  if (!x)
    return {};
  if (clip_ > 0)
    x = emitClip(n, x, n.splatLike(x, -clip_), n.splatLike(x, clip_));
  if (f.name == "Relu")
    return n.unary<ir::ReluOp>(x);
  if (f.name == "Tanh")
    return n.unary<ir::TanhOp>(x);
  if (f.name == "Sigmoid")
    return n.unary<ir::SigmoidOp>(x);
  if (f.name == "Softsign")
    return emitSoftsign(n, x);
  if (f.name == "Softplus")
    return emitSoftplus(n, x);
  if (f.name == "Affine")
    return n.add(n.mul(x, f.alpha), f.beta);
  if (f.name == "ScaledTanh")
    return n.mul(n.unary<ir::TanhOp>(n.mul(x, f.beta)), f.alpha);
  if (f.name == "HardSigmoid")
    return emitHardSigmoid(n, x, f.alpha, f.beta);
  if (f.name == "LeakyRelu")
    return emitLeakyRelu(n, x, f.alpha);
  if (f.name == "Elu")
    return emitElu(n, x, f.alpha);
  return emitThresholdedRelu(n, x, f.alpha);
}

bool Recurrent::readActivations() {
  auto alphas = n.attrFloats("activation_alpha"),
       betas = n.attrFloats("activation_beta");
  auto names = n.attrStrings("activations");
  if (n.failed())
    return false;
  size_t count = functions_.size() * size_t(directions_);
  if (names && names->size() != count) {
    n.fail("attribute 'activations' has " + std::to_string(names->size()) +
           " entries; it must have " + std::to_string(count));
    return false;
  }
  // Parameters are consumed in the order of the functions that have any.
  size_t nextAlpha = 0, nextBeta = 0;
  for (size_t i = 0; i < count; ++i) {
    std::string name = names ? (*names)[i] : functions_[i % functions_.size()];
    const Defaults *known =
        llvm::find_if(kActivations, [&](const Defaults &entry) {
          return StringRef(name).equals_insensitive(entry.name);
        });
    if (known == std::end(kActivations)) {
      n.fail("attribute 'activations' has the unknown function " +
             quoted(name));
      return false;
    }
    Activation activation{known->name, known->alpha, known->beta};
    if (known->hasAlpha && alphas && nextAlpha < alphas->size())
      activation.alpha = (*alphas)[nextAlpha++];
    if (known->hasBeta && betas && nextBeta < betas->size())
      activation.beta = (*betas)[nextBeta++];
    if (std::isnan(activation.alpha) || std::isnan(activation.beta)) {
      n.fail("the function " + quoted(known->name) +
             " needs 'activation_alpha' and 'activation_beta'");
      return false;
    }
    activations_.push_back(activation);
  }
  return true;
}

bool Recurrent::readShapes() {
  std::string direction = n.attrString("direction", "forward");
  clip_ = n.attrFloat("clip", 0);
  isBatchFirst_ = n.version >= 14 && n.attrInt("layout", 0);
  std::optional<int64_t> hidden = n.attrInt("hidden_size");
  if (n.failed())
    return false;
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional") {
    n.fail("attribute 'direction' is " + quoted(direction) +
           "; it must be 'forward', 'reverse' or 'bidirectional'");
    return false;
  }
  directions_ = direction == "bidirectional" ? 2 : 1;
  x_ = n.in(0);
  if (n.rankOf(x_) != 3 || n.rankOf(n.in(2)) != 3 || !n.isFloat(x_)) {
    n.fail("X, W and R must be float tensors of rank 3");
    return false;
  }
  if (isBatchFirst_)
    x_ = n.transpose(x_, {1, 0, 2});
  steps_ = n.shapeOf(x_)[0];
  batch_ = n.shapeOf(x_)[1];
  features_ = n.shapeOf(x_)[2];
  hidden_ = n.shapeOf(n.in(2))[2];
  if (hidden && *hidden != hidden_) {
    n.fail("attribute 'hidden_size' is " + std::to_string(*hidden) +
           "; R has " + std::to_string(hidden_) + " columns");
    return false;
  }
  if (n.has(4)) {
    lengths_ = n.in(4);
    if (n.shapeOf(lengths_) != Ints({batch_})) {
      n.fail("sequence_lens has shape " + shownShape(n.shapeOf(lengths_)) +
             "; it must be " + shownShape({batch_}));
      return false;
    }
    if (!n.checkIndices(lengths_, 0, steps_ + 1))
      return false;
    std::optional<ir::Tensor> known = n.constantOf(lengths_);
    if (known &&
        llvm::all_of(known->ints, [&](int64_t l) { return l == steps_; }))
      lengths_ = Value();
  }
  return true;
}

/// Slice `d` of an input of shape [directions, shape..]; null if the input is
/// absent.
Value Recurrent::perDirection(size_t input, int64_t d, Ints shape,
                              StringRef field) {
  Value v = n.in(input);
  if (!v)
    return {};
  Shape expected = {directions_};
  llvm::append_range(expected, shape);
  if (n.shapeOf(v) != Ints(expected) || n.elementOf(v) != n.elementOf(x_))
    return n.fail("input " + quoted(field) + " has shape " +
                  shownShape(n.shapeOf(v)) + "; it must be " +
                  shownShape(expected) + " of X's type");
  return n.reshape(n.sliceDim(v, 0, d, d + 1), shape);
}

Value Recurrent::initialState(size_t input, int64_t d, StringRef field) {
  if (!n.has(input))
    return n.splat({batch_, hidden_}, n.elementOf(x_), 0);
  if (!isBatchFirst_)
    return perDirection(input, d, {batch_, hidden_}, field);
  Value v = n.in(input);
  if (n.shapeOf(v) != Ints({batch_, directions_, hidden_}))
    return n.fail("input " + quoted(field) + " has shape " +
                  shownShape(n.shapeOf(v)) + "; it must be " +
                  shownShape({batch_, directions_, hidden_}));
  return n.reshape(n.sliceDim(v, 1, d, d + 1), {batch_, hidden_});
}

/// Makes the scan over all steps, of which there is at least one. `state` is
/// the initial state and becomes the last one; `all` [T, B, H] becomes the
/// outputs, if they are read.
bool Recurrent::runSteps(const Direction &d, bool isReverse, State &state,
                         Value &all) {
  ScanBuilder scan(n);
  ScanBuilder::Operands operands;
  Value x = scan.argument(ScanBuilder::sliceType(d.inputs)), step;
  operands.stacks.push_back(d.inputs);
  if (lengths_) {
    step = scan.argument(RankedTensorType::get({}, n.elementOf(lengths_)));
    operands.stacks.push_back(n.iota({steps_}, 0, n.elementOf(lengths_)));
  }
  State before{scan.argument(ir::tensorType(state.hidden)), {}};
  operands.initial.push_back(state.hidden);
  if (hasCell()) {
    before.cell = scan.argument(ir::tensorType(state.cell));
    operands.initial.push_back(state.cell);
  }
  State next = this->step(d, x, before);
  Value output = next.hidden;
  if (lengths_) {
    // After its end, a sequence keeps its state and outputs zeros.
    Value isInside = n.compare(ir::CompareKind::gt, lengths_, step);
    isInside = n.broadcastInDims(isInside, {0}, {batch_, hidden_});
    output = n.where(isInside, next.hidden, n.splatLike(next.hidden, 0));
    next.hidden = n.where(isInside, next.hidden, before.hidden);
    if (hasCell())
      next.cell = n.where(isInside, next.cell, before.cell);
  }
  if (n.failed())
    return false;
  SmallVector<Value> carried{next.hidden}, slices;
  if (hasCell())
    carried.push_back(next.cell);
  if (n.wants(0))
    slices.push_back(output);
  ir::ScanOp made = scan.finish(steps_, isReverse, operands, carried, slices);
  state = {made.getLast()[0], hasCell() ? made.getLast()[1] : Value()};
  if (n.wants(0))
    all = made.getStacked()[0];
  return true;
}

bool Recurrent::runDirection(int64_t d, bool isReverse) {
  int64_t width = gates_ * hidden_;
  Value weights = perDirection(1, d, {width, features_}, "W");
  Value bias = perDirection(3, d, {2 * width}, "B");
  Direction direction;
  direction.index = d;
  direction.recurrent = perDirection(2, d, {width, hidden_}, "R");
  direction.peepholes =
      hasCell() ? perDirection(7, d, {3 * hidden_}, "P") : Value();
  direction.activations = llvm::ArrayRef(activations_)
                              .slice(d * functions_.size(), functions_.size());
  direction.inputs = n.dot(x_, weights, {}, {}, {2}, {1});
  if (bias) {
    direction.recurrentBias = n.sliceDim(bias, 0, width, 2 * width);
    direction.inputs = n.add(direction.inputs, n.sliceDim(bias, 0, 0, width));
    if (addsBiasEarly())
      direction.inputs = n.add(direction.inputs, direction.recurrentBias);
  }
  State state{initialState(5, d, "initial_h"),
              hasCell() ? initialState(6, d, "initial_c") : Value()};
  if (n.failed())
    return false;
  Value all = n.splat({0, batch_, hidden_}, n.elementOf(x_), 0);
  if (steps_ > 0 && !runSteps(direction, isReverse, state, all))
    return false;
  if (n.wants(0))
    outputs_.push_back(n.reshape(all, {steps_, 1, batch_, hidden_}));
  lastHidden_.push_back(n.reshape(state.hidden, {1, batch_, hidden_}));
  if (hasCell())
    lastCell_.push_back(n.reshape(state.cell, {1, batch_, hidden_}));
  return !n.failed();
}

void Recurrent::run() {
  if (!readShapes() || !readActivations())
    return;
  for (int64_t d = 0; d < directions_; ++d)
    if (!runDirection(d, d == 1 ||
                             n.attrString("direction", "forward") == "reverse"))
      return;
  if (n.wants(0)) {
    Value y = n.concat(outputs_, 1); // [T, D, B, H]
    n.out(0, isBatchFirst_ ? n.transpose(y, {2, 0, 1, 3}) : y);
  }
  auto last = [&](size_t i, llvm::ArrayRef<Value> values) {
    if (!n.wants(i) || values.empty())
      return;
    Value y = n.concat(values, 0); // [D, B, H]
    n.out(i, isBatchFirst_ ? n.transpose(y, {1, 0, 2}) : y);
  };
  last(1, lastHidden_);
  last(2, lastCell_);
}

//===----------------------------------------------------------------------===//
// The three cells
//===----------------------------------------------------------------------===//

constexpr const char *kRnnFunctions[] = {"Tanh"};
constexpr const char *kGruFunctions[] = {"Sigmoid", "Tanh"};
constexpr const char *kLstmFunctions[] = {"Sigmoid", "Tanh", "Tanh"};

class Rnn : public Recurrent {
public:
  explicit Rnn(NodeImport &n) : Recurrent(n, 1, kRnnFunctions) {}

private:
  State step(const Direction &d, Value x, const State &state) override {
    return {
        activate(d.activations[0], n.add(x, multiply(state.hidden, d, 0, 1))),
        {}};
  }
};

/// Blocks: update z, reset r, candidate h.
class Gru : public Recurrent {
public:
  explicit Gru(NodeImport &n)
      : Recurrent(n, 3, kGruFunctions),
        linearBeforeReset_(n.attrInt("linear_before_reset", 0)) {}

private:
  bool addsBiasEarly() const override { return !linearBeforeReset_; }

  State step(const Direction &d, Value x, const State &state) override {
    Value h = state.hidden;
    auto withBias = [&](Value v, int64_t from, int64_t to) {
      if (!linearBeforeReset_ || !d.recurrentBias)
        return v;
      return n.add(
          v, n.sliceDim(d.recurrentBias, 0, from * hidden_, to * hidden_));
    };
    Value gates = n.add(n.sliceDim(x, 1, 0, 2 * hidden_),
                        withBias(multiply(h, d, 0, 2), 0, 2));
    gates = activate(d.activations[0], gates);
    Value update = block(gates, 0), reset = block(gates, 1);
    Value recurrent = linearBeforeReset_
                          ? n.mul(reset, withBias(multiply(h, d, 2, 3), 2, 3))
                          : multiply(n.mul(reset, h), d, 2, 3);
    Value candidate = activate(d.activations[1], n.add(block(x, 2), recurrent));
    // (1 - z) h' + z h
    Value kept = n.sub(n.splatLike(update, 1), update);
    return {n.add(n.mul(kept, candidate), n.mul(update, h)), {}};
  }

  bool linearBeforeReset_;
};

/// Blocks: input i, output o, forget f, cell c.
class Lstm : public Recurrent {
public:
  explicit Lstm(NodeImport &n)
      : Recurrent(n, 4, kLstmFunctions),
        couplesForget_(n.attrInt("input_forget", 0)) {}

private:
  bool hasCell() const override { return true; }

  State step(const Direction &d, Value x, const State &state) override {
    Value gates = n.add(x, multiply(state.hidden, d, 0, 4));
    auto peep = [&](Value gate, int64_t i, Value cell) {
      if (!d.peepholes)
        return gate;
      return n.add(gate, n.mul(cell, block(d.peepholes, i)));
    };
    Value input =
        activate(d.activations[0], peep(block(gates, 0), 0, state.cell));
    Value forget =
        couplesForget_
            ? n.sub(n.splatLike(input, 1), input)
            : activate(d.activations[0], peep(block(gates, 2), 2, state.cell));
    Value candidate = activate(d.activations[1], block(gates, 3));
    Value cell = n.add(n.mul(forget, state.cell), n.mul(input, candidate));
    Value output = activate(d.activations[0], peep(block(gates, 1), 1, cell));
    // The cell state that is passed on is not clipped.
    return {n.mul(output, activate(d.activations[2], cell)), cell};
  }

  bool couplesForget_;
};

} // namespace

template <class Cell> static void importRecurrent(NodeImport &n) {
  Cell(n).run();
}

llvm::ArrayRef<OpRow> recurrentOps() {
  static constexpr OpRow rows[] = {
      {"GRU", importRecurrent<Gru>, 3, 6, 2},
      {"LSTM", importRecurrent<Lstm>, 3, 8, 3},
      {"RNN", importRecurrent<Rnn>, 3, 6, 2},
  };
  return rows;
}

} // namespace sinter::compiler
