//===- AddressSearch.cpp - exact search for addresses ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any packing can be pushed down until each range lies on another one, or at
// the bottom, or at the address that it must have. So it is enough to place
// ranges in the order of their addresses, each at its floor: above all that is
// placed and lives together with it. What cuts the search short:
//
//   * A range is not placed where one that is left would fit below it: that one
//     comes first.
//   * At each position, what is left has to be stacked. A range cannot be lower
//     than its floor, so that the height of the stack is at least that of a
//     machine that runs jobs with release dates: in the order of the floors,
//     each begins when the one before it is done or at its floor.
//   * What no range that is left lives across falls apart into parts that are
//     solved one by one. If one has no solution, the choice before the first is
//     to blame.
//   * If nothing that is left lives together with a range, no other choice is
//     better than to place it.
//
// The parts, the dominance and the order of addresses are those of MiniMalloc;
// the bound by release dates takes the place of its bound by the lowest floor.
//
//===----------------------------------------------------------------------===//

#include "AddressSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

using namespace llvm;
using namespace remat::planning;

AddressSearch::AddressSearch(ArrayRef<LiveRange> given,
                             std::function<bool()> isOver)
    : isOver(std::move(isOver)), offsets(given.size(), 0) {
  std::vector<uint32_t> begins;
  for (auto [index, range] : enumerate(given)) {
    if (range.bytes == 0)
      continue;
    begins.push_back(range.begin);
    ranges.push_back({range.bytes, range.alignment, range.fixedOffset,
                      int64_t(range.end) - range.begin + 1, range.begin,
                      range.end, uint32_t(index)});
  }
  sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  numPositions = begins.size();
  for (Range &range : ranges) {
    range.begin = lower_bound(begins, range.begin) - begins.begin();
    range.end = upper_bound(begins, range.end) - begins.begin() - 1;
  }
  stable_sort(ranges,
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (uint32_t position = 0, range = 0; position <= numPositions; ++position) {
    while (range < ranges.size() && ranges[range].begin < position)
      ++range;
    firstRanges.push_back(range);
  }

  // What begins during the life of a range lives together with it; what began
  // before is found from its side.
  std::vector<std::vector<uint32_t>> lists(ranges.size());
  for (uint32_t a = 0; a < ranges.size(); ++a)
    for (uint32_t b = a + 1; b < firstRanges[ranges[a].end + 1]; ++b) {
      lists[a].push_back(b);
      lists[b].push_back(a);
    }
  firstNeighbours.push_back(0);
  for (const std::vector<uint32_t> &list : lists) {
    append_range(neighbours, list);
    firstNeighbours.push_back(neighbours.size());
  }
}

AddressSearch::Outcome AddressSearch::run(int64_t arenaBytes, Order newOrder,
                                          int64_t &work) {
  arena = arenaBytes;
  order = newOrder;
  Outcome outcome = Outcome::Stopped;
  while (outcome == Outcome::Stopped && work > 0 && !isOver()) {
    int64_t share = work;
    if (order == Order::Drawn) {
      share = std::min(work, getWorkPerDraw());
      drawPowers();
    }
    reset();
    outcome = search(share);
    work -= spent;
  }
  return outcome;
}

/// The crowd of a range, the most bytes that are still to be placed at one time
/// of its life, tells most. Many ranges have equal ones, so others count, too.
void AddressSearch::drawPowers() {
  crowdPower = 4 * uniform(generator);
  lifePower = uniform(generator);
  bytesPower = 2 * uniform(generator) - 0.5;
  noise = PackingTuning::mostNoise * uniform(generator);
}

void AddressSearch::reset() {
  size_t numRanges = ranges.size();
  floors.clear();
  for (const Range &range : ranges)
    floors.push_back(std::max<int64_t>(range.fixedOffset, 0));
  precedence.assign(numRanges, 0);
  isPlaced.assign(numRanges, false);
  isRaised.assign(numRanges, false);
  rest.assign(numPositions, 0);
  crossings.assign(numPositions, 0);
  heights.assign(numPositions, 0);
  for (const Range &range : ranges)
    for (uint32_t position = range.begin; position <= range.end; ++position) {
      rest[position] += range.bytes;
      crossings[position] += position < range.end;
    }
  parts.clear();
  choices.clear();
  candidates.clear();
  leftOfChoices.clear();
  placements.clear();
  trail.clear();
  // Resetting visits every position of every range.
  spent = int64_t(neighbours.size() + numRanges);
  nextQuestion = PackingTuning::workBetweenQuestions;
}

/// The first of the parts that what is given falls apart into.
uint32_t AddressSearch::makeRootParts() {
  uint32_t first = none;
  for (uint32_t end = numPositions, begin = end; end > 0; end = begin) {
    --begin;
    while (begin > 0 && crossings[begin - 1] != 0)
      --begin;
    Part part{begin, end, /*failTo=*/none, /*next=*/first};
    part.needsRanks = true;
    first = parts.size();
    parts.push_back(part);
  }
  return first;
}

bool AddressSearch::isCutShort() {
  if (spent < nextQuestion)
    return false;
  nextQuestion = spent + PackingTuning::workBetweenQuestions;
  return isOver();
}

AddressSearch::Outcome AddressSearch::search(int64_t maxSpent) {
  uint32_t open = makeRootParts();
  for (const Part &part : parts) {
    listLeft(part);
    if (!leavesRoom(part, /*lowest=*/0, left))
      return Outcome::DoesNotFit;
  }
  while (open != none) {
    openPart(open);
    for (bool isAccepted = false; !isAccepted;) {
      Choice &choice = choices.back();
      if (choice.nextCandidate == choice.endCandidate) {
        uint32_t failTo = parts[choice.part].failTo;
        if (failTo == none)
          return Outcome::DoesNotFit;
        choices.resize(failTo + 1);
        candidates.resize(choices.back().endCandidate);
        parts.resize(choices.back().numParts);
        retract();
        recallLeft();
        continue;
      }
      if (spent > maxSpent || isCutShort())
        return Outcome::Stopped;
      uint32_t range = candidates[choice.nextCandidate++];
      isAccepted = place(range, parts[choice.part]);
      if (isAccepted)
        open = split(range, choices.size() - 1);
      else
        retract();
    }
  }
  return Outcome::Fits;
}

/// Adds the choice of what is placed next in a part.
void AddressSearch::openPart(uint32_t index) {
  const Part &part = parts[index];
  if (part.needsRanks) {
    rank(part);
    listLeft(part);
  }
  int64_t lowestTop = std::numeric_limits<int64_t>::max();
  for (uint32_t range : left)
    lowestTop = std::min(lowestTop, floors[range] + ranges[range].bytes);
  spent += left.size();
  Choice choice;
  choice.part = index;
  choice.numParts = parts.size();
  choice.numPlaced = placements.size();
  choice.nextCandidate = candidates.size();
  for (uint32_t range : left) {
    if (floors[range] >= lowestTop)
      break;
    if (std::tie(floors[range], precedence[range]) >=
        std::tie(part.leastOffset, part.leastPrecedence))
      candidates.push_back(range);
  }
  choice.endCandidate = candidates.size();
  choice.beginLeft = leftOfChoices.size();
  llvm::append_range(leftOfChoices, left);
  choice.endLeft = leftOfChoices.size();
  choices.push_back(choice);
}

/// Gives what is left in a part its precedence.
void AddressSearch::rank(const Part &part) {
  using Key = std::array<double, 4>;
  std::vector<std::pair<Key, uint32_t>> ranked;
  for (uint32_t i = firstRanges[part.begin]; i < firstRanges[part.end]; ++i) {
    if (isPlaced[i])
      continue;
    const Range &range = ranges[i];
    double crowd = *std::max_element(rest.begin() + range.begin,
                                     rest.begin() + range.end + 1);
    double life = range.life;
    if (order == Order::CrowdBeginsArea || order == Order::CrowdAreaBegins)
      life = range.end - range.begin + 1;
    double area = life * double(range.bytes);
    spent += range.end - range.begin + 1;
    Key key;
    switch (order) {
    case Order::CrowdLifeArea:
    case Order::CrowdBeginsArea:
      key = {crowd, life, area, 0};
      break;
    case Order::CrowdAreaLife:
    case Order::CrowdAreaBegins:
      key = {crowd, area, life, 0};
      break;
    case Order::LifeAreaCrowd:
      key = {life, area, crowd, 0};
      break;
    case Order::Drawn:
      key = {crowdPower * std::log(crowd) + lifePower * std::log(life) +
                 bytesPower * std::log(double(range.bytes)) +
                 noise * uniform(generator),
             crowd, life, area};
      break;
    }
    ranked.push_back({key, i});
  }
  llvm::sort(ranked, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (auto [place, entry] : enumerate(ranked))
    overwrite(precedence[entry.second], place);
}

void AddressSearch::listLeft(const Part &part) {
  left.clear();
  for (uint32_t i = firstRanges[part.begin]; i < firstRanges[part.end]; ++i)
    if (!isPlaced[i])
      left.push_back(i);
  llvm::sort(left, [&](uint32_t a, uint32_t b) { return isBefore(a, b); });
  spent += 4 * left.size();
}

/// What was left where the last choice was opened. That is counted like listing
/// and sorting it again: counts say how far a search goes, and it need not go
/// further because this is faster.
void AddressSearch::recallLeft() {
  const Choice &choice = choices.back();
  left.assign(leftOfChoices.begin() + choice.beginLeft,
              leftOfChoices.begin() + choice.endLeft);
  leftOfChoices.resize(choice.endLeft);
  spent += 4 * left.size();
}

/// Places a range at its floor. Whether the rest may still fit above it.
bool AddressSearch::place(uint32_t index, const Part &part) {
  const Range &range = ranges[index];
  int64_t top = floors[index] + range.bytes;
  placements.push_back({index, trail.size()});
  isPlaced[index] = true;
  offsets[range.index] = floors[index];
  bool isOverfull = false;
  for (uint32_t position = range.begin; position <= range.end; ++position) {
    rest[position] -= range.bytes;
    if (position != range.end)
      --crossings[position];
    isOverfull |= top + rest[position] > arena;
  }
  spent += range.end - range.begin + 1;
  if (isOverfull)
    return false;
  if (!raiseNeighbours(index))
    return false;
  sortLeft(index);
  return leavesRoom(part, floors[index], leftAfter);
}

/// Raises what is left and lives together with what was placed. Whether each
/// still ends within the arena.
bool AddressSearch::raiseNeighbours(uint32_t placed) {
  int64_t top = floors[placed] + ranges[placed].bytes;
  raised.clear();
  spent += firstNeighbours[placed + 1] - firstNeighbours[placed];
  for (uint32_t other : getNeighbours(placed)) {
    if (isPlaced[other] || floors[other] >= top)
      continue;
    const Range &range = ranges[other];
    int64_t floor = alignTo(top, range.alignment);
    if (floor + range.bytes > arena ||
        (range.fixedOffset >= 0 && floor > range.fixedOffset))
      return false;
    overwrite(floors[other], floor);
    raised.push_back(other);
  }
  return true;
}

/// Lists what is left behind a placement. All that was raised is sorted anew.
void AddressSearch::sortLeft(uint32_t placed) {
  auto before = [&](uint32_t a, uint32_t b) { return isBefore(a, b); };
  for (uint32_t range : raised)
    isRaised[range] = true;
  llvm::sort(raised, before);
  leftAfter.clear();
  auto next = raised.begin();
  for (uint32_t range : left) {
    if (range == placed || isRaised[range])
      continue;
    while (next != raised.end() && before(*next, range))
      leftAfter.push_back(*next++);
    leftAfter.push_back(range);
  }
  leftAfter.insert(leftAfter.end(), next, raised.end());
  for (uint32_t range : raised)
    isRaised[range] = false;
  spent += leftAfter.size();
}

/// Whether the stacks of what is left, by floor, end within the arena. None
/// begins below `lowest`.
bool AddressSearch::leavesRoom(const Part &part, int64_t lowest,
                               ArrayRef<uint32_t> toPlace) {
  std::fill(heights.begin() + part.begin, heights.begin() + part.end,
            double(lowest));
  for (uint32_t index : toPlace) {
    const Range &range = ranges[index];
    double floor = floors[index], bytes = range.bytes;
    double *height = heights.data();
    for (uint32_t position = range.begin; position <= range.end; ++position)
      height[position] = std::max(height[position], floor) + bytes;
    spent += (range.end - range.begin) / 4 + 1;
  }
  for (uint32_t position = part.begin; position < part.end; ++position)
    if (heights[position] > double(arena))
      return false;
  return true;
}

/// The first part of what a placement leaves of the part of a choice, or else
/// the next one that is to be solved.
uint32_t AddressSearch::split(uint32_t placed, uint32_t choiceIndex) {
  const Part whole = parts[choices[choiceIndex].part];
  SmallVector<Part> left;
  uint32_t begin = whole.begin;
  bool isEmpty = true;
  for (uint32_t position = whole.begin; position < whole.end; ++position) {
    isEmpty &= rest[position] == 0;
    if (position + 1 != whole.end && crossings[position] != 0)
      continue;
    if (!isEmpty)
      left.push_back({begin, position + 1, choiceIndex, none});
    begin = position + 1;
    isEmpty = true;
  }
  spent += whole.end - whole.begin;
  uint32_t next = whole.next;
  for (Part &part : llvm::reverse(left)) {
    part.next = next;
    part.leastOffset = floors[placed];
    part.needsRanks = left.size() > 1;
    if (!part.needsRanks)
      part.leastPrecedence = precedence[placed];
    next = parts.size();
    parts.push_back(part);
  }
  if (left.size() == 1)
    std::swap(this->left, leftAfter);
  return next;
}

/// Takes back what the last choice led to. If nothing that is left lives
/// together with what was tried, there is no better choice.
void AddressSearch::retract() {
  Choice &choice = choices.back();
  uint32_t tried = candidates[choice.nextCandidate - 1];
  while (placements.size() > choice.numPlaced) {
    auto [index, trailSize] = placements.pop_back_val();
    for (; trail.size() > trailSize; trail.pop_back())
      *trail.back().variable = trail.back().value;
    const Range &range = ranges[index];
    isPlaced[index] = false;
    for (uint32_t position = range.begin; position <= range.end; ++position) {
      rest[position] += range.bytes;
      crossings[position] += position != range.end;
    }
  }
  bool isCovered = llvm::any_of(
      getNeighbours(tried), [&](uint32_t other) { return !isPlaced[other]; });
  if (!isCovered)
    choice.nextCandidate = choice.endCandidate;
}

void AddressSearch::overwrite(int64_t &variable, int64_t value) {
  trail.push_back({&variable, variable});
  variable = value;
}
