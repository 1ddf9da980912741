// One plan of the data: what runs, what is in memory, and how both are found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The roles that are in the arena, in the order in which they are stacked.
const arenaRoles = ["activation", "recomputed", "gradient", "optimizer", "workspace"];

class Plan {
  /// `around` is the plan of which this is a part: what its entry `raw.entry`,
  /// a loop, runs.
  constructor(data, raw, number, around = null) {
    this.data = data;
    this.number = number;
    this.around = around;
    Object.assign(this, raw);
    this.count = this.entries.name.length;
    this.bufferCount = this.buffers.name.length;
    // Plans that differ in this have other tasks, with numbers of their own.
    this.form = [raw.parts > 1 ? `with its batch in ${raw.parts} parts` : "",
                 raw.order ? `with its microbatches by ${raw.order}` : "",
                 raw.layers > 0 ? `with ${raw.layers} layers as loops` : ""]
      .filter(Boolean).join(" and ") || "as a whole";
    if (around) this.form = `${around.form}:${around.entries.task[raw.entry]}:${raw.isAdvance ? "advance" : "body"}`;
    this.phaseOf = (entry) => data.phases[this.entries.phase[entry]];
    this.check();
    this.roleIndex = Int8Array.from(this.buffers.role, (role) => arenaRoles.indexOf(data.roles[role]));
    for (const column of ["offset", "bytes"]) this.buffers[column] = Float64Array.from(this.buffers[column]);
    for (const column of ["birth", "death"]) this.buffers[column] = Int32Array.from(this.buffers[column]);
    this.place = Float64Array.from(this.buffers.offset);
    this.placeReused();
    this.computeLive();
    this.computeAxes();
    this.findCopies();
    if (around) this.addUp();
  }

  /// Of what a loop runs, the time of one run; without what runs again, too.
  addUp() {
    const isAgain = (entry) => this.entries.copyOf[entry] >= 0;
    this.time = d3.sum(this.entries.cost);
    this.baseTime = d3.sum(this.entries.cost, (cost, entry) => (isAgain(entry) ? 0 : cost));
  }

  /// What an entry runs if it is a loop: plans of their own.
  bodiesOf(entry) {
    this.inside ??= new Map();
    if (!this.inside.has(entry))
      this.inside.set(entry, this.bodies.filter((raw) => raw.entry === entry)
        .map((raw) => new Plan(this.data, raw, this.number, this)));
    return this.inside.get(entry);
  }

  /// What does in this plan the same as `body` in another.
  findBody(body) {
    const entry = this.firstRun.get(body.around.entries.task[body.entry]);
    return entry === undefined ? undefined : this.bodiesOf(entry).find((own) => own.isAdvance === body.isAdvance);
  }

  /// "8 times", for a body.
  get repetition() {
    return this.runs > 0 ? `${this.around.countedAtRunTime(this.entry) ? "up to " : ""}${formatCount(this.runs)} times`
                         : "as often as it says itself";
  }

  countedAtRunTime(entry) {
    return / of up to /.test(this.text("entries", "kind", entry));
  }

  /// Damage that would otherwise be drawn as if it were a step.
  check() {
    for (const [part, columns, count] of [["entries", this.entries, this.count],
                                          ["buffers", this.buffers, this.bufferCount]])
      for (const [name, column] of Object.entries(columns))
        if (!name.startsWith("reads") && column.length !== count)
          throw new Error(`plan ${this.number}: ${part}.${name} has ${column.length} rows, expected ${count}`);
    if (this.count === 0) throw new Error(`plan ${this.number} has no entries`);
  }

  inArena(buffer) {
    return !this.buffers.isCallers[buffer] && this.data.texts[this.buffers.space[buffer]] === "arena";
  }

  inHost(buffer) {
    return !this.buffers.isCallers[buffer] && this.data.texts[this.buffers.space[buffer]] === "host";
  }

  /// Results of the caller one behind the other, with what lies in them.
  placeReused() {
    this.reused = [];
    const begin = new Map();
    let end = 0;
    for (let buffer = 0; buffer < this.bufferCount; ++buffer) {
      const within = this.buffers.within[buffer];
      if (within < 0) continue;
      if (!begin.has(within)) {
        begin.set(within, end);
        end += this.buffers.bytes[within];
      }
      this.place[buffer] += begin.get(within);
      this.reused.push(buffer);
    }
  }

