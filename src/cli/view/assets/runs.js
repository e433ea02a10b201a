// The list of runs: requests one page of the list periodically and draws the changes. All content is set as text, never as
// HTML.
"use strict";

const PAUSE_MS = 2000;
// Used while the folder is scanned, and after the user types.
const SHORT_PAUSE_MS = 200;

const at = (id) => document.getElementById(id);
// Runs to compare, by id. They may be on other pages of the list.
const chosen = new Map();
let list;
// The first complete version of the list. Runs that appear in later versions are new.
let complete;
let from = 0;
let timer;
// Number of the latest request. Responses to earlier requests are not drawn.
let latest = 0;

async function refresh() {
  clearTimeout(timer);
  latest += 1;
  const request = latest;
  const query = new URLSearchParams({ from, filter: at("filter").value });
  if (list?.query === query.toString()) query.set("known", list.version);
  try {
    const answer = await fetch(`runs.json?${query}`);
    if (request !== latest) return;
    if (answer.status === 200) {
      query.delete("known");
      take({ ...await answer.json(), query: query.toString() });
    } else if (answer.status !== 204) throw new Error();
    else if (at("state").classList.contains("alarm")) draw();
  } catch {
    at("state").className = "alarm";
    at("state").textContent = "crossprof view does not answer any more: this list may be old.";
  }
  timer = setTimeout(refresh, list?.is_partial ? SHORT_PAUSE_MS : PAUSE_MS);
}

function take(answer) {
  list = answer;
  if (!list.is_partial) complete ??= list.version;
  if (from > 0 && from >= list.matching) turn(0);
  at("name").textContent = list.name;
  document.title = `${list.name}: runs`;
  draw();
}

function draw() {
  const { runs, total, matching } = list;
  at("runs").replaceChildren(...runs.map(row));
  at("state").className = "";
  const counted = `${total} ${total === 1 ? "run" : "runs"}`;
  at("state").textContent = [
    total > 0 ? counted : list.is_partial ? "" : "No run yet. A capture appears here when it is written.",
    list.is_partial ? "the folder is being searched" : "",
    matching < total ? `${matching} match the filter` : "",
    list.is_cut ? "the folder has more files than are looked at" : "",
  ].filter(Boolean).join(", ");
  at("pages").hidden = matching <= list.page;
  at("shown").textContent = `${list.from + 1} to ${list.from + runs.length} of ${matching}`;
  at("newer").disabled = list.from === 0;
  at("older").disabled = list.from + runs.length >= matching;
  mark();
}

function turn(to) {
  from = Math.max(0, to);
  refresh();
}

function row(run) {
  const tr = document.createElement("tr");
  tr.classList.toggle("new", complete !== undefined && run.since > complete);
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = chosen.has(run.id);
  box.setAttribute("aria-label", `Compare ${run.name}`);
  box.addEventListener("change", () => {
    if (box.checked) chosen.set(run.id, run);
    else chosen.delete(run.id);
    mark();
  });
  const link = document.createElement("a");
  link.href = address([run.id]);
  link.textContent = run.name;
  const date = new Date(run.modified_ms);
  const cells = [box, link, run.folder, time(date), String(run.files.length), size(run.size_bytes)];
  const classes = ["", "", "", "time", "number", "number"];
  tr.append(...cells.map((content, index) => {
    const td = document.createElement("td");
    td.className = classes[index];
    td.append(content);
    return td;
  }));
  return tr;
}

function mark() {
  at("compare").disabled = chosen.size < 2;
  at("compare").textContent = chosen.size < 2 ? "Compare" : `Compare ${chosen.size} runs`;
}

function address(ids) {
  return `app/?${ids.map((id) => `open=${encodeURIComponent(id)}`).join("&")}`;
}

function time(date) {
  const two = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function size(bytes) {
  const [unit, name] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${(bytes / unit).toFixed(bytes / unit < 10 ? 1 : 0)} ${name}`;
}

let typing;
at("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(turn, SHORT_PAUSE_MS, 0);
});
at("newer").addEventListener("click", () => turn(list.from - list.page));
at("older").addEventListener("click", () => turn(list.from + list.page));
at("tools").addEventListener("submit", (event) => {
  event.preventDefault();
  // In the order of the list.
  const newestFirst = [...chosen.values()].sort((a, b) => b.modified_ms - a.modified_ms || (a.id < b.id ? 1 : -1));
  if (chosen.size > 1) location.href = address(newestFirst.map((run) => run.id));
});
refresh();
