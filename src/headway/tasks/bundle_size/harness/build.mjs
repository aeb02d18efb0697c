// Bundles src/app.js by build.json and copies public/ beside it, into $HEADWAY_OUT/dist. esbuild runs nothing of src/.
import { cpSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const tools = process.env.HEADWAY_TOOLS;
const esbuild = createRequire(join(tools, "package.json"))("esbuild");
const dist = join(process.env.HEADWAY_OUT, "dist");
const options = JSON.parse(readFileSync("build.json", "utf8"));

cpSync("public", dist, { recursive: true });
esbuild.buildSync({
  ...options,
  entryPoints: ["src/app.js"],
  bundle: true,
  outfile: join(dist, "app.js"),
  nodePaths: [join(tools, "node_modules")],
  logLevel: "error",
});
