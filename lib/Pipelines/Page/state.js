// What is shown, and who draws it anew when that changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Plan `a` is looked at, `b` is beside it. The cursor is an entry of `a`, and
/// `selected` the key of a value.
/// `outer` is what was shown before one looked inside of a loop, the whole step
/// first.
const state = {a: null, b: null, axis: "time", domain: null, cursor: 0, selected: null, matches: null, outer: []};

/// The plans that are drawn, the one before first. A page of one plan compares
/// it with none, and a loop that only one plan has has no other.
function shownPlans() {
  const hasOther = state.plans.length > 1 && (state.outer.length === 0 || state.a !== state.b);
  return hasOther ? [state.b, state.a] : [state.a];
}

const listeners = new Map();

/// Calls `draw` when any of the topics changes: plan, zoom, cursor, selection,
/// matches or look.
function on(topics, draw) {
  for (const topic of topics.split(" ")) listeners.set(topic, [...(listeners.get(topic) ?? []), draw]);
}

const changed = new Set();

/// All that changes until the next frame is drawn at once.
function change(...topics) {
  if (changed.size === 0) requestAnimationFrame(redraw);
  for (const topic of topics) changed.add(topic);
}

function redraw() {
  const draws = new Set([...changed].flatMap((topic) => listeners.get(topic) ?? []));
  changed.clear();
  for (const draw of draws) draw();
}

function setPlan(plan) {
  while (state.outer.length > 0) leave();
  state.cursor = plan.findEntryOf(state.a, state.cursor);
  state.a = plan;
  change("plan", "cursor", "selection", "zoom");
  if (state.query) search(state.query);
}

function setOther(plan) {
  while (state.outer.length > 0) leave();
  state.b = plan;
  change("plan", "zoom", "cursor");
}

/// Shows `body`, which a loop of plan A runs, in its place; and in that of plan
/// B what does the same there.
function enter(body) {
  const {a, b, axis, domain, cursor, selected} = state;
  state.outer.push({a, b, axis, domain, cursor, selected});
  const other = a === b ? body : b.findBody(body) ?? body;
  Object.assign(state, {a: body, b: other, axis: axis === "measured" ? "time" : axis, domain: null,
                        cursor: body.peakEntry, selected: findLargest(body)});
  change("plan", "cursor", "selection", "zoom");
  search(state.query ?? "");
}

/// Back to what is around the loop.
function leave() {
  if (state.outer.length === 0) return;
  Object.assign(state, state.outer.pop());
  change("plan", "cursor", "selection", "zoom");
  search(state.query ?? "");
}

/// Inside of the loop that the cursor is at, if it is one.
function enterAtCursor() {
  const [body] = state.a.bodiesOf(state.cursor);
  if (body) enter(body);
}

function setAxis(axis) {
  state.axis = axis;
  state.domain = null;
  change("zoom", "plan", "cursor", "selection");
}

function setCursor(entry) {
  state.cursor = Math.max(0, Math.min(state.a.count - 1, entry));
  keepInView();
  change("cursor");
}

function select(buffer) {
  state.selected = buffer === null ? null : state.a.keyOf(buffer);
  change("selection", "cursor");
}

/// A value that may live elsewhere than at the cursor.
function goTo(buffer) {
  const {birth, death} = state.a.buffers;
  if (state.cursor < birth[buffer] || state.cursor > death[buffer]) setCursor(birth[buffer]);
  select(buffer);
}

/// The whole of the axis: the longer of both steps.
function getExtent() {
  const lengths = [state.a, state.b].map((plan) => d3.max(plan.edges[state.axis]));
  return [0, Math.max(...lengths, 1e-9)];
}

function getDomain() {
  return state.domain ?? getExtent();
}

function setDomain(begin, end) {
  const [first, last] = getExtent();
  const width = Math.min(last - first, Math.max(end - begin, (last - first) / 1e6));
  const start = Math.max(first, Math.min(begin, last - width));
  state.domain = width >= (last - first) * 0.9999 ? null : [start, start + width];
  change("zoom", "cursor", "selection");
}

/// Zooms by a factor around the cursor, or around a place.
function zoomBy(factor, place = state.a.edges[state.axis][state.cursor]) {
  const [begin, end] = getDomain();
  setDomain(place - (place - begin) / factor, place + (end - place) / factor);
}

function keepInView() {
  if (!state.domain) return;
  const [begin, end] = state.domain;
  const edges = state.a.edges[state.axis];
  const width = end - begin;
  if (edges[state.cursor] < begin) setDomain(edges[state.cursor] - width / 10, edges[state.cursor] + width * 0.9);
  else if (edges[state.cursor] > end) setDomain(edges[state.cursor] - width * 0.9, edges[state.cursor] + width / 10);
}

/// The wheel zooms with Ctrl or Shift held, dragging moves, a double click
/// shows all. `getScale` gives the scale of the axis as it is drawn.
function addZoom(element, getScale) {
  let dragged = null;
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const [x] = d3.pointer(event, element);
    zoomBy(Math.exp(-(event.deltaY || event.deltaX) / 400), getScale().invert(x));
  }, {passive: false});
  element.addEventListener("pointerdown", (event) => {
    if (event.button === 0) dragged = {x: event.clientX, domain: getDomain(), moved: false};
  });
  element.addEventListener("pointermove", (event) => {
    if (!dragged || !state.domain || Math.abs(event.clientX - dragged.x) < 4) return;
    dragged.moved = true;
    const scale = getScale();
    const shift = scale.invert(event.clientX) - scale.invert(dragged.x);
    setDomain(dragged.domain[0] - shift, dragged.domain[1] - shift);
  });
  element.addEventListener("click", (event) => {
    if (dragged?.moved) event.stopImmediatePropagation();
  }, true);
  addEventListener("pointerup", () => setTimeout(() => { dragged = null; }));
  element.addEventListener("dblclick", () => setDomain(...getExtent()));
}
