//===- SearchTuning.h - what steers the effort of the searches --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that say how much each search does, one struct per search. They
// decide how good a plan is and how long it takes to find, never whether it is
// legal: `verify` decides that. None of them depends on the clock or on the
// machine, so that a plan does not either.
//
// To sweep a number, change it here and build `remat-plan`: only this library
// depends on this header. `tools/bench/planning.py` measures the result.
//
// Units: a "step" is an elementary step of work as `WorkMeter` counts it; a
// "share" is a part of the effort, or of the time limit if there is one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_SEARCHTUNING_H
#define REMAT_LIB_PLANNING_SEARCHTUNING_H

#include <cstddef>
#include <cstdint>
#include <limits>

namespace remat::planning {

/// What one unit of `SolverOptions::effort` is (Solution.h).
struct WorkTuning {
  /// Steps per unit of effort: actions simulated and ops of closures visited. A
  /// core of 3 GHz was measured to do about so many in a second, so that an
  /// effort reads as seconds.
  static constexpr double stepsPerSecond = 4e7;
};

/// Releases of copies that are offloaded (Releases.cpp).
struct ReleaseTuning {
  /// Actions that may be simulated for one plan: about a second. A plan has
  /// rarely more than a thousand offloads and some thousand actions.
  static constexpr uint64_t mostActions = 10'000'000;
};

/// The order of events in `planAuto` (Auto.cpp).
struct PortfolioTuning {
  /// Share for the tunings that make the first plans. Small, because every
  /// later phase makes plans of its own.
  static constexpr double firstPlansShare = 0.05;
  /// Effort that they get at least, up to a share of all, where nothing else
  /// has found a good one.
  static constexpr double leastFirstPlans = 0.05, mostFirstPlansShare = 0.5;
  /// Share up to which the search makes new plans instead of improving one.
  static constexpr double firstShare = 0.15;
  /// Share up to which the best plan is improved before the bound is refined.
  /// Beyond half, because the bound is proven against the best plan: the better
  /// that is, the less there is to prove.
  static constexpr double searchShare = 0.55;
  /// Share of the refined bound. Where the clock is the limit and nothing was
  /// found for the last `stall` of the time so far, the bound gets at least
  /// this share of what is left, as little else is left to do; and less, the
  /// later the best plan was found. Whether that is so is asked at some shares
  /// before the last one, too.
  static constexpr double boundShare = 0.1;
  static constexpr double stall = 0.5, stalledBoundShare = 0.8;
  static constexpr double stallShares[] = {0.25, 0.35, 0.45};
  /// Share of an earlier bound, if the search may end at a gap.
  static constexpr double earlyBoundShare = 0.03;
  /// Share of the integer program.
  static constexpr double programShare = 0.15;
  /// Share up to which a plan is looked for, at any cost, if nothing else found
  /// one. The other half is left to improve it.
  static constexpr double lowPeakShare = 0.5;
  /// Share of a time limit up to which runs are annealed after that. Where work
  /// is counted, so many times the effort may go there.
  static constexpr double annealingShare = 0.8, annealingEffort = 5;
  /// The same of what makes such a plan take less time.
  static constexpr double costShare = 0.95, costEffort = 5;
  /// Share of `planLayers`.
  static constexpr double layersShare = 0.2;
  /// Share of `planCutPoints`. Large, because a search of the parts gets
  /// further with the same effort than one of the whole.
  static constexpr double cutPointsShare = 0.5;
  /// Share of each of the classical algorithms.
  static constexpr double starterShare = 0.25;
  /// Share of a time limit in which a free order is kept.
  static constexpr double fixedOrderShare = 0.5;
  /// The same, where an order with a lower peak is known: that one, and then
  /// the given one.
  static constexpr double lowOrderShare = 0.6, givenOrderShare = 0.2;
  /// A portfolio without offloading, one without recomputation and the one with
  /// both get one of this many equal parts of a time limit.
  static constexpr double partsOfTime = 3;
  /// Share of the exhaustive search of a small problem.
  static constexpr double exactShare = 0.5;
  /// The least effort of an exhaustive search where nothing else has found a
  /// plan of a small problem: a tenth of a second.
  static constexpr double lastEffort = 0.1;

