// What has been read to its end, predicted, solved and reviewed: marks in the contents, counts on the welcome page, a button that forgets.
// Kept in this browser alone.
(() => {
  const KEY = "xformer-read",
    PAGE = /\/chapters\/((?:\d\d[a-z]?|w\d)_\w+)/;
  const page = (address) => (PAGE.exec(address) || [])[1];
  const load = () => {
    try {
      return new Set(JSON.parse(localStorage.getItem(KEY)) || []);
    } catch {
      return new Set();
    }
  };
  const save = (read) => {
    try {
      localStorage.setItem(KEY, JSON.stringify([...read]));
    } catch {
      /* refused: nothing is kept */
    }
  };
  const make = (name, cls, text) => Object.assign(document.createElement(name), { className: cls, textContent: text });

  // Of a page's predictions, exercises and questions: how many were done, of how many, in which words.
  function parts(name) {
    const [askable, solvable, asked] = (window.bookTotals || {})[name] || [[], [], []];
    const kept = (key) => {
      try {
        return JSON.parse(localStorage.getItem(key)) || {};
      } catch {
        return {};
      }
    };
    const said = kept("xformer-predicted")[name] || {},
      solved = kept("xformer-solved"),
      reviewed = kept("xformer-reviewed");
    return [
      [askable.filter((key) => said[key]).length, askable.length, "predictions said"],
      [solvable.filter((id) => solved[id]).length, solvable.length, "exercises solved here"],
      [asked.filter((id) => reviewed[id]).length, asked.length, "questions answered"],
    ].filter(([done]) => done);
  }

  function tick(read) {
    document.querySelectorAll("nav.bd-links .read-tick").forEach((mark) => mark.remove());
    for (const link of document.querySelectorAll("nav.bd-links a[href]")) {
      const name = page(link.href),
        begun = name ? parts(name) : [];
      if (!read.has(name) && !begun.length) continue;
      const mark = make("span", "read-tick", "");
      const sign = make("span", "", read.has(name) ? "\u00a0\u2713" : "\u00a0");
      sign.setAttribute("aria-hidden", "true");
      mark.append(sign);
      for (const [done, all] of begun) {
        const dot = make("span", "read-part");
        dot.style.setProperty("--done", Math.min(1, done / all));
        sign.append(dot);
      }
      const words = [...(read.has(name) ? ["read"] : []), ...begun.map(([done, all, what]) => `${done} of ${all} ${what}`)].join(", ");
      mark.append(make("span", "read-words", ` (${words})`));
      mark.title = words;
      link.append(mark);
    }
  }

  function countParts(read) {
    document.querySelectorAll(".read-count, .read-forget").forEach((old) => old.remove());
    let head = null,
      table = null;
    const parts = new Map();
    for (const row of document.querySelectorAll("article tbody tr:not(#your-progress tr)")) {
      const link = row.querySelector("a[href]");
      if (link && head && page(link.href)) parts.get(head).push(page(link.href));
      if (!link && row.querySelector("strong")) {
        head = row.querySelector("strong");
        table = row.closest("table");
        parts.set(head, []);
      }
    }
    if (!table || !read.size) return;
    for (const [title, pages] of parts) {
      title.after(make("span", "read-count", ` · ${pages.filter((name) => read.has(name)).length} of ${pages.length} read`));
    }
    const button = make("button", "read-forget", "Forget what I have read");
    button.type = "button";
    button.addEventListener("click", () => {
      save(new Set());
      show();
    });
    table.after(button);
  }

  function show() {
    const read = load();
    tick(read);
    if (/\/chapters\/(index(\.html)?)?$/.test(location.pathname)) countParts(read);
  }

  function watch() {
    const name = page(location.pathname),
      end = document.querySelector(".prev-next-footer, footer");
    if (!name || !end || load().has(name)) return;
    const eye = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting) || !scrollY) return;
      eye.disconnect();
      save(load().add(name));
      show();
    });
    eye.observe(end);
  }

  addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.body.classList.add("no-notes");
  });
  for (const kind of ["pointerover", "focusin"]) {
    addEventListener(kind, (event) => {
      if (event.target.matches(".term")) document.body.classList.remove("no-notes");
    });
  }
  for (const change of ["xformer-progress", "storage", "pageshow"]) addEventListener(change, show); // here, in another tab, before a step back
  show();
  watch();
})();
