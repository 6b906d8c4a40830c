// What the browser keeps. Where it refuses (a sandbox, blocked cookies) or is full, this page remembers by itself until it is left, and
// reading.js says so. The theme's scripts ask here, too (finish.py).
window.bookStore = (() => {
  const store = (name) => {
    const held = new Map();
    const real = (what, key) => {
      try {
        return window[name][what](key);
      } catch {
        return null;
      }
    };
    addEventListener("storage", ({ key }) => (key === null ? held.clear() : held.delete(key)));
    return {
      getItem: (key) => (held.has(key) ? held.get(key) : real("getItem", key)),
      removeItem(key) {
        held.delete(key);
        real("removeItem", key);
      },
      setItem(key, value) {
        held.delete(key);
        try {
          window[name].setItem(key, value);
          return true;
        } catch (error) {
          held.set(key, String(value));
          if (name === "localStorage")
            dispatchEvent(new CustomEvent("xformer-unkept", { detail: { key, full: /quota/i.test(error.name) } }));
          return false;
        }
      },
    };
  };
  return { local: store("localStorage"), session: store("sessionStorage") };
})();
