// Candidates, what each layer would say, and the path through the blocks: a page carries what the program computes, and the server answers
// the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sharesOf } from "../../web/data/inside.js";
import { servedSource } from "../../web/data/served.js";
import { attend, attendJson, decoderModel, goldenModel, serve, sourceOf, trainedModel } from "./program.mjs";

const text = "The banks of the river, money is the";
const pageOf = (model, words = text, more = []) => sourceOf(attend(["explain", words, ...more, "--model", model, "--format", "html"]));
const near = (actual, expected, most, what) => assert.ok(Math.abs(actual - expected) <= most, `${what}: ${actual}, expected ${expected}`);

const writers = [["gpt2", goldenModel], ["llama", decoderModel], ["gemma2", decoderModel], ["gpt_neox", decoderModel], ["olmo2", decoderModel]];

for (const [family, modelOf] of writers) {
  test(`${family}: candidates are those of attend next at every temperature`, async (t) => {
    const model = modelOf(t, family), source = pageOf(model), { facts } = source, last = facts.tokens.length - 1;
    const found = await source.next({ place: last });
    assert.equal(found.following, null);
    assert.deepEqual(facts.inside.temperatures, [...Array(20).keys()].map((i) => (i + 1) / 10));
    for (const temperature of [0.1, 0.7, 1, 2]) {
      const { candidates } = attendJson(["next", text, "--model", model, "--attribution", "gradient", "--temperature", temperature, "--top", 10]);
      const shares = sharesOf(found.layers.at(-1), temperature, facts.inside.temperatures);
      assert.deepEqual(found.layers.at(-1).tokens, candidates.map(({ id }) => id));
      candidates.forEach(({ probability }, i) => near(shares[i], probability, 2e-5, `${temperature}, ${i}`));
    }
    const { layers } = attendJson(["next", text, "--model", model, "--attribution", "gradient"]), [column] = await source.guesses({ first: last, last: last + 1 });
    assert.equal(layers.length, found.layers.length);
    layers.forEach(({ candidates }, layer) => {
      assert.equal(column.tokens[layer], candidates[0].id);
      near(column.shares[layer], candidates[0].probability, 2e-5, `layer ${layer}`);
      const shares = sharesOf(found.layers[layer], 1, facts.inside.temperatures);
      candidates.forEach(({ id, probability, text: name }, i) => {
        assert.equal(found.layers[layer].tokens[i], id);
        assert.equal(found.layers[layer].texts[i], name);
        near(shares[i], probability, 2e-5, `layer ${layer}, ${i}`);
      });
    });
  });

  test(`${family}: the parts of the stream and of the logit add up`, async (t) => {
    const model = modelOf(t, family), source = pageOf(model), { facts } = source;
    for (const place of [1, facts.tokens.length - 1]) {
      const [token] = (await source.next({ place })).layers.at(-1).tokens, { layers, logits } = await source.block({ place, token });
      assert.equal(layers.length, facts.layers);
      layers.forEach(({ layer, in: from, middle, out, attention, feedForward, heads }, i) => {
        assert.deepEqual([layer, heads.length], [i + 1, facts.heads]);
        const sum = (stream, { length, cosine }) => Math.sqrt(stream ** 2 + length ** 2 + 2 * stream * length * cosine);
        near(middle, sum(from, attention), 1e-4 * middle, "after attention");
        if (facts.inside.layers[i].parallel !== true) near(out, sum(middle, feedForward), 1e-4 * out, "after the layer");
        if (i > 0) near(from, layers[i - 1].out, 1e-4 * from, "the stream goes on");
      });
      assert.equal(logits.token, token);
      const total = logits.layers.reduce((sum, { heads, rest, feedForward }) => sum + rest + feedForward + heads.reduce((all, each) => all + each, 0), logits.embedding + logits.constant);
      near(total, logits.logit, 1e-4 * (1 + Math.abs(total)), "the logit");
    }
    assert.equal((await source.block({ place: 1, token: 13 })).logits?.token ?? null, (await source.next({ place: 1 })).layers.at(-1).tokens[0] === 13 ? 13 : null);
  });
}

test("the logit of a candidate is the one that attend next names", async (t) => {
  const model = goldenModel(t, "gpt2"), source = pageOf(model), place = source.facts.tokens.length - 1;
  const { watched, attribution } = attendJson(["next", text, "--model", model, "--attribution", "gradient"]);
  near((await source.block({ place, token: watched.id })).logits.logit, attribution.logit, 1e-4, "logit");
});

