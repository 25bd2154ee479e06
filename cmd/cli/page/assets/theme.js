// Chooses the dark or the light scheme. It is a plain script in the head, so that it runs before the first paint. A button with
// data-theme-switch cycles through system, dark and light.
"use strict";
(() => {
  const order = ["auto", "dark", "light"];
  const names = { auto: "Theme: system", dark: "Theme: dark", light: "Theme: light" };
  let chosen = "auto";
  try {
    const stored = localStorage.getItem("theme");
    if (order.includes(stored)) chosen = stored;
  } catch { /* no storage: the choice lasts as long as the page */ }
  const apply = () => {
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    for (const b of document.querySelectorAll("[data-theme-switch]")) b.textContent = names[chosen];
    dispatchEvent(new CustomEvent("themechange"));
  };
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  addEventListener("DOMContentLoaded", apply);
  addEventListener("click", (e) => {
    if (!(e.target instanceof Element) || !e.target.closest("[data-theme-switch]")) return;
    chosen = order[(order.indexOf(chosen) + 1) % order.length];
    try { localStorage.setItem("theme", chosen); } catch { /* as above */ }
    apply();
  });
})();