  /// Ops beyond which the classical algorithms are left out: they cost more
  /// than the search needs then.
  static constexpr size_t starterOps = 5000;
  /// Ops from which on equal layers are solved for all. The search goes through
  /// smaller problems as a whole many times.
  static constexpr size_t layeredOps = 1000;
  /// The integer program is asked if at most this part of the overhead is
  /// unproven: it hardly ever closes larger gaps.
  static constexpr double programGap = 0.2;
  /// Searches at once. More of them only take memory.
  static constexpr unsigned mostThreads = 64;
  /// Effort of the first bound.
  static constexpr double quickBound = 0.02;
  /// The least effort of the refined bound, per op. Enough for a few cuts of
  /// the graph, which take time in proportion to its size.
  static constexpr double boundSecondsPerOp = 3e-5;
};

/// The large-neighbourhood search (LocalSearch.cpp).
struct LocalSearchTuning {
  /// Budgets on the way down to the wanted one, and rounds of the search at
  /// each of them, when no tuning gives a first plan directly.
  static constexpr size_t quickStages = 8, quickRounds = 5;
  /// Attempts with random tunings at a first plan after the systematic ones.
  static constexpr size_t firstAttempts = 50;
  /// Steps that loading a plan into the timeline counts as, per op.
  static constexpr uint64_t loadSteps = 10;
  /// New plans before the search proper starts from the best of them, and
  /// rounds at each budget on the way down to one.
  static constexpr size_t descents = 12, descentRounds = 50;
  /// Rounds of the first epoch: so many per op, within limits. Each epoch that
  /// finds nothing makes the next one a quarter longer, so that slow cooling
  /// comes after quick gains.
  static constexpr size_t roundsPerOp = 4, shortestEpoch = 100,
                          longestFirstEpoch = 1000;
  /// An epoch starts at the temperature of this many repeats of average cost.
  /// Several, because graphs with few large ops and graphs with many small ones
  /// want different ones; each epoch draws one.
  static constexpr double heats[] = {0.1, 0.5, 3.0};
  /// Epochs without a better plan after which the search gives up: usually, and
  /// if only the clock ends it.
  static constexpr size_t usualPatience = 8,
                          tireless = std::numeric_limits<size_t>::max();
  /// Sets of ops that one search for an order looks at. Bounds its memory.
  static constexpr size_t orderStates = 20000;
  /// The part of the effort that such a search may take, and that of the
  /// overdraft that it may take at least: a tenth of a second.
  static constexpr double orderShare = 0.25, orderOverdraftShare = 0.005;
  /// Moves of steps, per op, to lower the peak of an order.
  static constexpr size_t orderMoves = 200;
};

/// Orders of first runs by what they free (ListSchedule.cpp).
struct ListScheduleTuning {
  /// Ops that run as one because they free something together, at most.
  static constexpr size_t mostOpsAtOnce = 12;
  /// Readers of an op that are looked at again when it changes, at most.
  static constexpr size_t mostTargets = 16;
  /// Users of a buffer whose op is tried with others, and buffers of such an
  /// op, at most: a trial tells all of them.
  static constexpr uint32_t mostUsers = 64;
  /// Ops of the priority that are looked at where the next does not fit.
  static constexpr size_t mostSkipped = 256;
  /// Part of the effort that passes may take.
  static constexpr double share = 0.25;
};

/// Evictions and the ways back (Evictor.cpp, EvictorForms.cpp).
struct EvictorTuning {
  /// Factor by which a PREFER moves a candidate up or down the ranking. So
  /// large that costs mostly decide only among candidates with the same wish.
  static constexpr double preference = 1e3;
  /// Evictions after which `fit` gives up: so many per op and `leastRounds`.
  /// What has not fit by then makes ever more be made again.
  static constexpr size_t roundsPerOp = 4, leastRounds = 16;
  /// Repeats after which `fit` gives up at the latest: so many per op and
  /// `leastRepeats`.
  static constexpr size_t repeatsPerOp = 8, leastRepeats = 1000;
  /// Steps of looking for the copy of an operand, and for a step without room
  /// in a gap, in timelines of thousands of ops.
  static constexpr uint64_t lookupSteps = 4, scanSteps = 8;
  /// An eviction beyond need is only tried in a gap that has a step with this
  /// part of the budget: elsewhere it makes room that nobody wants.
  static constexpr double tight = 0.9;
  /// Gaps that are drawn until one is tight.
  static constexpr size_t evictionTries = 16;
  /// Lists of violations that are longer than this are collected again only
  /// after every `collectionInterval`-th evaluation; collecting them takes
  /// longer than evaluating.
  static constexpr size_t longList = 4096, collectionInterval = 64;
  /// Values of `EvictionRanking::keepRatio`, the most promising first.
  static constexpr double keepRatios[] = {0.1, 0.0, 0.3, 1.0};
  /// Values of `EvictionRanking::transferWeight`: the last two offload whatever
  /// they can, and only what they have to.
  static constexpr double transferWeights[] = {0.3, 0.03, 1.0, 3.0, 0.0, 1e6};
  /// Readers that absorb a value in one eviction, at most. Each computes it
  /// again, so that a new copy soon costs less.
  static constexpr uint32_t mostHosts = 4;
  /// Ops that the absorption of one op may run or absorb, at most. Bounds the
  /// evaluation of a candidate.
  static constexpr size_t mostAbsorbed = 64;
};

/// Moves of the steps of a timeline (Reorderer.cpp).
struct ReordererTuning {
  /// Steps with less than this part of the budget are under no pressure.
  static constexpr double pressureBegins = 0.9;
  /// Places by which a step moves, at most, unless it moves to an end of its
  /// range.
  static constexpr size_t mostPlaces = 32;
  /// The annealing starts at this part of the average change of the pressure,
  /// which is taken over its first `sampledMoves` moves.
  static constexpr double initialHeat = 0.3;
  static constexpr size_t sampledMoves = 2000;
};

/// Annealing over sequences of runs (RunAnnealing.cpp).
struct RunAnnealingTuning {
  /// As above. Close to the budget, so that moves are made for steps that are
  /// above it.
  static constexpr double pressureBegins = 0.98;
  /// A round's budget is below the lowest peak by one part in `step`.
  static constexpr int64_t step = 32;
  /// Moves of a round.
  static constexpr size_t movesPerOp = 1000, fewestMoves = 50'000,
                          mostMoves = 1'000'000;
  /// What a move counts as, besides a twentieth of the steps: measured.
  static constexpr uint64_t moveSteps = 40;
  /// The heat at the beginning of a round: an excess of a twentieth at one
  /// step. A run is worth little, so that useless ones go.
  static constexpr double heat = 1e-3, runPrice = 1e-6;
  /// Where the cost counts, a run of average cost is worth an excess of a
  /// thousandth at one step, and the heat begins at two of them.
  static constexpr double averageRunPrice = 1e-6, costHeat = 2e-6;
  /// Rounds end with one that saves less than one part in so many of what the
  /// plan takes beyond all ops once.
  static constexpr int64_t leastSaving = 50;
  /// Rounds that get nowhere until it ends, per unit of effort and at least. A
  /// clock ends it whatever they get.
  static constexpr double patience = 4;
  /// A smaller gain than one part in so many of the peak is none.
  static constexpr int64_t leastGain = 256;
  /// Full steps that are drawn until they are collected again.
  static constexpr size_t picksPerCollection = 64;
  /// Half of all steps that move or go are at most so many powers of two away
  /// from a full one.
  static constexpr size_t nearbyExponents = 9;
  /// Values that are drawn until one is idle.
  static constexpr size_t idleTries = 64;
  /// Runs that one eviction takes, at most.
  static constexpr size_t mostRuns = 12;
  /// Evictions that have to fit after each round, and the part of the peak by
  /// which the first goes down, at least.
  static constexpr unsigned evictions = 20;
  static constexpr int64_t coarsest = 64;
};

/// Annealing of runs and addresses (ArenaAnnealing.cpp).
struct ArenaAnnealingTuning {
  /// A round's arena is below the smallest so far by one part in `step`.
  static constexpr int64_t step = 200;
  /// Moves of a round, and how many of `mixture` only change addresses.
  static constexpr size_t moves = 100'000, mixture = 10, addressMoves = 3;
  /// What a move counts as, besides half of the items: measured.
  static constexpr uint64_t moveSteps = 40;
  /// The heat at the beginning of a round: what sticks out by half a percent;
  /// and while the arena stays as it is.
  static constexpr double heat = 3e-5, costHeat = 1e-4;
  /// What all runs are worth as long as the arena counts, and then.
  static constexpr double lowPrice = 1e-4, highPrice = 3e-2;
  /// Rounds that get nowhere until it ends.
  static constexpr size_t patience = 4, costPatience = 2;
  /// What may be in the way of a new address, at most.
  static constexpr size_t mostInTheWay = 6;
  /// Items that are looked at for a step where something sticks out.
  static constexpr unsigned stepTries = 4;
};

/// The lowest peak without a search (Greedy.cpp).
struct DescentTuning {
  /// The budget comes down by 1/coarsest of the peak at first; the part is
  /// halved after each failure, and 1/finest is the last that is tried.
  static constexpr int64_t coarsest = 32, finest = 1024;
  /// Steps after which two descents that end at the same peak are enough, and
  /// that descents may take in any case which come after the lowest. They do
  /// not depend on the effort, since `LowPeakPlans` keeps what they lead to for
  /// other efforts.
  static constexpr uint64_t patience = 4'000'000;
};

/// The smallest feasible budget (Feasibility.cpp, LowerBound.cpp).
struct FeasibilityTuning {
  /// Share of the search for a plan with a low peak.
  static constexpr double lowPeakShare = 0.1;
  /// Share of a time limit up to which runs are annealed after that, and of the
  /// effort, of which a smallest budget is worth more.
  static constexpr double annealingShare = 0.4, annealingEffort = 1;
  /// Effort that is not worth half of it before.
  static constexpr double leastEffort = 0.125;
  /// Values of states that the bound on the peak looks at, per unit of effort,
  /// of at most `mostEffort` units: about a fifth of the effort.
  static constexpr double quickSteps = 2e6, mostEffort = 10.0;
  /// The same, in all, where the bound decides whether a budget has a plan:
  /// about two seconds.
  static constexpr uint64_t closeSteps = 20'000'000;
};

/// Plans for smaller budgets that are made faster (FromSmallest.cpp).
struct ClimbTuning {
  /// The largest budget, in smallest ones, for which smaller ones are planned.
  static constexpr double near = 1.25;
  /// The first of them is above the smallest by one part in so many, and each
  /// is twice as far above as the one before.
  static constexpr int64_t finest = 512;
  /// Shares of a search at each of them, and at the budget itself; and how many
  /// times such a share annealing may take.
  static constexpr double share = 0.25, lastShare = 0.5;
  static constexpr double costEffort = 2;
  /// The share up to which a plan is improved before it is annealed.
  static constexpr double firstShare = 0.5;
  /// Less extra time than this part of all ops once is not worth it.
  static constexpr double leastExtra = 0.02;
  /// Nor is it where a plan is there whose extra time is less than this part of
  /// what a little effort comes to for the smallest budget.
  static constexpr double likely = 0.5;
  /// Ops beyond which it takes too long.
  static constexpr size_t mostOps = 5000;
};

/// Equal layers (Layers.cpp, LayersPlan.cpp).
struct LayersTuning {
  /// Ops are alike if all that is at most so many edges away is. With more of
  /// them, the first and the last layers would be unlike the others.
  static constexpr unsigned radius = 2;
  /// Periods to try.
  static constexpr size_t mostPeriods = 16;
  /// Runs of equal layers to look for. A training graph has two, one in each
  /// phase.
  static constexpr size_t mostRuns = 4;
  /// Fewer layers than this are none: there would be nothing to leave out.
  static constexpr uint32_t leastLayers = 4;
  /// Ops of the problem that is searched instead: few enough for many rounds.
  static constexpr size_t wantedOps = 600;
  /// Layers of that problem, at least and at most: enough to mix two ways of
  /// treating a layer.
  static constexpr uint32_t fewestKept = 6, mostKept = 48;
  /// Share of the search. The rest is for repairs of the whole plan.
  static constexpr double searchShare = 0.5;
};

/// Checkpoints of stages (StageDp.cpp).
struct StageDpTuning {
  /// How many stages the forward phase is cut into.
  static constexpr uint32_t counts[] = {4, 6, 8, 12, 16, 24, 32, 48};
  /// What crosses more borders than this is taken to stay.
  static constexpr uint32_t mostCrossed = 2;
  /// The program is solved for a budget that is larger by one part in `slack`,
  /// and plans are made for this many parts of it.
  static constexpr uint32_t slack = 4, steps = 16;
  /// Runs in a plan for each op, at most.
  static constexpr size_t mostRuns = 8;
};

/// The search over all plans (ExactSearch.cpp). `exactOpLimit` is in
/// Algorithms.h.
struct ExactTuning {
  /// States, at most. Bounds the memory, at about 150 bytes for each.
  static constexpr size_t stateLimit = 2000000;
};

/// The search over states of plans in a fixed order (StateSearch.cpp).
struct StateTuning {
  /// States, at most. Bounds the memory, at about 100 bytes for each.
  static constexpr size_t stateLimit = 2000000;
  /// What looking a state up counts as, in edges of a flow network.
  static constexpr uint64_t pushSteps = 100;
};

/// Dynamic programming over chains (ChainDp.cpp).
struct ChainTuning {
  /// Points of all tables together, at most: 320 MB.
  static constexpr size_t mostPoints = size_t(20) << 20;
  /// A pass over the tables. Of the points whose costs differ by less than
  /// 1 / `precision` of the recomputation one is kept (0 keeps all), and only
  /// every `stride`-th value is tried as a checkpoint. Coarse passes come
  /// first, since the plan of one bounds what the next one has to look at.
  struct Pass {
    uint32_t precision, stride;
  };
  static constexpr Pass passes[] = {{4, 16}, {16, 1}, {64, 1}, {0, 1}};
};

/// Sets of values that are saved at the border of the phases (SavedSet.cpp and
/// the algorithms that choose such sets).
struct SavedSetTuning {
  /// Actions after which a plan is given up: so many per op and `leastActions`.
  /// Recomputing everything for every reader can be quadratic.
  static constexpr size_t actionsPerOp = 100, leastActions = 1000;

