// Registers the service worker, so that the page opens without a network after the first visit.
//
// A new build must not replace the files of a page that has a trace loaded, so it waits. At the start of a visit
// nothing is loaded. A waiting build then takes over, and the page reloads once.
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
    // A file:// page, a private window or a plain http host. Only the offline start is missing.
  }
})();
