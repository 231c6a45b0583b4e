// The program under test, and readings of it as the page would carry them.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { carriedSource } from "../../web/data/carried.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const program = process.env.ATTEND ?? join(root, "build/release/attend");

/** What the program prints. */
export function attend(args, input = "") {
  return execFileSync(program, args, { input, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "pipe"] });
}

export function attendJson(args, input) {
  return JSON.parse(attend([...args, "--json"], input));
}

/** What stands in an element of the page, by its id. */
export function carriedIn(html, id) {
  const [, text] = html.match(new RegExp(`id="${id}">([^<]*)</script>`)) ?? [];
  return text;
}

/** The source of a page, without a browser; `spoil` may change the numbers of a layer. */
export function sourceOf(html, spoil = (_layer, _numbers) => {}) {
  const facts = JSON.parse(carriedIn(html, "facts"));
  return carriedSource(facts, (id) => {
    const [, layer] = id.match(/^layer-(\d+)$/) ?? [];
    if (layer === undefined) return carriedIn(html, id) ?? "";
    const numbers = new Float32Array(Uint8Array.from(Buffer.from(carriedIn(html, id), "base64")).buffer);
    spoil(Number(layer), numbers);
    return Buffer.from(numbers.buffer).toString("base64");
  });
}

/** A model that writes, whose heads rest on the first token: four heads on two key heads. */
export const sinkingModel = join(root, "tests/golden/sink");

export const families = ["bert", "roberta", "xlm-roberta", "distilbert", "mpnet", "gpt2"];

/** A folder with a golden checkpoint and a vocabulary of words; removed when the test ends. */
export function goldenModel(test, family, kind = "models") {
  const folder = mkdtempSync(join(tmpdir(), "attend-web-"));
  test.after(() => rmSync(folder, { recursive: true }));
  for (const name of ["config.json", "model.safetensors"]) copyFileSync(join(root, "tests/golden", kind, family, name), join(folder, name));
  const words = "[PAD] [UNK] [CLS] [SEP] [MASK] the bank ##s of river money is , .".split(" ");
  const { vocab_size: size = words.length } = JSON.parse(readFileSync(join(folder, "config.json"), "utf8"));
  while (words.length < size) words.push(`word${words.length}`);  // what a model may expect next has a name
  writeFileSync(join(folder, "vocab.txt"), words.map((word) => `${word}\n`).join(""));
  return folder;
}

/** The same for a family of decoders. */
export function decoderModel(test, family) {
  return goldenModel(test, family, "decoders");
}

/** Puts NaN into the first number of a tensor of such a folder. */
export function poison(folder, tensor) {
  const file = join(folder, "model.safetensors"), bytes = readFileSync(file), size = Number(bytes.readBigUInt64LE(0));
  bytes.writeFloatLE(NaN, 8 + size + JSON.parse(bytes.subarray(8, 8 + size).toString())[tensor].data_offsets[0]);
  writeFileSync(file, bytes);
}

/** A folder that `attend train` wrote after a step; removed when the test ends. */
export function trainedModel(test, task, settings) {
  const parent = mkdtempSync(join(tmpdir(), "attend-web-")), folder = join(parent, "model");
  test.after(() => rmSync(parent, { recursive: true }));
  attend(["train", task, "-o", folder, ...["training.steps=1", "training.batch=2", ...settings].flatMap((each) => ["--set", each])]);
  return folder;
}

/** The server, on the next port that is free: its address, and how to end it. */
export async function serve(args) {
  const server = spawn(program, ["explore", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const address = await new Promise((resolve, reject) => {
    server.stdout.once("data", (line) => resolve(String(line).trim()));
    ended.then((code) => reject(new Error(`the server ended at once, with ${code}`)));
  });
  return {
    address,
    close() {
      server.kill("SIGTERM");
      return ended;
    },
  };
}
