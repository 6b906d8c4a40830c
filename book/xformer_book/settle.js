// The first screen of a long chapter stands sooner if the sections below it are laid out afterwards, one at a time, when the
// browser has nothing else to do. A page that is opened at a place of its own, followed to one, or come back to, is laid out whole at once.
(() => {
  const root = document.documentElement;
  const [visit] = performance.getEntriesByType("navigation");
  if (location.hash || !window.requestIdleCallback || (visit && visit.type !== "navigate")) return;
  root.classList.add("settling");
  const all = () => root.classList.remove("settling");
  const one = () => {
    const next = document.querySelector(".bd-article > section > section:not(.settled)");
    if (!next || !root.classList.contains("settling")) {
      all();
      return;
    }
    next.classList.add("settled");
    requestIdleCallback(one, { timeout: 1000 });
  };
  addEventListener("load", () => requestIdleCallback(one, { timeout: 1000 }));
  for (const event of ["click", "keydown", "hashchange", "beforeprint", "wheel", "touchstart"])
    addEventListener(event, all, { capture: true, once: true, passive: true });
})();
