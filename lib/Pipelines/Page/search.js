// Finding values by name, layer, kernel, label or source.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const mostMatches = 100;
const searchedColumns = ["name", "layer", "kernel", "label", "location"];

/// The buffers of plan A whose name or maker has `query` in it.
function findMatches(query) {
  const plan = state.a;
  const wanted = query.toLowerCase();
  plan.data.lowerTexts ??= plan.data.texts.map((text) => text.toLowerCase());
  const hits = plan.data.lowerTexts.map((text) => text.includes(wanted));
  const isFound = (entry) => searchedColumns.some((column) => hits[plan.entries[column][entry]]);
  const found = [];
  for (let buffer = 0; buffer < plan.bufferCount; ++buffer) {
    const isCallers = plan.buffers.isCallers[buffer];
    const text = isCallers ? plan.buffers.name[buffer] : plan.buffers.type[buffer];
    if (hits[text] || (!isCallers && (isFound(plan.buffers.birth[buffer]) ||
                                      plan.bufferName(buffer).toLowerCase().includes(wanted))))
      found.push(buffer);
  }
  return found;
}

function search(query) {
  state.query = query;
  const list = byId("matches");
  if (!query) {
    state.matches = null;
    list.hidden = true;
    byId("match-count").textContent = "";
    change("matches");
    return;
  }
  const plan = state.a;
  const found = findMatches(query);
  state.matches = new Set(found);
  byId("match-count").textContent = `${formatCount(found.length)} found`;
  const largest = d3.sort(found, (a, b) => d3.descending(plan.buffers.bytes[a], plan.buffers.bytes[b]) || a - b);
  const items = largest.slice(0, mostMatches).map((buffer) =>
    make("li", {}, make("button", {type: "button", class: "named", onclick: () => goTo(buffer)}, makeSwatch(plan.role(buffer)),
                        `${plan.bufferName(buffer)}, ${formatBytes(plan.buffers.bytes[buffer])}`)));
  if (found.length > mostMatches) items.push(make("li", {class: "hint"}, `and ${formatCount(found.length - mostMatches)} more`));
  list.replaceChildren(...items);
  list.hidden = found.length === 0;
  change("matches");
}

function setUpSearch() {
  const input = byId("search");
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(input.value.trim()), 120);
  });
  input.addEventListener("keydown", (event) => {
    const first = byId("matches").querySelector("button");
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    } else if (event.key === "Enter") {
      search(input.value.trim());
      byId("matches").querySelector("button")?.click();
    }
  });
  byId("matches").addEventListener("keydown", (event) => {
    const step = {ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling"}[event.key];
    if (!step) return;
    event.preventDefault();
    (document.activeElement.parentElement[step]?.querySelector("button") ?? input).focus();
  });
}