  /// `min-cut`: the price of a byte is 2 to these exponents, relative to the
  /// mean cost per byte; 2^14 saves what has to be and 2^-14 all that it can.
  static constexpr double lowestPrice = -14, highestPrice = 14, priceStep = 2;
  /// Bisections between the last price that does not fit and the first that
  /// does: to 1/64 of an octave.
  static constexpr unsigned priceBisections = 7;
  /// Equal values, which no price separates, are shared out in such parts.
  static constexpr uint32_t equalParts = 1024;
  /// Edges that one cut looks at, at most.
  static constexpr uint64_t cutWork = uint64_t(1) << 27;

  /// `knapsack`: subsets kept after each item, and sizes that are tried before
  /// the bisection.
  static constexpr size_t knapsackPoints = 512, knapsackSteps = 16;

  /// `chen-greedy`: bytes of a segment come down by this factor, so many times:
  /// to about 1/7500 of all bytes.
  static constexpr double segmentFactor = 0.8;
  static constexpr unsigned segmentSteps = 40;

  /// `lower-sets`: all lower sets are used if there are at most so many, since
  /// pairs of them are looked at. Otherwise those generated by one op.
  static constexpr size_t mostSets = 300;
  /// Undominated chains kept per set, and limits tried in equal ratios.
  static constexpr size_t mostChains = 8;
  static constexpr unsigned limitRounds = 16;

