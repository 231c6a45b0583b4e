// Pre-tokenizers: they cut normalized text into words, and some rewrite it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/json_document.h"
#include "text/aligned_text.h"
#include "text/allowance.h"

namespace attend::text {

// Bytes begin .. end-1 of the text. One that is an added token already has its id, and stays as it is.
struct Piece {
  std::uint32_t begin, end;
  std::int32_t id = -1;
};

// A text and its pieces, none of them empty, with memory to work in.
struct Pieces {
  AlignedText text;
  std::vector<Piece> pieces;

  AlignedText other_text;
  std::vector<Piece> other_pieces;

  Allowance* allowance = nullptr;  // of the text; there while it is worked on
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const io::JsonValue& pre_tokenizer);
std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer();

// One for each kind, in the file of that name.
std::unique_ptr<const PreTokenizer> read_byte_level(const io::JsonValue& pre_tokenizer);
std::unique_ptr<const PreTokenizer> read_metaspace(const io::JsonValue& pre_tokenizer);

// Cuts every piece that is not a token yet: cut(begin, end, emit) calls emit(begin, end) for its parts, from
// left to right.
template <class Cut>
void cut_pieces(Pieces& pieces, Cut&& cut) {
  auto& out = pieces.other_pieces;
  out.clear();
  for (const Piece& piece : pieces.pieces) {
    if (piece.id >= 0) {
      out.push_back(piece);
      continue;
    }
    cut(piece.begin, piece.end, [&](std::size_t begin, std::size_t end) {
      if (begin < end) out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    });
  }
  pieces.pieces.swap(out);
}

// Rewrites every piece that is not a token yet: rewrite(begin, end, out) appends its new bytes to `out`.
template <class Rewrite>
void rewrite_pieces(Pieces& pieces, std::string_view step, Rewrite&& rewrite) {
  AlignedText& out = pieces.other_text;
  out.clear();
  for (Piece& piece : pieces.pieces) {
    const std::size_t begin = out.size();
    if (piece.id >= 0) {
      out.append(pieces.text, piece.begin, piece.end);
    } else {
      rewrite(piece.begin, piece.end, out);
    }
    pieces.allowance->require_room(out.size(), step);
    piece.begin = static_cast<std::uint32_t>(begin);
    piece.end = static_cast<std::uint32_t>(out.size());
  }
  pieces.text.swap(out);
}

}  // namespace attend::text
