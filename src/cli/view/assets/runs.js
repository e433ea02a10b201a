// The list of runs: asks for it again and again, and draws what has changed. All text is set as text.
"use strict";

const PAUSE_MS = 2000;
const MOST_ROWS = 2000;

const at = (id) => document.getElementById(id);
const chosen = new Set();
let runs = [];
let version;
let seen;

async function refresh() {
  try {
    const answer = await fetch(version === undefined ? "runs.json" : `runs.json?known=${version}`);
    if (answer.status === 200) take(await answer.json());
    else if (answer.status !== 204) throw new Error();
    else if (at("state").classList.contains("alarm")) draw();
  } catch {
    at("state").className = "alarm";
    at("state").textContent = "crossprof view does not answer any more: this list may be old.";
  }
  setTimeout(refresh, PAUSE_MS);
}

function take(list) {
  const before = seen;
  ({ runs, version } = list);
  seen = new Set(runs.map((run) => run.id));
  runs.forEach((run) => { run.isNew = before !== undefined && !before.has(run.id); });
  chosen.forEach((id) => { if (!seen.has(id)) chosen.delete(id); });
  at("name").textContent = list.name;
  document.title = `${list.name}: runs`;
  draw(list.is_cut);
}

function draw(isCut = false) {
  const words = at("filter").value.toLowerCase().split(" ").filter(Boolean);
  const isShown = (run) => words.every((word) => run.id.toLowerCase().includes(word));
  const shown = runs.filter(isShown);
  at("runs").replaceChildren(...shown.slice(0, MOST_ROWS).map(row));
  at("state").className = "";
  at("state").textContent = [
    runs.length === 0 ? "No run yet. A capture appears here when it is written." : `${runs.length} ${runs.length === 1 ? "run" : "runs"}`,
    shown.length < runs.length ? `${shown.length} match the filter` : "",
    shown.length > MOST_ROWS ? `the newest ${MOST_ROWS} are listed` : "",
    isCut ? "the folder has more files than are looked at" : "",
  ].filter(Boolean).join(", ");
  mark();
}

function row(run) {
  const tr = document.createElement("tr");
  tr.classList.toggle("new", run.isNew);
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = chosen.has(run.id);
  box.setAttribute("aria-label", `Compare ${run.name}`);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(run.id);
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

at("filter").addEventListener("input", () => draw());
at("tools").addEventListener("submit", (event) => {
  event.preventDefault();
  // In the order of the list.
  if (chosen.size > 1) location.href = address(runs.map((run) => run.id).filter((id) => chosen.has(id)));
});
refresh();
