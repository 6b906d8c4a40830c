// What has been read to its end: ticks in the contents, counts on the welcome page, a button that forgets. Kept in this browser alone.
(() => {
  const KEY = "xformer-read", PAGE = /\/chapters\/((?:\d\d[a-z]?|w\d)_\w+)\.html/;
  const page = (address) => (PAGE.exec(address) || [])[1];
  const load = () => { try { return new Set(JSON.parse(localStorage.getItem(KEY)) || []); } catch { return new Set(); } };
  const save = (read) => { try { localStorage.setItem(KEY, JSON.stringify([...read])); } catch { /* refused: nothing is kept */ } };
  const make = (name, cls, text) => Object.assign(document.createElement(name), { className: cls, textContent: text });

  function tick(read) {
    document.querySelectorAll("nav.bd-links .read-tick").forEach((mark) => mark.remove());
    for (const link of document.querySelectorAll("nav.bd-links a[href]")) {
      if (!read.has(page(link.href))) continue;
      const mark = make("span", "read-tick", "");
      const sign = make("span", "", "\u00a0\u2713");
      sign.setAttribute("aria-hidden", "true");
      mark.append(sign, make("span", "read-words", " (read)"));
      link.append(mark);
    }
  }

  function countParts(read) {
    document.querySelectorAll(".read-count, .read-forget").forEach((old) => old.remove());
    let head = null, table = null;
    const parts = new Map();
    for (const row of document.querySelectorAll("article tbody tr")) {
      const link = row.querySelector("a[href]");
      if (link && head && page(link.href)) parts.get(head).push(page(link.href));
      if (!link && row.querySelector("strong")) { head = row.querySelector("strong"); table = row.closest("table"); parts.set(head, []); }
    }
    if (!table || !read.size) return;
    for (const [title, pages] of parts) {
      title.after(make("span", "read-count", ` · ${pages.filter((name) => read.has(name)).length} of ${pages.length} read`));
    }
    const button = make("button", "read-forget", "Forget what I have read");
    button.type = "button";
    button.addEventListener("click", () => { save(new Set()); show(); });
    table.after(button);
  }

  function show() { const read = load(); tick(read); if (/\/chapters\/index\.html/.test(location.pathname)) countParts(read); }

  function watch() {
    const name = page(location.pathname), end = document.querySelector(".prev-next-footer, footer");
    if (!name || !end || load().has(name)) return;
    const eye = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting) || !scrollY) return;
      eye.disconnect();
      save(load().add(name));
      show();
    });
    eye.observe(end);
  }

  addEventListener("keydown", (event) => { if (event.key === "Escape") document.body.classList.add("no-notes"); });
  for (const kind of ["pointerover", "focusin"]) {
    addEventListener(kind, (event) => { if (event.target.matches(".term")) document.body.classList.remove("no-notes"); });
  }
  show();
  watch();
})();
