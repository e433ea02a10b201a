// Registers the service worker, so that the page opens without a network after the first visit.
//
// A new build waits until the page is opened again: it must never change the files under a page
// in which a trace is loaded. At the start of a visit nothing is loaded, so a build that waits is
// put in place then, with one reload.
"use strict";

(async () => {
  if (!("serviceWorker" in navigator)) return;
  try {
    const registration = await navigator.serviceWorker.register("sw.js");
    const waiting = registration.waiting;
    if (waiting && navigator.serviceWorker.controller) {
      navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
      waiting.postMessage("take-over");
    }
  } catch {
    // A file:// page, a private window or a plain http host: everything works but the offline start.
  }
})();
