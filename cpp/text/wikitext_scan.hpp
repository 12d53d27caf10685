// What can be told of a piece of wikitext by itself, without knowing what is open around it.
#pragma once

#include "wikitext.hpp"
#include "wikitext_tables.hpp"

namespace sgmc::text {

/// The bytes of an address's scheme at the beginning of `text` ("http://"); 0 if there is none.
std::size_t scheme(std::string_view text);

/// How far an address goes on in `text`, which begins behind its scheme.
std::size_t address(std::string_view text);

/// Whether a link with this target shows no text: pictures, categories, other languages.
bool is_hidden(Wiki const& wiki, std::string_view link_target);

/// The text that stands for -{ rule }-: of zh-hans:计算机;zh-hant:電腦 the first.
std::string_view variant(std::string_view rule);

/// An entity at the beginning of `text`: `bytes` of it stand for what was written to `out`, which
/// has room for them, and `written` tells how much that is. No bytes: it is no entity.
struct Entity {
  std::size_t bytes = 0;
  std::size_t written = 0;
};
Entity entity(Wiki const& wiki, std::string_view text, char* out);

/// Past the ">" of a tag, in the `text` behind its name; 0 if it is no tag.
std::size_t tag_end(std::string_view text, std::size_t& work);

/// Where in `text` the tag that closes an opaque one begins and ends; 0 and 0 if it was forgotten.
/// That is so where the same is opened again before it, or, as references are short, a heading
/// comes before it. So no text is looked through twice for the same name.
struct Closing {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Closing closing_tag(std::string_view text, std::string_view name, std::size_t& work);

}  // namespace sgmc::text
