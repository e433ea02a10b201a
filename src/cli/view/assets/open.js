// Passes the files of the runs that the page's URL names (?open=<id>&open=<id>) to the page, as if the user had picked
// them.
"use strict";

(async () => {
  const wanted = new URLSearchParams(location.search).getAll("open");
  if (wanted.length === 0) return;
  const note = document.createElement("div");
  note.setAttribute("role", "status");
  note.id = "opening";
  Object.assign(note.style, {
    position: "fixed", insetInline: "0", bottom: "3rem", margin: "auto", width: "fit-content", padding: "0.5rem 1rem",
    background: "CanvasText", color: "Canvas", borderRadius: "4px", font: "14px system-ui", zIndex: "100",
  });
  const say = (text) => {
    note.textContent = text;
    if (!note.isConnected) document.body.append(note);
  };
  try {
    // In parallel: the page starts while its files arrive.
    const [files, input] = await Promise.all([fetchRuns(wanted, say), picker()]);
    note.remove();
    const picked = new DataTransfer();
    files.forEach((file) => picked.items.add(file));
    input.files = picked.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    // The comparison adds the runs as they are read.
    if (wanted.length > 1) setTimeout(() => { location.hash = "#/compare"; });
  } catch (error) {
    say(error.message);
  }
})();

// Returns the files of these runs, each with its path.
async function fetchRuns(wanted, say) {
  const answer = await fetch(`../runs.json?${wanted.map((id) => `id=${encodeURIComponent(id)}`).join("&")}`);
  if (!answer.ok) throw new Error("The list of runs could not be read: is crossprof view still running?");
  const { name, runs } = await answer.json();
  const found = wanted.map((id) => runs.find((run) => run.id === id));
  const missing = wanted[found.indexOf(undefined)];
  if (missing !== undefined) throw new Error(`There is no run ${missing} any more. Go back to the list of runs.`);
  // Two runs can share a model configuration.
  const files = [...new Map(found.flatMap((run) => run.files).map((file) => [file.path, file])).values()];
  const total = files.reduce((sum, file) => sum + file.size_bytes, 0);
  const arrived = files.map(() => 0);
  const started = performance.now();
  return Promise.all(files.map((file, index) => fetchFile(name, file, (bytes) => {
    arrived[index] = bytes;
    // Fast transfers need no message.
    if (performance.now() - started > 300) {
      const now = arrived.reduce((sum, bytes) => sum + bytes, 0);
      say(`Fetching ${megabytes(now)} of ${megabytes(total)} MB`);
    }
  })));
}

// Fetches one file. This kind of request writes the bytes to the browser's own storage, without passing them through this
// script.
function fetchFile(folder, { path, size_bytes: size }, advance) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = () => reject(new Error(`${path} could not be read: is crossprof view still running?`));
    request.open("GET", `../file/${path.split("/").map(encodeURIComponent).join("/")}`);
    request.responseType = "blob";
    request.onprogress = (event) => advance(event.loaded);
    request.onerror = fail;
    request.onload = () => {
      if (request.status !== 200 || request.response.size < size) return fail();
      const file = new File([request.response], path.split("/").pop());
      // Files from a folder picker have this property. The page uses it to decide which files belong to one run.
      Object.defineProperty(file, "webkitRelativePath", { value: `${folder}/${path}` });
      resolve(file);
    };
    request.send();
  });
}

// Returns the input behind the page's own button, once the page has loaded.
function picker() {
  const find = () => document.getElementById("pick-files");
  return new Promise((resolve) => {
    const watcher = new MutationObserver(() => {
      const input = find();
      if (input) {
        watcher.disconnect();
        resolve(input);
      }
    });
    watcher.observe(document, { childList: true, subtree: true });
    if (find()) {
      watcher.disconnect();
      resolve(find());
    }
  });
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
}
