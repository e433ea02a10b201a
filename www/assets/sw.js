// Caches all files of one build, so that the page opens without a network.
//
// `cargo xtask build` fills in the build id and the list of files. Each cache contains exactly one build, so files of
// different builds never mix. The service worker fetches only files of the page itself.
"use strict";

const BUILD_ID = "@BUILD_ID@";
const FILES = [/*@FILES@*/];
const PREFIX = "crossprof:" + registration.scope + ":";
const CACHE = PREFIX + BUILD_ID;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(CACHE).then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: "no-cache" })))),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) {
        if (name.startsWith(PREFIX) && name !== CACHE) await caches.delete(name);
      }
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("message", (event) => {
  if (event.data === "take-over") self.skipWaiting();
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  event.respondWith(
    (async () => {
      const cache = await caches.open(CACHE);
      const kept = await cache.match(event.request, { ignoreSearch: true });
      return kept ?? fetch(event.request);
    })(),
  );
});
