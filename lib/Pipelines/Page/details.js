// What is known of the value that is selected.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// "recomputed: recomputing it takes 3.1 us; ..."
function describeDecision(plan, buffer) {
  const decision = plan.decision(buffer);
  const reason = plan.text("buffers", "reason", buffer);
  if (plan.role(buffer) === "recomputed") return reason ? `a copy that was recomputed: ${reason}` : "a copy that was recomputed";
  if (decision !== "none") return reason ? `${decision}: ${reason}` : decision;
  if (reason) return reason;
  if (!plan.inArena(buffer)) return "";
  return `not decided on: it lives ${plan.around ? "within one iteration" : "in one part of the step"} only`;
}

function linkEntry(plan, entry) {
  return make("button", {type: "button", onclick: () => setCursor(entry)}, `#${entry} ${plan.entryName(entry)}`);
}

function linkBuffer(plan, buffer) {
  return make("button", {type: "button", onclick: () => goTo(buffer)}, plan.bufferName(buffer));
}

/// Some of many, each in a line.
function listSome(items, build, most = 12) {
  const lines = items.slice(0, most).map((item) => make("div", {}, build(item)));
  if (items.length > most) lines.push(make("div", {}, `and ${formatCount(items.length - most)} more`));
  return lines;
}

/// What a loop runs, each to look inside.
function linkBodies(plan, entry) {
  return plan.bodiesOf(entry).map((body) => make("div", {}, make(
    "button", {type: "button", class: "inside", onclick: () => enter(body)},
    `${body.isAdvance ? "making states again" : "one iteration"}, runs ${body.repetition}`)));
}

function describeLife(plan, buffer) {
  if (plan.buffers.isCallers[buffer])
    return plan.around ? "memory around the loop" : "memory of the caller, beside the arena";
  const {birth, death} = plan.buffers;
  const edges = plan.edges.time;
  const span = formatTime(edges[death[buffer] + 1] - edges[birth[buffer]]);
  return `entries ${birth[buffer]} to ${death[buffer]}, ${span}`;
}

function describePlace(plan, buffer) {
  if (plan.buffers.isCallers[buffer]) return "";
  const {offset, bytes} = plan.buffers;
  const within = plan.buffers.within[buffer];
  const space = within >= 0 ? `in the buffer of ${plan.bufferName(within)} until that is written`
                            : plan.text("buffers", "space", buffer);
  return `${space}, ${formatCount(offset[buffer])} to ${formatCount(offset[buffer] + bytes[buffer])}`;
}

function drawDetails() {
  const plan = state.a;
  const panel = byId("details");
  const buffer = state.selected === null ? undefined : plan.copyAt(state.selected, state.cursor);
  if (buffer === undefined) {
    const hint = state.selected === null ? "Click a rectangle, a row or a match; or press the up and down keys on the map."
                                         : "This plan has no buffer for the value that was selected.";
    panel.replaceChildren(make("h2", {}, "Value"), make("p", {class: "hint"}, hint));
    return;
  }
  const maker = plan.buffers.birth[buffer];
  const isCallers = plan.buffers.isCallers[buffer];
  const copies = plan.buffersOf.get(state.selected).filter((other) => other !== buffer);
  const {readsBegin, reads} = plan.entries;
  const operands = isCallers ? [] : [...reads.slice(readsBegin[maker], readsBegin[maker + 1])];
  const entryText = (column) => isCallers ? "" : plan.text("entries", column, maker);
  panel.replaceChildren(make("h2", {}, "Value"), makeList([
    ["value", make("b", {}, plan.bufferName(buffer))],
    ["source", entryText("location")],
    ["decision", describeDecision(plan, buffer)],
    ["no choice", plan.text("buffers", "why", buffer)],
    ["bytes", `${formatBytes(plan.buffers.bytes[buffer])} (${formatCount(plan.buffers.bytes[buffer])})`],
    ["role", make("span", {class: "named"}, makeSwatch(plan.role(buffer)), plan.role(buffer))],
    ["lives", describeLife(plan, buffer)],
    ["place", describePlace(plan, buffer)],
    ["made by", isCallers ? "" : linkEntry(plan, maker)],
    ["look inside", ...isCallers ? [] : linkBodies(plan, maker)],
    ["kernel", entryText("kernel")],
    ["layer", entryText("layer")],
    ["label", entryText("label")],
    ["time", isCallers ? "" : formatTime(plan.entries.cost[maker])],
    ["made from", ...listSome(operands, (operand) => linkBuffer(plan, operand), 8)],
    ["read by", ...listSome(plan.readersOf(buffer), (entry) => linkEntry(plan, entry), 8)],
    ["other copies", ...listSome(copies, (copy) => linkBuffer(plan, copy), 8)],
  ]));
}

function setUpDetails() {
  on("selection plan", drawDetails);
}
