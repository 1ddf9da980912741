//===- FastMemoryStepsTest.cpp - groups against a simulation --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library multiplies the time of a kind of step with how many there are.
// Here every step is run, with the rectangles that it reads.
//
//===----------------------------------------------------------------------===//

#include "FastMemoryGroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include "gtest/gtest.h"

#include <map>
#include <random>
#include <set>

using namespace llvm;
using namespace remat::planning::fastmemory;

namespace {

/// A range of one dimension. `whole` is not 0 in the dimension that is taken in
/// steps, and its size there.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t whole = 0;

  int64_t size() const { return end - begin; }
};

/// A tensor, ranges of its rows and columns, and whether each is of a step.
/// What is of a tile is another slice than what is of a step, even if both are
/// equal there.
using Rectangle = std::array<int64_t, 7>;

class Simulation {
public:
  Simulation(const Problem &problem, const Rules &rules, ArrayRef<int> ops,
             const Granularity &granularity, ArrayRef<int> found,
             ArrayRef<int> left)
      : problem(problem), rules(rules), ops(ops), granularity(granularity),
        found(found), left(left) {
    for (int op : ops)
      for (int output : problem.ops[op].outputs)
        if (none_of(problem.consumers[output],
                    [&](int consumer) { return is_contained(ops, consumer); }))
          results.push_back(output);
    // What reaches a result through pointwise operations has its tiles.
    std::vector<int> open = results;
    while (!open.empty()) {
      int op = getMember(open.back());
      open.pop_back();
      if (op < 0 || !tiled.insert(op).second)
        continue;
      if (problem.ops[op].isProduct)
        steps = std::max<int64_t>(
            steps, divideCeil(problem.getReduction(problem.ops[op]),
                              granularity.depth));
      else
        append_range(open, problem.ops[op].inputs);
    }
  }

  double run(ArrayRef<int64_t> order) {
    const Tensor &shape = problem.tensors[results.front()];
    int64_t columns = divideCeil(shape.width, granularity.width);
    double time = 0;
    for (int64_t tile : order)
      for (int64_t step = 0; step < steps; ++step) {
        int64_t top = tile / columns * granularity.height;
        int64_t first = tile % columns * granularity.width;
        rows = {top, std::min(top + granularity.height, shape.height)};
        cols = {first, std::min(first + granularity.width, shape.width)};
        time += runStep(step);
      }
    return time;
  }

private:
  /// The operation of the group that makes a tensor, or -1.
  int getMember(int tensor) const {
    int producer = problem.producers[tensor];
    return is_contained(ops, producer) ? producer : -1;
  }

  double runStep(int64_t step) {
    // What a pointwise operation before a product reads stays for the tile.
    if (step == 0)
      held.clear();
    now = held;
    done.clear();
    compute = 0;
    for (int index : tiled) {
      const Op &op = problem.ops[index];
      if (!op.isProduct) {
        // Behind products, once for each tile.
        if (step != steps - 1)
          continue;
        compute += price(op, rows, cols);
        for (int input : op.inputs)
          if (getMember(input) < 0)
            load(input, rows, cols);
        continue;
      }
      int64_t length = problem.getReduction(op);
      int64_t begin = step * granularity.depth;
      if (begin >= length)
        continue;
      Range part = {begin, std::min(begin + granularity.depth, length), length};
      compute += price(op, rows, cols) * double(part.size()) / double(length);
      make(op.inputs[0], rows, part, step);
      make(op.inputs[1], part, cols, step);
    }
    int64_t elements = 0;
    auto isWhole = [&](const Rectangle &r) {
      const Tensor &tensor = problem.tensors[r[0]];
      return r[2] - r[1] == tensor.height && r[4] - r[3] == tensor.width;
    };
    for (const Rectangle &r : now) {
      auto covers = [&](const Rectangle &other) {
        return other == r || (other[0] == r[0] && isWhole(other));
      };
      bool isThere =
          any_of(before, covers) || any_of(now, [&](const Rectangle &other) {
            return other != r && covers(other);
          });
      if (!isThere)
        elements += (r[2] - r[1]) * (r[4] - r[3]);
    }
    before = now;
    if (step == steps - 1)
      for (int result : results)
        if (!is_contained(left, result))
          elements += rows.size() * cols.size();
    return std::max(compute, double(elements) / double(problem.bandwidth));
  }