  /// Bytes in the arena while each entry runs, by role and in sum.
  computeLive() {
    const {birth, death, bytes} = this.buffers;
    this.arena = [];
    this.hosted = [];
    this.live = arenaRoles.map(() => new Float64Array(this.count + 1));
    for (let buffer = 0; buffer < this.bufferCount; ++buffer) {
      if (this.inHost(buffer)) this.hosted.push(buffer);
      if (!this.inArena(buffer)) continue;
      this.arena.push(buffer);
      const sums = this.live[this.roleIndex[buffer]];
      sums[birth[buffer]] += bytes[buffer];
      sums[death[buffer] + 1] -= bytes[buffer];
    }
    this.total = new Float64Array(this.count);
    for (const sums of this.live)
      for (let entry = 0; entry < this.count; ++entry) {
        if (entry > 0) sums[entry] += sums[entry - 1];
        this.total[entry] += sums[entry];
      }
    this.peakEntry = d3.maxIndex(this.total);
    const peak = this.total[this.peakEntry];
    if (peak !== this.peakBytes)
      throw new Error(`plan ${this.number}: buffers add up to ${peak} bytes, and the plan promises ${this.peakBytes}`);
  }

  /// Where entries begin on each axis, and where the last one ends. Memory
  /// follows the schedule, and so the entries that compute: a copy is where it
  /// is issued.
  computeAxes() {
    const follow = (begin, end) => {
      const edges = new Float64Array(this.count + 1);
      let now = 0;
      for (let entry = 0; entry < this.count; ++entry) {
        const computes = this.entries.stream[entry] === 0;
        edges[entry] = computes ? Math.max(now, begin(entry)) : now;
        if (computes) now = Math.max(edges[entry], end(entry));
      }
      edges[this.count] = now;
      return edges;
    };
    const {start, cost} = this.entries;
    this.edges = {
      time: follow((entry) => start[entry], (entry) => start[entry] + cost[entry]),
      order: Float64Array.from({length: this.count + 1}, (_, entry) => entry),
    };
    if (this.measured) {
      const {begin, end} = this.measured;
      this.edges.measured = follow((entry) => begin[entry], (entry) => end[entry]);
    }
    // A step without costs.
    if (this.edges.time[this.count] === 0) this.edges.time = this.edges.order;
  }

  /// The copies of one value have the same key in all plans. Of a loop, that is
  /// so in plans in which it has the same form.
  findCopies() {
    this.loopForms = new Map();
    for (let entry = 0; entry < this.count; ++entry) {
      const kind = this.text("entries", "kind", entry);
      if (kind.startsWith("loop of ")) this.loopForms.set(this.entries.task[entry], `:${kind}`);
    }
    this.buffersOf = new Map();
    this.firstRun = new Map();
    for (let buffer = 0; buffer < this.bufferCount; ++buffer) {
      const key = this.keyOf(buffer);
      const known = this.buffersOf.get(key);
      if (known) known.push(buffer);
      else this.buffersOf.set(key, [buffer]);
    }
    for (let entry = 0; entry < this.count; ++entry) {
      const task = this.entries.task[entry];
      if (task >= 0 && !this.firstRun.has(task)) this.firstRun.set(task, entry);
    }
  }

  keyOf(buffer) {
    const task = this.buffers.task[buffer];
    if (task >= 0) return `${this.form}:${task}:${this.buffers.result[buffer]}${this.loopForms.get(task) ?? ""}`;
    if (this.buffers.isCallers[buffer]) return `caller:${this.text("buffers", "name", buffer)}`;
    const entry = this.buffers.birth[buffer];
    const kind = this.inHost(buffer) ? "host-workspace" : "workspace";
    // That of a loop has several parts.
    const part = this.buffers.result[buffer] || "";
    return `${this.form}:${kind}${part}:${this.entries.task[entry]}:${this.entries.copyOf[entry] >= 0 ? entry : ""}`;
  }

  text(table, column, row) {
    return this.data.texts[this[table][column][row]] ?? "";
  }

  entryName(entry) {
    return this.text("entries", "name", entry);
  }

  bufferName(buffer) {
    if (this.buffers.name[buffer] >= 0) return this.text("buffers", "name", buffer);
    const maker = this.entryName(this.buffers.birth[buffer]);
    const type = this.text("buffers", "type", buffer);
    return type ? `${maker} ${type}` : `workspace of ${maker}`;
  }

  /// The name without the type, to be written into a rectangle.
  label(buffer) {
    const type = ` ${this.text("buffers", "type", buffer)}`;
    const own = this.text("buffers", "name", buffer);
    const name = this.buffers.name[buffer] >= 0 ? (own.endsWith(type) ? own.slice(0, -type.length) : own)
                                                : this.entryName(this.buffers.birth[buffer]);
    return name.replace(/, (backward|recomputed|update)$/, "");
  }

  role(buffer) {
    return this.data.roles[this.buffers.role[buffer]];
  }

