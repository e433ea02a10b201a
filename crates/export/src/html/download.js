"use strict";
const profiles = document.getElementById("crossprof-profiles");
const button = document.getElementById("crossprof-download");
button.hidden = false;
button.addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([profiles.textContent.trim(), "\n"], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "profiles.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
});
