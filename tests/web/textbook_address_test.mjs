// The textbook mode in the address: sentence, switches, the chosen word, and what was typed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bookAddress, bookFrom } from "../../web/textbook/address.js";
import { openBook } from "../../web/textbook/model.js";

test("a book comes back from its address", () => {
  const book = openBook("cat");
  Object.assign(book.on, { projections: true, mask: true });
  book.row = 3;
  book.preset.x[1][2] = 2.5;
  book.preset.wq[0][0] = -1e-7;
  const address = bookAddress(book);
  assert.equal(address, "book=cat&on=projections,mask&word=4&set=x.2.3:2.5&set=wq.1.1:-1e-7");
  assert.deepEqual(bookFrom(address), book);
  assert.equal(bookAddress(openBook("love")), "");
  assert.equal(bookAddress(openBook("it")), "book=it");
  assert.deepEqual(bookFrom(""), openBook("love"));
});

test("nonsense in an address is left out", () => {
  assert.deepEqual(bookFrom("book=nothing&on=__proto__,x&word=99&set=x.9.9:1&set=x.1.1:1e9&set=y.1.1:1&set=x.1.1:--&word=-1"), openBook("love"));
  assert.equal(bookFrom("book=love&on=heads").on.heads, false);  // heads divide Q, K and V
});