test("the server answers what the page carries, for every place", async (t) => {
  const model = decoderModel(t, "llama"), page = pageOf(model), server = await serve(["--model", model, text]), honest = globalThis.fetch;
  t.after(() => (globalThis.fetch = honest));
  globalThis.fetch = (address, how) => honest(new URL(String(address), server.address), how);
  const { id, facts } = await (await fetch("/api/read", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text }) })).json();
  const served = servedSource(id, facts), { temperatures } = facts.inside;
  assert.deepEqual(facts.inside, page.facts.inside);
  const columns = await served.guesses({ first: 0, last: facts.tokens.length });
  for (let place = 0; place < facts.tokens.length; ++place) {
    const mine = await served.next({ place }), carried = await page.next({ place });
    if (carried.following !== null) near(mine.following, carried.following, 1e-5, `what follows ${place}`);
    mine.layers.forEach((guesses, layer) => {
      carried.layers[layer].tokens.slice(0, 3).forEach((token, i) => assert.equal(guesses.tokens[i], token));
      for (const temperature of [0.4, 1]) {
        const shares = sharesOf(carried.layers[layer], temperature, temperatures), other = sharesOf(guesses, temperature, temperatures);
        assert.equal(shares === null, temperature !== 1 && layer < facts.layers && place < facts.tokens.length - 1);
        shares?.forEach((share, i) => near(other[i], share, 2e-5, `${place}, ${layer}, ${temperature}`));
      }
    });
    assert.deepEqual(columns[place].tokens, (await page.guesses({ first: place, last: place + 1 }))[0].tokens);
    const token = mine.layers.at(-1).tokens[0], mineBlock = await served.block({ place, token }), other = await page.block({ place, token });
    near(mineBlock.logits.logit, other.logits.logit, 1e-4, `logit at ${place}`);
    mineBlock.layers.forEach((layer, i) => {
      near(layer.out, other.layers[i].out, 1e-4 * layer.out, "out");
      layer.heads.forEach((length, h) => near(length, other.layers[i].heads[h], 1e-4 * layer.out, "head"));
    });
  }
  const refused = async (address, sentence) => {
    const answer = await fetch(`/api/${id}/${address}`);
    assert.deepEqual([answer.status, sentence.test((await answer.json()).error)], [400, true], address);
  };
  await refused("next?place=99", /place is 99/);
  await refused("next", /parameter place is missing/);
  await refused("guesses?first=0&last=17", /expected 1 to 16 places/);
  await refused("guesses?first=3&last=3", /expected 1 to 16 places/);
  await refused("block?place=99", /place is 99/);
  await refused("block?place=1&token=99999999999", /parameter token/);
  await refused("block?place=1&token=999999", /token is 999999/);
  await refused("block?place=1&x=1", /there is no parameter x/);
  assert.equal(await server.close(), 0);
});

test("an encoder has blocks, and no next token", async (t) => {
  const source = pageOf(goldenModel(t, "bert")), { facts } = source;
  assert.deepEqual([source.next, source.guesses, facts.inside.next, facts.inside.layers[0].norm], [undefined, undefined, undefined, "after"]);
  const { layers, logits } = await source.block({ place: 2, token: null });
  assert.equal(logits, null);
  assert.equal(layers.length, facts.layers);
  assert.ok(layers.every(({ in: from, heads, feedForward }) => from > 0 && heads.every((length) => length > 0) && feedForward.length > 0));
});

test("of a source and its answer, each token has the layers in which it takes part", async (t) => {
  const model = trainedModel(t, "reverse", ["model.layers=2", "data.length=5"]), source = pageOf(model, "s4 s2 s7 s1 s3"), { facts } = source;
  const names = async (place) => (await source.block({ place, token: null })).layers.map(({ layer }) => facts.attends[layer - 1].name);
  assert.deepEqual(await names(0), ["encoder 1", "encoder 2"]);
  const last = facts.tokens.length - 1, path = await source.block({ place: last, token: null });
  assert.deepEqual(await names(last), ["decoder 1", "cross 1", "decoder 2", "cross 2"]);
  assert.deepEqual(path.layers.map(({ feedForward }) => feedForward === null), [true, false, true, false]);
  assert.ok(source.nextPlaces[0] > 0 && source.nextPlaces[1] === last + 1);
  assert.ok((await source.next({ place: last })).layers.at(-1).tokens.length > 0);
});

test("a page of an encoder grows by little", (t) => {
  const html = attend(["explain", Array(12).fill("The banks of the river, money is the bank.").join(" "), "--model", goldenModel(t, "bert"), "--format", "html"]);
  const size = (pattern) => [...html.matchAll(pattern)].reduce((sum, [, part]) => sum + part.length, 0);
  const layers = size(/id="layer-\d+">([^<]*)</g), inside = size(/id="inside[^"]*">([^<]*)</g);
  // Heads of 8 numbers, where real models have 64 or more: the share of what is carried for each head is eight times theirs.
  assert.ok(inside < 8 * 0.03 * layers, `${inside} of ${layers}`);
});
