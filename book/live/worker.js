// Python in a worker of the page: everything it asks for was handed over with the first message, so that it also starts from a folder.
const TYPES = { wasm: "application/wasm", json: "application/json" };
const SITE = "/lib/python3.11/site-packages";

async function start({ files, cells }) {
  self.fetch = async (address) => {
    const name = String(address.url || address)
        .split("/")
        .pop(),
      type = TYPES[name.split(".").pop()] || "application/octet-stream";
    return files[name] ? new Response(files[name], { headers: { "Content-Type": type } }) : new Response("", { status: 404 });
  };
  const python = await loadPyodide({ indexURL: "https://python.invalid/", fullStdLib: false });
  postMessage({ step: "NumPy" });
  for (const name of ["numpy.zip", "course.zip"]) python.unpackArchive(files[name], "zip", { extractDir: SITE });
  python.pyimport("numpy");
  self.python = python;
  self.runner = python.pyimport("runner");
  self.runner.start(cells);
  postMessage({ ready: true });
}

self.onmessage = async ({ data }) => {
  try {
    if (data.files) await start(data);
    else if (data.laboratory) {
      self.laboratory ??= self.python.pyimport("xformer_course.lessons.laboratory");
      postMessage({ answer: JSON.parse(self.laboratory.answer(data.laboratory)) });
    }
    else postMessage(JSON.parse(self.runner.run(data.number, data.source, JSON.stringify(data.typed))));
  } catch (error) {
    postMessage({ failed: String(error.message || error) });
  }
};
