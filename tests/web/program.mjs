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

const madeUpWords = "the cat that chased a mouse then slept well".split(" ");

/**
 * A recorded pass in which each head does one thing: of layer 1 nothing, the word before, the word after; of layer 2 the subject of
 * "slept", the object of "chased", and one column. Removed when the test ends.
 */
export function madeUpRecording(test) {
  const folder = mkdtempSync(join(tmpdir(), "attend-web-")), file = join(folder, "made-up.attn"), n = madeUpWords.length;
  test.after(() => rmSync(folder, { recursive: true }));
  const none = () => -1, before = (i) => i - 1, after = (i) => (i + 1 < n ? i + 1 : -1);
  const layers = [[none, before, after], [(i) => (i === 7 ? 1 : -1), (i) => (i === 3 ? 5 : -1), () => 2]];
  const tensors = {}, add = (name, dtype, shape, numbers) => (tensors[name] = { dtype, shape, bytes: Buffer.from(numbers.buffer) });
  const text = madeUpWords.join(" "), ends = [], places = [];
  for (let i = 0, at = 0, bytes = 0; i < n; ++i, at += 1) {
    places.push(BigInt(at), BigInt((at += madeUpWords[i].length)));
    ends.push(BigInt((bytes += madeUpWords[i].length)));
  }
  add("ids", "I64", [n], BigInt64Array.from(madeUpWords, (_, i) => BigInt(i)));
  add("special", "BOOL", [n], new Uint8Array(n));
  add("token_ends", "I64", [n], BigInt64Array.from(ends));
  add("places", "I64", [n, 2], BigInt64Array.from(places));
  layers.forEach((heads, l) => {
    const size = heads.length * n, q = new Float32Array(n * size), k = new Float32Array(n * size), v = new Float32Array(n * size).fill(1);
    for (let i = 0; i < n; ++i) heads.forEach((target, h) => {
      k[(i * heads.length + h) * n + i] = 1;
      if (target(i) >= 0) q[(i * heads.length + h) * n + target(i)] = 4 * Math.sqrt(n);  // e⁴ is 87% of a row of nine
    });
    for (const [name, numbers] of Object.entries({ q, k, v })) add(`layer.${l + 1}.${name}`, "F32", [n, heads.length, n], numbers);
  });
  let at = 0;
  const header = { __metadata__: { format: "attend recording", version: "1", model: "made up", family: "none", text, tokens: madeUpWords.join(""), layers: "2" } };
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) header[name] = { dtype, shape, data_offsets: [at, (at += bytes.length)] };
  let json = JSON.stringify(header);
  json += " ".repeat((8 - (Buffer.byteLength(json) % 8)) % 8);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(json)));
  writeFileSync(file, Buffer.concat([length, Buffer.from(json), ...Object.values(tensors).map(({ bytes }) => bytes)]));
  return file;
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
