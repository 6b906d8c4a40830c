// The page's Python outside of a page: node node.js FOLDER CODE runs CODE and prints what its last expression gives.
// FOLDER holds the files of a page, numpy.zip and course.zip, and Pyodide's own.
const { readFileSync } = require("fs");
const [folder, code] = process.argv.slice(2);
const { loadPyodide } = require(`${folder}/pyodide.js`);

(async () => {
  const python = await loadPyodide({ indexURL: `${folder}/`, stdout: () => {}, stderr: () => {} });
  for (const name of ["numpy.zip", "course.zip"]) {
    python.unpackArchive(new Uint8Array(readFileSync(`${folder}/${name}`)), "zip", { extractDir: "/lib/python3.11/site-packages" });
  }
  console.log(python.runPython(code));
})();
