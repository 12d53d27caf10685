// Properties of a piece of wikitext that do not depend on its context.
#pragma once

#include "wikitext.hpp"
#include "wikitext_tables.hpp"

namespace sgmc::text {

/// Number of bytes of the address scheme at the start of `text` ("http://"), or 0 without one.
std::size_t scheme(std::string_view text);

/// Length of the rest of an address in `text`, which starts after the scheme.
std::size_t address(std::string_view text);

/// Whether a link with this target shows no text: pictures, categories, other languages.
bool is_hidden(Wiki const& wiki, std::string_view link_target);

/// The text that replaces -{ rule }-: the first of zh-hans:计算机;zh-hant:電腦.
std::string_view variant(std::string_view rule);

/// An entity at the start of `text`: its first `bytes` bytes stand for the output in `out`, which
/// has room for them; `written` is the output's length. 0 bytes mean that it is not an entity.
struct Entity {
  std::size_t bytes = 0;
  std::size_t written = 0;
};
Entity entity(Wiki const& wiki, std::string_view text, char* out);

/// Position after the ">" of a tag, in the `text` after its name; 0 if it is not a tag.
std::size_t tag_end(std::string_view text, std::size_t& work);

/// Start and end in `text` of the tag that closes an opaque one; 0 and 0 if that was forgotten,
/// that is, if the same tag is opened again before it or, because references are short, a heading
/// precedes it. Thus no text is searched twice for the same name.
struct Closing {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Closing closing_tag(std::string_view text, std::string_view name, std::size_t& work);

}  // namespace sgmc::text