  void load(int tensor, const Range &r, const Range &c) {
    if (is_contained(found, tensor))
      return;
    auto isPart = [](const Range &range) {
      return int64_t(range.whole > range.size());
    };
    Rectangle slice = {tensor, r.begin,   r.end,    c.begin,
                       c.end,  isPart(r), isPart(c)};
    now.insert(slice);
    if (isOnce)
      held.insert(slice);
  }

  /// The cost of an operation on a part of its result.
  double price(const Op &op, const Range &r, const Range &c) const {
    auto passes = [&](const Range &range, int64_t native) {
      int64_t all = range.whole ? range.whole : range.size();
      double count = rules.tiles == TileRule::OnePass
                         ? 1
                         : double(divideCeil(all, native));
      return range.whole ? count * double(range.size()) / double(all) : count;
    };
    double cost = double(op.cost) * passes(r, problem.nativeHeight) *
                  passes(c, problem.nativeWidth);
    if (op.isProduct && rules.costIsPerNativeDepth)
      cost *= double(problem.getReduction(op)) / double(problem.nativeWidth);
    return cost;
  }

  /// Makes an operand of a product.
  void make(int tensor, Range r, Range c, int64_t step) {
    int index = getMember(tensor);
    if (index < 0) {
      load(tensor, r, c);
      return;
    }
    const Op &op = problem.ops[index];
    if (!op.isProduct) {
      // All of the dimensions that are not those of the tile, at once.
      const Tensor &shape = problem.tensors[tensor];
      if (r.whole)
        r = {0, shape.height, 0};
      if (c.whole)
        c = {0, shape.width, 0};
    }
    bool isHeld = !op.isProduct || isOnce;
    if (!done.insert({index, r.begin, r.end, c.begin, c.end, isHeld}).second)
      return;
    bool wasOnce = isOnce;
    isOnce = isHeld;
    if (!isOnce || step == 0)
      compute += price(op, r, c);
    if (!op.isProduct) {
      for (int input : op.inputs)
        make(input, r, c, step);
    } else {
      Range all = {0, problem.getReduction(op), 0};
      make(op.inputs[0], r, all, step);
      make(op.inputs[1], all, c, step);
    }
    isOnce = wasOnce;
  }

  const Problem &problem;
  const Rules &rules;
  ArrayRef<int> ops;
  Granularity granularity;
  ArrayRef<int> found;
  ArrayRef<int> left;
  std::vector<int> results;
  std::set<int> tiled;
  int64_t steps = 1;
  Range rows;
  Range cols;
  double compute = 0;
  /// Whether what is made is for a pointwise operation before a product.
  bool isOnce = false;
  std::set<Rectangle> now;
  std::set<Rectangle> before;
  std::set<Rectangle> held;
  std::set<std::array<int64_t, 6>> done;
};

/// A problem of operations on what is there, of matching shapes.
Problem makeRandomProblem(std::mt19937 &random) {
  const int64_t lengths[] = {4, 6, 8, 12};
  auto draw = [&](size_t count) { return random() % count; };
  Problem problem;
  for (int i = 0; i < 5; ++i)
    problem.tensors.push_back({lengths[draw(4)], lengths[draw(4)]});
  problem.producers.assign(problem.tensors.size(), -1);
  while (problem.ops.size() < 6) {
    Op op;
    op.isProduct = draw(2) == 0;
    op.cost = static_cast<int64_t>(1 + draw(50));
    int left = static_cast<int>(draw(problem.tensors.size()));
    Tensor shape = problem.tensors[left];
    if (op.isProduct) {
      // A right operand of a random width, new or found.
      int64_t width = lengths[draw(4)];
      int right = -1;
      for (size_t i = 0; i < problem.tensors.size(); ++i)
        if (problem.tensors[i].height == shape.width && draw(2) == 0)
          right = static_cast<int>(i);
      if (right < 0) {
        right = static_cast<int>(problem.tensors.size());
        problem.tensors.push_back({width, shape.width});
        problem.producers.push_back(-1);
      }
      op.inputs = {left, right};
      shape.width = problem.tensors[right].width;
    } else {
      op.inputs = {left};
      for (size_t i = 0; i < problem.tensors.size(); ++i)
        if (static_cast<int>(i) != left && draw(2) == 0 &&
            problem.tensors[i].width == shape.width &&
            problem.tensors[i].height == shape.height)
          op.inputs.push_back(static_cast<int>(i));
    }
    op.outputs = {static_cast<int>(problem.tensors.size())};
    problem.tensors.push_back(shape);
    problem.producers.push_back(static_cast<int>(problem.ops.size()));
    problem.ops.push_back(std::move(op));
  }
  problem.consumers.resize(problem.tensors.size());
  for (auto [i, op] : enumerate(problem.ops))
    for (int input : op.inputs)
      if (!is_contained(problem.consumers[input], static_cast<int>(i)))
        problem.consumers[input].push_back(static_cast<int>(i));
  problem.capacity = 1 << 20;
  problem.bandwidth = static_cast<int64_t>(1 + draw(4));
  problem.nativeWidth = problem.nativeHeight = 4;
  return problem;
}

