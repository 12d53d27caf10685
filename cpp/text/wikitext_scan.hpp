// Properties of a piece of wikitext by itself, without its context.
#pragma once

#include "wikitext.hpp"
#include "wikitext_tables.hpp"

namespace sgmc::text {

/// The bytes of an address's scheme at the beginning of `text` ("http://"); 0 without one.
std::size_t scheme(std::string_view text);

/// Length of the rest of an address in `text`, which begins behind its scheme.
std::size_t address(std::string_view text);

/// Whether a link with this target shows no text: pictures, categories, other languages.
bool is_hidden(Wiki const& wiki, std::string_view link_target);

/// The text that stands for -{ rule }-: of zh-hans:计算机;zh-hant:電腦 the first.
std::string_view variant(std::string_view rule);

/// An entity at the beginning of `text`: `bytes` of it represent the output in `out`, which has
/// room for them, and `written` is the length of the output. 0 bytes: it is no entity.
struct Entity {
  std::size_t bytes = 0;
  std::size_t written = 0;
};
Entity entity(Wiki const& wiki, std::string_view text, char* out);

/// Past the ">" of a tag, in the `text` behind its name; 0 if it is no tag.
std::size_t tag_end(std::string_view text, std::size_t& work);

/// Begin and end in `text` of the tag that closes an opaque one; 0 and 0 if it was forgotten. It
/// was forgotten if the same tag is opened again before it, or, as references are short, a heading
/// comes before it. So no text is searched twice for the same name.
struct Closing {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Closing closing_tag(std::string_view text, std::string_view name, std::size_t& work);

}  // namespace sgmc::text
