// Python in a worker of the page, for its cells (live.js) and for the laboratory. Nothing is loaded before a press; then the editor, or
// Python with NumPy, from the book's own folder.
window.pagePython = (() => {
  const BASE = loader.folder("python");
  if (BASE === null) return null;
  const address = (content, type) => URL.createObjectURL(new Blob([content], { type }));
  const unzip = async (bytes) =>
    new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());

  // Why a browser refuses: a frame, a rule of the server, or the browser's own.
  let rule = "";
  document.addEventListener("securitypolicyviolation", (event) => {
    rule = event.effectiveDirective;
  });
  const inSandbox = () => {
    try {
      return self.origin === "null" && self !== top && !localStorage;
    } catch {
      return true;
    }
  };
  const cause = (error) => {
    if (inSandbox())
      return "This page is in a frame (a sandbox without allow-same-origin) where Python cannot run: open it in a tab of its own.";
    if (rule)
      return `A rule of this server (${rule} of its Content-Security-Policy) refuses what Python needs: open the notebook in Jupyter.`;
    return error.message;
  };
  const NO_WORKER =
    "The browser refuses a worker here, and Python runs in one: open the book from a server (make serve), or the notebook in Jupyter.";

  // A value that is fetched once; after a failure, the next asking tries again, past what the browser keeps of the address.
  const once = (get) => {
    let held = null,
      again = false;
    return () =>
      (held ??= get(again).catch((error) => {
        held = null;
        again = true;
        throw error;
      }));
  };
  let tell = () => {};
  const editor = once((again) => loader.script(BASE, "editor.js", again));
  const pages = {};
  // The code cells of a page, as its notebook has them.
  const cells = (page) => (pages[page] ??= once(async (again) => JSON.parse(await loader.script(BASE, `pages/${page}.js`, again))))();
  const parts = {};
  const files = once(async (again) => {
    const raw = await loader.load(
      BASE,
      parts,
      (done, total) =>
        tell(`Loading Python, once for this page: ${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, done / total),
      again,
    );
    parts.parts = null; // copied below; they may go
    const whole = async ([name, bytes]) => (name.endsWith(".gz") ? [name.slice(0, -3), await unzip(bytes)] : [name, bytes.slice()]);
    return Object.fromEntries(await Promise.all(Object.entries(raw).map(whole)));
  });

  // Python in its worker, asked one thing at a time. A stop or a fault ends it for good; the next turn begins another.
  class Python {
    constructor(page) {
      this.page = page; // whose cells it knows
      this.over = false;
      this.ended = new Promise((_, reject) => {
        this.refuse = reject;
      });
      this.ended.catch(() => {});
    }

    // Loads and starts what is not there yet, and tells how far it is.
    ready(progress) {
      tell = progress;
      // What could not begin is over: the next press begins another, and asks for the missing files again.
      this.begun ??= this.begin().catch((error) => {
        this.end(error.message);
        throw error;
      });
      return Promise.race([this.begun, this.ended]);
    }

    async begin() {
      const { "python.js": code, ...others } = await files(),
        page = await cells(this.page);
      if (this.over) return;
      tell("Starting Python …", 1);
      const src = address(code, "text/javascript");
      try {
        this.worker = new Worker(src);
      } catch {
        throw new Error(NO_WORKER);
      }
      this.worker.onerror = (event) => this.end(event.message || NO_WORKER);
      await this.ask({ files: others, cells: JSON.stringify(page) }).finally(() => URL.revokeObjectURL(src));
    }

    ask(message) {
      return Promise.race([
        this.ended,
        new Promise((resolve) => {
          this.worker.onmessage = ({ data }) => {
            if (data.step) tell(`Starting ${data.step} …`, 1);
            else if (data.failed) this.end(data.failed);
            else resolve(data);
          };
          this.worker.postMessage(message);
        }),
      ]);
    }

    end(why) {
      if (this.worker) this.worker.terminate();
      this.over = true;
      tell = () => {};
      this.refuse(new Error(why));
    }
  }

  const refused =
    typeof DecompressionStream === "undefined"
      ? "This browser is too old to run Python in the page: open the notebook in Jupyter, or take a newer browser."
      : "";
  return { Python, editor, cells, cause, address, refused };
})();