TEST(FastMemorySteps, SimulationOfRandomGroups) {
  std::mt19937 random(1);
  int count = 0, products = 0, chains = 0;
  while (count < 3000) {
    Problem problem = makeRandomProblem(random);
    Rules rules;
    rules.tiles = TileRule(random() % 4);
    rules.costIsPerNativeDepth = random() % 2 == 0;
    std::vector<int> ops;
    for (int op = 0; op < 6; ++op)
      if (random() % 2 == 0)
        ops.push_back(op);
    if (ops.empty())
      continue;
    Expected<GroupModel> model = GroupModel::create(problem, rules, ops);
    if (!model) {
      consumeError(model.takeError());
      continue;
    }
    Granularity granularity = {static_cast<int64_t>(1 + random() % 12),
                               static_cast<int64_t>(1 + random() % 12),
                               static_cast<int64_t>(1 + random() % 8)};
    if (Error error = model->check(granularity)) {
      consumeError(std::move(error));
      continue;
    }
    std::vector<int> found, left;
    for (int input : model->getInputs())
      if (random() % 4 == 0)
        found.push_back(input);
    for (int result : model->getResults())
      if (random() % 4 == 0)
        left.push_back(result);
    TiledGroup group(*model, granularity, {found, left});
    int64_t tiles = group.getTileRows() * group.getTileColumns();
    for (Traversal traversal :
         {Traversal::Raster, Traversal::RowSnake, Traversal::ColumnSnake}) {
      std::vector<int64_t> order =
          listTiles(traversal, group.getTileRows(), group.getTileColumns());
      ASSERT_EQ(static_cast<int64_t>(order.size()), tiles);
      double expected =
          Simulation(problem, rules, ops, granularity, found, left).run(order);
      ASSERT_NEAR(group.computeLatency(traversal), expected, 1e-9 * expected);
      ASSERT_NEAR(group.computeLatency(order), expected, 1e-9 * expected);
    }
    std::vector<int64_t> order = listTiles(
        Traversal::Raster, group.getTileRows(), group.getTileColumns());
    std::shuffle(order.begin(), order.end(), random);
    double expected =
        Simulation(problem, rules, ops, granularity, found, left).run(order);
    ASSERT_NEAR(group.computeLatency(order), expected, 1e-9 * expected);
    ++count;
    products += model->hasProducts();
    chains += ops.size() > 2 && model->hasProducts() && tiles > 1;
  }
  // Most of them are no trivial groups.
  EXPECT_GT(products, 1500);
  EXPECT_GT(chains, 300);
}

TEST(FastMemorySteps, BoundsOfRandomProblems) {
  std::mt19937 random(2);
  int tight = 0;
  for (int i = 0; i < 300; ++i) {
    Problem problem = makeRandomProblem(random);
    Rules rules;
    rules.tiles = TileRule(random() % 4);
    problem.capacity = 40 + static_cast<int64_t>(random() % 100);
    remat::planning::SolverOptions options;
    options.effort = 0.005;
    Expected<Found> found = findSchedule(problem, rules, options);
    if (!found) {
      consumeError(found.takeError());
      continue;
    }
    double latency = found->schedule.getLatency();
    ASSERT_LE(found->lowerBound, latency * (1 + 1e-9));
    tight += found->lowerBound > 0.99 * latency;
  }
  EXPECT_GT(tight, 30);
}

} // namespace