  /// `lp-rounding`: the parts of the budget that the relaxation is given,
  /// because rounding exceeds some of it; the paper's is 0.9.
  static constexpr double budgetParts[] = {0.9, 1.0, 0.8, 0.7};
  /// What counts as carried, of a fractional assignment.
  static constexpr double thresholds[] = {0.5, 0.3, 0.1, 0.7, 0.9};

  /// Budgets of regions: subsets kept after each item are as many as entries in
  /// all allow, since the lists of all items are kept, within these limits.
  static constexpr size_t regionEntries = size_t(1) << 22;
  static constexpr size_t fewestRegionPoints = 16, mostRegionPoints = 512;
};

/// Lower bounds on time (LowerBound.cpp, SingleCut.cpp, StageRelaxation.cpp).
struct BoundTuning {
  /// Edges of a flow network that one unit of effort looks at; measured on a
  /// core of 3 GHz.
  static constexpr double stepsPerSecond = 5e8;
  /// Values of states looked at for the smallest peak, per unit of effort: a
  /// tenth of it; of at most `mostPeakEffort` units.
  static constexpr double peakSteps = 1e6, mostPeakEffort = 10.0;
  /// Edges that building the network of a moment counts as, per op and value.
  static constexpr uint64_t buildSteps = 40;
  /// Effort from which on runs are excluded and integer programs are tried. A
  /// smaller one does more with a single moment.
  static constexpr double thoroughEffort = 0.2;
  /// The share of single moments where integer programs come after them.
  static constexpr double singleShare = 0.3;
  /// Of what is left then, the share of the search over states.
  static constexpr double stateShare = 0.2;
  /// Variables of an integer program, at most, per unit of effort.
  static constexpr double programVariables = 5e3;
  /// The same without integers.
  static constexpr double relaxedVariables = 1e5;
  /// Share of the programs without integers where others come after them. They
  /// end after so many that tell less than `noProgress` times what is known.
  static constexpr double relaxedShare = 0.4;
  static constexpr unsigned fruitlessPrograms = 2;
  static constexpr double noProgress = 1.02;
  /// Moments of the first integer program.
  static constexpr size_t programMoments = 4;
  /// Rows for the most demanding ops within a stage, of those that run for the
  /// first time there and of those that run again.
  static constexpr size_t rowsWithin = 12;
  /// Graphs of more ops than `blockedOps` are cut in blocks of `blockOps`: a
  /// cut of the whole would take too long.
  static constexpr uint32_t blockedOps = 20000, blockOps = 2048;
  /// Edges looked at to tell whether one op can run again in a good plan, and
  /// how often that is asked of all ops, as each answer makes the next clearer.
  static constexpr uint64_t runAgainSteps = 2'000'000;
  static constexpr unsigned excludingRounds = 3;
};

/// Integer programs (MixedIntegerProgram.cpp, CheckmateMilp.cpp).
struct ProgramTuning {
  /// Variables times simplex iterations that HiGHS does in a second; measured
  /// on a core of 3 GHz. An iteration is about linear in the variables.
  static constexpr double stepsPerSecond = 2e7;
  /// The same for programs whose variables need not be integers.
  static constexpr double relaxedStepsPerSecond = 1e8;
  /// The clock is the last resort, at this multiple of the effort: a busy
  /// machine must not change a result that iterations should end.
  static constexpr double clockFactor = 100;
  /// Iterations per variable below which a program is not even presolved: not
  /// even its relaxation would be solved.
  static constexpr double fewestIterations = 0.125;
  /// `milp` spends this part of its effort on the plan to start from, at most
  /// `mostStart` units; and this part on the bound for all plans, at most
  /// `mostBound` units. Both may make the program unnecessary.
  static constexpr double startParts = 10, mostStart = 1.0;
  static constexpr double boundParts = 3, mostBound = 8.0;
};

/// Addresses in one arena (Packing.cpp).
struct PackingTuning {
  /// An order of all ranges is given up after this many questions what is in
  /// the way of one, which take half a second and more.
  static constexpr int64_t mostQuestions = 20'000'000;
  /// The work of the first round of the search, in visits, for each order.
  static constexpr int64_t firstShare = 4'000'000;
  /// Of a round's work, what the orders get that are seldom the best.
  static constexpr int64_t sideOrders = 4;
  /// How often a round halves the span between the lower bound and the arena.
  static constexpr unsigned bisections = 4;
  /// A search that cannot place all ranges so often is not begun.
  static constexpr int64_t leastPlacements = 64;
  /// With orders that are drawn, the search begins again after the work of
  /// placing all ranges so often: about three times what it takes without a
  /// wrong choice.
  static constexpr int64_t placementsPerDraw = 60;
  /// How much the logarithm of a drawn measure changes at random.
  static constexpr double mostNoise = 0.5;
  /// Of a round's share, how many times that is for drawn orders, or which part
  /// of it where one arena is asked for, which a longer search may have to
  /// find or rule out. And the part that the squeaky wheel gets.
  static constexpr int64_t drawnShares = 2, drawnParts = 2, wheelParts = 2;
  /// Work after which a search looks at the clock: some milliseconds.
  static constexpr int64_t workBetweenQuestions = 4'000'000;
  /// Pairs of ranges that live together, at most, for a squeaky wheel.
  static constexpr size_t mostWheelPairs = 4'000'000;
  /// What a turn of it counts as, for each range and for each that lives
  /// together with it; measured against the search.
  static constexpr int64_t workPerPair = 6, workPerPlaced = 20;
  /// Turns without a smaller arena until another order is started from.
  static constexpr unsigned wheelPatience = 200;
  /// Packings of more ranges are not remembered.
  static constexpr size_t mostCached = 4096;
};

/// Plans whose arena is within a budget (ArenaBudget.cpp).
struct ArenaTuning {
  /// Shares of a plan that is there soon, of the first that is searched for, of
  /// going on with one that fits, and of each that leaves room free.
  static constexpr double quickShare = 0.02, firstShare = 0.33,
                          fittingShare = 0.65, roundShare = 0.06;
  /// Seconds, or units of effort, that the first of these takes at most.
  static constexpr double quickSeconds = 0.5;
  /// What a first plan takes for each op, and the share of a time limit that
  /// this may be.
  static constexpr double firstPlanSecondsPerOp = 2e-5,
                          mostFirstPlanShare = 0.4;
  /// Smaller budgets that are tried where nothing fits.
  static constexpr unsigned tightenings = 6;
  /// Budgets from the smallest one up that are planned and packed.
  static constexpr unsigned sweptBudgets = 8;
  /// Budgets down to the peak of the best plan that go on from it.
  static constexpr unsigned climbedBudgets = 16;
  /// Rounds where no clock ends them.
  static constexpr unsigned effortRounds = 14, mostRounds = 1000;
  /// Rounds that begin with the same room, and by how much more others do.
  static constexpr unsigned roundsPerStart = 7;
  static constexpr double startScale = 1.4;
  /// Of the time that is left, what one plan and one packing may take.
  static constexpr double planningShare = 0.8, packingShare = 0.1;
  /// The most work of a packing: a tenth of a second.
  static constexpr int64_t packingWork = 100'000'000;
  /// Plans for budgets from the smallest one up to its arena that a smallest
  /// arena may come from, and the share of each.
  static constexpr unsigned candidates = 4;
  static constexpr double candidateShare = 0.03;
  /// Of the time that is left, what packing one of them may take, and what
  /// making the plan with the smallest peak faster.
  static constexpr double certificateShare = 0.2, fastestShare = 0.2;
  /// The first and the last part of the smallest arena by which one that is
  /// wanted is smaller, and of the time that is left, what it may take.
  static constexpr int64_t coarsestDescent = 32, finestDescent = 64;
  static constexpr double descentShare = 0.3;
  /// How many times the effort annealing takes. Shares up to which each of them
  /// is annealed, then the best, and then its cost.
  static constexpr double annealingEffort = 2;
  static constexpr double startsShare = 0.4, arenaShare = 0.8;
  /// The share that is kept for the plan with the lowest peak.
  static constexpr double lowestShare = 0.15;
  /// What sticks out counts as one part in so many of the budget at least.
  static constexpr int64_t leastExcess = 256;
  /// What sticks out is reserved so many times at most in one round.
  static constexpr int64_t mostGrowth = 4;
};

/// Checkpoints of loops on the host (HostSlots.cpp).
struct HostSlotTuning {
  /// Lengths of segments that are tried differ by one, and from there on by one
  /// in this many.
  static constexpr int64_t finestPeriod = 4;
  /// How often a segment may advance again, or an iteration within it. With
  /// more, time grows faster than bytes shrink.
  static constexpr int64_t mostRepetitions = 8;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_SEARCHTUNING_H