  decision(buffer) {
    return this.data.decisions[this.buffers.decision[buffer]];
  }

  /// The entries that read a buffer.
  readersOf(buffer) {
    const {readsBegin, reads} = this.entries;
    const readers = [];
    const last = this.buffers.isCallers[buffer] ? this.count - 1 : this.buffers.death[buffer];
    for (let entry = this.buffers.birth[buffer]; entry <= last; ++entry)
      for (let i = readsBegin[entry]; i < readsBegin[entry + 1]; ++i)
        if (reads[i] === buffer) readers.push(entry);
    return readers;
  }

  /// The entry at a place on an axis.
  entryAt(axis, place) {
    const edges = this.edges[axis];
    return Math.max(0, Math.min(this.count - 1, d3.bisectRight(edges, place) - 1));
  }

  liveAt(entry) {
    const {birth, death} = this.buffers;
    return this.arena.filter((buffer) => birth[buffer] <= entry && entry <= death[buffer]);
  }

  /// What is there of a value at an entry, or its first copy.
  copyAt(key, entry) {
    const copies = this.buffersOf.get(key);
    const {birth, death} = this.buffers;
    return copies?.find((buffer) => birth[buffer] <= entry && entry <= death[buffer]) ?? copies?.[0];
  }

  /// The entry that does what `entry` of another plan does, or the last before
  /// it that this plan has, too.
  findEntryOf(other, entry) {
    if (other === this) return entry;
    for (let at = entry; at >= 0; --at) {
      const isFirst = other.entries.copyOf[at] < 0 && other.entries.task[at] >= 0;
      const found = isFirst ? this.firstRun.get(other.entries.task[at]) : undefined;
      if (found !== undefined) return found;
    }
    return 0;
  }

  /// The most bytes that some buffers hold at one time.
  findMost(buffers) {
    const change = new Float64Array(this.count + 1);
    for (const buffer of buffers) {
      change[this.buffers.birth[buffer]] += this.buffers.bytes[buffer];
      change[this.buffers.death[buffer] + 1] -= this.buffers.bytes[buffer];
    }
    return d3.max(d3.cumsum(change)) ?? 0;
  }

  countRecomputed() {
    return this.entries.copyOf.filter((original) => original >= 0).length;
  }

  /// Those that make again what was made before, in an iteration also what the
  /// loop before it has done.
  countMadeAgain() {
    return d3.sum(this.entries.phase, (phase) => this.data.phases[phase] === "recompute");
  }

  /// Whether iterations of loops make again what others save.
  get repeatsInLoops() {
    return [...this.loopForms.values()].some((form) => / (thinned|checkpoints|tasks)\b/.test(form));
  }

  sumCallers(role) {
    let bytes = 0;
    for (let buffer = 0; buffer < this.bufferCount; ++buffer)
      if (this.buffers.isCallers[buffer] && this.role(buffer) === role) bytes += this.buffers.bytes[buffer];
    return bytes;
  }

  /// Times are those of the planner, which knows of waits.
  get overhead() {
    return this.baseTime > 0 ? this.time / this.baseTime - 1 : 0;
  }

  /// Short enough for a list to choose from.
  get name() {
    if (this.around)
      return `${this.isAdvance ? "states made again for" : "one iteration of"} ${this.around.entryName(this.entry)}`;
    const origins = {"save-all": "everything saved", chosen: "as compiled", frontier: "frontier"};
    return `${origins[this.origin]}: ${formatBytes(this.arenaBytes)}`;
  }

  get title() {
    if (this.around) return `${this.name}: ${formatBytes(this.arenaBytes)}, runs ${this.repetition}`;
    const isLimited = this.origin === "chosen" && this.budgetBytes !== undefined;
    return this.name + (isLimited ? `, budget ${formatBytes(this.budgetBytes)}` : "");
  }
}

/// Gives the plans that did not run a measured axis, too: their planned times,
/// as much longer as the step was that ran.
function stretchPlans(plans) {
  const ran = plans.find((plan) => plan.measured);
  if (!ran) return;
  const lengthOf = (plan, axis) => plan.edges[axis][plan.count];
  const factor = lengthOf(ran, "measured") / Math.max(lengthOf(ran, "time"), 1);
  for (const plan of plans) plan.edges.measured ??= plan.edges.time.map((edge) => edge * factor);
}

function readPlans() {
  const data = JSON.parse(byId("data").textContent);
  if (data.schema !== "remat.report/1")
    throw new Error(`the data has the schema '${data.schema}', expected 'remat.report/1'`);
  const plans = data.plans.map((raw, number) => new Plan(data, raw, number));
  stretchPlans(plans);
  return {data, plans};
}
